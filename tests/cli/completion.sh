#!/bin/bash
# The completions for bash and zsh know every command and every option that --help tells of, and no other.
# shellcheck source=tests/cli/lib/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/tap.sh"

folder=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../bindings/cli/completion" && pwd -P)
# shellcheck source=bindings/cli/completion/acemq.bash
source "$folder/acemq.bash"

# complete_bash WORD...: what bash would offer for the last of the words.
complete_bash() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _acemq
    printf '%s\n' "${COMPREPLY[@]}" | sort
}

listed_commands() {
    "$ACEMQ_CLI" --help | sed -n '/^Commands:/,/^$/p' | awk '/^  [a-z]/ { print $1 }' | sort
}

listed_options() {
    "$ACEMQ_CLI" "$1" --help | awk '/^  --/ { print $1 }' | sort
}

# Options of the everywhere list, and of the command's own branch.
zsh_options() {
    {
        sed -n '/everywhere=(/,/^    )/p' "$folder/_acemq"
        awk -v name="$1" '
            /^    [a-z |]+\)$/ { line = $0; gsub(/[ )]/, "", line); is_ours = 0; count = split(line, names, "|")
                                 for (i = 1; i <= count; i++) if (names[i] == name) is_ours = 1 }
            is_ours' "$folder/_acemq"
    } | grep -oE -e "--[a-z-]+\[" -e "--help\}" | tr -d '[}' | sort -u
}

zsh_commands() {
    sed -n '/commands=(/,/^    )/p' "$folder/_acemq" | grep -oE "^ +['\"][a-z]+:" | tr -d "'\": " | sort
}

# same FIRST SECOND: the two lists.
same() {
    diff <(echo "$1") <(echo "$2") | sed 's/^/# /'
    [[ $1 == "$2" && -n $1 ]]
}

check "bash knows the commands" same "$(complete_bash acemq '' | grep -v '^--')" "$(listed_commands)"
check "zsh knows the commands" same "$(zsh_commands)" "$(listed_commands)"
for command in $(listed_commands); do
    check "bash knows the options of $command" same "$(complete_bash acemq "$command" --)" "$(listed_options "$command")"
    check "zsh knows the options of $command" same "$(zsh_options "$command")" "$(listed_options "$command")"
done
check "bash completes a part of an option" same "$(complete_bash acemq publish --cor)" --correlation
check "bash knows the values of --decode" same "$(complete_bash acemq consume q --decode m)" msgpack
check "bash knows the actions of topology" same "$(complete_bash acemq topology d)" dry-run
check "bash knows the actions of dead" same "$(complete_bash acemq dead e)" export
check "bash knows the fields of a filter" same "$(complete_bash acemq replay q --filter h)" header.
check "bash offers nothing behind a number" test -z "$(complete_bash acemq peek q --max '')"
finish
