#!/usr/bin/env bash
# The program for machines without root, as build/pathgcn-VERSION-linux-ARCHITECTURE.tar.gz: unpack it anywhere and
# run bin/pathgcn. It needs glibc 2.31 (Debian 11) or later and nothing else.
#
# It is compiled against the packages of Debian 11, which are downloaded and unpacked into build/tarball. The
# libraries that are not glibc go into lib/pathgcn of the tarball, with their licences. libcurl is left out: it would
# bring thirty more, and a copy of TLS that nobody updates. `data fetch` says so there. METIS is left out too:
# partitions are the built-in ones.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/sysroot.sh
source tools/sysroot.sh
suite=bullseye glibc=2.31
place=$PWD/build/tarball
sysroot=$place/sysroot
version=$(sed -nE 's/^#define PGCN_VERSION "([^"]+)"/\1/p' include/pathgcn/pathgcn.h)
name=pathgcn-$version-linux-$(uname -m)
root=$place/$name
if ! command -v apt-get >/dev/null; then
    echo "pathgcn: the tarball is made on Debian, from packages of Debian 11; apt-get is missing" >&2
    exit 1
fi
libraries=$sysroot/usr/lib/$(cc -print-multiarch)

needed() { objdump -p "$1" | awk '$1 == "NEEDED" { print $2 }'; } # FILE

# copy_needed FILE FOLDER: the libraries that the file needs and that are not glibc's, and what they need.
copy_needed() {
    local library
    for library in $(needed "$1"); do
        case $library in
            libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | librt.so.* | ld-linux*) continue ;;
        esac
        [ ! -e "$2/$library" ] || continue
        cp -L "$libraries/$library" "$2/$library"
        copy_needed "$2/$library" "$2"
    done
}

# copy_licences FOLDER: of the packages that the libraries come from.
copy_licences() {
    local package
    mkdir -p "$1"
    for package in libjansson4 libzip4 libisal2 libssl1.1 libbz2-1.0 zlib1g; do
        cp "$sysroot/usr/share/doc/$package/copyright" "$1/$package"
    done
}

# Every function of glibc that is used is of the version that was promised, or older.
check_glibc() { # FILE...
    local file newest
    for file; do
        newest=$(objdump -T "$file" | grep -oE 'GLIBC_[0-9.]+' | cut -d _ -f 2 | sort -V | tail -n 1)
        [ "$(printf '%s\n' "$glibc" "$newest" | sort -V | tail -n 1)" = "$glibc" ] && continue
        echo "pathgcn: $file needs glibc $newest, expected at most $glibc" >&2
        return 1
    done
}

sysroot_fill "$sysroot" "$(dpkg --print-architecture)" "$suite" libc6-dev libjansson-dev libssl-dev libzip-dev \
    libisal-dev
mkdir -p "$sysroot/private"
for library in libjansson.so libzip.so libisal.so libcrypto.so; do # what the build itself runs with
    target=$(objdump -p "$libraries/$library" | awk '$1 == "SONAME" { print $2 }')
    cp -L "$libraries/$library" "$sysroot/private/$target"
    copy_needed "$libraries/$library" "$sysroot/private"
done
cmake -S . -B "$place/build" --log-level=WARNING -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/tarball.cmake" \
    -DPATHGCN_SYSROOT="$sysroot" -DPATHGCN_FETCH=OFF -DPATHGCN_METIS=OFF -DPATHGCN_URING=OFF \
    -DCMAKE_INSTALL_LIBDIR=lib
cmake --build "$place/build" -j"$(nproc)"

rm -rf "$root"
cmake --install "$place/build" --prefix "$root" --strip >/dev/null
rm -r "$root/include" "$root/lib" # the program is all that is promised
mkdir -p "$root/lib/pathgcn"
copy_needed "$root/bin/pathgcn" "$root/lib/pathgcn"
copy_licences "$root/share/doc/pathgcn/licences"
check_glibc "$root/bin/pathgcn" "$root"/lib/pathgcn/*
"$root/bin/pathgcn" --version >/dev/null
tar -C "$place" --owner=0 --group=0 --sort=name -czf "build/$name.tar.gz" "$name"
ls -s --block-size=K "build/$name.tar.gz"
