#!/usr/bin/env bash
# The bash completion loads in a bare shell and offers commands, options, values and data sets.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
completion=$PATHGCN_SOURCE/completions/pathgcn.bash

# shellcheck disable=SC2016 # expanded inside
run 0 bash --norc --noprofile -euc 'source "$1" && complete -p pathgcn' bash "$completion"
holds "$out" "_pathgcn"
[ ! -s "$err" ] || { show_last && fail "loading it prints something"; }

# offered WORD...: what is offered for the last word, after the others, one a line in $out.
offered() {
    # shellcheck disable=SC2016 # expanded inside
    run 0 bash --norc --noprofile -c '
        source "$1" && shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        _pathgcn
        printf "%s\n" "${COMPREPLY[@]}"' bash "$completion" "$PATHGCN" "$@"
    [ ! -s "$err" ] || { show_last && fail "an error while completing: $*"; }
}
exactly() { # 'words that must be offered, in any order' WORD...
    local wanted=$1
    shift
    offered "$@"
    [ "$(sort "$out")" = "$(tr ' ' '\n' <<<"$wanted" | sort)" ] ||
        { show_last && fail "expected '$wanted' for: $*"; }
}

offered ""
for word in train eval predict paths data recipes info help --version; do holds "$out" "$word"; done
exactly "train" tr
exactly "predict paths" p
exactly "info" help i
exactly "--epochs" train karate --epo
exactly "--kernel --kernel-start --kernel-noise" train karate --kernel
exactly "--seeds --seed" train --seed
exactly "--inference" eval m --inf

# every option of every command that the help names
for command in train eval predict paths reproduce tune "data list" "data info" "data check" "data convert" \
    "data fetch" "recipes list" "recipes show" info; do
    run 0 pathgcn $command --help all
    mapfile -t options < <(grep -oE '^  --[a-z0-9-]+' "$out" | tr -d ' ')
    [ "${#options[@]}" -ge 2 ] || fail "the help of $command names no options"
    offered $command --
    for option in "${options[@]}"; do
        grep -qxF -e "$option" "$out" || fail "$command $option is not offered"
    done
    [ "$(wc -l <"$out")" = "${#options[@]}" ] || fail "$command: other options than those of its help"
done

# values
exactly "global layer depthwise full" train karate --kernel ""
exactly "full" train karate --kernel f
exactly "global layer depthwise full" train karate --kernel =
exactly "depthwise" train karate --kernel = d
exactly "no yes" train karate --batch-norm ""
exactly "auto public numbered" train karate --split ""
exactly "deterministic" eval m --inference d
exactly "uniform weighted node2vec" paths karate --walk ""
exactly "" train karate --epochs ""
exactly "all" train --help ""
exactly "semi full inference variants paths lengths frozen graphs ppi all sweep datasets settings forms cheb networks times" reproduce ""
exactly "semi sweep settings" reproduce s

# recipes
exactly "list show --help" recipes ""
exactly "texas" recipes show te
exactly "paper-texas" recipes show paper-te
exactly "none" train karate --recipe no
offered train cora --recipe p
for word in paper paper-full paper-cora paper-cora-full pubmed; do
    grep -qxF -e "$word" "$out" || fail "recipe $word is not offered"
done

# data sets and files
mkdir -p sets/mine folder/inside
ring sets/mine
touch model.safetensors
exactly "karate sbm grid powerlaw folder model.safetensors sets" train ""
exactly "karate" train --batch-norm k
exactly "karate sbm grid powerlaw mine folder model.safetensors sets" train --data sets ""
PATHGCN_DATA=sets exactly "mine model.safetensors" data info m
exactly "list info check convert fetch --help" data ""
exactly "citeseer" data fetch cites
exactly "cora cornell cornell_fixed" data fetch karate co
exactly "check convert" data c
exactly "" data list ""
exactly "karate" eval model.safetensors k
exactly "model.safetensors" predict m
exactly "folder" train karate --out f
exactly "folder/inside" train karate --out folder/
