# TCP ports that the kernel gives to nobody by itself. A port in its ephemeral range may be gone when a broker that
# was killed comes back, and a connect loop to one may connect to itself.
# shellcheck shell=bash

# ports_in_use [STATE]: decimal local ports of this machine's sockets; STATE 0A is listening.
ports_in_use() {
    local tables=() table
    for table in /proc/net/tcp /proc/net/tcp6; do
        [[ -r $table ]] && tables+=("$table")
    done
    awk -v wanted="${1:-}" 'FNR > 1 && (wanted == "" || $4 == wanted) { n = split($2, part, ":"); print part[n] }' \
        "${tables[@]}" | sort -u | while read -r hexadecimal; do
        echo $((16#$hexadecimal))
    done
}

# No pipe into grep -q: what it has not read when it ends would fail the writer, and with it the whole line.
is_in_use() {
    local ports
    ports=$(ports_in_use "${2:-}")
    [[ $'\n'$ports$'\n' == *$'\n'$1$'\n'* ]]
}

is_listened_on() {
    is_in_use "$1" 0A
}

# listens PROCESS PORT: the process itself does, whoever else might. To be asked as the user that it belongs to.
listens() {
    local wanted held
    wanted=$(awk -v port="$(printf '%04X' "$2")" '$4 == "0A" && $2 ~ ":" port "$" { print "socket:[" $10 "]" }' /proc/net/tcp /proc/net/tcp6 2>/dev/null)
    held=$(find "/proc/$1/fd" -lname 'socket:*' -printf '%l\n' 2>/dev/null)
    [[ -n $wanted && -n $held ]] && grep -qxF "$wanted" <<<"$held"
}

# free_ports COUNT: as many ports, different ones, none in use and none ephemeral.
free_ports() {
    local wanted=$1 low high first last used port chosen=' '
    read -r low high </proc/sys/net/ipv4/ip_local_port_range
    # Above 1024 anybody may listen; the larger of the two gaps beside the range is the better one.
    first=10240 last=$((low - 1))
    if ((last - first < 1000)); then
        first=$((high + 1)) last=65535
    fi
    if ((last - first < 100)); then
        first=10240 last=65535
    fi
    used=" $(ports_in_use | tr '\n' ' ')"
    while ((wanted > 0)); do
        port=$((first + SRANDOM % (last - first + 1)))
        if [[ $used$chosen != *" $port "* ]]; then
            chosen+="$port "
            echo "$port"
            wanted=$((wanted - 1))
        fi
    done
}
