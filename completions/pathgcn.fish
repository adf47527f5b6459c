# Fish completion for pathgcn. Like the one for bash it knows no option by itself: it asks the program for its
# commands, the options of a command with their values and explanations, and the data sets.

function __pathgcn_commands --argument-names program # "name<TAB>explanation"
    $program --help 2>/dev/null | awk '/^Commands:/ { inside = 1; next } !/^  / { inside = 0 }
        inside { name = $1; $1 = ""; sub(/^ +/, ""); print name "\t" $0 }'
end
function __pathgcn_parts --argument-names program command # the parts of a command that has some
    $program $command --help 2>/dev/null | awk -v of="$command" '/^Parts/ { inside = 1; next } !/^  / { inside = 0 }
        inside && $1 == of { name = $2; $1 = $2 = ""; sub(/^ +/, ""); print name "\t" $0 }'
end
# "name<TAB>value<TAB>first line of its explanation" of every option; the value is - where there is none. A value
# that ends in " |" goes on in the next line; two spaces or a line break end it.
function __pathgcn_options # program, command and part
    $argv --help all 2>/dev/null | awk '
        function done() { if (name != "") print name "\t" (value == "" ? "-" : value) "\t" help; name = "" }
        /^  --/ {
            done(); line = substr($0, 3); help = ""
            if ((at = index(line, "  ")) > 0) { help = substr(line, at); line = substr(line, 1, at - 1) }
            name = line; sub(/ .*/, "", name); value = substr(line, length(name) + 2); sub(/^ +/, "", help); next
        }
        name != "" && value ~ / \|$/ { sub(/^ +/, ""); value = value " " $0; next }
        name != "" && help == "" && /^ / { sub(/^ +/, ""); help = $0; next }
        { done() }
        END { done() }'
end
function __pathgcn_recipes --argument-names program
    $program recipes list 2>/dev/null | awk '$1 != "recipe" { print $1 }'
end

# The values of an option: the words between bars, or paths for DIR and FILE. A word with a capital or dots
# stands for something else and is not offered.
function __pathgcn_values --argument-names program value current
    switch $value
        case '[all]'
            echo all
        case DIR
            __fish_complete_directories $current
        case FILE
            __fish_complete_path $current
        case RECIPE
            __pathgcn_recipes $program
            printf '%s\n' paper full paper-full none
            __fish_complete_path $current
        case '* | *'
            string match --invert --regex '[A-Z.,]' -- (string split ' | ' -- $value)
    end
end

# What may stand as the next argument that is no option.
function __pathgcn_arguments # program, current word, number of arguments before, command and part, then --data DIR
    set -l program $argv[1]
    set -l current $argv[2]
    switch "$argv[4]/$argv[3]"
        case eval/0 predict/0 explain/0 kernels/0
            __fish_complete_path $current
        case 'compare/*'
            __fish_complete_directories $current
        case 'report/*'
            __fish_complete_path $current
        case 'recipes show/0'
            __pathgcn_recipes $program
            __fish_complete_path $current
        case 'data fetch/*'
            $program data fetch --list 2>/dev/null | awk '/^[^ ]/ { print $1 }'
        case reproduce/0
            __pathgcn_values $program ($program reproduce --help all 2>/dev/null |
                sed -n 's/^Usage: pathgcn reproduce \(.*\) \[options\]$/\1/p') $current
        case train/0 paths/0 tune/0 eval/1 predict/1 explain/2 'data info/0' 'data check/0' 'data convert/0' 'data partition/0'
            $program data list $argv[5..-1] 2>/dev/null | awk '/^  / { print $1 }'
            __fish_complete_path $current
    end
end

function __pathgcn_complete
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    set -l current (commandline --current-token --cut-at-cursor)
    set -l program (string replace --regex '^~' $HOME -- $words[1])
    set -l count (count $words)
    if test $count -eq 1
        __pathgcn_commands $program
        printf '%s\n' help\t'explains a command' manual\t'shows the man page' --help --version
        return
    end
    set -l place $words[2]
    set -l first 3
    if test $place = help
        __pathgcn_commands $program
        return
    end
    set -l parts (__pathgcn_parts $program $place) # "data info" is a command of two words
    if set -q parts[1]; and test $count -eq 2
        printf '%s\n' $parts --help
        return
    else if set -q parts[1]
        set place $place $words[3]
        set first 4
    end
    set -l names
    set -l values
    set -l shown
    __pathgcn_options $program $place | while read --local --delimiter \t name value help
        set --append names $name
        set --append values $value
        set --append shown $name\t$help
    end
    # the words before this one that are not options or their values
    set -l given 0
    set -l data
    set -l pending -
    set -l pending_name -
    for word in $words[$first..-1]
        if test "$pending" != -
            test $pending_name = --data; and set data --data (string replace --regex '^~' $HOME -- $word)
            set pending -
            continue
        end
        if set -l at (contains --index -- $word $names)
            set pending $values[$at]
            set pending_name $word
            test "$pending" = 'no | yes'; and set pending -
        else if not string match --quiet -- '--*' $word
            set given (math $given + 1)
        end
    end
    if set -l at (contains --index -- $words[-1] $names); and test "$values[$at]" != -
        __pathgcn_values $program $values[$at] $current
        test "$values[$at]" = 'no | yes'; or return # yes or no may be left out
    end
    if string match --quiet -- '--*=*' $current # --kernel=full
        set -l name (string replace --regex '=.*' '' -- $current)
        set -l at (contains --index -- $name $names)
        and printf "$name=%s\n" (__pathgcn_values $program $values[$at] (string replace --regex '^[^=]*=' '' -- $current))
        return
    end
    if string match --quiet -- '-*' $current
        printf '%s\n' $shown
        return
    end
    __pathgcn_arguments $program "$current" $given "$place" $data
end

complete --command pathgcn --no-files --arguments '(__pathgcn_complete)'
