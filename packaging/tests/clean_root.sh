# Run by packaging/tests/deb in a clean Debian that has a compiler; only our packages come in, and what they ask for.
# The RabbitMQ and the PostgreSQL of the tests are outside: /packages/servers.sh says where. That has a password, so
# commands are not shown as they run.
# shellcheck shell=sh
set -eu
# shellcheck source=/dev/null
. /packages/servers.sh
examples="publish consume_with_retry replay idempotent_consumer outbox"
documents=/usr/share/doc

# story URL STORE NAME COMMAND...: the example tells its story, with its claims or its outbox in that store.
story() {
    url=$1 store=$2 name=$3
    shift 3
    case $name in
    idempotent_consumer | outbox) ;;
    *) store= ;;
    esac
    # shellcheck disable=SC2016
    ACEMQ_TEST_BUILD=/tmp/library /packages/story/compare "$url" "$name" \
        sh -c 'store=$1; shift; exec "$@" ${store:+"$store"}' sh "$store" "$@"
}

# told URL STORE NAME: by each language, and by C as pkg-config and as CMake built it. A store in a folder is another
# one for each.
told() {
    url=$1 store=$2 name=$3
    for teller in python ruby lua pkg-config cmake; do
        echo "$name on ${url%%:*}, $teller, ${store%%:*}"
        case $teller in
        python) set -- /usr/bin/python3 "$documents/python3-acemq/examples/$name.py" ;;
        ruby) set -- ruby "$documents/ruby-acemq/examples/$name.rb" ;;
        lua) set -- luajit "$documents/lua-acemq/examples/$name.lua" ;;
        *) set -- "/tmp/application/$teller/$name" ;;
        esac
        case $store in
        lmdb:*) story "$url" "$store/$name-$teller" "$name" "$@" ;;
        *) story "$url" "$store" "$name" "$@" ;;
        esac
    done
}

# shellcheck disable=SC2086,SC2046
builds_in_c() {
    mkdir -p /tmp/application/pkg-config
    cd /tmp/application
    for name in $examples; do
        cp "$documents/libacemq-dev/examples/$name.c" .
        gcc "$name.c" $(pkg-config --cflags --libs acemq) -o "pkg-config/$name"
    done
    cp /packages/CMakeLists.txt .
    cmake -S . -B cmake
    cmake --build cmake
}

# The guide's own commands, with the packages made already: library and command line are enough for a demo.
echo 'APT::Get::Assume-Yes "true"; APT::Install-Recommends "false";' >/etc/apt/apt.conf.d/90acemq
mkdir -p /checkout/packaging /checkout/build
ln -s /packages /checkout/build/dist
ln -s /bin/true /checkout/packaging/deb
(cd /checkout && sh -eu /packages/installing.sh)
acemq --version
acemq demo --fast
apt-get install /packages/*.deb
builds_in_c
mkdir -p /tmp/library/lib /tmp/stores
ln -s "$(gcc -print-file-name=libacemq.so)" /tmp/library/lib/libacemq.so

for name in $examples; do
    told memory://packages memory: "$name"
    told "$ACEMQ_TEST_URL" lmdb:/tmp/stores "$name"
done

# What the library's package suggests, for stores in PostgreSQL.
apt-get install libpq5
told "$ACEMQ_TEST_URL" "$ACEMQ_TEST_POSTGRES" outbox
