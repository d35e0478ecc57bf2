# Run by packaging/tests/deb in a clean Debian that has a compiler; only our packages come in, and what they ask for.
# shellcheck shell=sh
set -eux
apt-get install --yes --no-install-recommends /packages/*.deb
acemq --version
acemq demo --fast
mkdir /tmp/application
cd /tmp/application
cp /usr/share/doc/libacemq-dev/examples/publish.c /packages/CMakeLists.txt .

# shellcheck disable=SC2046
gcc publish.c $(pkg-config --cflags --libs acemq) -o with-pkg-config
./with-pkg-config | grep confirmed
cmake -S . -B build
cmake --build build
build/application | grep confirmed

for name in publish consume_with_retry replay; do
    /usr/bin/python3 "/usr/share/doc/python3-acemq/examples/$name.py"
    ruby "/usr/share/doc/ruby-acemq/examples/$name.rb"
    luajit "/usr/share/doc/lua-acemq/examples/$name.lua"
done
