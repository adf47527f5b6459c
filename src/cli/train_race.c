/* --recipe auto: which recipe a run trains with. The race itself is in the library. Here are its
 * progress, the file race.json that records who won, and the data as the winner prepares it. Called
 * by train_run.c when the directory of the run is known. */
#include "cli/train.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONG_SECONDS = 600 };

/* ---- what a race depends on ------------------------------------------------------------------------ */

/* Settings that may change between a race and a resumed run: more epochs, or another machine. */
static bool is_free_to_change(const pgcn_field *field) {
    return cli_is_run_setting(field) || strcmp(field->key, "epochs") == 0 ||
           strcmp(field->key, "patience") == 0;
}

static json_t *settings_to_json(const train_request *r, const pgcn_config *config) {
    json_t *object = json_object();
    pgcn_field field;
    for (int i = 0; pgcn_config_field(i, &field); i++) {
        char text[PGCN_SETTING_BYTES];
        bool seed = strcmp(field.key, "seed") == 0;
        if (is_free_to_change(&field) || (!seed && !cli_is_given(r->arguments, field.key)))
            continue;
        pgcn_config_get(config, field.key, text, sizeof text);
        json_object_set_new(object, field.key, json_string(text));
    }
    return object;
}

static json_t *families_to_json(const pgcn_race *race) {
    json_t *object = json_object();
    pgcn_race_entry entry;
    for (int i = 0; pgcn_race_get(race, i, &entry); i++)
        json_object_set_new(object, entry.recipe.name, json_string(entry.recipe.sha256));
    return object;
}

/* What a race depends on: with an equal identity it has the same winner on the same instruction
 * set. */
static json_t *identity_of(const train_request *r, const pgcn_dataset *data,
                           const pgcn_config *config, const pgcn_race *race) {
    return json_pack("{s:s, s:o, s:o}", "fingerprint", pgcn_dataset_describe(data).fingerprint,
                     "settings", settings_to_json(r, config), "families", families_to_json(race));
}

/* ---- race.json ------------------------------------------------------------------------------------- */

static json_t *entry_to_json(const pgcn_race_entry *e) {
    json_t *object =
        json_pack("{s:s, s:I, s:i, s:o, s:o, s:f}", "recipe", e->recipe.name, "epochs",
                  (json_int_t)e->epochs, "rung", e->rung, "val_score", cli_json_real(e->score),
                  "val_loss", cli_json_real(e->loss), "operations_of_an_epoch", e->operations);
    if (e->out) json_object_set_new(object, "out", json_string(e->out));
    return object;
}

static pgcn_status write_race(const char *path, const pgcn_race *race, json_t *identity,
                              const char *winner) {
    json_t *entries = json_array();
    pgcn_race_entry entry;
    for (int i = 0; pgcn_race_get(race, i, &entry); i++)
        json_array_append_new(entries, entry_to_json(&entry));
    json_t *object = json_pack("{s:s, s:s, s:o, s:O}", "winner", winner, "isa", pgcn_info_get().isa,
                               "entries", entries, "identity", identity);
    pgcn_status status = cli_write_json(&cli_train, path, object, JSON_INDENT(2));
    json_decref(object);
    return status;
}

/* The winner of the race in race.json; "" if there is no such file, or it is about another race
 * (*other). */
static pgcn_status recall(const char *path, const json_t *identity, char winner[64], bool *other) {
    json_error_t error;
    *other = false;
    errno = 0;
    json_t *record = json_load_file(path, 0, &error);
    if (!record && errno != ENOENT)
        return cli_fail(&cli_train, PGCN_ERR_IO,
                        "cannot read '%s': %s; remove it to race again, or choose another --out",
                        path, errno ? pgcn_system_error(errno) : error.text);
    const char *name = json_string_value(json_object_get(record, "winner"));
    bool same = name && json_equal(json_object_get(record, "identity"), identity);
    snprintf(winner, 64, "%s", same ? name : "");
    *other = record && !same;
    json_decref(record);
    return PGCN_OK;
}

/* ---- progress -------------------------------------------------------------------------------------- */

typedef struct race_meter {
    cli_progress *progress;
    bool warned;
    double begin;
    long long run, runs;
} race_meter;

static void show(race_meter *m, const pgcn_race *race, const train_request *r) {
    double done = pgcn_race_done(race), seconds = cli_now() - m->begin;
    double left = done > 0 ? seconds * (1 - done) / done : 0;
    char time[32], remains[64], run[48] = "", leads[160] = "", name[96] = "";
    cli_format_duration(left, time);
    if (!m->warned && seconds > 2 && left > LONG_SECONDS && !r->quiet) {
        m->warned = true;
        cli_progress_clear(m->progress);
        fprintf(stderr,
                "note: the race for the settings will take about %s; --recipe NAME trains with one "
                "family at once ('pathgcn recipes' lists them), --channels 32 makes it shorter\n",
                time);
    }
    if (!cli_progress_is_due(m->progress)) return;
    pgcn_race_entry entry;
    for (int i = 0; pgcn_race_get(race, i, &entry); i++)
        if (entry.running) snprintf(name, sizeof name, "now %s", entry.recipe.name);
    if (m->runs > 1) snprintf(run, sizeof run, "run %lld/%lld", m->run, m->runs);
    if (pgcn_race_get(race, pgcn_race_leader(race), &entry))
        snprintf(leads, sizeof leads, "%s leads with val %.1f%%", entry.recipe.name, entry.score);
    snprintf(remains, sizeof remains, "at most %s left", time);
    cli_progress_show(
        m->progress, done,
        (const char *const[]){remains, run, "race for the settings", leads, name, NULL});
}

/* As the race ranks them: of equal figures the lower loss. */
static bool is_better(const pgcn_race_entry *a, const pgcn_race_entry *b) {
    if (a->score > b->score || a->score < b->score) return a->score > b->score;
    return a->loss < b->loss;
}

/* Why the winner is not the one with the highest figure. Only those of the last rung were compared. */
static void note_tie(const pgcn_race *race, const char *winner) {
    pgcn_race_entry entry, won = {.score = NAN};
    for (int i = 0; pgcn_race_get(race, i, &entry); i++)
        if (strcmp(entry.recipe.name, winner) == 0) won = entry;
    pgcn_race_entry best = won;
    for (int i = 0; pgcn_race_get(race, i, &entry); i++)
        if (!entry.out && entry.rung == won.rung && is_better(&entry, &best)) best = entry;
    if (!(best.score > won.score)) return;
    fprintf(stderr,
            "note: %s is not better than %s by more than a standard error: they are tied, and %s "
            "needs %.0f %% of its operations\n",
            best.recipe.name, winner, winner, 100 * won.operations / best.operations);
}

/* Prints who won, so that nobody wonders where the settings come from. */
static void print_winner(const train_request *r, const pgcn_race *race, const char *winner) {
    char list[1024] = "";
    size_t used = 0;
    pgcn_race_entry entry;
    if (r->quiet) return;
    for (int i = 0; pgcn_race_get(race, i, &entry); i++)
        if (!isnan(entry.score) && used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s %.1f", used ? ", " : "",
                                     entry.recipe.name, entry.score);
    fprintf(stderr, "note: %srecipe %s won the race on validation%s%s%s\n",
            r->recipe || r->arguments->all_networks ? "" : "no recipe is known for this data set; ",
            winner, used ? " (" : "", list, used ? ")" : "");
    note_tie(race, winner);
}

/* Settings of the user's that some recipes refuse make the race a smaller one. */
static void note_left_out(const train_request *r, const pgcn_race *race) {
    int count = 0, all = 0;
    pgcn_race_entry entry, first = {.out = NULL};
    for (; pgcn_race_get(race, all, &entry); all++)
        if (entry.out && count++ == 0) first = entry;
    if (r->quiet || count == 0) return;
    fprintf(stderr, "note: %d of %d recipes do not race with these settings; %s: %s\n", count, all,
            first.recipe.name, first.out);
}

static pgcn_status run_race(const train_request *r, pgcn_race *race, long long run) {
    race_meter m = {.progress = r->progress, .begin = cli_now(), .run = run, .runs = r->seeds};
    pgcn_status status = PGCN_OK;
    pgcn_race_on_step(race, cli_not_interrupted, NULL);
    if (run == 1) note_left_out(r, race);
    while (status == PGCN_OK && !pgcn_race_finished(race) && !cli_interrupted()) {
        status = pgcn_race_epoch(race);
        if (status == PGCN_ERR_STOPPED) status = PGCN_OK;
        show(&m, race, r);
    }
    cli_progress_clear(m.progress);
    if (status != PGCN_OK || pgcn_race_finished(race)) return cli_report(&cli_train, status);
    fprintf(
        stderr,
        "Interrupted in the race for the settings, of which nothing is kept; the same command%s "
        "races again, --recipe NAME trains without a race.\n",
        r->seeds > 1 ? " with --resume" : "");
    return PGCN_ERR_SYSTEM;
}

/* ---- the choice ------------------------------------------------------------------------------------ */

/* The settings of a family as a command with its --recipe would have them. */
static pgcn_status take_recipe(const train_request *r, const pgcn_dataset *data,
                               const pgcn_config *config, const char *name, train_choice *out) {
    int layers = cli_is_given(r->arguments, "layers") ? config->layers : 0;
    CLI_TRY(
        cli_report(&cli_train, pgcn_recipe_for(name, data, layers, &out->config, &out->recipe)));
    CLI_TRY(cli_configure(&cli_train, r->arguments, NULL, &out->config));
    out->config.seed = config->seed;
    return PGCN_OK;
}

/* The data with the steps of the winner after those of the user. */
static pgcn_status prepare_data(const train_request *r, train_choice *out) {
    cli_source source = r->source;
    if (!*out->recipe.prepare) return PGCN_OK;
    CLI_TRY(cli_train_join_steps(r, out->recipe.prepare, out->steps));
    source.steps = out->steps;
    return cli_load_dataset(&cli_train, r->dataset, &source, "", &out->data);
}

/* A race under the options of the user, with the seed of this run. */
static pgcn_status new_race(const train_request *r, const pgcn_dataset *data, uint64_t seed,
                            pgcn_race **out) {
    pgcn_config given = pgcn_config_default();
    char text[32];
    CLI_TRY(cli_apply(&cli_train, r->arguments, &given));
    snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
    pgcn_config_set(&given, "seed", text);
    return cli_new_race(&cli_train, r->arguments, data, &given, out);
}

/* Runs the race and writes race.json. */
static pgcn_status race_now(const train_request *r, pgcn_race *race, long long run,
                            const char *path, json_t *identity, char winner[64]) {
    pgcn_config config;
    pgcn_recipe_info info;
    CLI_TRY(run_race(r, race, run));
    CLI_TRY(cli_report(&cli_train, pgcn_race_winner(race, &config, &info)));
    snprintf(winner, 64, "%s", info.name);
    print_winner(r, race, winner);
    return write_race(path, race, identity, winner);
}

/* Who won: as race.json remembers, or by a race now. */
static pgcn_status find_winner(const train_request *r, const pgcn_dataset *data,
                               const pgcn_config *config, const train_files *files, long long run,
                               char winner[64]) {
    pgcn_race *race = NULL;
    char path[CLI_PATH_BYTES];
    bool other = false;
    CLI_TRY(cli_train_join(path, files->work, "race.json"));
    CLI_TRY(new_race(r, data, config->seed, &race));
    json_t *identity = identity_of(r, data, config, race);
    pgcn_status status = recall(path, identity, winner, &other);
    if (status == PGCN_OK && !*winner && files->started)
        status = cli_train_refuse_other(
            files, other ? "its settings came from a race on other data, with other settings or "
                           "among other recipes"
                         : "its settings did not come from a race; give its --recipe");
    if (status == PGCN_OK && !*winner) status = race_now(r, race, run, path, identity, winner);
    json_decref(identity);
    pgcn_race_free(race);
    return status;
}

pgcn_status cli_train_race(const train_request *r, const pgcn_dataset *data,
                           const pgcn_config *config, const train_files *files, long long run,
                           train_choice *out) {
    char winner[64] = "";
    CLI_TRY(find_winner(r, data, config, files, run, winner));
    CLI_TRY(take_recipe(r, data, config, winner, out));
    return prepare_data(r, out);
}
