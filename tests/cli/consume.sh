#!/bin/bash
# acemq consume: commands and their exit statuses, retries, how it ends.
# What stands in single quotes is expanded by the commands that are run.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib/brokers.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/brokers.sh"

readonly quick='fixed(3, 100ms)'                       # waits in the consumer
readonly by_rung='fixed(3, 300ms).threshold(300ms)'    # waits in the broker

publish() {
    run 0 publish "$queue" --timeout 20s "$@"
}

# counted EXPRESSION: of the counters that consume printed.
counted() {
    is "list(d) == ['acknowledged', 'rejected', 'retried', 'deadLettered', 'duplicates', 'parked'] and ($1)"
}

# What a command is told, and what it gets.
environment_and_body() {
    publish --body 'the body' --id id-1 --type order.placed --correlation c-1 --content-type text/plain \
        --header x-tenant=acme &&
        ACEMQ_CAUSATION=inherited run 0 consume "$queue" --max 1 --json --exec \
            'cat; echo; env | grep ^ACEMQ_ | sort' &&
        counted 'd["acknowledged"] == 1' && err_has "the body" && err_has "ACEMQ_ID=id-1" &&
        err_has "ACEMQ_TYPE=order.placed" && err_has "ACEMQ_ATTEMPT=1" && err_has "ACEMQ_CORRELATION=c-1" &&
        err_has "ACEMQ_QUEUE=$queue" && err_has "ACEMQ_CONTENT_TYPE=text/plain" && err_has "ACEMQ_ROUTING_KEY=$queue" &&
        err_has 'ACEMQ_HEADERS={"x-tenant":"acme"}' && lacks "$scratch/err" inherited
}

binary_bodies() {
    head -c 2000000 /dev/urandom >"$scratch/body"
    publish --file "$scratch/body" && run 0 consume "$queue" --max 1 --json --exec "cat >'$scratch/got'" &&
        cmp "$scratch/body" "$scratch/got"
}

# Nothing more may be delivered while the last one is settled: a quorum queue would put that to its end.
one_at_a_time_keeps_the_order_of_a_quorum_queue() {
    local quorum=$queue.quorum
    echo "{\"queues\": [{\"name\": \"$quorum\"}]}" >"$scratch/queue.json"
    : >"$scratch/order"
    seq 1 6 >"$scratch/lines"
    run 0 topology apply "$scratch/queue.json" && run 0 publish "$quorum" --lines --file "$scratch/lines" --timeout 20s || return
    for _ in 1 2 3 4 5 6; do
        run 0 consume "$quorum" --max 1 --json --exec "cat >>'$scratch/order'; echo >>'$scratch/order'" || return
    done
    cmp "$scratch/lines" "$scratch/order"
}

a_command_that_reads_nothing() {
    head -c 2000000 /dev/urandom >"$scratch/body"
    publish --file "$scratch/body" && run 0 consume "$queue" --max 1 --json --exec 'exec true' &&
        counted 'd["acknowledged"] == 1'
}

dead_letter_is() {
    run 0 dead list "$queue" --json "${@:2}" && is "len(d) == 1 and ($1)"
}

# ends_with STATUS COMMAND EXPRESSION ERROR [--parked]: where a message goes, with which error.
fails_with() {
    publish --body x && run 0 consume "$queue" --idle 300ms --json --exec "$1" && counted "$2" &&
        dead_letter_is "d[0]['envelope']['error'] == '$3' and d[0]['envelope']['attempt'] == 1" "${@:4}" &&
        pending "$queue" 'd["ready"] == 0 and d["deadLettered"] + d["parked"] == 1'
}

# The whole line is the reason: what no frame holds of it is cut by the library, which says so.
a_line_of() {
    publish --body x && run 0 consume "$queue" --max 1 --json --exec "head -c $1 /dev/zero | tr '\\0' a >&2; exit 3" &&
        dead_letter_is "$2"
}

# Each command waits until all four run.
members_share_what_is_delivered() {
    mkdir -p "$scratch/$queue" && publish --body x --count 4 &&
        run 0 consume "$queue" --members 4 --max 4 --json --exec "touch '$scratch/$queue/'\$ACEMQ_ID
            tries=0; while [ \$(ls '$scratch/$queue' | wc -l) -lt 4 ]; do
                tries=\$((tries + 1)); [ \$tries -lt 100 ] || exit 1; sleep 0.1
            done" && counted 'd["acknowledged"] == 4'
}

exactly_three_attempts() {
    publish --body x --count 5 && run 0 consume "$queue" --retry "$1" --members 2 --idle 1s --json \
        --exec "echo \$ACEMQ_ID \$ACEMQ_ATTEMPT >>'$scratch/attempts'; echo broken >&2; exit 1" &&
        counted 'd["retried"] == 10 and d["rejected"] == 15 and d["deadLettered"] == 5 and d["acknowledged"] == 0' &&
        test "$(awk '{ print $2 }' "$scratch/attempts" | sort | uniq -c | tr -s ' \n' ' ')" = " 5 1 5 2 5 3 " &&
        run 0 dead list "$queue" --json && is 'len(d) == 5 and {m["envelope"]["attempt"] for m in d} == {3}' &&
        is '{m["envelope"]["error"] for m in d} == {"exhausted 3 attempts: broken"}'
    local status=$?
    rm -f "$scratch/attempts"
    return "$status"
}

succeeds_at_the_second() {
    publish --body x --id id-2 && run 0 consume "$queue" --retry "$1" --idle 1s --json \
        --exec 'test "$ACEMQ_ATTEMPT" = 2 && echo "$ACEMQ_ID came back" >&2' &&
        counted 'd["acknowledged"] == 1 and d["retried"] == 1 and d["deadLettered"] == 0' && err_has "id-2 came back" &&
        pending "$queue" 'd["ready"] == d["deadLettered"] == d["parked"] == 0'
}

threshold_of_the_policy() {
    publish --body x && run 0 consume "$queue" --retry 'fixed(2, 300ms)' --threshold 300ms --idle 1s --json \
        --exec 'exit 1' && counted 'd["retried"] == 1' &&
        run 0 pending "$queue" --retry 'fixed(2, 300ms).threshold(300ms)' --json &&
        is "d['rungs'] == [{'queue': '$queue.retry.300ms', 'messages': 0}] and d['deadLettered'] == 1" &&
        run 1 peek "$queue.retry.300ms" && err_has "rung"
}

# A wait held here is no idleness.
idle_waits_for_what_waits_here() {
    publish --body x && run 0 consume "$queue" --retry 'fixed(2, 1500ms).jitter(0)' --idle 300ms --json \
        --exec 'test "$ACEMQ_ATTEMPT" = 2' && counted 'd["acknowledged"] == 1 and d["retried"] == 1'
}

what_does_not_decode_is_parked() {
    publish --body '{"a":' --content-type application/json && publish --body '{"a":1}' --content-type application/json &&
        run 0 consume "$queue" --decode json --idle 500ms --json --exec 'cat; exit 0' &&
        counted 'd["parked"] == 1 and d["acknowledged"] == 1' && err_has '{"a":1}' &&
        dead_letter_is 'd[0]["envelope"]["error"].startswith("could not be decoded: ")' --parked
}

# No more than that are handled, whoever of the members is quicker; the others lie as they lay.
at_most_so_many() {
    publish --body x --count 30 && run 0 consume "$queue" --max 7 --members 3 --json --exec 'exit 0' &&
        counted 'd["acknowledged"] == 7' && await 10 pending "$queue" 'd["ready"] == 23' >"$scratch/ignored"
}

printed_without_a_command() {
    publish --body $'first line\nsecond \e[31mline' --type order.placed && run 0 consume "$queue" --max 1 &&
        out_has order.placed && out_has "first line" && lacks "$scratch/out" $'\e' &&
        publish --body 'to standard error' && run 0 consume "$queue" --max 1 --json && counted 'd["acknowledged"] == 1' &&
        err_has "to standard error"
}

# What could not be printed is not acknowledged.
unprintable_goes_back() {
    local status=0
    publish --body x || return
    timeout 30 "$ACEMQ_CLI" consume "$queue" --max 1 >/dev/full 2>"$scratch/err" || status=$?
    ((status == 1)) && await 10 pending "$queue" 'd["ready"] == 1' >"$scratch/ignored"
}

# interrupted SIGNAL COMMAND: consume ends with 0 soon after the signal, and the message went back unchanged.
interrupted() {
    local status=0 started
    publish --body x --id id-3 || return
    rm -f "$scratch/running"
    "$ACEMQ_CLI" consume "$queue" --retry "$quick" --json --exec "$2" >"$scratch/interrupted" 2>"$scratch/err" &
    local consumer=$!
    await 20 test -e "$scratch/running" || return
    started=$SECONDS
    kill "-$1" "$consumer"
    wait "$consumer" || status=$?
    echo "# ended with $status after $((SECONDS - started)) s"
    ((status == 0 && SECONDS - started < 15)) &&
        json "$scratch/interrupted" 'd["acknowledged"] == d["rejected"] == d["retried"] == 0' &&
        await 10 pending "$queue" 'd["ready"] == 1' >"$scratch/ignored" &&
        run 0 peek "$queue" --json && is 'd[0]["envelope"]["attempt"] == 1 and d[0]["envelope"]["id"] == "id-3"'
}

polite_end() {
    interrupted "$1" "trap 'touch \"$scratch/asked\"; exit 1' TERM; touch '$scratch/running'; sleep 60 & wait" &&
        test -e "$scratch/asked" && rm "$scratch/asked"
}

# A command that does not end by itself is ended.
forced_end() {
    interrupted INT "trap '' TERM; touch '$scratch/running'; while :; do sleep 1; done"
}

idle_when_interrupted() {
    local status=0
    "$ACEMQ_CLI" consume "$queue" --json >"$scratch/interrupted" 2>"$scratch/err" &
    local consumer=$!
    await 20 is_attended >"$scratch/ignored" || return
    kill -INT "$consumer"
    wait "$consumer" || status=$?
    ((status == 0)) && json "$scratch/interrupted" 'd["acknowledged"] == 0'
}

is_attended() {
    run 0 top "$queue" --once --json && is 'd["queues"][0]["consumers"] == 1'
}

killed_command_fails() {
    publish --body x && run 0 consume "$queue" --idle 300ms --json --exec 'kill -KILL $$' && counted 'd["deadLettered"] == 1'
}

verify_declares_nothing() {
    run 1 consume "$queue" --declare verify --retry "$by_rung" --idle 200ms --json && err_has "$queue" &&
        pending "$queue" 'd["ready"] == 0' && run 1 peek "$queue.dlq" && err_has not_found &&
        run 0 consume "$queue" --retry "$by_rung" --idle 200ms --json &&
        run 0 consume "$queue" --declare verify --retry "$by_rung" --idle 200ms --json
}

a_command_with_children() {
    publish --body x && run 0 consume "$queue" --max 1 --json --exec 'sleep 30 & echo >&2 left it running' &&
        counted 'd["acknowledged"] == 1'
}

on_broker() {
    check "a command gets the body and the envelope" with_queue environment_and_body
    check "a binary body arrives whole" with_queue binary_bodies
    check "--max keeps the order of a quorum queue" with_queue one_at_a_time_keeps_the_order_of_a_quorum_queue
    check "members share what is delivered" with_queue members_share_what_is_delivered
    check "a command need not read its input" with_queue a_command_that_reads_nothing
    check "a failure is dead-lettered with its last line" with_queue fails_with 'echo one >&2; echo two >&2; exit 3' \
        'd["deadLettered"] == 1 and d["rejected"] == 1' 'exhausted 1 attempts: two'
    check "a long last line is the reason whole" with_queue a_line_of 20000 \
        'd[0]["envelope"]["error"] == "exhausted 1 attempts: " + 20000 * "a"'
    check "a last line that fits no frame ends in dots" with_queue a_line_of 200000 \
        'd[0]["envelope"]["error"].endswith("a...") and 100000 < len(d[0]["envelope"]["error"]) < 131072'
    check "a failure without a word" with_queue fails_with 'exit 3' 'd["deadLettered"] == 1' \
        'exhausted 1 attempts: no reason given'
    check "standard output is no reason" with_queue fails_with 'echo hello; exit 3' 'd["deadLettered"] == 1' \
        'exhausted 1 attempts: no reason given'
    check "64 parks" with_queue fails_with 'echo why >&2; exit 64' 'd["parked"] == 1' 'the handler parked it: why' --parked
    check "65 rejects" with_queue fails_with 'echo why >&2; exit 65' 'd["deadLettered"] == 1' \
        'the handler reported an unprocessable message: why'
    check "a command that a signal ends has failed" with_queue killed_command_fails
    check "a command may leave something running" with_queue a_command_with_children
    check "three attempts, waiting here" with_queue exactly_three_attempts "$quick"
    check "three attempts, waiting in the broker" with_queue exactly_three_attempts "$by_rung"
    check "a success at the second attempt, waiting here" with_queue succeeds_at_the_second "$quick"
    check "a success at the second attempt, waiting in the broker" with_queue succeeds_at_the_second "$by_rung"
    check "--threshold moves waits to the broker" with_queue threshold_of_the_policy
    check "what waits here is no idleness" with_queue idle_waits_for_what_waits_here
    check "what does not decode is parked" with_queue what_does_not_decode_is_parked
    check "at most so many are handled" with_queue at_most_so_many
    check "messages are printed, and cannot steer the terminal" with_queue printed_without_a_command
    check "what cannot be printed goes back" with_queue unprintable_goes_back
    check "Ctrl-C asks the command to end, its message goes back" with_queue polite_end INT
    check "SIGTERM does the same" with_queue polite_end TERM
    check "a command that does not end is ended" with_queue forced_end
    check "Ctrl-C without a message" with_queue idle_when_interrupted
    check "--declare verify declares nothing" with_queue verify_declares_nothing
    check "a queue that is missing" both run 1 consume "$prefix.none" --json :: err_has "not_found"
}

on_each_broker on_broker
finish
