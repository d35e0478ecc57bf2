# What packaging/test runs of the languages that call the library, of the conformance suite, and of the packages: the
# scripts that lie in their folders, each with a RabbitMQ and a PostgreSQL of the component's own.
# shellcheck shell=bash disable=SC2034,SC2046,SC2154

# run_scripts_of COMPONENT FOLDER TITLE [SLOWNESS]: those that build and start many programs of others take longer
run_scripts_of() {
    [[ -n $(scripts_in "$2") ]] || return 0
    begin "$3" "$1" "$build"
    slowness=${4:-1}
    begin_broker && begin_postgres || return
    run_broker_scripts $(scripts_in "$2")
}

# What some of them run under AddressSanitizer is built ahead, with all processors, and not in the time of a test.
build_sanitized_library() {
    step "build the library with AddressSanitizer" "$build/sanitized-library.log" packaging/sanitized-library "$build" ||
        count_failure "the library with AddressSanitizer"
}

component_python() {
    build_sanitized_library
    run_scripts_of python bindings/python/tests "the binding for Python"
}

component_ruby() {
    build_sanitized_library
    run_scripts_of ruby bindings/ruby/tests "the binding for Ruby"
}

component_lua() {
    run_scripts_of lua bindings/lua/tests "the binding for Lua"
}

component_swig() {
    run_scripts_of swig swig/tests "the modules that SWIG makes"
}

component_conformance() {
    run_scripts_of conformance conformance/tests "the conformance suite" 3
}

component_packages() {
    run_scripts_of packages packaging/tests "the packages and the gate of the ABI" 3
}
