# The source tree as it is released, from a checkout or from an unpacked release. ACEMQ_ROOT is its root.
# shellcheck shell=bash

release_version() {
    sed -n 's/^#define ACEMQ_VERSION  *"\(.*\)"/\1/p' "$ACEMQ_ROOT/abi/include/acemq/version.h"
}

# Every file of the source, each ended by a zero byte.
source_files() {
    (
        cd "$ACEMQ_ROOT" || exit
        if git rev-parse --is-inside-work-tree >/dev/null 2>&1 && [[ -z $(git rev-parse --show-prefix) ]]; then
            git ls-files -z
        else
            find . \( -path './build*' -o -name __pycache__ \) -prune -o ! -type d -printf '%P\0'
        fi
    ) | LC_ALL=C sort -z
}

# The time that everything built bears: what SOURCE_DATE_EPOCH says, that of the last commit, or that of the newest file
# of a release, whose files all have it.
source_time() {
    local newest
    if [[ -n ${SOURCE_DATE_EPOCH:-} ]]; then
        echo "$SOURCE_DATE_EPOCH"
    elif ! git -C "$ACEMQ_ROOT" log -1 --format=%ct 2>/dev/null; then
        newest=$(cd "$ACEMQ_ROOT" && source_files | xargs -0 stat --format=%Y | sort -n | tail -n 1)
        echo "$newest"
    fi
}

# source_archive FILE: a compressed tar of the source, of which only names, contents and who may execute count.
source_archive() {
    local name
    name=libacemq-$(release_version)
    source_files | tar --directory="$ACEMQ_ROOT" --create --null --no-recursion --files-from=- \
        --transform="flags=r;s,^,$name/," --sort=name --format=posix \
        --pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime \
        --mtime="@$(source_time)" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX | gzip --no-name -9 >"$1"
}
