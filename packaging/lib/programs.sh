# Running test programs and counting what they say.
#
# A program is one command. A Check program writes TAP into the file CK_TAP_LOG_FILE_NAME names; a script may print
# TAP; a script that prints none is one test. What crashed, hung, wrote no TAP, announced tests and ran none, or failed
# without saying what, is one failure.
# shellcheck shell=bash

total_passed=0
total_failed=0

# tap_count FILE WORD: lines that start with WORD ("ok" or "not ok") and a number.
tap_count() {
    if [[ -f $1 ]]; then
        grep -cE "^$2 +[0-9]+" "$1"
    else
        echo 0
    fi
}

# tap_is_whole FILE: as many lines as its plan announces.
tap_is_whole() {
    local planned
    planned=$(sed -n 's/^1\.\.\([0-9][0-9]*\).*/\1/p' "$1" | tail -n 1)
    [[ -n $planned ]] && ((planned == $(tap_count "$1" '(not )?ok')))
}

# measure FOLDER NAME KIND TIMEOUT_S COMMAND...: runs one program; KIND is check or script. Leaves NAME.log, NAME.tap
# and NAME.result ("passed failed seconds reason") in FOLDER.
measure() {
    local folder=$1 name=$2 kind=$3 timeout_s=$4 started status=0 tap passed failed reason=
    shift 4
    tap=$folder/$name.tap
    rm -f "$tap"
    started=$(now_ms)
    {
        CK_TAP_LOG_FILE_NAME=$tap timeout --kill-after=10 "$timeout_s" "$@" \
            >"$folder/$name.log" 2>&1 </dev/null || status=$?
    } 2>/dev/null # where bash tells that a program crashed
    if [[ $kind == script ]]; then
        cp "$folder/$name.log" "$tap"
    fi
    passed=$(tap_count "$tap" ok)
    failed=$(tap_count "$tap" 'not ok')
    if ((status == 124 || status == 137)); then
        reason="did not end within $timeout_s s"
    elif ((passed + failed == 0)) && [[ $kind == script ]] && ! grep -q '^1\.\.' "$tap"; then
        ((status == 0)) && passed=1 || reason="exit status $status"
    elif ((passed + failed == 0)); then
        reason="exit status $status and no test result"
    elif ! tap_is_whole "$tap"; then
        reason="exit status $status before all tests had run"
    elif ((status != 0 && failed == 0)); then
        reason="exit status $status though no test failed"
    fi
    [[ -n $reason ]] && failed=$((failed + 1))
    echo "$passed $failed $(seconds_since "$started") $reason" >"$folder/$name.writing"
    mv "$folder/$name.writing" "$folder/$name.result"
}

# report FOLDER NAME: one line, and what is needed to understand a failure.
report() {
    local folder=$1 name=$2 passed failed seconds reason
    read -r passed failed seconds reason <"$folder/$name.result"
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
    if ((failed == 0)); then
        printf '  %-40s %4d passed %15s s\n' "$name" "$passed" "$seconds"
        return
    fi
    printf '  %-40s %4d passed %4d FAILED %3s s  %s\n' "$name" "$passed" "$failed" "$seconds" "$reason"
    grep -E '^not ok' "$folder/$name.tap" 2>/dev/null | head -n 50 | sed 's/^/    /'
    indented_tail "$folder/$name.log"
    echo "    the whole log: $folder/$name.log"
    remember_failure "$(basename "$folder"): $name, $failed of $((passed + failed)) failed${reason:+, $reason}" \
        "$folder/$name.tap" "$folder/$name.log"
}

# count_failure WHAT [LOG]: something other than a test failed that the run cannot do without. Where the last step
# failed, that is the reason, and its log is the one.
count_failure() {
    total_failed=$((total_failed + 1))
    echo "  FAILED: $1"
    if (($# > 1)); then
        indented_tail "$2"
    fi
    remember_failure "$1${failed_step:+; the step that failed: $failed_step}" "" "${2:-$failed_step_log}"
    failed_step='' failed_step_log=''
}

# The programs of a pool run as many at once as it was opened for and are reported as they end.
declare -A pool_names=()

# pool_add WIDTH FOLDER NAME KIND TIMEOUT_S COMMAND...
pool_add() {
    local width=$1
    shift
    while ((${#pool_names[@]} >= width)); do
        pool_collect "$1"
    done
    rm -f "$1/$2.result"
    measure "$@" &
    pool_names[$!]=$2
}

# pool_collect FOLDER: waits for one program and reports it. Of two that end at the same moment, bash may have forgotten
# the second before it is waited for; so the results tell which have ended, and bash only when to look.
pool_collect() {
    local id
    while true; do
        for id in "${!pool_names[@]}"; do
            if has_ended "$1/${pool_names[$id]}.result" "$id"; then
                report "$1" "${pool_names[$id]}"
                unset "pool_names[$id]"
                return
            fi
        done
        wait -n "${!pool_names[@]}" 2>/dev/null
    done
}

# has_ended RESULT ID: what was killed before it wrote its result is a failure.
has_ended() {
    [[ ! -s $1 ]] || return 0
    ! kill -0 "$2" 2>/dev/null || return 1
    [[ -s $1 ]] || echo "0 1 0.0 ended without a result" >"$1"
}

pool_finish() {
    while ((${#pool_names[@]} > 0)); do
        pool_collect "$1"
    done
}

# The programs still running when we are interrupted are ours to end.
pool_abandon() {
    local id
    for id in "${!pool_names[@]}"; do
        # `timeout` passes the signal on to the program it runs, which is in its own process group.
        # shellcheck disable=SC2046
        kill -- $(children_of "$id") "$id" 2>/dev/null
    done
}

children_of() {
    cat "/proc/$1/task/$1/children" 2>/dev/null
}
