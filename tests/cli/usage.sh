#!/bin/bash
# How the command line is used, and used wrongly: exit statuses, help, what goes where.
# shellcheck source=tests/cli/lib/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/tap.sh"

readonly commands=(version demo schedule time envelope publish consume pending peek replay dead topology broker top relay outbox idempotency schema)

listed_commands() {
    run 0 --help && sed -n '/^Commands:/,/^$/p' "$scratch/out" | awk '/^  [a-z]/ { print $1 }' | tr '\n' ' '
}

help_is_complete() {
    run 0 "$1" --help && out_has "usage: acemq $1" && out_has "--json" && out_has "--url-file" &&
        out_has "Exit status" && is_empty "$scratch/err"
}

# Without anything to connect to, help is still given.
help_needs_no_broker() {
    run 0 publish --help --url amqp://127.0.0.1:1/
}

wrong() {
    run 2 "$@" </dev/null && is_empty "$scratch/out" && err_has "acemq"
}

check "the commands are those of this version" test "$(listed_commands)" = "${commands[*]} "
check "no command is used wrongly" wrong
check "an unknown command is used wrongly" wrong frobnicate
for command in "${commands[@]}"; do
    check "$command has help" help_is_complete "$command"
    check "$command refuses an unknown option" both wrong "$command" --frobnicate :: err_has --frobnicate
done
check "help needs no broker" help_needs_no_broker
check "-h is --help" both run 0 time -h :: out_has "usage: acemq time"
check "help stands behind wrong arguments too" run 0 time one two --help
check "-- ends the options" both run 2 time -- --help :: err_has "parse"

check "an argument is missing" both wrong consume :: err_has QUEUE
check "an argument is too many" wrong pending one two
check "a value is missing" both wrong publish q --body :: err_has --body
check "a flag takes no value" both wrong publish q --lines=yes :: err_has --lines
check "a value may stand behind =" both run 0 schedule none --queue=other --json :: is 'd["maxAttempts"] == 1'
check "a value may begin with dashes" both run 0 schedule 'fixed(2, 1m)' --queue --odd --json :: \
    is 'd["rungs"][0]["queue"] == "--odd.retry.1m"'
check "a number out of range" both wrong consume q --prefetch 65536 :: err_has "65535"
check "no number" wrong publish q --count 1x
check "no number, though strtol would take it" wrong publish q --count " 1"
check "a number too large for any integer" wrong publish q --count 99999999999999999999
check "no duration" both wrong publish q --timeout 5 :: err_has --timeout
check "a duration of 0 where none may be" wrong publish q --timeout 0
check "no policy" both wrong consume q --retry 'fixed(0, 1s)' :: err_has "position 7"
check "no choice" both wrong consume q --decode xml :: err_has "json|text|msgpack|bytes"
check "part of a choice" wrong consume q --declare y
check "a choice that is only a separator" wrong consume q --declare "|"
check "an empty store" wrong consume q --idempotency ""
check "no lease" both wrong consume q --idempotency lmdb:x --lease 0 :: err_has --lease
check "a store of another kind" both run 1 consume q --idempotency redis://h :: err_has "lmdb:PATH"
check "idempotency has no other action" both wrong idempotency burn lmdb:x :: err_has "size, purge, show"
check "idempotency needs a store" wrong idempotency size
check "schema knows PostgreSQL alone" both wrong schema mysql :: err_has mysql
check "schema takes no name that needs quotes" both wrong schema postgres --outbox-table "a b" :: err_has "A-Z"
check "--url and --url-file exclude each other" wrong pending q --url amqp://h --url-file x
check "an empty URL" wrong pending q --url ""

check "publish needs a queue or an exchange" wrong publish --body x
check "publish takes no queue with an exchange" wrong publish q --exchange e --key k --body x
check "publish takes no key with a queue" wrong publish q --key k --body x
check "publish takes no body with lines" wrong publish q --body x --lines
check "publish takes no count with lines" wrong publish q --lines --count 2
check "publish takes no header without a value" wrong publish q --body x --header name
check "publish takes no header without a name" wrong publish q --body x --header =value
check "replay takes no filter on an unknown field" wrong replay q --filter colour=red
check "replay takes no filter without a pattern" wrong replay q --filter type
check "replay takes no header filter without a name" wrong replay q --filter header.=x
check "dead has no other action" wrong dead bury q
check "dead takes the queue's own name" both wrong dead list q.dlq :: err_has "failure queue"
check "dead drop needs to be told which" both wrong dead drop q --yes :: err_has --filter
check "dead drop needs --yes where nobody can be asked" both wrong dead drop q --id x :: err_has --yes
check "dead list takes no file" wrong dead list q file
check "topology has no other action" wrong topology destroy file
check "broker needs an address" wrong broker
for address in 127.0.0.1 127.0.0.1: :5672 127.0.0.1:x 127.0.0.1:65536 127.0.0.1:-1 ::1:5672 '[]:1'; do
    check "broker takes no address like $address" wrong broker --listen "$address"
done

check "the version as JSON" both run 0 version --json :: \
    is 'list(d) == ["library", "abi", "rabbitmqC", "openssl", "lmdb", "msgpack"] and d["library"] and d["rabbitmqC"]'
check "the version for a person" both run 0 version :: out_has "acemq "
check "--version is version" both run 0 --version :: out_has "acemq "

# What cannot be printed was not done.
full_output() {
    local status=0
    "$ACEMQ_CLI" version >/dev/full 2>"$scratch/err" || status=$?
    ((status == 1)) && err_has "standard output"
}
check "a full disk is a failure" full_output

# A terminal has colours, unless they are not wanted; anything else never has.
on_terminal() {
    TERM=xterm script --quiet --return --command "$1" /dev/null </dev/null >"$scratch/out" 2>/dev/null
}
readonly escape=$'\033['
check "colours on a terminal" both on_terminal "$ACEMQ_CLI schedule 'fixed(2, 1s)'" :: out_has "$escape"
check "NO_COLOR is obeyed" both on_terminal "NO_COLOR=1 $ACEMQ_CLI schedule 'fixed(2, 1s)'" :: \
    lacks "$scratch/out" "$escape"
check "no colours in a file" both run 0 schedule 'fixed(2, 1s)' :: lacks "$scratch/out" "$escape"

readonly password=s3cr3t-w0rd
no_password() {
    "$@" && lacks "$scratch/out" "$password" && lacks "$scratch/err" "$password"
}
echo "amqp://user:$password@127.0.0.1:1/" >"$scratch/url"
check "an unreachable broker fails with its name" both no_password run 1 pending q \
    --url "amqp://user:$password@127.0.0.1:1/" :: err_has "acemq: unreachable: "
check "the URL can stand in a file" both no_password run 1 pending q --url-file "$scratch/url" :: err_has "127.0.0.1:1"
check "a URL file that is missing" both run 1 pending q --url-file "$scratch/none" :: err_has "$scratch/none"
: >"$scratch/empty"
check "a URL file that is empty" both run 1 pending q --url-file "$scratch/empty" :: err_has "no URL"
check "a URL that does not read" both no_password run 1 pending q --url "amqp://user:$password@h:0/" :: err_has port
check "a URL of another kind" no_password run 1 pending q --url "http://user:$password@h/"
env_url() {
    ACEMQ_URL=$1 no_password run 1 pending q
}
check "ACEMQ_URL is the broker when none is given" both env_url "amqp://user:$password@127.0.0.1:1/" :: \
    err_has "127.0.0.1:1"

finish
