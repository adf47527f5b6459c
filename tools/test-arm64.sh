#!/usr/bin/env bash
# Builds for aarch64 (Graviton, Apple, Raspberry Pi) with Debian's cross compiler and runs the unit
# tests under qemu's user emulation: what `make test-arm64` does, on Debian 12 for x86-64.
#
# Only the compiler, qemu and what every build needs are installed. The arm64 libraries are downloaded
# and unpacked into build-arm64/sysroot by an apt of its own, so that the system does not become one of
# two architectures, and packages of both cannot conflict.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/sysroot.sh
build=$PWD/build-arm64
sysroot=$build/sysroot
libraries=(libc6-dev libjansson-dev libssl-dev libzip-dev libcurl4-openssl-dev libisal-dev
    libcmocka-dev)

# What runs on this machine.
install_tools() {
    local needs=(cmake make pkg-config gcc-aarch64-linux-gnu qemu-user-static) as_root=()
    # shellcheck disable=SC2016 # dpkg-query expands ${...} itself
    [ "$(dpkg-query -W -f='${db:Status-Abbrev}\n' "${needs[@]}" 2>/dev/null | grep -c '^ii')" = \
        ${#needs[@]} ] && return
    [ "$(id -u)" = 0 ] || as_root=(sudo)
    echo "pathgcn: installing ${needs[*]}"
    "${as_root[@]}" apt-get -qq update
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=120 \
        install --no-install-recommends "${needs[@]}" >/dev/null
}

install_tools
sysroot_fill "$sysroot" arm64 "$(. /etc/os-release && echo "$VERSION_CODENAME")" "${libraries[@]}"
cmake -S . -B "$build" --log-level=WARNING -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake \
    -DPATHGCN_SYSROOT="$sysroot" -DPATHGCN_TESTS=ON -DPATHGCN_WERROR=ON
cmake --build "$build" -j"$(nproc)"
# Tests that an emulator is too slow for do a sample of their cases.
PATHGCN_EMULATED=1 ctest --test-dir "$build" -L unit -j"$(nproc)" --output-on-failure
