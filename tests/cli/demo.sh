#!/bin/bash
# acemq demo: the story is told whole, on both brokers, and leaves nothing behind.
# shellcheck source=tests/cli/lib/brokers.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/brokers.sh"

# The steps as a table would have them.
story_is_whole() {
    is 'd["ok"] is True and all(step["ok"] for step in d["steps"])' &&
        is '[s["outcome"] for s in d["steps"]] == ["confirmed", "acknowledged", "parked", "retried", "retried", "acknowledged",
            "dead-lettered", "add up", "replayed", "acknowledged", "1 parked"]' &&
        is '[s["attempt"] for s in d["steps"] if s["order"] == 2] == [1, 2, 3]' &&
        is 'len({s["id"] for s in d["steps"] if s["order"] == 3}) == 1' &&
        is 'd["steps"][4]["queue"] == d["steps"][0]["queue"] + ".retry.800ms"' &&
        is 'd["steps"][6]["queue"] == d["steps"][0]["queue"] + ".dlq"'
}

# leaves_nothing: not one of its queues is there.
leaves_nothing() {
    local queue
    queue=$("$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["steps"][0]["queue"])' "$scratch/out")
    for name in "$queue" "$queue.dlq" "$queue.parked" "$queue.retry.800ms"; do
        run 1 pending "$name" && err_has not_found || return
    done
}

told_fast() {
    run 0 demo --fast --json "$@" && story_is_whole && is_empty "$scratch/err"
}

elsewhere() {
    told_fast --url "$ACEMQ_URL" && is 'd["steps"][0]["queue"].startswith("acemq.demo.")' && leaves_nothing
}

two_at_once() {
    "$ACEMQ_CLI" demo --fast --url "$ACEMQ_URL" >"$scratch/other" 2>&1 &
    local other=$!
    elsewhere && wait "$other" && has "$scratch/other" "All of it happened"
}

interrupted() {
    local status=0
    "$ACEMQ_CLI" demo --url "$ACEMQ_URL" --json >"$scratch/out" 2>"$scratch/err" &
    local demo=$!
    await 20 grep -q '"order":2' "$scratch/out" || return
    kill -INT "$demo"
    wait "$demo" || status=$?
    ((status == 1)) && is 'd["ok"] is False' && sed -i 's/800ms/4s/' "$scratch/out" && leaves_nothing
}

check "in memory, without a broker" told_fast
whatever_the_variable() {
    ACEMQ_URL=amqp://127.0.0.1:1/ told_fast
}
check "in memory, whatever ACEMQ_URL says" whatever_the_variable
check "for a person" both run 0 demo --fast :: out_has "order 3 runs out of attempts"
check "with waits of seconds" run 0 demo

on_broker() {
    check "told on another broker, and cleaned up" elsewhere
    check "two at once on one broker" two_at_once
    check "interrupted, and cleaned up" interrupted
}
on_each_broker on_broker
check "a broker that is away" both run 1 demo --url amqp://127.0.0.1:1/ :: err_has "acemq: unreachable: "
finish
