#!/usr/bin/env bash
# Builds for aarch64 (Graviton, Apple, Raspberry Pi) with Debian's cross compiler and runs the unit
# tests under qemu's user emulation: what `make test-arm64` does, on Debian 12 for x86-64.
#
# Only the compiler, qemu and what every build needs are installed. The arm64 libraries are downloaded
# and unpacked into build-arm64/sysroot by an apt of its own, so that the system does not become one of
# two architectures, and packages of both cannot conflict.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$PWD/build-arm64
sysroot=$build/sysroot
apt=$build/apt
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

# An apt for arm64 with its own lists, packages and (empty) list of what is installed; it asks the
# mirrors of this system. It needs no root.
write_apt_settings() {
    mkdir -p "$apt"/{lists,archives}/partial
    : >"$apt/status"
    cat >"$apt/apt.conf" <<END
APT::Architecture "arm64";
#clear APT::Architectures;
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "";
Dir::State::lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::State::extended_states "$apt/extended_states";
Dir::Cache::archives "$apt/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
END
}

# Unpacks all packages that the libraries need, themselves included. /lib is a link to /usr/lib as in an
# installed system. Links to absolute paths are made relative to the sysroot: the linker would look for
# them in this system.
fill_sysroot() {
    [ "$(cat "$sysroot/packages" 2>/dev/null)" = "${libraries[*]}" ] && return
    echo "pathgcn: downloading the arm64 packages"
    rm -rf "$sysroot" "$apt"
    write_apt_settings
    APT_CONFIG=$apt/apt.conf apt-get -qq update
    APT_CONFIG=$apt/apt.conf apt-get -qq -y --download-only install "${libraries[@]}" >/dev/null
    mkdir -p "$sysroot/usr/lib"
    ln -s usr/lib "$sysroot/lib"
    local package link
    for package in "$apt"/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$sysroot"
    done
    find "$sysroot" -type l -lname '/*' | while read -r link; do
        ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$sysroot$(readlink "$link")")" "$link"
    done
    echo "${libraries[*]}" >"$sysroot/packages"
    rm -rf "$apt"
}

install_tools
fill_sysroot
cmake -S . -B "$build" --log-level=WARNING -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake \
    -DPATHGCN_SYSROOT="$sysroot" -DPATHGCN_TESTS=ON -DPATHGCN_WERROR=ON
cmake --build "$build" -j"$(nproc)"
# Tests that an emulator is too slow for do a sample of their cases.
PATHGCN_EMULATED=1 ctest --test-dir "$build" -L unit -j"$(nproc)" --output-on-failure
