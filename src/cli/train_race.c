/* --recipe auto: which family of settings a run trains with. The race itself is in the library; here are
 * its progress, the file race.json that remembers who won, and the data in the winner's form. Called by
 * train_run.c when the directory of the run is known. */
#include "cli/train.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONG_SECONDS = 600 };

/* ---- what a race depends on ------------------------------------------------------------------------ */

/* Settings that change neither a race that is over nor what follows from it: a run goes on with more
 * epochs, or on another machine. */
static bool is_free_to_change(const pgcn_field *field) {
    return strcmp(field->group, "run") == 0 || strcmp(field->key, "epochs") == 0 ||
           strcmp(field->key, "patience") == 0;
}

static json_t *settings_to_json(const train_request *r, const pgcn_config *config) {
    json_t *object = json_object();
    pgcn_field field;
    for (int i = 0; pgcn_config_field(i, &field); i++) {
        char text[64];
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

/* Two races with equal ones have the same winner on the same instruction set. */
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

static bool write_race(const char *path, const pgcn_race *race, json_t *identity,
                       const char *winner) {
    json_t *entries = json_array();
    pgcn_race_entry entry;
    for (int i = 0; pgcn_race_get(race, i, &entry); i++)
        json_array_append_new(entries, entry_to_json(&entry));
    json_t *object = json_pack("{s:s, s:s, s:o, s:O}", "winner", winner, "isa", pgcn_info_get().isa,
                               "entries", entries, "identity", identity);
    char *text = json_dumps(object, JSON_INDENT(2));
    json_decref(object);
    pgcn_status status = text ? pgcn_file_write(path, text, strlen(text)) : PGCN_ERR_MEMORY;
    free(text);
    if (status != PGCN_OK) cli_complain(&cli_train, "%s", pgcn_last_error());
    return status == PGCN_OK;
}

/* The winner of a race that the directory remembers; "" if it remembers none, or another one. False with
 * a message if the file is there and cannot be read. */
static bool recall(const char *path, const json_t *identity, char winner[64], bool *other) {
    json_error_t error;
    *other = false;
    errno = 0;
    json_t *record = json_load_file(path, 0, &error);
    if (!record && errno != ENOENT) {
        cli_complain(&cli_train,
                     "cannot read '%s': %s; remove it to race again, or choose another "
                     "--out",
                     path, errno ? pgcn_system_error(errno) : error.text);
        return false;
    }
    const char *name = json_string_value(json_object_get(record, "winner"));
    bool same = name && json_equal(json_object_get(record, "identity"), identity);
    snprintf(winner, 64, "%s", same ? name : "");
    *other = record && !same;
    json_decref(record);
    return true;
}

/* ---- progress -------------------------------------------------------------------------------------- */

typedef struct race_meter {
    bool on, warned;
    double begin, shown;
    long long run, runs;
} race_meter;

static void show(race_meter *m, const pgcn_race *race, const train_request *r) {
    double now = cli_now(), done = pgcn_race_done(race), seconds = now - m->begin;
    double left = done > 0 ? seconds * (1 - done) / done : 0;
    char time[32], run[48] = "", leads[160] = "", line[400];
    cli_format_duration(left, time);
    if (!m->warned && seconds > 2 && left > LONG_SECONDS && !r->quiet) {
        m->warned = true;
        fprintf(stderr,
                "note: the race for the settings will take about %s; --recipe NAME trains with one "
                "family at once ('pathgcn recipes' lists them), --channels 32 makes it shorter\n",
                time);
    }
    if (!m->on || now - m->shown < 0.1) return;
    m->shown = now;
    pgcn_race_entry entry;
    const char *turn = "";
    for (int i = 0; pgcn_race_get(race, i, &entry); i++)
        if (entry.running) break;
    turn = entry.running ? entry.recipe.name : "";
    if (m->runs > 1) snprintf(run, sizeof run, "run %lld/%lld  ", m->run, m->runs);
    char name[64];
    snprintf(name, sizeof name, "%s", turn);
    if (pgcn_race_get(race, pgcn_race_leader(race), &entry))
        snprintf(leads, sizeof leads, "  %s leads with val %.1f%%", entry.recipe.name, entry.score);
    snprintf(line, sizeof line, "%srace for the settings: %s%s  at most %s left", run, name, leads,
             time);
    fprintf(stderr, "\r%.*s\033[K", cli_terminal_columns() - 1, line);
    fflush(stderr);
}

/* One line of what was found, so that nobody wonders where the settings come from. */
static void tell(const train_request *r, const pgcn_race *race, const char *winner) {
    char list[1024] = "";
    size_t used = 0;
    pgcn_race_entry entry;
    if (r->quiet) return;
    for (int i = 0; pgcn_race_get(race, i, &entry); i++)
        if (!isnan(entry.score) && used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s %.1f", used ? ", " : "",
                                     entry.recipe.name, entry.score);
    fprintf(stderr, "note: %srecipe %s won the race on validation%s%s%s\n",
            r->recipe ? "" : "no recipe is known for this data set; ", winner, used ? " (" : "",
            list, used ? ")" : "");
}

static int run_race(const train_request *r, pgcn_race *race, long long run) {
    race_meter m = {
        .on = !r->quiet && isatty(STDERR_FILENO), .begin = cli_now(), .run = run, .runs = r->seeds};
    pgcn_status status = PGCN_OK;
    while (status == PGCN_OK && !pgcn_race_finished(race) && !cli_interrupted()) {
        status = pgcn_race_epoch(race);
        show(&m, race, r);
    }
    if (m.on) fprintf(stderr, "\r\033[K");
    if (status != PGCN_OK) return cli_failed(&cli_train, status);
    if (pgcn_race_finished(race)) return -1;
    fprintf(stderr, "Interrupted in the race for the settings; the same command races again, "
                    "--recipe NAME trains without a race.\n");
    return EXIT_FAILED;
}

/* ---- the choice ------------------------------------------------------------------------------------ */

/* The settings of a family as a command with its --recipe would have them. */
static int take_recipe(const train_request *r, const pgcn_dataset *data, const pgcn_config *config,
                       const char *name, train_choice *out) {
    int layers = cli_is_given(r->arguments, "layers") ? config->layers : 0;
    pgcn_status status = pgcn_recipe_for(name, data, layers, &out->config, &out->recipe);
    if (status != PGCN_OK) return cli_failed(&cli_train, status);
    int code = cli_configure(&cli_train, r->arguments, &out->config);
    out->config.seed = config->seed;
    return code;
}

/* The data with the steps of the winner behind those of the user. */
static int prepare_data(const train_request *r, train_choice *out) {
    cli_source source = r->source;
    if (!*out->recipe.prepare) return -1;
    if (!cli_train_join_steps(r, out->recipe.prepare, out->steps)) return EXIT_USAGE;
    source.steps = out->steps;
    return cli_load_dataset(&cli_train, r->dataset, &source, "", &out->data);
}

/* Who won: as race.json remembers, or by a race now. */
static int find_winner(const train_request *r, const pgcn_dataset *data, const pgcn_config *config,
                       const train_files *files, long long run, char winner[64]) {
    pgcn_race *race = NULL;
    pgcn_config own = pgcn_config_default();
    pgcn_recipe_info info;
    char path[CLI_PATH_BYTES];
    bool other = false;
    int code = cli_apply(&cli_train, r->arguments, &own);
    char seed[32];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)config->seed);
    pgcn_config_set(&own, "seed", seed);
    pgcn_status status = code < 0 ? pgcn_race_new(data, &own, &race) : PGCN_OK;
    if (status != PGCN_OK) return cli_failed(&cli_train, status);
    if (code >= 0) return code;
    json_t *identity = identity_of(r, data, config, race);
    if (!cli_train_join(path, files->work, "race.json")) code = EXIT_FAILED;
    if (code < 0 && !recall(path, identity, winner, &other)) code = EXIT_FAILED;
    if (code < 0 && !*winner && files->started)
        code = cli_train_refuse_other(
            files, other ? "its settings came from a race on other data, with other settings or "
                           "among other recipes"
                         : "its settings did not come from a race; give its --recipe");
    if (code < 0 && !*winner) {
        code = run_race(r, race, run);
        if (code < 0 && pgcn_race_winner(race, &own, &info) != PGCN_OK) code = EXIT_FAILED;
        if (code < 0) {
            snprintf(winner, 64, "%s", info.name);
            tell(r, race, winner);
            if (!write_race(path, race, identity, winner)) code = EXIT_FAILED;
        }
    }
    json_decref(identity);
    pgcn_race_free(race);
    return code;
}

int cli_train_race(const train_request *r, const pgcn_dataset *data, const pgcn_config *config,
                   const train_files *files, long long run, train_choice *out) {
    char winner[64] = "";
    int code = find_winner(r, data, config, files, run, winner);
    if (code < 0) code = take_recipe(r, data, config, winner, out);
    return code < 0 ? prepare_data(r, out) : code;
}
