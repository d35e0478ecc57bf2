# What the scripts of this folder share: TAP, running `acemq`, and looking into what it printed.
# shellcheck shell=bash

set -uo pipefail

: "${ACEMQ_CLI:?the program under test, which packaging/test names}"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/acemq-cli.XXXXXX")
readonly scratch
readonly python=/usr/bin/python3

test_number=0
test_failures=0
label=
processes=()

# Nobody's settings but ours.
unset ACEMQ_URL NO_COLOR

clean_up() {
    local process
    for process in "${processes[@]}"; do
        kill "$process" 2>/dev/null
    done
    rm -rf -- "$scratch"
}
trap clean_up EXIT

# verdict WHAT STATUS: one test; what it printed before is shown by packaging/test when it failed.
verdict() {
    test_number=$((test_number + 1))
    if (($2 == 0)); then
        echo "ok $test_number - $label$1"
        return
    fi
    echo "not ok $test_number - $label$1"
    test_failures=$((test_failures + 1))
}

# check WHAT COMMAND...: passes when the command succeeds.
check() {
    local what=$1 status=0
    shift
    "$@" || status=$?
    verdict "$what" "$status"
}

finish() {
    echo "1..$test_number"
    ((test_failures == 0))
}

# run EXPECTED_STATUS ARGUMENT...: runs acemq with its output in $scratch/out and $scratch/err; standard input is ours.
# False when it ends with another status, and then all of it is shown.
run() {
    local expected=$1 status=0
    shift
    timeout --kill-after=5 60 "$ACEMQ_CLI" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
    if ((status == expected)); then
        return 0
    fi
    echo "# acemq $* ended with $status and not with $expected"
    sed 's/^/# out: /' "$scratch/out" | head -n 40
    sed 's/^/# err: /' "$scratch/err" | head -n 40
    return 1
}

# is EXPRESSION: a Python expression that holds for d, the JSON document on standard output.
is() {
    json "$scratch/out" "$1"
}

json() {
    "$python" - "$1" "$2" <<'PYTHON'
import json, sys

text = open(sys.argv[1], encoding="utf-8").read()
try:
    d = json.loads(text)
    if not eval(sys.argv[2], {"d": d, "json": json}):
        sys.exit(f"# does not hold: {sys.argv[2]}\n# document: {text[:2000]}")
except ValueError as fault:
    sys.exit(f"# not one JSON document: {fault}\n# {text[:2000]}")
PYTHON
}

# out_has TEXT, err_has TEXT: what was printed holds that text.
out_has() {
    has "$scratch/out" "$1"
}

err_has() {
    has "$scratch/err" "$1"
}

has() {
    grep -qF -- "$2" "$1" && return
    echo "# \"$2\" is missing in:"
    sed 's/^/# /' "$1" | head -n 40
    return 1
}

lacks() {
    ! grep -qF -- "$2" "$1" && return
    echo "# \"$2\" stands in $1"
    return 1
}

is_empty() {
    [[ ! -s $1 ]] && return
    echo "# not empty:"
    sed 's/^/# /' "$1" | head -n 40
    return 1
}

# both COMMAND... :: COMMAND...: the second only where the first succeeds.
both() {
    local first=()
    while [[ $1 != :: ]]; do
        first+=("$1")
        shift
    done
    shift
    "${first[@]}" && "$@"
}

# start_process COMMAND...: in the background, ended with the script; its id is in $started.
start_process() {
    "$@" &
    started=$!
    processes+=("$started")
}

# await SECONDS COMMAND...: repeats the command until it succeeds.
await() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < deadline)) || return 1
        sleep 0.05
    done
}
