#!/usr/bin/env bash
# The walk-through of docs/OWN_DATA.md by an ordinary user of a fresh Debian: from the packages of `make deb` on this
# release, and from the tarball of `make tarball` on Debian 11. Needs root, debootstrap and a mirror of Debian.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
    echo "pathgcn: run this as root, with debootstrap installed (apt-get install debootstrap)" >&2
    exit 1
fi
source tools/sysroot.sh
packages=$PWD/build
PATHGCN=$(command -v true) # lib.sh wants one; here every tree has its own
source tests/e2e/lib.sh
commands_of "$PATHGCN_SOURCE/docs/OWN_DATA.md" >"$scratch/commands"

tree=$scratch/tree
leave() { umount "$tree/proc" && rm -rf --one-file-system "$tree"; }
fresh() { # SUITE: a new Debian with an ordinary user
    run 0 debootstrap --variant=minbase "$1" "$tree" "$(sysroot_mirror)"
    mount -t proc proc "$tree/proc"
    trap 'umount "$tree/proc"; rm -rf --one-file-system "$scratch"' EXIT
    run 0 chroot "$tree" useradd -m ada
}
walk() { # WHERE FIRST-COMMANDS: what the user types
    {
        echo 'set -e'
        echo "$2"
        echo 'cp -r $(pathgcn info --docs)/examples .' # the line of README.md
        cat "$scratch/commands"
        echo 'test $(wc -l <predictions.csv) = 76'
    } >"$tree/home/ada/walk.sh"
    run 0 chroot "$tree" su - ada -c 'sh -x walk.sh'
    echo "$1: $(wc -l <"$scratch/commands") commands of docs/OWN_DATA.md run"
}

fresh "$(. /etc/os-release && echo "$VERSION_CODENAME")"
cp "$packages"/deb/pathgcn_*.deb "$tree/tmp"
run 0 env LC_ALL=C DEBIAN_FRONTEND=noninteractive chroot "$tree" sh -c \
    'apt-get -qq update && apt-get -qq -y install --no-install-recommends /tmp/pathgcn_*.deb'
walk "package" ''
leave
fresh bullseye
cp "$packages"/pathgcn-*-linux-*.tar.gz "$tree/home/ada"
walk "tarball" 'tar -xzf pathgcn-*.tar.gz
PATH=$(echo $PWD/pathgcn-*/bin):$PATH'
leave
trap 'rm -rf "$scratch"' EXIT
