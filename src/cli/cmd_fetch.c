/* pathgcn data fetch: downloads published data sets, or copies them from a mirror, to the cache,
 * where every command finds them by name. pgcn_fetch() does the work; here are the options, the
 * progress bar and Ctrl-C. Called by cmd_data.c. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pgcn_status run(int argc, char **argv);

static const cli_brief fetch_most_used[] = {
    {.name = "all"},   {.name = "list", .help = "what can be fetched, with licence and reference"},
    {.name = "out"},   {.name = "mirror", .help = "server or folder tried first"},
    {.name = "force"}, {.name = "json"},
    {.name = "quiet"}, {.name = NULL}};

const cli_command cli_fetch = {
    .name = "data fetch",
    .summary = "download published data sets",
    .arguments = "NAME...",
    .text =
        "Downloads data sets from where they are published to the cache ($XDG_CACHE_HOME/pathgcn\n"
        "or ~/.cache/pathgcn), where 'pathgcn train NAME' finds them. --list shows them, each\n"
        "with its licence and reference; docs/DATASETS.md has more. Every file is checked\n"
        "against its known SHA-256. Files that are in the cache already are not fetched again, and\n"
        "a download that was interrupted continues where it stopped. A mirror is a URL or a\n"
        "directory that holds NAME/FILE, for instance somebody else's cache; it is tried before\n"
        "the original server.",
    .most_used = fetch_most_used,
    .examples = "  pathgcn data fetch cora\n"
                "  pathgcn data fetch cora texas MUTAG --out data\n"
                "  pathgcn data fetch --all --mirror http://mirror.example.org/graphs\n"
                "  pathgcn data fetch --list\n",
    .most_words = CLI_MAX_WORDS,
    .run = run,
};

typedef struct request {
    const char *out, *mirror, *retries_text, *pause_text, *rate_text;
    bool all, list, mirror_only, force, json, quiet;
    long long retries, rate;
    double pause;
} request;

/* ---- progress ------------------------------------------------------------------------------- */

typedef struct meter {
    bool on;
    double begin, shown;
    int64_t begin_bytes; /* that were in the cache before */
    const char *name;
} meter;

static void show(const meter *m, const pgcn_fetch_progress *p) {
    char here[32], total[40] = "", speed[48] = "", bar[CLI_BAR_BYTES] = "", line[512], done[32];
    double seconds = cli_now() - m->begin;
    pgcn_format_bytes(p->set_bytes, here);
    if (p->set_total > 0) {
        pgcn_format_bytes(p->set_total, done);
        snprintf(total, sizeof total, " of %s", done);
        cli_format_bar((double)p->set_bytes / (double)p->set_total, bar);
    }
    if (p->waiting) {
        snprintf(speed, sizeof speed, "  waiting before attempt %d", p->attempt + 1);
    } else if (seconds > 0.5) {
        pgcn_format_bytes((int64_t)((double)(p->set_bytes - m->begin_bytes) / seconds), done);
        snprintf(speed, sizeof speed, "  %s/s", done);
    }
    snprintf(line, sizeof line, "%s %s%s%s%s  %d/%d %s", p->name, bar, here, total, speed,
             p->file_number, p->files, p->file);
    fprintf(stderr, "\r%.*s\033[K", cli_terminal_columns() - 1, line);
    fflush(stderr);
}

static bool on_progress(const pgcn_fetch_progress *progress, void *context) {
    meter *m = context;
    double now = cli_now();
    if (m->name != progress->name) {
        m->name = progress->name;
        m->begin = now;
        m->begin_bytes = progress->set_bytes;
    }
    if (m->on && now - m->shown > 0.1) {
        m->shown = now;
        show(m, progress);
    }
    return !cli_interrupted();
}

/* ---- the list ------------------------------------------------------------------------------- */

static json_t *published_to_json(const pgcn_published *set) {
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:i, s:I}", "name", set->name,
                     "alias", set->alias, "task", set->graphs ? "graph" : "node", "summary",
                     set->summary, "home", set->home, "licence", set->licence, "reference",
                     set->reference, "note", set->note, "in_paper", (int)set->in_paper, "files",
                     set->files, "bytes", (json_int_t)set->bytes);
}

static void print_published(const pgcn_published *set) {
    char size[32] = "size not known";
    if (set->bytes > 0) pgcn_format_bytes(set->bytes, size);
    printf("%s%s%s%s\n  %s\n  download:  %d file%s, %s, from %s\n  licence:   %s\n"
           "  reference: %s\n",
           set->name, *set->alias ? " (" : "", set->alias, *set->alias ? ")" : "", set->summary,
           set->files, set->files == 1 ? "" : "s", size, set->home, set->licence, set->reference);
    if (*set->note) printf("  note:      %s\n", set->note);
}

static pgcn_status list(bool json) {
    pgcn_published set;
    if (json) {
        json_t *all = json_array();
        for (int i = 0; pgcn_published_get(i, &set); i++)
            json_array_append_new(all, published_to_json(&set));
        return cli_print_json(&cli_fetch, json_pack("{s:o}", "published", all));
    }
    for (int i = 0; pgcn_published_get(i, &set); i++) {
        if (i > 0) putchar('\n');
        print_published(&set);
    }
    return PGCN_OK;
}

/* ---- fetching ------------------------------------------------------------------------------- */

static void print_result(const pgcn_published *set, const pgcn_fetch_result *result) {
    char size[32];
    pgcn_format_bytes(result->downloaded, size);
    if (result->fetched == 0)
        printf("%s: already complete in %s\n", set->name, result->path);
    else
        printf("%s: %d file%s fetched (%s), now in %s\n", set->name, result->fetched,
               result->fetched == 1 ? "" : "s", size, result->path);
    if (result->fetched == 0) return;
    printf("  licence:   %s\n  reference: %s\n", set->licence, set->reference);
    if (*set->note) printf("  note:      %s\n", set->note);
}

static pgcn_status fetch_one(const request *r, meter *m, const pgcn_published *set,
                             json_t *fetched) {
    pgcn_fetch_opts opts = pgcn_fetch_opts_default();
    opts.directory = r->out;
    opts.mirror = r->mirror;
    opts.mirror_only = r->mirror_only;
    opts.force = r->force;
    opts.retries = (int)r->retries;
    opts.pause_seconds = r->pause;
    opts.least_rate = (double)r->rate;
    opts.progress = on_progress;
    opts.context = m;
    pgcn_fetch_result result;
    pgcn_status status = pgcn_fetch(set->name, &opts, &result);
    if (m->on) fprintf(stderr, "\r\033[K");
    if (status != PGCN_OK) return cli_report(&cli_fetch, status);
    if (r->json)
        json_array_append_new(
            fetched, json_pack("{s:s, s:s, s:i, s:i, s:I, s:s, s:s, s:s}", "name", set->name,
                               "path", result.path, "fetched", result.fetched, "kept", result.kept,
                               "downloaded_bytes", (json_int_t)result.downloaded, "licence",
                               set->licence, "reference", set->reference, "note", set->note));
    else if (!r->quiet)
        print_result(set, &result);
    return PGCN_OK;
}

static pgcn_status find_published(const char *name, pgcn_published *out) {
    if (pgcn_published_find(name, out)) return PGCN_OK;
    cli_guess guess = cli_guess_start(name);
    char hint[CLI_HINT_BYTES];
    pgcn_published set;
    for (int i = 0; pgcn_published_get(i, &set); i++) {
        cli_guess_offer(&guess, set.name);
        if (*set.alias) cli_guess_offer(&guess, set.alias);
    }
    cli_guess_hint(&guess, "", hint);
    return cli_fail(&cli_fetch, PGCN_ERR_ARGUMENT,
                    "no published data set is called '%s'%s; --list shows them", name, hint);
}

/* Fetches the sets one after the other. If one fails the others are still fetched. */
static pgcn_status fetch_all(const request *r, const cli_arguments *arguments) {
    meter m = {.on = !r->quiet && isatty(STDERR_FILENO)};
    json_t *fetched = json_array();
    pgcn_published set;
    pgcn_status worst = PGCN_OK;
    for (int i = 0; r->all && !cli_interrupted() && pgcn_published_get(i, &set); i++)
        if (set.in_paper && fetch_one(r, &m, &set, fetched) != PGCN_OK) worst = PGCN_ERR_IO;
    for (int i = 0; i < arguments->words && !cli_interrupted(); i++) {
        pgcn_status status = find_published(arguments->word[i], &set);
        if (status == PGCN_OK) status = fetch_one(r, &m, &set, fetched);
        if (cli_exit_code(status) > cli_exit_code(worst)) worst = status;
    }
    if (r->json && json_array_size(fetched) > 0) {
        pgcn_status status = cli_print_json(&cli_fetch, json_pack("{s:O}", "fetched", fetched));
        if (worst == PGCN_OK) worst = status;
    }
    json_decref(fetched);
    return worst;
}

static pgcn_status read_numbers(request *r) {
    CLI_TRY(cli_number(&cli_fetch, "retries", r->retries_text, 0, 100, &r->retries));
    CLI_TRY(cli_number(&cli_fetch, "least-rate", r->rate_text, 0, 1000000000, &r->rate));
    if (pgcn_number_parse(r->pause_text, &r->pause) && r->pause >= 0 && r->pause <= 3600)
        return PGCN_OK;
    return cli_fail(&cli_fetch, PGCN_ERR_ARGUMENT,
                    "--pause is '%s', expected seconds from 0 to 3600", r->pause_text);
}

static pgcn_status run(int argc, char **argv) {
    request r = {.retries_text = "4", .pause_text = "1", .rate_text = "1000"};
    const cli_option options[] = {
        {"all", NULL, NULL, "the fifteen data sets of the paper", NULL, &r.all},
        {"list", NULL, NULL, "only show what can be fetched, with licence and reference", NULL,
         &r.list},
        {"out", "DIR", "the cache", "where the folders of the data sets go", &r.out, NULL},
        {"mirror", "URL|DIR", "PATHGCN_MIRROR",
         "server or folder that holds NAME/FILE, tried first", &r.mirror, NULL},
        {"mirror-only", NULL, NULL, "do not try the original server", NULL, &r.mirror_only},
        {"retries", "N", "4", "how often an interrupted transfer is retried", &r.retries_text,
         NULL},
        {"pause", "SECONDS", "1", "pause before the first retry; doubled before each next one",
         &r.pause_text, NULL},
        {"least-rate", "BYTES", "1000",
         "least bytes per second, over 30 seconds; a slower transfer is retried, then given up. 0: any",
         &r.rate_text, NULL},
        {"force", NULL, NULL, "fetch files that are in the cache already, too", NULL, &r.force},
        CLI_JSON_OPTION(r.json),
        {"quiet", NULL, NULL, "print only errors", NULL, &r.quiet},
        CLI_OPTIONS_END};
    cli_arguments arguments;
    pgcn_status status = cli_parse(&cli_fetch, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    if (r.list) return list(r.json);
    CLI_TRY(read_numbers(&r));
    if (arguments.words == 0 && !r.all)
        return cli_fail(&cli_fetch, PGCN_ERR_ARGUMENT,
                        "name a data set, or add --all; --list shows what there is");
    pgcn_published set;
    for (int i = 0; i < arguments.words; i++) CLI_TRY(find_published(arguments.word[i], &set));
    cli_catch_signals();
    return fetch_all(&r, &arguments);
}
