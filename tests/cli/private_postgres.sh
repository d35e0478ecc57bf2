#!/bin/bash
# packaging/postgres itself: the tests' PostgreSQL starts whatever an earlier run left, and takes nothing from anybody.
# shellcheck source=tests/cli/lib/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/tap.sh"
# shellcheck source=packaging/lib/ports.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../../packaging/lib/ports.sh"

: "${ACEMQ_TEST_POSTGRES_CONTROL:?packaging/postgres, which packaging/test names}"

export ACEMQ_POSTGRES_HOME=$scratch/home
readonly home=$ACEMQ_POSTGRES_HOME
chmod 755 "$scratch"

control() {
    "$ACEMQ_TEST_POSTGRES_CONTROL" "$@" >"$scratch/out" 2>"$scratch/err" && return
    sed 's/^/# /' "$scratch/err"
    return 1
}

remove_server() {
    control remove
    ACEMQ_POSTGRES_HOME=$scratch/other control remove
    clean_up
}
trap remove_server EXIT

# One that ended and was not collected yet has no command line.
has_ended() {
    [[ -z $(tr -d '\0' 2>/dev/null <"/proc/$1/cmdline") ]] 2>/dev/null
}

server() {
    head -n 1 "$(cat "$home/data-folder")/cluster/postmaster.pid"
}

# The script's own choice of ports, but for the first one, which a stranger listens on.
starts_beside_who_was_quicker() {
    taken=$(free_ports 1)
    start_process "$python" -c '
import pathlib, signal, socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
pathlib.Path(sys.argv[2]).touch()
signal.pause()' "$taken" "$scratch/listening"
    await 20 test -e "$scratch/listening" || return
    cat >"$scratch/ports.bash" <<'STUB'
free_ports() {
    if [[ ! -e $scratch/chosen ]]; then
        touch "$scratch/chosen"
        echo "$taken"
    else
        BASH_ENV='' bash -c 'source "$ports"; free_ports 1'
    fi
}
readonly -f free_ports
STUB
    ports=$(dirname -- "$ACEMQ_TEST_POSTGRES_CONTROL")/lib/ports.sh
    export scratch taken ports
    BASH_ENV=$scratch/ports.bash control start && [[ -e $scratch/chosen && $(cat "$home/port") != "$taken" ]] && control status
}

starting_at_once_is_once() {
    local others=() process
    control kill || return
    for _ in 1 2; do
        "$ACEMQ_TEST_POSTGRES_CONTROL" start >/dev/null 2>&1 &
        others+=("$!")
    done
    for process in "${others[@]}"; do
        wait "$process" || return
    done
    control status
}

# Of a server that was killed, the number in its file may be somebody else's, and so may its port.
does_not_take_another_for_its_own() {
    local other=$scratch/other port
    port=$(cat "$home/port")
    ! ACEMQ_POSTGRES_HOME=$other control status >/dev/null || return
    ACEMQ_POSTGRES_HOME=$other control start && ACEMQ_POSTGRES_HOME=$other control kill || return
    echo "$port" >"$other/port"
    printf '%s\n\n\n%s\n' "$started" "$port" >"$(cat "$other/data-folder")/cluster/postmaster.pid"
    ! ACEMQ_POSTGRES_HOME=$other control status >/dev/null &&
        ACEMQ_POSTGRES_HOME=$other control start && [[ $(cat "$other/port") != "$port" ]] &&
        ACEMQ_POSTGRES_HOME=$other control remove && [[ ! -e $other ]]
}

nothing_is_left() {
    local data process
    data=$(cat "$home/data-folder") process=$(server)
    control remove && [[ ! -e $home && ! -e $data ]] && await 20 has_ended "$process"
}

check "a port that somebody takes first is left for another" starts_beside_who_was_quicker
check "started twice at once, it runs once" starting_at_once_is_once
check "another server on its port is not taken for its own" does_not_take_another_for_its_own
check "removed, nothing of it is left" nothing_is_left
check "the stranger was left alone" kill -0 "$started"
finish
