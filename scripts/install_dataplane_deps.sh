#!/usr/bin/env bash
# Installs what the Linux data plane needs on Debian and Ubuntu: to build it (clang, libbpf, libelf) and to run and
# test it (iproute2). Says what is missing where it may not install. With --check it installs nothing: it prints the
# missing packages, if any, and then ends with status 1. With --dpdk before that it is about the DPDK node alone.
set -euo pipefail

# One line: what the package brings that can be looked for, and the package.
needed=(
    "command:clang clang"
    "file:/usr/include/bpf/bpf_helpers.h libbpf-dev"
    "file:/usr/include/libelf.h libelf-dev"
    "file:/usr/include/zlib.h zlib1g-dev"
    "command:pkg-config pkg-config"
    "command:make make"
    "command:cc gcc"
    "command:tc iproute2"
)

what="the Linux data plane"
if [ "${1:-}" = --dpdk ]; then
    shift
    what="the DPDK node"
    needed=("command:pkg-config pkg-config" "command:cc gcc" "file:/usr/include/dpdk/rte_ethdev.h libdpdk-dev")
fi

export PATH="$PATH:/usr/sbin:/sbin"
missing=()
for line in "${needed[@]}"; do
    read -r probe package <<< "$line"
    case $probe in
        command:*) command -v "${probe#command:}" > /dev/null || missing+=("$package") ;;
        file:*) [ -e "${probe#file:}" ] || missing+=("$package") ;;
    esac
done

if [ "${1:-}" = --check ]; then
    [ "${#missing[@]}" = 0 ] || { echo "${missing[*]}"; exit 1; }
    exit 0
fi
if [ "${#missing[@]}" = 0 ]; then
    echo "$what has all that it needs"
    exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then
    echo "please install: ${missing[*]} (names as in Debian; I may not: that takes root and apt-get)" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
# Another apt may run, for example that of automatic upgrades: both steps wait for it. `update` has no option for this.
patience_s=${APT_PATIENCE_S:-600}
until said=$(LC_ALL=C apt-get update -qq -o Acquire::Retries=3 2>&1); do
    if [[ $said != *"Could not get lock"* ]] || [ "$SECONDS" -ge "$patience_s" ]; then
        echo "$said" >&2
        exit 1
    fi
    sleep 1
done
apt-get install -y -qq -o Acquire::Retries=3 -o DPkg::Lock::Timeout="$patience_s" --no-install-recommends \
    "${missing[@]}" > /dev/null
echo "installed: ${missing[*]}"
