# Debian packages: what a component needs, what of it is missing, installing just that.
# shellcheck shell=bash

# packages_of COMPONENT...: the manifests' packages, one a line. A component without a manifest needs nothing of its own.
packages_of() {
    local component manifest
    for component in "$@"; do
        manifest=$ACEMQ_ROOT/packaging/manifest/$component.txt
        [[ -f $manifest ]] && sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$manifest"
    done | sort -u
}

is_installed() {
    [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

missing_packages() {
    local package
    for package in $(packages_of "$@"); do
        is_installed "$package" || echo "$package"
    done
}

# as_root COMMAND...: whoever may install becomes root for that command only.
as_root() {
    if ((EUID == 0)); then
        "$@"
    else
        sudo -- "$@"
    fi
}

readonly service_policy=/usr/sbin/policy-rc.d
readonly service_policy_mark='written by libacemq for one installation'

# Debian starts a server when it is installed, and the tests want none but their own. A machine that has a policy
# keeps it. The policy we write names the services, and ends with this process should we be killed before it is removed.
forbid_starting_services() {
    if [[ -e $service_policy ]] && ! grep -q "$service_policy_mark" "$service_policy"; then
        return 0
    fi
    as_root tee "$service_policy" >/dev/null <<POLICY
#!/bin/sh
# $service_policy_mark
[ -d /proc/$$ ] || exit 0
case " \$* " in
*" rabbitmq-server"*|*" epmd"*|*" postgresql"*) exit 101 ;;
esac
exit 0
POLICY
    as_root chmod 755 "$service_policy"
}

allow_starting_services() {
    if [[ -e $service_policy ]] && grep -q "$service_policy_mark" "$service_policy"; then
        as_root rm -f "$service_policy"
    fi
}

# A server that we brought does not start with the machine either; one that was there before is not touched.
disable_new_servers() {
    local server
    for server in "$@"; do
        if is_installed "$server"; then
            as_root update-rc.d "$server" disable || true
        fi
    done
}

apt_install() {
    local new_servers=() server status=0
    for server in rabbitmq-server postgresql; do
        is_installed "$server" || new_servers+=("$server")
    done
    # A list that cannot be refreshed does not matter when the packages can be had all the same.
    as_root apt-get -o DPkg::Lock::Timeout=300 update || true
    forbid_starting_services
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
        install --yes --no-install-recommends "$@" || status=$?
    allow_starting_services
    if ((status == 0)); then
        disable_new_servers "${new_servers[@]}"
    fi
    return "$status"
}

# install_packages LOG COMPONENT...: installs what the components lack; asks for nothing when nothing is missing.
install_packages() {
    local log=$1 missing
    shift
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        complain "this machine has no apt-get; install what these are on Debian 12, then run again with" \
            "ACEMQ_NO_INSTALL=1:" "$(packages_of "$@" | tr '\n' ' ')"
        [[ -n ${ACEMQ_NO_INSTALL:-} ]]
        return
    fi
    mapfile -t missing < <(missing_packages "$@")
    if ((${#missing[@]} == 0)); then
        return 0
    fi
    if ((EUID != 0)) && ! command -v sudo >/dev/null; then
        complain "these packages are missing, and installing them takes root or sudo:"
        complain "    apt-get install ${missing[*]}"
        return 1
    fi
    if ((EUID != 0)); then
        # The password is asked for here, where it is seen, and not into the log.
        sudo -v || return 1
    fi
    step "install ${#missing[@]} packages" "$log" apt_install "${missing[@]}"
}
