#!/bin/bash
# acemq topology: planned, compared, declared, checked.
# shellcheck source=tests/cli/lib/brokers.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/brokers.sh"

# The whole file on one topology: $name begins all its names.
write_file() {
    name=$prefix.$RANDOM
    cat >"$scratch/file" <<JSON
{"exchanges": [{"name": "$name.x", "type": "topic"}],
 "queues": [{"name": "$name.q", "type": "quorum", "deadLetter": true, "retry": "exponential(5, 10s, 5m)"},
            {"name": "$name.c", "type": "classic", "arguments": {"x-max-length": 5}}],
 "bindings": [{"exchange": "$name.x", "queue": "$name.q", "key": "order.*"}],
 "partitioned": [{"name": "$name.p", "partitions": 2}]}
JSON
}

# state_of NAME STATE: of a queue or an exchange.
state_of() {
    is "[o['state'] for o in d['objects'] if o['name'] == '$1' and o['kind'] != 'binding'] == ['$2']"
}

planned() {
    run 0 topology plan "$scratch/file" --json --url amqp://127.0.0.1:1/ &&
        is "list(d['objects'][0]) == 'kind name type exchange key arguments state argument ours theirs'.split()" &&
        state_of "$name.q" unknown &&
        is "{'$name.q.retry.40s', '$name.q.retry.80s', '$name.q.dlq', '$name.q.parked'} < {o['name'] for o in d['objects']}" &&
        is "[o['arguments'] for o in d['objects'] if o['name'] == '$name.q' and o['kind'] == 'queue'] == [{
            'x-queue-type': 'quorum', 'x-dead-letter-exchange': 'acemq.dlx', 'x-dead-letter-routing-key': '$name.q.dlq'}]" &&
        is "[o['arguments'] for o in d['objects'] if o['name'] == '$name.q.retry.40s'] == [{
            'x-message-ttl': 40000, 'x-dead-letter-exchange': 'acemq.retry', 'x-dead-letter-routing-key': '$name.q'}]" &&
        is "[(o['exchange'], o['key']) for o in d['objects'] if o['kind'] == 'binding' and o['key'] == 'order.*'] == [
            ('$name.x', 'order.*')]"
}

life_of_a_topology() {
    write_file
    planned && run 0 topology dry-run "$scratch/file" --json && state_of "$name.q" create && is 'd["drift"] is True' &&
        run 1 topology check "$scratch/file" --json && state_of "$name.q" create && err_has "acemq: differs: " &&
        run 1 pending "$name.q" && run 0 topology apply "$scratch/file" --json && state_of "$name.q" create &&
        run 0 topology check "$scratch/file" --json && state_of "$name.q" present && is 'd["drift"] is False' &&
        is '{o["state"] for o in d["objects"] if o["kind"] == "binding"} == {"unknown"}' &&
        run 0 topology apply "$scratch/file" --json && state_of "$name.c" present &&
        run 0 topology dry-run "$scratch/file" && out_has "present" &&
        run 0 publish --exchange "$name.x" --key order.placed --body x --timeout 20s && pending "$name.q.dlq" 'd["ready"] == 0'
}

another_argument() {
    write_file
    run 0 topology apply "$scratch/file" --json || return
    sed 's/"x-max-length": 5/"x-max-length": 6/' "$scratch/file" >"$scratch/other"
    run 1 topology check "$scratch/other" --json && state_of "$name.c" differs &&
        is "[(o['argument'], o['ours'], o['theirs']) for o in d['objects'] if o['name'] == '$name.c'] == [('x-max-length', '6', '5')]" &&
        run 0 topology dry-run "$scratch/other" --json && state_of "$name.c" differs && state_of "$name.q" present &&
        run 1 topology apply "$scratch/other" --json && state_of "$name.c" differs && err_has "acemq: differs: " &&
        err_has x-max-length && run 0 topology check "$scratch/file"
}

from_standard_input() {
    write_file
    run 0 topology apply - --json <"$scratch/file" && state_of "$name.q" create
}

on_broker() {
    check "planned, compared, declared, checked" life_of_a_topology
    check "an argument that differs" another_argument
    check "from standard input" from_standard_input
}

on_each_broker on_broker

refused() {
    printf '%s' "$1" >"$scratch/file"
    run 2 topology plan "$scratch/file" --json && is_empty "$scratch/out" && err_has "$2"
}
check "a file that is missing" both run 1 topology plan "$scratch/none" :: err_has "$scratch/none"
check "no JSON" refused '{"queues": [' "line 1"
check "a policy that does not read" refused '{"queues": [{"name": "q", "retry": "fixed(0, 1s)"}]}' "queues[0].retry"
check "an unknown member" refused '{"queues": [{"name": "q", "colour": 1}]}' colour
check "a name without room for its rungs" refused \
    "{\"queues\": [{\"name\": \"$(printf 'q%.0s' {1..250})\", \"retry\": \"fixed(2, 1h)\"}]}" 255
check "two options for one thing" refused \
    '{"queues": [{"name": "q", "deadLetter": true, "arguments": {"x-dead-letter-exchange": "x"}}]}' x-dead-letter-exchange
finish
