#!/usr/bin/env bash
# Installs into a temporary place and uses the result as a stranger would: through pkg-config, and
# through find_package(pathgcn). Both libraries must offer pgcn_* symbols and nothing else.
set -euo pipefail
[ -z "${PATHGCN_SANITIZE:-}" ] || exit 77 # a sanitized library needs a sanitized program
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix
fail() {
    echo "install: $*" >&2
    exit 1
}

cmake --install "$PATHGCN_BUILD" --prefix "$prefix" >"$scratch/install.log"
"$prefix/bin/pathgcn" --version >/dev/null || fail "the installed program does not run"
[ -s "$prefix/share/man/man1/pathgcn.1" ] || fail "no manual page"
for file in bash-completion/completions/pathgcn zsh/site-functions/_pathgcn fish/vendor_completions.d/pathgcn.fish; do
    [ -s "$prefix/share/$file" ] || fail "the completion $file is not installed"
done
for recipe in "$PATHGCN_SOURCE"/recipes/*.recipe; do
    cmp "$recipe" "$prefix/share/pathgcn/recipes/${recipe##*/}" || fail "a recipe is not installed"
done
library=$(find "$prefix" -name libpathgcn.so)
archive=$(find "$prefix" -name libpathgcn.a)
export PKG_CONFIG_PATH=${archive%/*}/pkgconfig LD_LIBRARY_PATH=${archive%/*}

# -- only pgcn_ symbols --------------------------------------------------------------------------
check_symbols() { # label, nm arguments...
    local label=$1 symbols
    shift
    symbols=$(nm --defined-only "$@" | awk 'NF == 3 && $2 != "A" { sub(/@.*/, "", $3); print $3 }')
    [ "$(grep -c '^pgcn_' <<<"$symbols")" -ge 10 ] || fail "$label offers too little: $symbols"
    if grep -E '^pgcn_i_' <<<"$symbols" || grep -vE '^pgcn_' <<<"$symbols"; then
        fail "$label offers the symbols above, which are not part of the public header"
    fi
}
check_symbols libpathgcn.so -D "$library"
check_symbols libpathgcn.a --extern-only "$archive"

# -- a program of somebody else --------------------------------------------------------------------
mkdir "$scratch/user"
cd "$scratch/user"
cat >user.c <<'C'
#include <pathgcn/pathgcn.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    const pgcn_node source[] = {0, 1}, target[] = {1, 2};
    pgcn_graph *graph = NULL;
    if (pgcn_graph_from_edges(3, 2, source, target, NULL, NULL, &graph) != PGCN_OK) {
        fprintf(stderr, "%s\n", pgcn_last_error());
        return 1;
    }
    int64_t entries = pgcn_graph_entries(graph);
    pgcn_graph_free(graph);
    return entries == 4 && strcmp(pgcn_info_get().version, PGCN_VERSION) == 0 ? 0 : 1;
}
C
cat >CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.20)
project(user C)
find_package(pathgcn 0.2 REQUIRED COMPONENTS static)
foreach(kind pathgcn pathgcn_static)
    add_executable(user_${kind} user.c)
    target_link_libraries(user_${kind} PRIVATE pathgcn::${kind})
endforeach()
CMAKE
# shellcheck disable=SC2046 # pkg-config prints several words
"$PATHGCN_CC" user.c -o shared $(pkg-config --cflags --libs pathgcn)
./shared || fail "the program built with pkg-config failed"
# shellcheck disable=SC2046
"$PATHGCN_CC" user.c "$archive" -o static -Wl,--as-needed $(pkg-config --cflags --static --libs pathgcn)
env -u LD_LIBRARY_PATH ./static || fail "the program linked with libpathgcn.a failed"
cmake -S . -B build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$PATHGCN_CC" >cmake.log ||
    { cat cmake.log && fail "find_package(pathgcn) failed"; }
cmake --build build >build.log 2>&1 || { cat build.log && fail "the CMake project does not build"; }
build/user_pathgcn || fail "the CMake program failed (shared)"
env -u LD_LIBRARY_PATH build/user_pathgcn_static || fail "the CMake program failed (static)"
