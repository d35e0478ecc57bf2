#!/bin/bash
# acemq publish: what is sent, and what is told of it.
# shellcheck source=tests/cli/lib/brokers.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/brokers.sh"

# body_is FILE QUEUE: the body at the head of the queue is the file's, byte for byte.
body_is() {
    run 0 peek "$2" --max 1 --json &&
        "$python" - "$scratch/out" "$1" <<'PYTHON'
import base64, json, sys
message = json.load(open(sys.argv[1], encoding="utf-8"))[0]
body = base64.b64decode(message["bodyBase64"]) if "bodyBase64" in message else message["body"].encode()
sys.exit(body != open(sys.argv[2], "rb").read())
PYTHON
}

publish_lines() {
    printf '%b' "$1" | run 0 publish "$queue" --lines --json
}

envelope_of_a_publish() {
    run 0 publish "$queue" --body '{"a":1}' --type order.placed --id id-1 --correlation c-1 --header x-tenant=acme \
        --header note=a=b --content-type application/json --json &&
        is 'd == {"sent": 1, "confirmed": 1, "unroutable": 0, "nacked": 0, "refused": 0, "unknown": 0, "ids": ["id-1"]}' &&
        run 0 peek "$queue" --json && is 'len(d) == 1 and d[0]["body"] == "{\"a\":1}"' &&
        is 'd[0]["envelope"]["type"] == "order.placed" and d[0]["envelope"]["correlation"] == "c-1"' &&
        is 'd[0]["headers"] == {"x-tenant": "acme", "note": "a=b"}' &&
        is 'd[0]["properties"]["contentType"] == "application/json" and d[0]["properties"]["messageId"] == "id-1"' &&
        is 'd[0]["properties"]["deliveryMode"] == 2 and d[0]["properties"]["correlationId"] is None'
}

binary_from_standard_input() {
    head -c 3000000 /dev/urandom >"$scratch/body"
    run 0 publish "$queue" --json <"$scratch/body" && is 'd["confirmed"] == 1' && body_is "$scratch/body" "$queue"
}

lines_in_order() {
    publish_lines 'one\n\nthree' && is 'd["confirmed"] == 3 and len(set(d["ids"])) == 3' &&
        cp "$scratch/out" "$scratch/published" && run 0 peek "$queue" --json &&
        is '[m["body"] for m in d] == ["one", "", "three"]' &&
        is "[m['envelope']['id'] for m in d] == json.load(open('$scratch/published'))['ids']"
}

ids_of_the_first_hundred() {
    run 0 publish "$queue" --body x --count 250 --json && is 'd["confirmed"] == 250 and len(d["ids"]) == 100' &&
        pending "$queue" 'd["ready"] == 250'
}

# begin_lines [TIMEOUT]: a publisher in the background that reads its lines from descriptor 9.
begin_lines() {
    rm -f "$scratch/lines"
    mkfifo "$scratch/lines"
    "$ACEMQ_CLI" publish "$queue" --lines --json --timeout "${1:-20s}" <"$scratch/lines" >"$scratch/told" 2>"$scratch/told.err" &
    publisher=$!
    exec 9>"$scratch/lines"
}

lines_come_when_they_come() {
    local publisher status=0
    begin_lines
    echo early >&9
    await 20 pending "$queue" 'd["ready"] == 1' >"$scratch/ignored" 2>&1 && echo late >&9 || status=1
    exec 9>&-
    wait "$publisher" && ((status == 0)) && json "$scratch/told" 'd["confirmed"] == 2' && pending "$queue" 'd["ready"] == 2'
}

interrupted_between_lines() {
    local publisher status=0
    begin_lines
    echo one >&9
    await 20 pending "$queue" 'd["ready"] == 1' >"$scratch/ignored" 2>&1
    kill -INT "$publisher"
    wait "$publisher" || status=$?
    exec 9>&-
    ((status == 1)) && json "$scratch/told" 'd["confirmed"] == 1 and d["sent"] == 1'
}

exchange_and_key() {
    cat >"$scratch/topology.json" <<JSON
{"exchanges": [{"name": "$queue.x", "type": "topic"}], "queues": [],
 "bindings": [{"exchange": "$queue.x", "queue": "$queue", "key": "order.*"}]}
JSON
    run 0 topology apply "$scratch/topology.json" &&
        run 0 publish --exchange "$queue.x" --key order.placed --body x --json && is 'd["confirmed"] == 1' &&
        run 1 publish --exchange "$queue.x" --key invoice.paid --body x --json &&
        is 'd["unroutable"] == 1 and d["sent"] == 1' && err_has "acemq: unroutable: " &&
        run 0 peek "$queue" --json && is '[m["envelope"]["type"] for m in d] == ["order.placed"]'
}

on_broker() {
    check "envelope, headers and properties" with_queue envelope_of_a_publish
    check "a large binary body from standard input" with_queue binary_from_standard_input
    check "one message a line, in order, the last without a line break" with_queue lines_in_order
    check "the ids of the first hundred" with_queue ids_of_the_first_hundred
    check "a line is sent when it comes" with_queue lines_come_when_they_come
    check "Ctrl-C between two lines" with_queue interrupted_between_lines
    check "an exchange and a key, routable and not" with_queue exchange_and_key
    check "a queue that is missing" both run 1 publish "$prefix.none" --body x --json :: \
        is 'd["unroutable"] == 1 and d["confirmed"] == 0'
    check "an exchange that is missing" both run 1 publish --exchange "$prefix.none" --body x --json :: \
        is 'd["confirmed"] == 0 and d["nacked"] == 1'
    check "no lines at all" both run 0 publish "$prefix.none" --lines --json </dev/null :: is 'd["sent"] == 0'
    check "for a person" both run 1 publish "$prefix.none" --body x :: out_has "1 sent, 0 confirmed, 1 unroutable"
    check "a body file that is missing" both run 1 publish "$prefix.none" --file "$scratch/none" :: err_has "$scratch/none"
    check "a reserved header, by its name" both run 1 publish "$prefix.none" --body x --header x-acemq-id=1 :: \
        err_has "reserved_header: header x-acemq-id"
    check "a name of 256 bytes" both run 1 publish "$(printf 'q%.0s' {1..256})" --body x --json :: \
        is 'd["refused"] == 1 and d["sent"] == 0'
    check "the limit of a name is told" err_has "255"
}

on_each_broker on_broker

# --- a broker that is away ---

readonly nobody=amqp://guest:guest@127.0.0.1:1/

given_up_after() {
    local started=$EPOCHREALTIME elapsed
    run 1 publish q --body x --count 3 --url "$nobody" --timeout 1s --json || return
    elapsed=$(((${EPOCHREALTIME/[.,]/} - ${started/[.,]/}) / 1000))
    echo "# after $elapsed ms"
    ((elapsed >= 950 && elapsed < 20000)) && is 'd["refused"] == 3 and d["sent"] == 0 and d["ids"] == []' &&
        err_has "acemq: unreachable: "
}

lines_are_refused() {
    printf 'a\nb\nc\n' | run 1 publish q --lines --url "$nobody" --timeout 100ms --json && is 'd["refused"] == 3'
}

# Whoever writes the lines does not end: what is there counts, and nothing is waited for.
endless_lines_are_refused() {
    local status
    mkfifo "$scratch/endless"
    exec 9<>"$scratch/endless"
    echo a >&9
    run 1 publish q --lines --url "$nobody" --timeout 500ms --json <"$scratch/endless" && is 'd["refused"] == 1'
    status=$?
    exec 9>&-
    return "$status"
}

# The broker comes back within the timeout.
comes_back() {
    local port=$1
    "$ACEMQ_CLI" publish q --body x --timeout 20s --json --url "amqp://guest:guest@127.0.0.1:$port/" \
        >"$scratch/late" 2>"$scratch/late.err" &
    local publisher=$! status=0
    sleep 0.7
    start_process "$ACEMQ_CLI" broker --listen "127.0.0.1:$port" >"$scratch/broker"
    wait "$publisher" || status=$?
    kill "$started"
    # The queue is not there, but the broker was reached.
    ((status == 1)) && json "$scratch/late" 'd["unroutable"] == 1'
}

# A port outside the range from which the kernel picks.
free_port() {
    "$python" - <<'PYTHON'
import random, socket
while True:
    port = random.randrange(20000, 32000)
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            continue
    print(port)
    break
PYTHON
}

# What comes behind the refused is refused with them, without a timeout for each.
goes_away() {
    local port=$1 started url=amqp://guest:guest@127.0.0.1:$1/ status=0
    start_process "$ACEMQ_CLI" broker --listen "127.0.0.1:$port" >"$scratch/passing"
    await 20 test -s "$scratch/passing" || return
    local broker=$started
    echo '{"queues": [{"name": "q", "type": "classic"}]}' | run 0 topology apply - --url "$url" || return
    "$ACEMQ_CLI" publish q --body x --count 100000000 --timeout 1s --json --url "$url" >"$scratch/told" 2>"$scratch/told.err" &
    local publisher=$!
    await 20 has_some q "$url" >"$scratch/ignored" 2>&1
    kill "$broker"
    wait "$publisher" || status=$?
    ((status == 1)) && json "$scratch/told" 'd["sent"] + d["refused"] == 100000000 and d["confirmed"] > 0' &&
        json "$scratch/told" 'd["sent"] == d["confirmed"] + d["unknown"]' && has "$scratch/told.err" "acemq: refused: "
}

has_some() {
    run 0 pending "$1" --url "$2" --json && is 'd["ready"] > 100'
}

# One message is unknown at its timeout, and the close is not waited for much longer.
answers_no_more() {
    local started status=0 began
    start_process "$ACEMQ_CLI" broker --listen 127.0.0.1:0 >"$scratch/silent"
    await 20 test -s "$scratch/silent" || return
    local broker=$started url
    url=$(cat "$scratch/silent")
    echo '{"queues": [{"name": "q", "type": "classic"}]}' | run 0 topology apply - --url "$url" || return
    local -x ACEMQ_URL=$url
    local queue=q publisher
    begin_lines 1s
    echo one >&9
    await 20 holds_one q "$url" >"$scratch/ignored" 2>&1
    kill -STOP "$broker"
    await 20 stands_still "$broker" || return
    began=$SECONDS
    echo two >&9
    exec 9>&-
    wait "$publisher" || status=$?
    began=$((SECONDS - began))
    kill -CONT "$broker"
    kill "$broker"
    ((status == 1 && began <= 4)) && json "$scratch/told" 'd["confirmed"] == 1 and d["unknown"] == 1'
}

# A signal that stops a process reaches its threads one after the other, and on a busy machine not at once.
stands_still() {
    ! grep -qvE '^[0-9]+ \(.*\) T ' "/proc/$1/task/"*/stat
}

holds_one() {
    run 0 pending "$1" --url "$2" --json && is 'd["ready"] == 1'
}

check "a broker that is away is tried until the timeout" given_up_after
check "lines that could not be sent are refused" lines_are_refused
check "endless lines are not waited for" endless_lines_are_refused
check "a broker that goes away while many are sent" goes_away "$(free_port)"
check "a broker that answers no more" answers_no_more
check "a broker that comes back is found" comes_back "$(free_port)"

wrong_password() {
    local url=${ACEMQ_TEST_URL/guest:*@/guest:wr0ng@}
    run 1 publish q --body x --url "$url" --timeout 30s --json && is 'd["refused"] == 1' &&
        err_has "acemq: login_refused: " && lacks "$scratch/err" wr0ng
}
check "a wrong password is not tried again" wrong_password

finish
