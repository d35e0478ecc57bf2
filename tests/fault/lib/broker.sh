# What the programs of tests/fault need: a build, and a RabbitMQ of their own.
# shellcheck shell=bash

# shellcheck source=packaging/lib/report.sh
source "$ACEMQ_ROOT/packaging/lib/report.sh"
# shellcheck source=packaging/lib/build.sh
source "$ACEMQ_ROOT/packaging/lib/build.sh"

# choose_fault_build SANITIZERS PROGRAM: sets fault_build. The one that packaging/test names is used as it is.
choose_fault_build() {
    local options=(-DACEMQ_TESTS=ON)
    fault_build=$ACEMQ_ROOT/build
    if [[ -n ${ACEMQ_TEST_BUILD:-} && -z $1 ]]; then
        fault_build=$ACEMQ_TEST_BUILD
        return
    fi
    if [[ -n $1 ]]; then
        fault_build=$ACEMQ_ROOT/build/asan
        options+=("-DACEMQ_SANITIZE=$1")
    fi
    mkdir -p "$fault_build" &&
        step "configure" "$fault_build/configure.log" configure "$fault_build" "${options[@]}" >&2 &&
        step "build" "$fault_build/build.log" cmake --build "$fault_build" --parallel "$(nproc)" --target "$2" >&2
}

# Sets fault_url. A broker that was named is used, and left as it is.
# shellcheck disable=SC2034
use_fault_broker() {
    export ACEMQ_TEST_BROKER_CONTROL=${ACEMQ_TEST_BROKER_CONTROL:-$ACEMQ_ROOT/packaging/broker}
    export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
    if [[ -n ${ACEMQ_TEST_URL:-} ]]; then
        fault_url=$ACEMQ_TEST_URL
        return
    fi
    export ACEMQ_BROKER_HOME=$ACEMQ_ROOT/build/fault-broker
    trap remove_fault_broker EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    step "start RabbitMQ" "$ACEMQ_ROOT/build/fault-broker.log" new_fault_broker >&2 || return
    fault_url=$("$ACEMQ_TEST_BROKER_CONTROL" url)
}

new_fault_broker() {
    "$ACEMQ_TEST_BROKER_CONTROL" remove && "$ACEMQ_TEST_BROKER_CONTROL" start
}

remove_fault_broker() {
    "$ACEMQ_TEST_BROKER_CONTROL" remove >&2
}
