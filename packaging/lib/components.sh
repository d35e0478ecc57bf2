# What packaging/test runs: one function a component, and the broker that some share.
# It runs in the checkout's root. Names below it hold no blanks and no wildcards, so lists of them are split by the shell.
# shellcheck shell=bash disable=SC2046,SC2154

readonly build=$ACEMQ_ROOT/build
readonly results=$build/results

# What one program may take, in seconds, where nothing slows it down. A long run may take much longer.
readonly unit_limit_s=120 broker_limit_s=300 check_limit_s=900 fuzz_limit_s=600 fault_limit_s=300
readonly long_factor=20
# The broker programs that kill, stop or block the broker: they have one of their own, one at a time.
readonly alone='restart|blocked' alone_home=$build/broker-alone
# What takes longest, by name, the longest first: begun last, it would be left to one processor while the others idle.
readonly longest=(surviving everything deb broker_idle mutations abi_gate consume.sh failures.sh broker_ladder
    broker_consume_hops broker_consume_settle broker_replay broker_recovery unit_codec_msgpack unit_codec_encrypted
    unit_allocation_failing unit_wire_frame unit_wire_mutation guide private_broker csharp idempotency.sh broker_hop_order
    broker_flush unit_allocation_hostile unit_abi_tls defences)

export ACEMQ_BROKER_HOME=$build/broker
export ACEMQ_TEST_BROKER_CONTROL=$ACEMQ_ROOT/packaging/broker
export ACEMQ_POSTGRES_HOME=$build/postgres
export ACEMQ_TEST_POSTGRES_CONTROL=$ACEMQ_ROOT/packaging/postgres

# --- the broker ---

broker_is_ours=false

# Each component gets a broker that holds nothing yet; what a killed run left behind goes as well.
begin_broker() {
    broker_is_ours=true
    if ! step "start RabbitMQ" "$build/broker.log" new_broker; then
        count_failure "RabbitMQ did not start, so nothing that needs it could run"
        return 1
    fi
    use_broker
}

new_broker() {
    "$ACEMQ_TEST_BROKER_CONTROL" remove && "$ACEMQ_TEST_BROKER_CONTROL" start
}

# A program that failed may have left the broker dead; that is not the next one's fault.
use_broker() {
    "$ACEMQ_TEST_BROKER_CONTROL" start >>"$build/broker.log" 2>&1
    ACEMQ_TEST_URL=$("$ACEMQ_TEST_BROKER_CONTROL" url)
    export ACEMQ_TEST_URL
}

end_broker() {
    end_lone_broker
    if $broker_is_ours; then
        broker_is_ours=false
        "$ACEMQ_TEST_BROKER_CONTROL" remove
    fi
}

# --- PostgreSQL, the same way ---

postgres_is_ours=false

begin_postgres() {
    postgres_is_ours=true
    if ! step "start PostgreSQL" "$build/postgres.log" new_postgres; then
        count_failure "PostgreSQL did not start, so nothing that needs it could run"
        return 1
    fi
    use_postgres
}

new_postgres() {
    "$ACEMQ_TEST_POSTGRES_CONTROL" remove && "$ACEMQ_TEST_POSTGRES_CONTROL" start
}

use_postgres() {
    "$ACEMQ_TEST_POSTGRES_CONTROL" start >>"$build/postgres.log" 2>&1
    ACEMQ_TEST_POSTGRES=$("$ACEMQ_TEST_POSTGRES_CONTROL" url)
    export ACEMQ_TEST_POSTGRES
}

end_postgres() {
    if $postgres_is_ours; then
        postgres_is_ours=false
        "$ACEMQ_TEST_POSTGRES_CONTROL" remove
    fi
}

# --- the programs ---

# The sources tell what there is, and not the build folder, which may hold programs of sources that are gone.
unit_programs() {
    local source area
    for source in ./tests/unit/*/test_*.c; do
        [[ -f $source ]] || continue
        area=$(basename "$(dirname "$source")")
        echo "unit_${area}_$(program_subject "$source")"
    done
}

broker_programs() {
    local source
    for source in ./tests/broker/test_*.c; do
        [[ -f $source ]] && echo "broker_$(program_subject "$source")"
    done
}

store_programs() {
    local source
    for source in ./tests/stores/test_*.c; do
        [[ -f $source ]] && echo "stores_$(program_subject "$source")"
    done
}

program_subject() {
    local name
    name=$(basename "$1" .c)
    echo "${name#test_}"
}

# longest_first PROGRAM...: one a line, as scripts or as names; those that are not in the list keep their order behind it.
longest_first() {
    local program
    for program in "${longest[@]}"; do
        printf '%s\n' "$@" | grep -xE "(.*/)?$program"
    done
    printf '%s\n' "$@" | grep -vxE "(.*/)?($(IFS='|' && echo "${longest[*]}"))"
}

# Scripts stand beside the programs; each is one that can be executed.
scripts_in() {
    local script
    for script in "./$1"/*; do
        [[ -f $script && -x $script ]] && echo "$script"
    done
}

# begin TITLE NAME FOLDER [LAUNCHER...]: what follows runs against that build folder, with its results in
# build/results/NAME, each program started by the launcher.
begin() {
    local title=$1
    output=$results/$2
    export ACEMQ_TEST_BUILD=$3 ACEMQ_CLI=$3/bin/acemq
    shift 3
    launcher=("$@")
    slowness=1
    mkdir -p "$output"
    echo "$title"
}

limit_s() {
    local limit=$(($1 * slowness))
    if [[ -n ${ACEMQ_TEST_LONG:-} ]]; then
        limit=$((limit * long_factor))
    fi
    echo "$limit"
}

# As many at once as there are processors.
run_unit_programs() {
    local name
    for name in $(longest_first "$@"); do
        pool_add "$(nproc)" "$output" "$name" check "$(limit_s "$unit_limit_s")" \
            "${launcher[@]}" "$ACEMQ_TEST_BUILD/tests/$name"
    done
    pool_finish "$output"
}

# Those that kill or stop a broker run beside the others, which mostly wait and share one, two a processor.
run_broker_programs() {
    local at_once=$((2 * $(nproc))) sharing lone
    mapfile -t sharing < <(longest_first "$@" | grep -vE "$alone")
    mapfile -t lone < <(printf '%s\n' "$@" | grep -E "$alone")
    use_broker
    while ((${#sharing[@]} + ${#lone[@]} > 0)); do
        if ((${#lone[@]} > 0)) && [[ ! " ${pool_names[*]} " =~ $alone ]]; then
            run_alone "${lone[0]}"
            lone=("${lone[@]:1}")
        elif ((${#sharing[@]} > 0 && ${#pool_names[@]} < at_once + 1)); then
            run_broker_program "${sharing[0]}"
            sharing=("${sharing[@]:1}")
        else
            pool_collect "$output"
        fi
    done
    pool_finish "$output"
    end_lone_broker
}

run_broker_program() {
    pool_add 99 "$output" "$1" check "$(limit_s "$broker_limit_s")" "${launcher[@]}" "$ACEMQ_TEST_BUILD/tests/$1"
}

# A program that failed may have left it dead; that is not the next one's fault.
run_alone() {
    local -x ACEMQ_BROKER_HOME=$alone_home ACEMQ_TEST_URL
    if ! "$ACEMQ_TEST_BROKER_CONTROL" start >>"$build/broker-alone.log" 2>&1; then
        count_failure "the RabbitMQ of $1 did not start" "$build/broker-alone.log"
        return
    fi
    ACEMQ_TEST_URL=$("$ACEMQ_TEST_BROKER_CONTROL" url)
    run_broker_program "$1"
}

end_lone_broker() {
    if [[ -e $alone_home ]]; then
        ACEMQ_BROKER_HOME=$alone_home "$ACEMQ_TEST_BROKER_CONTROL" remove >>"$build/broker-alone.log" 2>&1
    fi
}

# Each may end the server's connections, and the server: one at a time.
run_store_programs() {
    local name
    for name in "$@"; do
        use_postgres
        pool_add 1 "$output" "$name" check "$(limit_s "$broker_limit_s")" \
            "${launcher[@]}" "$ACEMQ_TEST_BUILD/tests/$name"
        pool_finish "$output"
    done
}

# None of them ends a server, and each names its own queues and tables.
run_broker_scripts() {
    local script
    use_broker
    if $postgres_is_ours; then
        use_postgres
    fi
    for script in $(longest_first "$@"); do
        pool_add "$(nproc)" "$output" "$(basename "$script")" script "$(limit_s "$broker_limit_s")" \
            "${launcher[@]}" "$script"
    done
    pool_finish "$output"
}

# --- the components ---

# Each in folders of its own.
component_static() {
    local script
    begin "static checks" static "$build"
    for script in $(longest_first $(scripts_in tests/check) | grep -v '/tidy$'); do
        pool_add "$(nproc)" "$output" "$(basename "$script")" script "$check_limit_s" "$script"
    done
    pool_finish "$output"
    pool_add 1 "$output" tidy script "$check_limit_s" tests/check/tidy # which uses all processors itself
    pool_finish "$output"
}

component_unit() {
    begin "unit tests" unit "$build"
    run_unit_programs $(unit_programs)
}

component_broker() {
    [[ -n $(broker_programs)$(scripts_in tests/broker) ]] || return 0
    begin "tests against RabbitMQ" broker "$build"
    begin_broker || return
    run_broker_programs $(broker_programs)
    run_broker_scripts $(scripts_in tests/broker)
}

component_stores() {
    [[ -n $(store_programs) ]] || return 0
    begin "tests against PostgreSQL" stores "$build"
    begin_postgres || return
    run_store_programs $(store_programs)
}

component_cli() {
    [[ -n $(scripts_in tests/cli) ]] || return 0
    begin "the command line" cli "$build"
    begin_broker && begin_postgres || return
    run_broker_scripts $(scripts_in tests/cli)
}

component_bench() {
    begin "the benchmark" bench "$build"
    begin_broker || return
    ACEMQ_BENCH_BUILD=$build run_broker_scripts ./tests/bench/smoke
}

# A short campaign here, a broker's kill among its faults; with --long the whole one, under AddressSanitizer.
component_fault() {
    local wanted=(--seed 14 --faults 8 --messages 4000)
    begin "a campaign of faults" fault "$build"
    if [[ -n ${ACEMQ_TEST_LONG:-} ]]; then
        build_variant "AddressSanitizer and UBSan" "$build/asan" -DACEMQ_SANITIZE=address,undefined || return
        begin "a long campaign of faults" fault "$build/asan"
        wanted=(--faults 200 --messages 100000)
    fi
    begin_broker || return
    pool_add 1 "$output" campaign script "$(limit_s "$fault_limit_s")" ./tests/fault/run --json "${wanted[@]}"
    pool_finish "$output"
    tail -n 1 "$output/campaign.log"
    if [[ -n ${ACEMQ_TEST_LONG:-} ]]; then
        ACEMQ_TEST_BUILD=$build pool_add 1 "$output" soak script "$(limit_s "$fault_limit_s")" ./tests/fault/soak
        pool_finish "$output"
        tail -n 1 "$output/soak.log"
    fi
}

component_sanitize() {
    build_variant "AddressSanitizer and UBSan" "$build/asan" -DACEMQ_SANITIZE=address,undefined || return
    begin "the same under AddressSanitizer and UBSan" sanitize "$build/asan" \
        env CK_TIMEOUT_MULTIPLIER=4 UBSAN_OPTIONS=print_stacktrace=1 \
        ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1
    slowness=4
    run_unit_programs $(unit_programs)
    begin_postgres || return
    run_store_programs $(store_programs)
    begin_broker || return
    run_broker_programs $(broker_programs)
    # What tests a script of ours has nothing in it that a sanitizer could see.
    run_broker_scripts $(scripts_in tests/broker | grep -v /private_) $(scripts_in tests/cli | grep -v /private_)
}

# The pure folders have no threads, and where allocations fail malloc is not ThreadSanitizer's. It needs the memory
# layout that a kernel gives without randomness.
component_thread() {
    build_variant "ThreadSanitizer" "$build/tsan" -DACEMQ_SANITIZE=thread || return
    begin "what has threads under ThreadSanitizer" thread "$build/tsan" \
        setarch --addr-no-randomize \
        env CK_TIMEOUT_MULTIPLIER=8 TSAN_OPTIONS=die_after_fork=0:second_deadlock_stack=1
    slowness=8
    run_unit_programs $(unit_programs | grep -vE '^unit_(allocation|contract|codec|wire)_')
    begin_postgres || return
    run_store_programs $(store_programs)
    begin_broker || return
    run_broker_programs $(broker_programs)
}

# Random cases are repeated a twentieth as often as without it.
component_valgrind() {
    begin "what parses and writes bytes under valgrind" valgrind "$build" \
        env CK_TIMEOUT_MULTIPLIER=20 ACEMQ_TEST_FEWER=20 valgrind --quiet --error-exitcode=99 \
        --leak-check=full --errors-for-leak-kinds=definite
    slowness=20
    run_unit_programs $(unit_programs | grep -E '^unit_(wire|codec)_')
}

# Only clang has libFuzzer, and it links no sanitizer into a shared library: nothing but the targets is built.
component_fuzz() {
    local folder=$build/fuzz
    mkdir -p "$folder"
    if ! step "configure the fuzz targets" "$folder/configure.log" configure "$folder" -DCMAKE_C_COMPILER=clang \
        -DACEMQ_FUZZ=ON -DACEMQ_SANITIZE=fuzzer-no-link,address,undefined ||
        ! step "build the fuzz targets" "$folder/build.log" \
            cmake --build "$folder" --target fuzz_targets --parallel "$(nproc)"; then
        count_failure "the build of the fuzz targets"
        return
    fi
    begin "fuzzing" fuzz "$folder"
    pool_add 1 "$output" fuzz script "$(limit_s "$fuzz_limit_s")" ./tests/fuzz/run
    pool_finish "$output"
    if [[ -n ${ACEMQ_TEST_LONG:-} ]]; then
        tail -n 1 "$output/fuzz.log"
    fi
}

build_variant() {
    local title=$1 folder=$2
    shift 2
    if ! build_folder "with $title" "$folder" -DACEMQ_TESTS=ON "$@"; then
        count_failure "the build with $title"
        return 1
    fi
}
