# The end of what packaging/test prints: what failed, then the counts. Who sees only the last lines of a run, as most
# servers show them, learns there which test it was and why, so all of it together is bounded.
# shellcheck shell=bash disable=SC2154

failures=()         # headlines
failure_verdicts=() # beside each, the file that has its "not ok" lines, or nothing
failure_logs=()     # beside each, its log, or nothing

readonly summary_lines=60 summary_failures=12 summary_width=200 excerpt_lines=25
# What a failure looks like in a log, the most telling first; of sanitizers and valgrind, of TAP, of Check.
readonly failure_signs=('ERROR: [A-Za-z]+Sanitizer|WARNING: ThreadSanitizer|runtime error: |^==[0-9]+== [A-Z]'
    '^not ok' ':[FE]:')

# remember_failure HEADLINE [VERDICTS [LOG]]
remember_failure() {
    failures+=("$1")
    failure_verdicts+=("${2:-}")
    failure_logs+=("${3:-}")
}

# summary STARTED_MS
summary() {
    tell_failures
    echo "  $(seconds_since "$1") s altogether"
    echo "$total_passed passed, $total_failed failed"
}

# Each of them gets as many lines; of many, the first are told.
tell_failures() {
    local told=${#failures[@]} each i
    ((told > 0)) || return 0
    ((told <= summary_failures)) || told=$summary_failures
    each=$(((summary_lines - 2) / told))
    echo "what failed"
    for ((i = 0; i < told; i++)); do
        tell_failure "$i" "$each"
    done
    ((told == ${#failures[@]})) || echo "  and $((${#failures[@]} - told)) more"
}

# tell_failure INDEX LINES
tell_failure() {
    local verdicts=${failure_verdicts[$1]} log=${failure_logs[$1]} left=$(($2 - 1)) tests=()
    echo "  ${failures[$1]}" | narrow
    if [[ -r $verdicts ]]; then
        mapfile -t tests < <(grep -E -m "$((left / 2))" '^not ok' "$verdicts")
    fi
    if ((${#tests[@]} > 0)); then
        printf '    %s\n' "${tests[@]}" | narrow
    fi
    left=$((left - ${#tests[@]}))
    if [[ -s $log ]]; then
        excerpt "$log" "$((left < excerpt_lines ? left : excerpt_lines))" | sed 's/^/    | /' | narrow
    fi
}

narrow() {
    cut -b "1-$summary_width"
}

# excerpt LOG LINES: around the first sign of a failure; where there is none, the end.
excerpt() {
    local log=$1 lines=$2 sign at='' first last
    for sign in "${failure_signs[@]}"; do
        at=$(grep -nE -m 1 "$sign" "$log" | cut -d : -f 1)
        [[ -z $at ]] || break
    done
    last=$(wc -l <"$log")
    first=$((${at:-$last} - lines * 2 / 3))
    ((first <= last - lines + 1)) || first=$((last - lines + 1))
    ((first >= 1)) || first=1
    sed -n "$first,$((first + lines - 1))p" "$log"
}
