#!/usr/bin/env bash
# Prints docs/api.md, made of the comments and declarations of the public header:
#
#   tools/make_api_docs.sh > docs/api.md          tests/e2e/docs.sh checks that nobody forgot it
#
# What the header must keep to: sections are "/* ---- name ---- */" lines; a comment that starts in
# the first column belongs to the declarations below it, up to an empty line or the next comment.
set -euo pipefail
cd "$(dirname "$0")/.."
awk '
# Names of the library in code type; what Markdown would take for emphasis escaped.
function prose(line,    out) {
    gsub(/\*/, "\\*", line)
    while (match(line, /(pgcn_[a-z0-9_]+(\(\))?|PGCN_[A-Z0-9_]+|PATHGCN_[A-Z]+)/)) {
        out = out substr(line, 1, RSTART - 1) "`" substr(line, RSTART, RLENGTH) "`"
        line = substr(line, RSTART + RLENGTH)
    }
    return out line
}
# One line of a comment. Indented lines are a list ("- text", or "name  text") or, further in, code.
function print_comment_line(line,    name) {
    if (!sub(/^ [*] ?/, "", line)) sub(/^ /, "", line)
    if (line ~ /^     ?[^ ]/ && !in_list) {
        print line
    } else if (line ~ /^    / && in_list) {
        print prose(substr(line, 3))
    } else if (line ~ /^  - /) {
        if (!in_list) print ""
        in_list = 1
        print prose(substr(line, 3))
    } else if (line ~ /^  [a-z_]+  /) {
        if (!in_list) print ""
        in_list = 1
        line = substr(line, 3)
        name = substr(line, 1, index(line, " ") - 1)
        sub(/^[a-z_]+ +/, "", line)
        print "- `" name "`: " prose(line)
    } else {
        if (in_list && line != "") print ""
        in_list = 0
        print prose(line)
    }
}
function print_comment(text,    lines, count, i) {
    sub(/^\/\*/, "", text)
    sub(/ *\*\/ *$/, "", text)
    count = split(text, lines, "\n")
    in_list = 0
    for (i = 1; i <= count; i++) print_comment_line(lines[i])
    print ""
}
# "`a`, `b`" of all that the collected declarations declare.
function names_of(code,    lines, count, i, line, name, all, seen) {
    count = split(code, lines, "\n")
    for (i = 1; i <= count; i++) {
        line = lines[i]
        name = ""
        if (line ~ /^#define /) {
            name = line
            sub(/^#define /, "", name)
            sub(/[ (].*/, "", name)
        } else if (line ~ /^typedef (struct|enum)/) {
            name = line
            sub(/^typedef (struct|enum) /, "", name)
            sub(/[ ;].*/, "", name)
        } else if (line ~ /^typedef /) {
            name = line
            sub(/;.*/, "", name)
            sub(/.* /, "", name)
        } else if (line ~ /^[a-z].*[ *]pgcn_[a-z0-9_]+\(/) {
            match(line, /pgcn_[a-z0-9_]+\(/)
            name = substr(line, RSTART, RLENGTH - 1)
        }
        if (name == "" || name in seen) continue
        seen[name] = 1
        if (length(all) > 90) return all ", ..."
        all = all (all == "" ? "" : ", ") "`" name "`"
    }
    return all
}
function flush(    heading) {
    if (code != "") {
        heading = names_of(code)
        if (heading != "") printf "### %s\n\n", heading
        if (comment != "") print_comment(comment)
        printf "```c\n%s```\n\n", code
    } else if (comment != "") {
        print_comment(comment)
    }
    comment = code = ""
}

BEGIN {
    print "# The C interface"
    print ""
    print "Made from `include/pathgcn/pathgcn.h` by `tools/make_api_docs.sh`: change the header, not this page."
    print "A complete program is `examples/train_from_arrays.c`."
    print ""
}
NR == 1 { in_comment = 1; comment = $0; next }
/^#(if|ifdef|ifndef|else|endif|include)/ || /^#define (PATHGCN_H|PGCN_API)/ { next }
/^extern "C"/ || /^}$/ && depth == 0 { next }
in_comment {
    comment = comment "\n" $0
    if (/\*\//) { in_comment = 0; if (!started) { flush(); started = 1 } }
    next
}
/^\/\* ----/ {
    flush()
    sub(/^\/\* -+ /, "")
    sub(/ -+ \*\/$/, "")
    printf "## %s%s\n\n", toupper(substr($0, 1, 1)), substr($0, 2)
    next
}
/^\/\*/ {
    flush()
    comment = $0
    in_comment = !/\*\//
    next
}
/^$/ && depth == 0 { flush(); next }
{
    if (depth == 0) sub(/^         /, "") # continued below a PGCN_API that is no longer there
    depth += gsub(/{/, "{") - gsub(/}/, "}")
    sub(/^PGCN_API /, "")
    code = code $0 "\n"
}
END { flush() }
' include/pathgcn/pathgcn.h | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
