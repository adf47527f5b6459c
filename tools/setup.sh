#!/usr/bin/env bash
# Installs the Debian packages that a target of the Makefile needs and that are missing; says
# nothing when all are there. On other systems it only checks, and says what to install.
#
#   tools/setup.sh [build | python | test | full | bench | deb | pages]
set -euo pipefail

# Alternatives are separated by |; the first is the one that gets installed.
build=(gcc libc6-dev make binutils cmake "pkg-config|pkgconf" libjansson-dev libssl-dev
    libzip-dev libcurl4-openssl-dev libisal-dev liburing-dev)
modules=(jansson libcrypto libzip libcurl libisal)
# What `pip install ./python` needs; and the libraries that the tests of the package use.
package=(python3-dev python3-venv)
python=("${package[@]}" python3-pytest python3-numpy python3-scipy python3-sklearn python3-networkx
    python3-pandas python3-hypothesis)
# Training on several machines: the build does without. Both are tested; where both are, mpicc and mpirun are Open MPI's.
mpi=(libopenmpi-dev openmpi-bin libmpich-dev mpich)
case "${1:-build}" in
build) needs=("${build[@]}") ;;
python) needs=("${build[@]}" "${package[@]}") ;;
test) needs=("${build[@]}" "${python[@]}" "${mpi[@]}" libcmocka-dev) modules+=(cmocka) ;;
full) needs=("${build[@]}" "${python[@]}" "${mpi[@]}" libcmocka-dev clang libclang-rt-14-dev valgrind
    clang-format libigraph-dev) modules+=(cmocka) ;;
bench) needs=("${build[@]}" python3-torch python3-numpy python3-pandas libopenblas-pthread-dev)
    # Not every release and architecture of Debian has it, and bench/ does without.
    ! apt-cache show libxsmm-dev >/dev/null 2>&1 || needs+=(libxsmm-dev) ;;
pages) needs=("${build[@]}" chromium python3-websocket fonts-dejavu-core) ;;
deb) needs=("${build[@]}" dpkg-dev debhelper) ;;
*)
    echo "usage: tools/setup.sh [build | python | test | full | bench | deb | pages]" >&2
    exit 2
    ;;
esac

# Partitions by METIS: the build does without where there is no such package.
! apt-cache show libmetis-dev >/dev/null 2>&1 || needs+=(libmetis-dev)

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    missing=()
    for tool in cc cmake make objcopy pkg-config; do
        command -v "$tool" >/dev/null || missing+=("$tool")
    done
    for module in "${modules[@]}"; do
        pkg-config --exists "$module" 2>/dev/null || missing+=("$module (library and headers)")
    done
    [ ${#missing[@]} -eq 0 ] && exit 0
    printf 'pathgcn: please install these first, then repeat:\n' >&2
    printf '  %s\n' "${missing[@]}" >&2
    exit 1
fi

# One query for all names; unknown names are simply not in the answer.
IFS='|' read -r -a names <<<"$(IFS='|' && echo "${needs[*]}")"
# shellcheck disable=SC2016 # dpkg-query expands ${...} itself
present=$(dpkg-query -W -f='${db:Status-Abbrev} ${Package}\n' "${names[@]}" 2>/dev/null |
    awk '$1 == "ii" { print $2 }' || true)
missing=()
for need in "${needs[@]}"; do
    grep -qxE "$need" <<<"$present" || missing+=("${need%%|*}")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "pathgcn: these packages are missing; as root, run" >&2
        echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi

echo "pathgcn: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
        -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 "$@" >"$log" 2>&1
}
# Package lists that are absent or old show as a failed install: only then fetch them.
if ! apt install --no-install-recommends "${missing[@]}"; then
    if ! apt update || ! apt install --no-install-recommends "${missing[@]}"; then
        tail -n 15 "$log" >&2
        echo "pathgcn: apt-get could not install the packages above; see its message" >&2
        exit 1
    fi
fi
