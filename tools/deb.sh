#!/usr/bin/env bash
# Debian packages of this source, in build/deb: the program (pathgcn), the shared library, and what is needed to
# compile with it. packaging/debian says what is in each. lintian checks them if it is installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ! command -v dpkg-buildpackage >/dev/null; then
    echo "pathgcn: dpkg-buildpackage is missing; Debian packages are made on Debian (make tarball: for others)" >&2
    exit 1
fi
version=$(sed -nE 's/^#define PGCN_VERSION "([^"]+)"/\1/p' include/pathgcn/pathgcn.h)
packaged=$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)
if [ "$packaged" != "$version" ]; then
    echo "pathgcn: packaging/debian/changelog is of version $packaged, the header of $version; add an entry" >&2
    exit 1
fi

# dpkg-buildpackage wants the folder debian in the source, and writes beside the source.
place=build/deb
rm -rf "$place"
mkdir -p "$place/pathgcn-$version"
tar -c --exclude='./build*' --exclude=./runs --exclude=./.git --exclude='__pycache__' . |
    tar -x -C "$place/pathgcn-$version"
cp -r packaging/debian "$place/pathgcn-$version/debian"
(
    cd "$place/pathgcn-$version"
    DEB_BUILD_OPTIONS="noautodbgsym parallel=$(nproc) ${DEB_BUILD_OPTIONS:-}" dpkg-buildpackage -b -us -uc
) >"$place/build.log" 2>&1 || {
    tail -n 20 "$place/build.log" >&2
    echo "pathgcn: the packages were not built; $place/build.log has all of it" >&2
    exit 1
}
rm -rf "$place/pathgcn-$version"
if command -v lintian >/dev/null; then
    lintian --fail-on error,warning --allow-root "$place"/*.changes
else
    echo "pathgcn: lintian is not installed, the packages were not checked by it"
fi
ls "$place"/*.deb
