# Configuring and building one build folder.
# shellcheck shell=bash

# A build folder that was moved, or made by another generator, is configured from scratch instead of failing.
stale_configuration() {
    local cache=$1/CMakeCache.txt
    [[ -f $cache ]] || return 1
    ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$ACEMQ_ROOT" "$cache" ||
        ! grep -qxF "CMAKE_CACHEFILE_DIR:INTERNAL=$1" "$cache" ||
        ! grep -qxF 'CMAKE_GENERATOR:INTERNAL=Ninja' "$cache"
}

# configure FOLDER OPTION...
configure() {
    local folder=$1 fresh=()
    shift
    if stale_configuration "$folder"; then
        fresh=(--fresh)
    fi
    cmake "${fresh[@]}" -S "$ACEMQ_ROOT" -B "$folder" -G Ninja "$@"
}

# build_folder TITLE FOLDER OPTION...: two steps; the logs lie in the folder itself.
build_folder() {
    local title=$1 folder=$2
    shift 2
    mkdir -p "$folder"
    step "configure $title" "$folder/configure.log" configure "$folder" "$@" || return
    step "build $title" "$folder/build.log" cmake --build "$folder" --parallel "$(nproc)"
}
