#!/usr/bin/env bash
# The documents tell the truth: docs/api.md is what the header says now, CITATION.cff names its version,
# every file, function, link and heading that they name exists, every fuzz target is in SECURITY.md,
# README.md, docs/RESULTS.md and the recipes have the figures of records/results, the arena's tables those of
# records/arena, and every pathgcn command in a ```sh block runs.
# shellcheck source=tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
unset PATHGCN_DATA
failures=0
wrong() {
    echo "docs: $*" >&2
    failures=$((failures + 1))
}

cd "$PATHGCN_SOURCE"
documents=(*.md docs/*.md)

# -- docs/api.md -----------------------------------------------------------------------------------
tools/make_api_docs.sh >"$scratch/api.md"
diff "$scratch/api.md" docs/api.md >"$out" ||
    wrong "docs/api.md is out of date, run tools/make_api_docs.sh > docs/api.md: $(head -n 5 "$out")"

# -- CITATION.cff, packages, SECURITY.md ------------------------------------------------------------------
version=$(sed -nE 's/^#define PGCN_VERSION "([^"]+)"/\1/p' include/pathgcn/pathgcn.h)
head -n 1 packaging/debian/changelog | grep -qF "($version)" || wrong "packaging/debian/changelog is not of $version"
grep -qx "Package: libpathgcn${version%.*}" packaging/debian/control || wrong "packaging/debian/control is not of $version"
grep -qx "version: $version" CITATION.cff || wrong "CITATION.cff does not name version $version"
for target in tests/fuzz/fuzz_*.c; do
    target=${target#tests/fuzz/fuzz_}
    grep -qF "\`${target%.c}\`" SECURITY.md || wrong "SECURITY.md does not name the fuzz target ${target%.c}"
done

# -- results ---------------------------------------------------------------------------------------
if command -v python3 >"$out"; then
    python3 bench/record.py check 2>"$err" || wrong "figures do not agree: $(head -n 5 "$err")"
    PATHGCN=$PATHGCN python3 bench/arena_tables.py check 2>"$err" || wrong "$(head -n 5 "$err")"
    python3 bench/ensembles.py check 2>"$err" || wrong "$(head -n 5 "$err")"
else
    echo "docs: no python3: whether the figures agree was not checked"
fi

# -- names ---------------------------------------------------------------------------------------
# The anchors of a document's headings, as GitHub makes them.
anchors() {
    grep -E '^#+ ' "$1" | sed -E 's/^#+ +//' | tr '[:upper:] ' '[:lower:]-' | sed 's/[^a-z0-9_-]//g'
}
for document in "${documents[@]}"; do
    while read -r file; do
        compgen -G "$file" >"$out" || wrong "$document names $file, which does not exist"
    done < <(grep -oP '(?<![\w/])(src|include|tools|tests|examples|cmake|bench|docs|python|packaging)/[\w./*-]*[\w*]' \
        "$document" | sort -u)
    while read -r name; do
        grep -rqE "\b$name" src include || wrong "$document names $name, which is not in the code"
    done < <(grep -oE '\bpgcn_[a-z0-9_]*[a-z0-9]' "$document" | grep -v '^pgcn_x_' | sort -u)
    while read -r target; do
        [ -e "$(dirname "$document")/$target" ] || wrong "$document links to $target, which does not exist"
    done < <(grep -oE '\]\([^)# ]+' "$document" | cut -c3- | grep -v '^https:' | sort -u)
    while IFS='#' read -r target anchor; do
        target=${target:+$(dirname "$document")/$target}
        anchors "${target:-$document}" >"$out" # not into grep -q, which would leave before the end
        grep -qx -e "$anchor" "$out" || wrong "$document links to $target#$anchor: there is no such heading"
    done < <(grep -oE '\]\([^)# ]*#[^)]+' "$document" | cut -c3- | grep -v '^https:' | sort -u)
    awk 'length > 120 { print FNR ": longer than 120 characters" }' "$document" >"$out"
    [ ! -s "$out" ] || wrong "$document:$(head -n 1 "$out")"
done

# -- commands ------------------------------------------------------------------------------------
cd "$scratch/work"
ring data/mygraph # stands for the reader's own data
ln -s "$PATHGCN_SOURCE/examples" examples

# Training is cut short, and data sets that are not here are only parsed: --help at the end still
# refuses a wrong option before it.
pathgcn() {
    local extra=()
    [ "$1" != train ] || extra=(--epochs 3 --quiet)
    case " $* " in *" cora "* | *" MUTAG "* | *" ppi "*) extra+=(--help) ;; esac
    "$PATHGCN" "$@" "${extra[@]}"
}
commands=0
for document in "${documents[@]}"; do
    while IFS= read -r command; do
        commands=$((commands + 1))
        (eval "$command") >"$out" 2>"$err" </dev/null ||
            wrong "$document: '$command' failed: $(head -n 3 "$err")"
    done < <(commands_of "$PATHGCN_SOURCE/$document")
done
[ "$commands" -ge 10 ] || wrong "only $commands commands were found"
[ "$failures" -eq 0 ] || fail "$failures statements of the documents are wrong"
echo "docs: $commands commands run"
