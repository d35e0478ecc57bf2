#!/bin/bash
# acemq top: one reading as JSON, and the live view on a terminal of its own.
# shellcheck source=tests/cli/lib/brokers.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/brokers.sh"

terminal=$(dirname -- "${BASH_SOURCE[0]}")/lib/terminal.py
readonly terminal policy='exponential(5, 10s, 5m)'

# on_terminal STEP... -- ARGUMENT...: acemq with these arguments on a terminal; see lib/terminal.py for the steps.
on_terminal() {
    local steps=()
    while [[ $1 != -- ]]; do
        steps+=("$1")
        shift
    done
    shift
    "$python" "$terminal" "${steps[@]}" -- "$ACEMQ_CLI" "$@"
}

# filled COMMAND...: on a queue with three messages, one in a rung, two dead letters and one parked.
filled() {
    export queue=$prefix.$RANDOM
    declare_queue "$queue" "\"deadLetter\": true, \"retry\": \"$policy\"" &&
        run 0 publish "$queue" --count 3 --body x && run 0 publish "$queue.retry.80s" --body x &&
        run 0 publish "$queue.dlq" --count 2 --body x && run 0 publish "$queue.parked" --body x && "$@"
}

one_reading() {
    run 0 top "$queue" "$queue.none" --once --json --retry "$policy" &&
        is 'sorted(d) == ["connection", "queues", "reason", "time"] and d["connection"] == "open"' &&
        is 'd["reason"] is None and abs(d["time"] / 1000 - __import__("time").time()) < 60' &&
        is "d['queues'][0] == {'queue': '$queue', 'exists': True, 'ready': 3, 'consumers': 0, 'deadLettered': 2,
            'parked': 1, 'rungs': [{'queue': '$queue.retry.40s', 'messages': 0},
                                   {'queue': '$queue.retry.80s', 'messages': 1}]}" &&
        is "d['queues'][1] == {'queue': '$queue.none', 'exists': False, 'ready': 0, 'consumers': 0, 'deadLettered': 0,
            'parked': 0, 'rungs': [{'queue': '$queue.none.retry.40s', 'messages': 0},
                                   {'queue': '$queue.none.retry.80s', 'messages': 0}]}"
}

consumers_are_counted() {
    start_process "$ACEMQ_CLI" consume "$queue" --exec 'sleep 100' 2>/dev/null
    await 30 has_consumer
}

has_consumer() {
    run 0 top "$queue" --once --json && is 'd["queues"][0]["consumers"] == 1' 2>/dev/null
}

as_text() {
    run 0 top "$queue" --once && out_has "         3         0         0         2         1  $queue"
}

live_view() {
    on_terminal "see acemq top  open" "see         3" "see $queue" "see DEAD" "key q" "end 0" restored -- \
        top "$queue" --every 200ms
}

what_changes_is_seen() {
    on_terminal "see         3" "run '$ACEMQ_CLI' publish '$queue' --body x" "see         4" "key q" "end 0" -- \
        top "$queue" --every 100ms
}

rungs_are_shown() {
    on_terminal "see $queue.retry.80s" "key q" "end 0" -- top "$queue" --retry "$policy"
}

interrupted() {
    on_terminal "see $queue" "signal SIGINT" "end 0" restored -- top "$queue"
}

crashed() {
    on_terminal "see $queue" "signal SIGSEGV" "end 139" restored -- top "$queue"
}

keys_and_size() {
    on_terminal "see sort: name" "key s" "see sort: ready" "key p" "see PAUSED" "key p" "gone PAUSED" "size 10 100" "see q quit" \
        "size 30 132" "see q quit" "key r" "see $queue" "key q" "end 0" restored -- top "$queue"
}

colours_obey() {
    on_terminal "see $queue" coloured "key q" "end 0" -- top "$queue" &&
        NO_COLOR=1 on_terminal "see $queue" "see         3" plain "key q" "end 0" -- top "$queue"
}

# A broker that goes away is told, and keys are answered meanwhile.
broker_gone() {
    local broker address
    start_process "$ACEMQ_CLI" broker --listen 127.0.0.1:0 >"$scratch/short-lived"
    broker=$started
    await 20 test -s "$scratch/short-lived" || return
    address=$(cat "$scratch/short-lived")
    on_terminal "see acemq top  open" "run kill $broker" "see reconnecting" "key q" "end 0" restored -- \
        top some.queue --every 100ms --url "$address"
}

wrong_use() {
    run 2 top "$queue" && err_has "needs a terminal" && run 2 top "$queue" --json && err_has "--once" &&
        run 2 top "$queue" --once --every 1ms && run 2 top "$queue" --once --retry sometimes
}

tests() {
    check "one reading has what is known to be there" filled one_reading
    check "one reading as text" filled as_text
    check "consumers are counted" filled consumers_are_counted
    check "without a queue it shows what has the same name everywhere" both run 0 top --once --json :: is 'd["queues"] == []'
    check "the live view shows it, and q ends it" filled live_view
    check "what changes is seen" filled what_changes_is_seen
    check "the rungs of a policy are shown" filled rungs_are_shown
    check "Ctrl-C ends it and gives the terminal back" filled interrupted
    check "keys and another size of the terminal" filled keys_and_size
}

on_each_broker tests
start_memory_broker && ACEMQ_URL=$(cat "$scratch/broker") && export ACEMQ_URL prefix=cli.$$.$RANDOM
check "a crash gives the terminal back" filled crashed
check "colours, and none with NO_COLOR" filled colours_obey
check "used wrongly" filled wrong_use
check "a broker that is gone" broker_gone
finish
