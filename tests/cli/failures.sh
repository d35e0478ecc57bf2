#!/bin/bash
# acemq pending, peek, replay and dead: looking at what failed, keeping it, and bringing it home.
# What stands in single quotes is expanded by the commands that are run.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib/brokers.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/brokers.sh"

publish() {
    run 0 publish "$queue" --timeout 20s "$@"
}

consume() {
    run 0 consume "$queue" --idle 300ms --json "$@"
}

# Four dead letters: ids 1 to 4, types order.placed, order.paid, invoice.sent, order.placed; tenants acme and other.
four_dead_letters() {
    publish --body one --id 1 --type order.placed --header x-tenant=acme &&
        publish --body two --id 2 --type order.paid --header x-tenant=other &&
        publish --body three --id 3 --type invoice.sent --header x-tenant=acme &&
        publish --body four --id 4 --type order.placed --header x-tenant=other &&
        consume --exec 'echo "broken $ACEMQ_ID" >&2; exit 1' && pending "$queue" 'd["deadLettered"] == 4'
}

# dead_ids EXPRESSION, home_ids EXPRESSION: of the ids in .dlq and in the queue itself, in their order.
dead_ids() {
    run 0 dead list "$queue" --json && is "[m['envelope']['id'] for m in d] == $1"
}

home_ids() {
    run 0 peek "$queue" --json && is "[m['envelope']['id'] for m in d] == $1"
}

# --- pending ---

nothing_pending() {
    pending "$queue" "d == {'queue': '$queue', 'ready': 0, 'deadLettered': 0, 'parked': 0, 'rungs': []}" &&
        run 0 pending "$queue" --retry 'exponential(5, 10s, 5m)' --json &&
        is "d['rungs'] == [{'queue': '$queue.retry.' + r, 'messages': 0} for r in ('40s', '80s')]"
}

waiting_in_a_rung() {
    local policy='fixed(2, 1h)'
    publish --body x && run 0 consume "$queue" --retry "$policy" --idle 300ms --json --exec 'exit 1' &&
        run 0 pending "$queue" --retry "$policy" --json &&
        is "d['rungs'] == [{'queue': '$queue.retry.1h', 'messages': 1}] and d['ready'] == 0 and d['deadLettered'] == 0" &&
        run 0 pending "$queue" --retry "$policy" && out_has "1  waiting in $queue.retry.1h"
}

# --- peek ---

peek_leaves_all_in_order() {
    publish --body one --id 1 && publish --body two --id 2 && publish --body three --id 3 &&
        home_ids '["1", "2", "3"]' && home_ids '["1", "2", "3"]' && pending "$queue" 'd["ready"] == 3' &&
        run 0 peek "$queue" --max 2 --json && is '[m["body"] for m in d] == ["one", "two"]' && home_ids '["1", "2", "3"]' &&
        run 0 peek "$queue" && out_has three
}

peek_shows_ten() {
    publish --body x --count 12 && run 0 peek "$queue" --json && is 'len(d) == 10'
}

peek_members() {
    printf '\377\376' | run 0 publish "$queue" --header text=caf$'\xc3\xa9' && run 0 peek "$queue" --json &&
        is 'list(d[0]) == ["envelope", "headers", "properties", "bodyBase64"] and d[0]["bodyBase64"] == "//4="' &&
        is 'd[0]["headers"] == {"text": "café"}' &&
        is '" ".join(d[0]["properties"]) == "messageId contentType contentEncoding deliveryMode priority replyTo correlationId type timestamp appId"' &&
        is 'd[0]["properties"]["priority"] is None and d[0]["envelope"]["attempt"] == 1 and d[0]["envelope"]["firstSeen"] > 0'
}

peek_at_nothing() {
    run 0 peek "$queue" --json && is 'd == []'
}

peek_into_a_quorum_queue() {
    local quorum=$queue.quorum
    echo "{\"queues\": [{\"name\": \"$quorum\"}]}" >"$scratch/queue.json"
    run 0 topology apply "$scratch/queue.json" && run 0 publish "$quorum" --body x --timeout 20s &&
        run 1 peek "$quorum" --json && is_empty "$scratch/out" && err_has "acemq: state: " &&
        run 0 peek "$quorum" --force --json && is 'len(d) == 1 and d[0]["body"] == "x"'
}

# --- replay ---

replay_brings_home() {
    four_dead_letters && run 0 replay "$queue" --json && is 'd == {"replayed": 4, "declined": 0, "left": 0, "error": None}' &&
        home_ids '["1", "2", "3", "4"]' && is '[m["body"] for m in d] == ["one", "two", "three", "four"]' &&
        is "all(m['envelope']['attempt'] == 1 and m['envelope']['error'] is None for m in d)" &&
        is "all(m['envelope']['replayedFrom'] == '$queue.dlq' and m['envelope']['replayCount'] == 1 for m in d)" &&
        is 'd[0]["headers"]["x-tenant"] == "acme" and d[0]["envelope"]["type"] == "order.placed"' &&
        consume --exec 'exit 0' && is 'd["acknowledged"] == 4'
}

replay_moves_nothing_dry() {
    four_dead_letters && run 0 replay "$queue" --dry-run --filter 'type=order.*' --json &&
        is 'd["replayed"] == 3 and d["declined"] == 1 and d["left"] == 4' && dead_ids '["1", "2", "3", "4"]' &&
        pending "$queue" 'd["ready"] == 0'
}

replay_takes_what_matches() {
    four_dead_letters && run 0 replay "$queue" --filter header.x-tenant=acme --filter 'type=order.*' --json &&
        is 'd["replayed"] == 1 and d["declined"] == 3 and d["left"] == 3' && home_ids '["1"]' &&
        dead_ids '["2", "3", "4"]' && run 0 replay "$queue" --filter 'error=*broken 3' && home_ids '["1", "3"]' &&
        run 0 replay "$queue" --filter header.none=* --json && is 'd["replayed"] == 0 and d["left"] == 2' &&
        run 0 replay "$queue" && out_has "2 replayed, 0 declined, 0 left"
}

replay_takes_one() {
    four_dead_letters && run 0 replay "$queue" --id 3 --json && is 'd["replayed"] == 1' && home_ids '["3"]' &&
        dead_ids '["1", "2", "4"]'
}

replay_takes_so_many() {
    four_dead_letters && run 0 replay "$queue" --max 2 --json && is 'd["replayed"] == 2 and d["left"] == 2' &&
        home_ids '["1", "2"]'
}

replay_keeps_attempts() {
    publish --body x && consume --retry 'fixed(2, 50ms)' --exec 'exit 1' && run 0 replay "$queue" --keep-attempts &&
        run 0 peek "$queue" --json && is 'd[0]["envelope"]["attempt"] == 2' &&
        is 'd[0]["envelope"]["error"] == "exhausted 2 attempts: no reason given"'
}

replay_of_what_was_parked() {
    publish --body x --id 1 && consume --exec 'exit 64' && run 0 replay "$queue" --json && is 'd["replayed"] == 0' &&
        run 0 replay "$queue" --parked --json && is 'd["replayed"] == 1' && home_ids '["1"]' &&
        is "d[0]['envelope']['replayedFrom'] == '$queue.parked'"
}

replay_without_a_failure_queue() {
    run 0 replay "$queue" --json && is 'd == {"replayed": 0, "declined": 0, "left": 0, "error": None}'
}

# The replayed message fails again in the same run: it is not moved twice.
there_and_back() {
    local body='{"café":1}'
    publish --body "$body" --id there --content-type application/json &&
        consume --retry 'fixed(2, 300ms).threshold(300ms)' --idle 1s --exec 'exit 1' && is 'd["deadLettered"] == 1' &&
        run 0 replay "$queue" && consume --exec 'exit 1' && run 0 replay "$queue" && run 0 peek "$queue" --json &&
        is "d[0]['body'] == '$body' and d[0]['envelope']['id'] == 'there' and d[0]['envelope']['replayCount'] == 2" &&
        is 'd[0]["properties"]["contentType"] == "application/json"'
}

# --- dead ---

export_leaves_them() {
    four_dead_letters && run 0 dead export "$queue" && cp "$scratch/out" "$scratch/letters" &&
        dead_ids '["1", "2", "3", "4"]' && run 0 dead export "$queue" "$scratch/file" && is_empty "$scratch/out" &&
        cmp "$scratch/letters" "$scratch/file" && test "$(wc -l <"$scratch/file")" = 4 &&
        head -n 1 "$scratch/file" >"$scratch/first" &&
        json "$scratch/first" 'list(d) == ["properties", "headers", "body"] and d["body"] == "one"' &&
        json "$scratch/first" 'd["headers"]["x-acemq-attempt"] == {"type": "int32", "value": 1}' &&
        json "$scratch/first" 'd["headers"]["x-tenant"] == {"type": "longstr", "value": "acme"}'
}

there_by_export_and_import() {
    head -c 1000 /dev/urandom >"$scratch/body"
    four_dead_letters && publish --file "$scratch/body" --id 5 && consume --exec 'exit 1' &&
        run 0 dead export "$queue" "$scratch/file" && run 0 dead drop "$queue" --filter 'id=*' --yes --json &&
        is 'd == {"dropped": 5, "left": 0}' && dead_ids '[]' &&
        run 0 dead import "$queue" "$scratch/file" --json && is 'd == {"imported": 5, "failed": 0}' &&
        run 0 dead export "$queue" "$scratch/again" && cmp "$scratch/file" "$scratch/again" &&
        run 0 dead import "$queue" --json <"$scratch/first" && is 'd["imported"] == 1'
}

import_of_every_type() {
    cat >"$scratch/file" <<'JSON'
{"properties": {"messageId": "m", "contentType": "a/b", "contentEncoding": "gzip", "deliveryMode": 1, "priority": 3, "replyTo": "r", "correlationId": "c", "type": "t", "timestamp": 1767323045, "appId": "a"}, "headers": {"x-acemq-attempt": {"type": "int16", "value": 7}, "i": {"type": "int8", "value": -1}, "u": {"type": "uint16", "value": 9}, "d": {"type": "decimal", "value": "1.50"}, "b": {"type": "bytes", "value": "AAE="}, "n": null, "l": [1, {"type": "int32", "value": 2}], "t": {"type": "table", "value": {"x": true}}}, "bodyBase64": "AP8="}

{"headers": {}, "body": ""}
JSON
    consume --exec true && run 0 dead import "$queue" "$scratch/file" --json && is 'd["imported"] == 2' &&
        run 0 dead list "$queue" --json && is 'len(d) == 2 and d[0]["bodyBase64"] == "AP8=" and d[1]["body"] == ""' &&
        is 'd[0]["properties"] == {"messageId": "m", "contentType": "a/b", "contentEncoding": "gzip", "deliveryMode": 1, "priority": 3, "replyTo": "r", "correlationId": "c", "type": "t", "timestamp": 1767323045, "appId": "a"}' &&
        is 'd[0]["envelope"]["attempt"] == 7 and d[0]["headers"]["i"] == {"type": "int8", "value": -1}' &&
        is 'd[0]["headers"]["d"] == {"type": "decimal", "value": "1.50"} and d[0]["headers"]["n"] is None' &&
        is 'd[0]["headers"]["l"] == [1, {"type": "int32", "value": 2}]' &&
        is 'd[0]["headers"]["t"] == {"type": "table", "value": {"x": True}}'
}

import_is_whole_or_nothing() {
    { echo '{"headers": {}, "body": "good"}'; echo "$1"; } >"$scratch/file"
    run 2 dead import "$queue" "$scratch/file" --json && is_empty "$scratch/out" && err_has "line 2: $2" &&
        pending "$queue" 'd["deadLettered"] == 0'
}

import_without_a_failure_queue() {
    echo '{"headers": {}, "body": "x"}' | run 1 dead import "$queue" --json && is 'd == {"imported": 0, "failed": 1}' &&
        err_has "acemq: unroutable: "
}

drop_one() {
    four_dead_letters && run 0 dead drop "$queue" --id 2 --yes --json && is 'd == {"dropped": 1, "left": 3}' &&
        dead_ids '["1", "3", "4"]' && run 0 dead drop "$queue" --filter 'type=order.*' --yes --max 1 &&
        out_has "1 dropped" && dead_ids '["3", "4"]' && run 0 dead drop "$queue" --id none --yes --json &&
        is 'd == {"dropped": 0, "left": 2}'
}

# On a terminal each is asked for: yes, no, and the end of the answers.
drop_asks() {
    four_dead_letters || return
    printf 'y\nn\n\004' | TERM=dumb script --quiet --return --command \
        "'$ACEMQ_CLI' dead drop '$queue' --filter 'id=*'" /dev/null >"$scratch/out" 2>&1
    out_has "Drop it for good?" && dead_ids '["2", "3", "4"]'
}

list_shows_some() {
    four_dead_letters && run 0 dead list "$queue" --max 2 --json && is 'len(d) == 2' && err_has "only the first 2" &&
        run 0 dead list "$queue" --filter 'type=order.*' --json && is 'len(d) == 3' && run 0 dead list "$queue" &&
        out_has "exhausted 1 attempts: broken 1"
}

list_what_was_parked() {
    publish --body x --id 1 && consume --exec 'exit 64' && run 0 dead list "$queue" --json && is 'd == []' &&
        run 0 dead list "$queue" --parked --json && is 'd[0]["envelope"]["id"] == "1"'
}

on_broker() {
    check "pending of an empty queue" with_queue nothing_pending
    check "pending counts what waits in a rung" with_queue waiting_in_a_rung
    check "pending of a queue that is missing" both run 1 pending "$prefix.none" --json :: err_has "acemq: not_found: "
    check "peek leaves all in its order" with_queue peek_leaves_all_in_order
    check "peek shows ten" with_queue peek_shows_ten
    check "peek shows the whole message" with_queue peek_members
    check "peek at nothing" with_queue peek_at_nothing
    check "peek into a quorum queue needs --force" with_queue peek_into_a_quorum_queue
    check "peek at a queue that is missing" both run 1 peek "$prefix.none" --json :: is_empty "$scratch/out"
    check "replay brings all home, attempt 1" with_queue replay_brings_home
    check "replay --dry-run moves nothing" with_queue replay_moves_nothing_dry
    check "replay takes what all filters match" with_queue replay_takes_what_matches
    check "replay takes one by its id" with_queue replay_takes_one
    check "replay takes at most so many" with_queue replay_takes_so_many
    check "replay keeps attempts when asked" with_queue replay_keeps_attempts
    check "replay of what was parked" with_queue replay_of_what_was_parked
    check "replay without a failure queue" with_queue replay_without_a_failure_queue
    check "replay of a queue that is missing" both run 1 replay "$prefix.none" --json :: is 'd["error"]'
    check "replay of a failure queue itself" both run 1 replay "$prefix.q.dlq" --json :: err_has "$prefix.q"
    check "through a rung, the dead letters and home, twice" with_queue there_and_back
    check "dead export leaves them" with_queue export_leaves_them
    check "exported, dropped and imported they are the same" with_queue there_by_export_and_import
    check "dead import takes every type" with_queue import_of_every_type
    check "dead import refuses a line that is no JSON" with_queue import_is_whole_or_nothing '{"headers": {}' "byte"
    check "dead import refuses a line without a body" with_queue import_is_whole_or_nothing '{"headers": {}}' "expected"
    check "dead import refuses a header that does not fit" with_queue import_is_whole_or_nothing \
        '{"headers": {"h": {"type": "int8", "value": 1000}}, "body": ""}' "headers: h"
    check "dead import refuses a property that does not fit" with_queue import_is_whole_or_nothing \
        '{"headers": {}, "body": "", "properties": {"priority": 256}}' "priority"
    check "dead import without a failure queue" with_queue import_without_a_failure_queue
    check "dead drop deletes what was named" with_queue drop_one
    check "dead drop asks on a terminal" with_queue drop_asks
    check "dead list shows some" with_queue list_shows_some
    check "dead list shows what was parked" with_queue list_what_was_parked
    check "dead list of a queue that is missing" run 1 dead list "$prefix.none" --json
}

on_each_broker on_broker
finish
