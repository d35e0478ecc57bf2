#!/bin/bash
# acemq idempotency and schema, and consume with --idempotency: handled once, whatever is killed.
# What stands in single quotes is expanded by the commands that are run.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib/brokers.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/brokers.sh"

: "${ACEMQ_TEST_POSTGRES:?the PostgreSQL to test against, which packaging/test names}"
kills=3
if [[ -n ${ACEMQ_TEST_LONG:-} ]]; then
    kills=50
fi

publish() {
    run 0 publish "$queue" --timeout 20s "$@"
}

counted() {
    is "list(d) == ['acknowledged', 'rejected', 'retried', 'deadLettered', 'duplicates', 'parked'] and ($1)"
}

store() {
    mktemp -d "$scratch/store.XXXXXX"
}

twice_is_once() {
    local claims=$1
    shift
    publish --id same --body one && publish --id same --body two && publish --id other --body three || return
    : >"$scratch/handled"
    run 0 consume "$queue" --idempotency "$claims" "$@" --exec "cat >>'$scratch/handled'" --idle 500ms --json &&
        counted 'd["acknowledged"] == 2 and d["duplicates"] == 1' && has "$scratch/handled" onethree
}

lmdb_twice() {
    local claims
    claims=lmdb:$(store)
    twice_is_once "$claims" || return
    run 0 idempotency size "$claims" --json && is 'd == {"size": 2}' &&
        run 0 idempotency show "$claims" --json &&
        is '[e["key"] for e in d] == ["other", "same"] and all(e["state"] == "confirmed" for e in d)' &&
        is 'all(e["expiresAt"] - e["recordedAt"] == 86400000 and len(e["claimedBy"]) == 36 for e in d)' &&
        run 0 idempotency show "$claims" --after other --max 1 && out_has same && lacks "$scratch/out" other &&
        run 0 idempotency purge "$claims" --json && is 'd == {"purged": 0}'
}

postgres_twice() {
    local table=cli_$$_$RANDOM
    run 1 idempotency size "$ACEMQ_TEST_POSTGRES" --table "$table" && err_has "acemq schema postgres" &&
        run 0 schema postgres --idempotency-table "$table" --outbox-table "o$table" || return
    "$ACEMQ_TEST_POSTGRES_CONTROL" sql "$(cat "$scratch/out")" >/dev/null &&
        twice_is_once "$ACEMQ_TEST_POSTGRES" --idempotency-table "$table" &&
        run 0 idempotency size "$ACEMQ_TEST_POSTGRES" --table "$table" && out_has "2 entries"
    local status=$?
    "$ACEMQ_TEST_POSTGRES_CONTROL" sql "DROP TABLE IF EXISTS $table, o$table" >/dev/null
    return "$status"
}

a_failure_releases() {
    local claims
    claims=lmdb:$(store)
    publish --id x --body x &&
        run 0 consume "$queue" --idempotency "$claims" --retry 'fixed(3, 10ms)' --json --idle 500ms \
            --exec '[ $ACEMQ_ATTEMPT = 3 ]' &&
        counted 'd["acknowledged"] == 1 and d["retried"] == 2 and d["duplicates"] == 0'
}

# killed STORE: consumes until it kills itself in the middle of a message.
killed() {
    local status=0
    {
        timeout 30 "$ACEMQ_CLI" consume "$queue" --idempotency "$1" --lease 300ms \
            --exec "echo \"\$ACEMQ_ID\" >>'$scratch/begun'; kill -KILL \$PPID; sleep 60" >"$scratch/out" 2>&1 ||
            status=$?
    } 2>/dev/null # where bash tells that it was killed
    ((status == 137)) && return
    echo "# it ended with $status"
    sed 's/^/# /' "$scratch/out"
    return 1
}

# Between its claim and its confirmation a consumer is killed, again and again.
none_is_lost_to_a_killed_owner() {
    local claims number
    claims=lmdb:$(store)
    : >"$scratch/begun"
    : >"$scratch/handled"
    for number in $(seq "$kills"); do
        publish --id "id-$number" --body x && killed "$claims" || return
    done
    run 0 consume "$queue" --idempotency "$claims" --lease 300ms --json --idle 500ms \
        --exec "echo \"\$ACEMQ_ID\" >>'$scratch/handled'" &&
        counted "d['acknowledged'] == $kills and d['duplicates'] == 0" &&
        diff <(seq -f 'id-%.0f' "$kills" | sort) <(sort "$scratch/handled") | sed 's/^/# /' &&
        [[ $(sort -u "$scratch/handled" | wc -l) == "$kills" && $(wc -l <"$scratch/begun") == "$kills" ]]
}

a_store_that_cannot_be_opened() {
    run 1 consume "$queue" --idempotency "lmdb:$scratch/no/such/folder" && err_has "no/such/folder" &&
        run 1 idempotency size "lmdb:$scratch/mistyped" && err_has "no store at" && [[ ! -e $scratch/mistyped ]] &&
        run 1 idempotency size postgresql://u:secret@127.0.0.1:1/x --timeout 300ms --json && err_has unreachable &&
        lacks "$scratch/err" secret
}

# Most of it is about the stores: on one of the two brokers.
with_a_broker() {
    if [[ $ACEMQ_URL != "$ACEMQ_TEST_URL" ]]; then
        check "a message that comes twice is handled once, with LMDB" with_queue lmdb_twice
        check "a message that comes twice is handled once, with PostgreSQL" with_queue postgres_twice
        check "a failed message is claimed again" with_queue a_failure_releases
    fi
    check "$kills consumers killed in the middle lose nothing" with_queue none_is_lost_to_a_killed_owner
}

on_each_broker with_a_broker
ACEMQ_URL=$ACEMQ_TEST_URL queue=none check "a store that cannot be opened is told" a_store_that_cannot_be_opened
check "the schema has both tables" both run 0 schema postgres :: out_has "CREATE TABLE IF NOT EXISTS acemq_outbox"
check "version tells of LMDB" both run 0 version --json :: is 'd["lmdb"].startswith("0.9.")'
finish
