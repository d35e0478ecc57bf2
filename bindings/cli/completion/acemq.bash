# bash completion for acemq. Source it, or install it as /usr/share/bash-completion/completions/acemq.
# shellcheck shell=bash

_acemq_options() {
    case $1 in
    demo) echo --fast ;;
    schedule) echo --queue ;;
    publish)
        echo --exchange --key --body --file --lines --type --id --correlation --header --content-type --count --timeout
        ;;
    consume) echo --exec --declare --retry --threshold --members --prefetch --max --idle --decode --idempotency --idempotency-table --lease ;;
    pending) echo --retry ;;
    peek) echo --max --force ;;
    replay) echo --max --parked --keep-attempts --id --filter --dry-run ;;
    dead) echo --parked --id --filter --max --yes ;;
    broker) echo --listen ;;
    idempotency) echo --table --after --max --timeout ;;
    schema) echo --idempotency-table --outbox-table ;;
    top) echo --retry --every --once ;;
    relay) echo --batch --every --lease --once --table ;;
    outbox)
        echo --exchange --key --body --file --type --id --correlation --header --content-type --table --max --older-than --timeout
        ;;
    esac
    echo --url --url-file --json --help
}

# _acemq_values OPTION: what may stand behind it. False when the option takes no value.
_acemq_values() {
    case $1 in
    --declare) echo yes verify ;;
    --idempotency) echo lmdb: postgresql:// memory: ;;
    --decode) echo json text msgpack bytes ;;
    --retry) echo none ;;
    --listen) echo 127.0.0.1:0 ;;
    --filter) echo id= type= correlation= causation= origin= error= contentType= header. ;;
    --url | --exchange | --key | --body | --type | --id | --correlation | --header | --content-type | --count | --timeout | \
        --exec | --threshold | --members | --prefetch | --max | --idle | --queue | --every | \
        --batch | --lease | --table | --older-than | --after | --idempotency-table | --outbox-table) ;;
    *) return 1 ;;
    esac
}

_acemq_arguments() {
    case $1 in
    topology) echo plan dry-run apply check ;;
    dead) echo list export import drop ;;
    outbox) echo add pending retired release purge ;;
    idempotency) echo size purge show ;;
    schema) echo postgres ;;
    schedule) echo none ;;
    esac
}

_acemq() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]-} values
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        values="version demo schedule time envelope publish consume pending peek replay dead topology broker top relay outbox idempotency schema --help --version"
    elif [[ $before == --file || $before == --url-file ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
    elif values=$(_acemq_values "$before"); then
        [[ $before == --filter ]] && compopt -o nospace 2>/dev/null
    elif [[ $word == -* ]]; then
        values=$(_acemq_options "$command")
    elif ((COMP_CWORD == 2)); then
        values=$(_acemq_arguments "$command")
    elif [[ $command == topology || $command == dead ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
}

complete -F _acemq acemq
