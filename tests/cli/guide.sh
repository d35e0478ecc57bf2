#!/bin/bash
# The commands of the guide that take a RabbitMQ run as they stand there.
# shellcheck source=tests/cli/lib/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/tap.sh"
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." || exit

: "${ACEMQ_TEST_URL:?the RabbitMQ to test against, which packaging/test names}"

with_the_broker() {
    PATH=$(dirname -- "$ACEMQ_CLI"):$PATH TMPDIR=$scratch tests/check/guide --run-by tests/cli/guide.sh
}

check "the guide's commands that take a RabbitMQ run" with_the_broker
finish
