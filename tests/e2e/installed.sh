#!/usr/bin/env bash
# An installed copy is enough: its documents and examples are beside it, also after it was moved, and the
# commands of README.md and docs/OWN_DATA.md that use examples run. Without rights, `make install` says so
# before it builds anything.
# shellcheck source=tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"

cmake --install "$PATHGCN_BUILD" --prefix "$scratch/first" >"$scratch/install.log"
mv "$scratch/first" "$scratch/moved"
PATHGCN=$scratch/moved/bin/pathgcn
run 0 "$PATHGCN" info --docs
documents=$(cat "$out")
[ "$documents" = "$(realpath "$scratch/moved")/share/doc/pathgcn" ] || fail "the documents are in $documents"
cp -r "$documents/examples" . # the line of README.md
grep -qF 'cp -r $(pathgcn info --docs)/examples .' "$documents/README.md" || fail "README.md lacks that line"
diff -r -x __pycache__ examples "$PATHGCN_SOURCE/examples" >&2 || fail "not all examples are installed"
diff -r "$documents/docs" "$PATHGCN_SOURCE/docs" >&2 || fail "not all documents are installed"

pathgcn() {
    local extra=()
    [ "$1" != train ] || extra=(--epochs 3 --quiet)
    "$PATHGCN" "$@" "${extra[@]}"
}
commands=0
while IFS= read -r command; do
    commands=$((commands + 1))
    run 0 eval "$command"
done < <(cat <(commands_of "$documents/README.md") <(commands_of "$documents/docs/OWN_DATA.md") |
    grep -E ' examples/| runs/(club|shapes)/')
[ "$commands" -ge 6 ] || fail "only $commands commands were found"
[ "$(wc -l <predictions.csv)" = 76 ] || fail "the walk-through predicts $(wc -l <predictions.csv) lines"

# A program that was only built says where the documents are.
refuse_docs() { run 1 "$PATHGCN_BUILD/pathgcn" info --docs && holds "$err" "was not installed" "in the source"; }
[ ! -x "$PATHGCN_BUILD/pathgcn" ] || refuse_docs

# ---- make install without rights -----------------------------------------------------------------
as_nobody=()
if [ "$(id -u)" = 0 ]; then
    command -v setpriv >/dev/null || skip "make install without rights: setpriv is missing"
    as_nobody=(setpriv --reuid 65534 --clear-groups)
fi
chmod 755 "$scratch"
mkdir "$scratch/source"
cp "$PATHGCN_SOURCE/Makefile" "$scratch/source"
mkdir -m 555 "$scratch/closed"
for prefix in "$scratch/closed" "$scratch/closed/in/it"; do
    run 2 "${as_nobody[@]}" make -C "$scratch/source" install PREFIX="$prefix"
    holds "$err" "you may not write to $scratch/closed" "PREFIX is $prefix" 'make install PREFIX=$HOME/.local'
    [ ! -s "$out" ] || ! grep -qv '^make' "$out" || { show_last && fail "make install did something first"; }
done
