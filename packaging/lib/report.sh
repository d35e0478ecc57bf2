# What the commands say while they work: one line a step, and the log's end when a step fails.
# shellcheck shell=bash disable=SC2034

now_ms() {
    local now=$EPOCHREALTIME
    echo $((${now/[.,]/} / 1000))
}

# seconds_since START_MS: "12.3", whatever the locale's decimal sign is.
seconds_since() {
    local elapsed=$(($(now_ms) - $1))
    echo "$((elapsed / 1000)).$((elapsed % 1000 / 100))"
}

complain() {
    echo "$*" >&2
}

indented_tail() {
    local file=$1 lines=${2:-40}
    [[ -s $file ]] && tail -n "$lines" "$file" | sed 's/^/    | /'
    return 0
}

# Of the last step, where it failed.
failed_step='' failed_step_log=''

# step TITLE LOG COMMAND...: runs COMMAND with its output in LOG and prints one line; on failure also the log's end.
step() {
    local title=$1 log=$2 started status=0
    shift 2
    started=$(now_ms)
    failed_step='' failed_step_log=''
    printf '  %-48s' "$title"
    "$@" >"$log" 2>&1 || status=$?
    if ((status == 0)); then
        printf '%8s s\n' "$(seconds_since "$started")"
        return 0
    fi
    printf '%8s s  failed\n' "$(seconds_since "$started")"
    indented_tail "$log"
    echo "  the whole log: $log"
    failed_step=$title failed_step_log=$log
    return "$status"
}
