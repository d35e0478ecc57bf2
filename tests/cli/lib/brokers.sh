# The two brokers that the scripts run against: our memory broker, and the RabbitMQ of ACEMQ_TEST_URL.
# shellcheck shell=bash
# shellcheck source=tests/cli/lib/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/tap.sh"

: "${ACEMQ_TEST_URL:?the RabbitMQ to test against, which packaging/test names}"

# on_each_broker FUNCTION: runs it with ACEMQ_URL set. $prefix begins names that no other run has.
on_each_broker() {
    export prefix=cli.$$.$RANDOM
    label="memory broker: "
    if start_memory_broker; then
        ACEMQ_URL=$(cat "$scratch/broker") && export ACEMQ_URL
        "$1"
    else
        verdict "starts" 1
    fi
    label="RabbitMQ: "
    export ACEMQ_URL=$ACEMQ_TEST_URL
    "$1"
    label=
    unset ACEMQ_URL
}

start_memory_broker() {
    start_process "$ACEMQ_CLI" broker --listen 127.0.0.1:0 >"$scratch/broker"
    await 20 test -s "$scratch/broker"
}

# declare_queue NAME [MEMBERS]: a classic queue, whose counts are exact at once; MEMBERS are more of its JSON.
declare_queue() {
    echo "{\"queues\": [{\"name\": \"$1\", \"type\": \"classic\"${2:+, $2}}]}" >"$scratch/queue.json"
    run 0 topology apply "$scratch/queue.json"
}

# with_queue COMMAND...: on a queue of its own, in $queue.
with_queue() {
    export queue=$prefix.$RANDOM
    declare_queue "$queue" && "$@"
}

# pending QUEUE EXPRESSION: what `acemq pending` says; d is its document.
pending() {
    run 0 pending "$1" --json && is "$2"
}
