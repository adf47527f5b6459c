# Bash completion for pathgcn. It knows no option by itself: it asks the program for its commands,
# the options of a command with the values they take, and the data sets, so it cannot fall behind.

# The words that may follow: commands, or "name<TAB>value" of each option, from the help text.
_pathgcn_commands() {
    local line in_list=0
    while IFS= read -r line; do
        case $line in
            Commands:) in_list=1 ;;
            "  "*) [ $in_list = 1 ] && line=${line#  } && echo "${line%% *}" ;;
            *) in_list=0 ;;
        esac
    done < <("$1" --help 2>/dev/null)
}
_pathgcn_options() {
    local line more
    while IFS= read -r line; do
        [[ $line == "  --"* ]] || continue
        line=${line#  }
        line=${line%%  *}
        while [[ $line == *" |" ]] && IFS= read -r more; do # a long value goes on
            line="$line ${more#"${more%%[! ]*}"}"
        done
        case $line in
            *" "*) printf '%s\t%s\n' "${line%% *}" "${line#* }" ;;
            *) printf '%s\t\n' "$line" ;;
        esac
    done < <("$1" "${@:2}" --help all 2>/dev/null)
}
_pathgcn_parts() { # program, command: the parts of a command that has some
    local line in_list=0
    while IFS= read -r line; do
        case $line in
            "Parts"*) in_list=1 ;;
            "  $2 "*) [ $in_list = 1 ] && line=${line#"  $2 "} && echo "${line%% *}" ;;
            *) in_list=0 ;;
        esac
    done < <("$1" "$2" --help all 2>/dev/null)
}

_pathgcn_argument() { # program, command: what its usage line says between its name and the options
    local line
    while IFS= read -r line; do
        [[ $line == "Usage: "* ]] || continue
        line=${line#"Usage: pathgcn $2 "}
        echo "${line%" [options]"}"
    done < <("$1" "$2" --help all 2>/dev/null)
}

_pathgcn_datasets() { # program, --data DIR or nothing
    local line
    while IFS= read -r line; do
        [[ $line == "  "* ]] && line=${line#  } && echo "${line%% *}"
    done < <("$1" data list "${@:2}" 2>/dev/null)
}

_pathgcn_published() { # what can be fetched: the lines without an indent
    local line
    while IFS= read -r line; do
        [[ -z $line || $line == " "* ]] || echo "${line%% *}"
    done < <("$1" data fetch --list 2>/dev/null)
}

_pathgcn_recipes() {
    local line
    while IFS= read -r line; do
        [[ $line == "recipe "* ]] || echo "${line%% *}"
    done < <("$1" recipes list 2>/dev/null)
}

_pathgcn_offer() { # words...
    local IFS=$'\n'
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$*" -- "$current")
}
_pathgcn_offer_paths() { # -d for directories, -f for files
    local -a found
    mapfile -t found < <(compgen "$1" -- "$current")
    COMPREPLY+=("${found[@]}")
    compopt -o filenames 2>/dev/null
}

# The values of an option: the words between bars, or paths for DIR and FILE. A word with a capital
# or dots stands for something else and is not offered.
_pathgcn_offer_values() {
    local word
    case $1 in
        "[all]") _pathgcn_offer all ;;
        DIR) _pathgcn_offer_paths -d ;;
        FILE) _pathgcn_offer_paths -f ;;
        RECIPE)
            mapfile -t names < <(_pathgcn_recipes "$program")
            _pathgcn_offer "${names[@]}" paper full paper-full none
            _pathgcn_offer_paths -f
            ;;
        *" | "*)
            for word in ${1// | / }; do
                [[ $word == *[A-Z.,]* ]] || _pathgcn_offer "$word"
            done
            ;;
    esac
}

_pathgcn() {
    local program=${COMP_WORDS[0]/#\~/$HOME} command=${COMP_WORDS[1]} first=2
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local option value i data=() words=() names=() known=""
    COMPREPLY=()
    if [ "$COMP_CWORD" = 1 ]; then
        mapfile -t names < <(_pathgcn_commands "$program")
        _pathgcn_offer "${names[@]}" help manual --help --version
        return
    fi
    if [ "$command" = help ]; then
        mapfile -t names < <(_pathgcn_commands "$program")
        _pathgcn_offer "${names[@]}"
        return
    fi
    # "data info" is a command of two words
    mapfile -t names < <(_pathgcn_parts "$program" "$command")
    if [ ${#names[@]} -gt 0 ] && [ "$COMP_CWORD" = 2 ]; then
        _pathgcn_offer "${names[@]}" --help
        return
    elif [ ${#names[@]} -gt 0 ]; then
        command+=" ${COMP_WORDS[2]}"
        first=3
    fi
    # "--kernel=full" arrives as three words
    if [ "$current" = "=" ]; then
        current=""
    elif [ "$previous" = "=" ]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    local -A values=()
    while IFS=$'\t' read -r option value; do
        values[$option]=$value
        known+=$option$'\n'
    done < <(_pathgcn_options "$program" $command)
    # the words before this one that are not options or their values
    for ((i = first; i < COMP_CWORD; i++)); do
        option=${COMP_WORDS[i]}
        if [[ $option != --* ]]; then
            [ "$option" = "=" ] || words+=("$option")
        elif [ -n "${values[$option]-}" ] && [ "${values[$option]}" != "no | yes" ]; then
            [ "${COMP_WORDS[i + 1]}" != "=" ] || i=$((i + 1))
            i=$((i + 1))
            [ "$option" != --data ] || data=(--data "${COMP_WORDS[i]/#\~/$HOME}")
        fi
    done
    if [[ $previous == --* ]] && [ -n "${values[$previous]-}" ]; then
        _pathgcn_offer_values "${values[$previous]}"
        [ "${values[$previous]}" = "no | yes" ] || return 0 # yes or no may be left out
    fi
    if [[ $current == -* ]]; then
        mapfile -t names <<<"${known%$'\n'}"
        _pathgcn_offer "${names[@]}"
        return
    fi
    case $command/${#words[@]} in
        eval/0 | predict/0 | explain/0 | kernels/0) _pathgcn_offer_paths -f ;;
        compare/*) _pathgcn_offer_paths -d ;;
        report/*) _pathgcn_offer_paths -f ;;
        "recipes show"/0)
            mapfile -t names < <(_pathgcn_recipes "$program")
            _pathgcn_offer "${names[@]}"
            _pathgcn_offer_paths -f
            ;;
        "data fetch"/*)
            mapfile -t names < <(_pathgcn_published "$program")
            _pathgcn_offer "${names[@]}"
            ;;
        reproduce/0) _pathgcn_offer_values "$(_pathgcn_argument "$program" reproduce)" ;;
        train/0 | paths/0 | tune/0 | eval/1 | predict/1 | explain/2 | "data info"/0 | "data check"/0 | "data convert"/0 | \
            "data partition"/0)
            mapfile -t names < <(_pathgcn_datasets "$program" "${data[@]}")
            _pathgcn_offer "${names[@]}"
            _pathgcn_offer_paths -f
            ;;
    esac
}
complete -F _pathgcn pathgcn
