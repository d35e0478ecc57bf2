#!/bin/bash
# acemq outbox and acemq relay: written, listed, published, retired, released, purged.
# shellcheck source=tests/cli/lib/brokers.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/brokers.sh"

# A store of its own for each test.
new_store() {
    store=lmdb:$scratch/outbox.$RANDOM
}

life_of_a_message() {
    new_store
    run 0 outbox add "$store" "$queue" --body hello --type order.placed --id m-1 --header tenant=acme --json &&
        is 'd == {"id": "m-1"}' &&
        run 0 outbox pending "$store" --json &&
        is '[(m["id"], m["routingKey"], m["attempts"], m["bodyBytes"]) for m in d] == [("m-1", "'"$queue"'", 0, 5)]' &&
        is 'd[0]["headers"]["tenant"] == "acme" and d[0]["headers"]["x-acemq-version"] == 1' &&
        run 0 relay "$store" --once --json && is 'd == {"published": 1, "failed": 0, "retired": 0}' &&
        pending "$queue" 'd["ready"] == 1' &&
        run 0 peek "$queue" --json &&
        is 'd[0]["envelope"]["id"] == "m-1" and d[0]["envelope"]["type"] == "order.placed" and d[0]["body"] == "hello"' &&
        run 0 outbox purge "$store" --older-than 1h --json && is 'd == {"purged": 0}' &&
        run 0 outbox purge "$store" --json && is 'd == {"purged": 1}' &&
        run 0 outbox pending "$store" --json && is 'd == []'
}

a_body_from_standard_input() {
    new_store
    printf 'a\0b' | run 0 outbox add "$store" "$queue" && run 0 relay "$store" --once && out_has "1 published" &&
        run 0 peek "$queue" --json && is 'd[0].get("bodyBase64") == "YQBi" or d[0].get("body") == "a\0b"'
}

retired_and_released() {
    new_store
    run 0 outbox add "$store" "$queue.missing" --body lost --id lost &&
        run 0 outbox add "$store" "$queue" --body fine --id fine &&
        run 0 relay "$store" --once --every 10ms --json && is 'd == {"published": 1, "failed": 10, "retired": 1}' &&
        run 0 outbox retired "$store" --json && is 'len(d) == 1 and d[0]["id"] == "lost" and d[0]["attempts"] == 10' &&
        is '"312" in d[0]["lastError"] or "NO_ROUTE" in d[0]["lastError"] or "queue" in d[0]["lastError"]' &&
        run 0 outbox retired "$store" && out_has "lost  to /$queue.missing" &&
        run 0 outbox release "$store" --id other --json && is 'd == {"released": 0}' &&
        run 0 outbox release "$store" --id lost --json && is 'd == {"released": 1}' &&
        declare_queue "$queue.missing" && run 0 relay "$store" --once --json &&
        is 'd == {"published": 1, "failed": 0, "retired": 0}'
}

until_interrupted() {
    new_store
    run 0 outbox add "$store" "$queue" --body one || return
    "$ACEMQ_CLI" relay "$store" --json >"$scratch/relay" 2>"$scratch/err" &
    local relay=$!
    processes+=("$relay")
    await 20 ready_is 1 && run 0 outbox add "$store" "$queue" --body two && await 20 ready_is 2 && kill -INT "$relay" &&
        wait "$relay" && json "$scratch/relay" 'd == {"published": 2, "failed": 0, "retired": 0}'
}

ready_is() {
    "$ACEMQ_CLI" pending "$queue" --json 2>/dev/null | grep -q "\"ready\": *$1[,}]"
}

used_wrongly() {
    new_store
    run 2 outbox list "$store" && run 2 outbox add "$store" && run 2 outbox add "$store" q --key k &&
        run 2 outbox pending "$store" q && run 2 outbox add "$store" q --header nothing --body x &&
        run 2 relay "$store" --lease 10ms && run 2 relay "$store" --batch 1001 &&
        run 1 outbox pending "$store" && err_has "no store at" && [[ ! -e ${store#lmdb:} ]] &&
        mkdir "${store#lmdb:}" && run 1 outbox pending "$store" && err_has "no store at" &&
        [[ -z $(ls -A "${store#lmdb:}") ]] &&
        run 1 outbox pending redis://u:secret@h && err_has "invalid_argument" && ! grep -q secret "$scratch/err" &&
        run 1 relay lmdb:/nowhere/at/all/store && err_has /nowhere/at/all
}

suite() {
    check "a message is written, published, and purged" with_queue life_of_a_message
    check "a body from standard input arrives whole" with_queue a_body_from_standard_input
    check "what cannot be published is retired, and released by hand" with_queue retired_and_released
    check "a relay goes on until Ctrl-C" with_queue until_interrupted
}

on_each_broker suite
check "wrong use is refused" used_wrongly
finish
