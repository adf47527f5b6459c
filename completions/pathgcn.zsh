#compdef pathgcn
# Zsh completion for pathgcn, installed as _pathgcn. Like the one for bash it knows no option by itself: it asks
# the program for its commands, the options of a command with their values and explanations, and the data sets.

_pathgcn_commands() { # "name<TAB>explanation"
    "$1" --help 2>/dev/null | awk '/^Commands:/ { inside = 1; next } !/^  / { inside = 0 }
        inside { name = $1; $1 = ""; sub(/^ +/, ""); print name "\t" $0 }'
}
_pathgcn_parts() { # program, command: the parts of a command that has some
    "$1" "$2" --help 2>/dev/null | awk -v of="$2" '/^Parts/ { inside = 1; next } !/^  / { inside = 0 }
        inside && $1 == of { name = $2; $1 = $2 = ""; sub(/^ +/, ""); print name "\t" $0 }'
}
# "name<TAB>value<TAB>first line of its explanation" of every option. A value that ends in " |" goes on in the
# next line; two spaces or a line break end it.
_pathgcn_options() { # program, command and part
    "$@" --help all 2>/dev/null | awk '
        function done() { if (name != "") print name "\t" value "\t" help; name = "" }
        /^  --/ {
            done(); line = substr($0, 3); help = ""
            if ((at = index(line, "  ")) > 0) { help = substr(line, at); line = substr(line, 1, at - 1) }
            name = line; sub(/ .*/, "", name); value = substr(line, length(name) + 2); sub(/^ +/, "", help); next
        }
        name != "" && value ~ / \|$/ { sub(/^ +/, ""); value = value " " $0; next }
        name != "" && help == "" && /^ / { sub(/^ +/, ""); help = $0; next }
        { done() }
        END { done() }'
}
_pathgcn_argument() { # program, command: what its usage line says between its name and the options
    "$1" "$2" --help all 2>/dev/null | sed -n "s/^Usage: pathgcn $2 \(.*\) \[options\]\$/\1/p"
}
_pathgcn_datasets() { # program, --data DIR or nothing
    "$1" data list "${@:2}" 2>/dev/null | awk '/^  / { print $1 }'
}
_pathgcn_published() { "$1" data fetch --list 2>/dev/null | awk '/^[^ ]/ { print $1 }'; }
_pathgcn_recipes() { "$1" recipes list 2>/dev/null | awk '$1 != "recipe" { print $1 }'; }

# The values of an option: the words between bars, or paths for DIR and FILE. A word with a capital or dots
# stands for something else and is not offered.
_pathgcn_values() { # program, value of the help
    local word
    local -a choices
    case $2 in
        '[all]') compadd all ;;
        DIR) _files -/ ;;
        FILE) _files ;;
        RECIPE) compadd -- ${(f)"$(_pathgcn_recipes $1)"} paper full paper-full none && _files ;;
        *' | '*)
            for word in ${(s: | :)2}; do [[ $word == *[A-Z.,]* ]] || choices+=($word); done
            compadd -- $choices
            ;;
    esac
}

_pathgcn() {
    local program=${~words[1]} command=${words[2]} option value help i first=3 before
    local -a data place given shown
    local -A values
    if ((CURRENT == 2)); then
        shown=("${(@)${(f)"$(_pathgcn_commands $program)"}/$'\t'/:}" 'help:explains a command' 'manual:shows the man page')
        _describe command shown
        compadd -- --help --version
        return
    fi
    if [[ $command == help ]]; then
        compadd -- ${${(f)"$(_pathgcn_commands $program)"}%%$'\t'*}
        return
    fi
    place=($command)
    shown=(${(f)"$(_pathgcn_parts $program $command)"}) # "data info" is a command of two words
    if (($#shown && CURRENT == 3)); then
        compadd -- ${shown%%$'\t'*} --help
        return
    elif (($#shown)); then
        place+=(${words[3]})
        first=4
    fi
    shown=()
    while IFS=$'\t' read -r option value help; do
        values[$option]=$value
        shown+=("${option}:${help//:/\\:}")
    done < <(_pathgcn_options $program $place | awk -F '\t' 'BEGIN { OFS = "\t" } { if ($2 == "") $2 = "-"; print }')
    for ((i = first; i < CURRENT; i++)); do # the words before this one that are not options or their values
        option=${words[i]}
        value=${values[$option]:--}
        if [[ $option != --* ]]; then
            given+=($option)
        elif [[ $value != - && $value != 'no | yes' ]]; then
            ((i += 1))
            [[ $option != --data ]] || data=(--data ${~words[i]})
        fi
    done
    before=${words[CURRENT - 1]}
    value=${values[$before]:--}
    if [[ ${words[CURRENT]} == --*=* ]]; then # --kernel=full
        before=${words[CURRENT]%%=*}
        compset -P '*='
        _pathgcn_values $program ${values[$before]:--}
        return
    fi
    if [[ $before == --* && $value != - ]]; then
        _pathgcn_values $program $value
        [[ $value == 'no | yes' ]] || return 0 # yes or no may be left out
    fi
    if [[ ${words[CURRENT]} == -* ]]; then
        _describe -o option shown
        return
    fi
    case "$place/$#given" in
        eval/0 | predict/0 | explain/0 | kernels/0) _files ;;
        compare/*) _files -/ ;;
        report/*) _files ;;
        'recipes show'/0) compadd -- ${(f)"$(_pathgcn_recipes $program)"} && _files ;;
        'data fetch'/*) compadd -- ${(f)"$(_pathgcn_published $program)"} ;;
        reproduce/0) _pathgcn_values $program "$(_pathgcn_argument $program reproduce)" ;;
        train/0 | paths/0 | tune/0 | eval/1 | predict/1 | explain/2 | 'data info'/0 | 'data check'/0 | 'data convert'/0 | \
            'data partition'/0)
            compadd -- ${(f)"$(_pathgcn_datasets $program $data)"}
            _files
            ;;
    esac
}

_pathgcn "$@"
