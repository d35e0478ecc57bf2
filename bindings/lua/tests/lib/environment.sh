# What every test of this folder runs in: the library that was built, and the module as it lies here.
# shellcheck shell=bash
set -uo pipefail

: "${ACEMQ_TEST_BUILD:?the build folder, which packaging/test names}"
: "${ACEMQ_TEST_URL:?the RabbitMQ to test against, which packaging/test names}"

tests=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
binding=$(dirname -- "$tests")
export ACEMQ_LIBRARY=$ACEMQ_TEST_BUILD/lib/libacemq.so
export LUA_PATH="$tests/lib/?.lua;$binding/?.lua;$binding/?/init.lua;;"
