#!/bin/bash
# The examples in C against each broker: what they print is the story that every other language tells too.
# shellcheck source=tests/cli/lib/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/tap.sh"

: "${ACEMQ_TEST_URL:?the RabbitMQ to test against, which packaging/test names}"
: "${ACEMQ_TEST_BUILD:?the build folder, which packaging/test names}"
story=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../examples/story" && pwd -P)

another_story() {
    ! "$story/compare" memory://example publish echo >/dev/null
}

for name in publish consume_with_retry replay idempotent_consumer outbox; do
    program=$ACEMQ_TEST_BUILD/bin/example-${name//_/-}
    check "memory broker: $name" "$story/compare" memory://example "$name" "$program"
    check "RabbitMQ: $name" "$story/compare" "$ACEMQ_TEST_URL" "$name" "$program"
done
check "a story that is told otherwise is told apart" another_story
finish
