# The password of the servers that the tests start. It must appear in nothing that they leave behind, so it is made to be
# found: random, and begun like no other text.
# shellcheck shell=bash

new_secret() {
    echo "guest-Secret$(printf '%08x' "$SRANDOM" "$SRANDOM" "$SRANDOM")"
}

# files_with_secret SECRET PATH...: the files that have it, as it is or in base64, at whatever offset it stands.
files_with_secret() {
    local secret=$1 offset encoded patterns
    shift
    patterns=$secret
    for offset in '' x xx; do
        # The first and the last characters depend on what stands beside it.
        encoded=$(printf '%s' "$offset$secret" | base64 --wrap=0)
        patterns+=$'\n'${encoded:4:$((${#encoded} - 8))}
    done
    grep --recursive --files-with-matches --text --fixed-strings --regexp="$patterns" -- "$@" 2>/dev/null
}
