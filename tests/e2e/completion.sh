#!/usr/bin/env bash
# The completion of a shell loads and offers commands, options, values and data sets. completion_zsh.sh and
# completion_fish.sh run the same checks in other shells.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
shell=${shell:-bash}
completion=$PATHGCN_SOURCE/completions/pathgcn.$shell
command -v "$shell" >/dev/null || skip "the completion of $shell: $shell is not installed"
[ "$shell" != fish ] || export HOME=$scratch # where fish keeps files of its own

# load_SHELL: registers the completion in a bare shell, as a user's would.
load_bash() { run 0 bash --norc --noprofile -euc 'source "$1" && complete -p pathgcn' bash "$completion"; }
load_zsh() {
    mkdir functions
    cp "$completion" functions/_pathgcn
    run 0 zsh -fc 'fpath=($PWD/functions $fpath) && autoload -Uz compinit && compinit -uD && print $_comps[pathgcn]'
}
load_fish() { run 0 fish --no-config -c 'source $argv[1]; and complete pathgcn' "$completion"; }
load_$shell
holds "$out" "_pathgcn"
[ ! -s "$err" ] || { show_last && fail "loading it prints something"; }
rm -rf functions

# offered_SHELL WORD...: what is offered for the last word, after the others, one a line in $out.
offered_bash() {
    # shellcheck disable=SC2016 # expanded inside
    run 0 bash --norc --noprofile -c '
        source "$1" && shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        _pathgcn
        printf "%s\n" "${COMPREPLY[@]}"' bash "$completion" "$PATHGCN" "$@"
}
# The builtins of zsh that need its line editor are replaced by ones that print.
# shellcheck disable=SC2016 # expanded inside
offered_zsh() {
    run 0 zsh -fc '
        compadd() {
            local word
            [[ $1 != -- ]] || shift
            for word; do [[ $word != ${PREFIX}* ]] || print -r -- $word; done
        }
        _describe() {
            [[ $1 != -o ]] || shift
            local -a all=("${(@P)2}")
            compadd -- ${all%%:*}
        }
        _files() { [[ $1 = -/ ]] && compadd -- ${PREFIX}*(N/) || compadd -- ${PREFIX}*(N); }
        compset() { PREFIX=${PREFIX#*=}; }
        completion=$1 && shift
        words=("$@") CURRENT=$# PREFIX=${@[-1]}
        source $completion' zsh "$completion" "$PATHGCN" "$@"
}
offered_fish() {
    run 0 fish --no-config -c 'source $argv[1]; complete -C (string join " " -- $argv[2..-1])' \
        "$completion" "$PATHGCN" "$@"
    sed -i 's/\t.*//; s,/$,,; s/^--[a-z-]*=//' "$out"
}
offered() {
    offered_$shell "$@"
    [ ! -s "$err" ] || { show_last && fail "an error while completing: $*"; }
}
exactly() { # 'words that must be offered, in any order' WORD...
    local wanted=$1
    shift
    offered "$@"
    [ "$(sort "$out" | xargs)" = "$(tr ' ' '\n' <<<"$wanted" | sort | xargs)" ] ||
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
for command in train eval predict explain paths reproduce tune "data list" "data info" "data check" "data convert" \
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
if [ "$shell" = bash ]; then # which makes three words of it
    exactly "global layer depthwise full" train karate --kernel =
    exactly "depthwise" train karate --kernel = d
else
    exactly "global layer depthwise full" train karate --kernel=
    exactly "depthwise" train karate --kernel=d
fi
exactly "no yes" train karate --batch-norm ""
exactly "auto public numbered" train karate --split ""
exactly "deterministic" eval m --inference d
exactly "uniform weighted node2vec" paths karate --walk ""
exactly "" train karate --epochs ""
exactly "all" train --help ""
exactly "semi full inference variants paths lengths frozen graphs ppi all sweep datasets settings forms cheb networks times figures arena" reproduce ""
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
exactly "list info check convert partition fetch --help" data ""
exactly "citeseer" data fetch cites
exactly "cora cornell cornell_fixed" data fetch karate co
exactly "check convert" data c
exactly "" data list ""
exactly "karate" eval model.safetensors k
exactly "model.safetensors" predict m
exactly "model.safetensors" explain m
exactly "karate" explain model.safetensors 3 k
exactly "folder" train karate --out f
exactly "folder/inside" train karate --out folder/
