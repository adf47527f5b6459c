/* Which recipes there are, and which one is meant. A name is a file NAME.recipe in the folder
 * PATHGCN_RECIPES or, failing that, one of those that the library was built with; anything with a
 * slash or the ending .recipe is a file of its own. Read load() from top to bottom. */
#define _GNU_SOURCE /* memmem */
#include "train/recipe.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char ending[] = ".recipe";

static bool ends_in_recipe(const char *name) {
    size_t length = strlen(name), after = sizeof ending - 1;
    return length >= after && strcmp(name + length - after, ending) == 0;
}

/* ---- one recipe by name or file ------------------------------------------------------------------ */

static const char *folder(void) {
    const char *path = getenv("PATHGCN_RECIPES");
    return path && *path ? path : NULL;
}

static pgcn_status read_file(const char *path, pgcn_i_recipe *out) {
    pgcn_i_arena arena = {0};
    char *text;
    int64_t bytes;
    pgcn_status status = pgcn_i_file_read(path, PGCN_I_RECIPE_BYTES, &arena, &text, &bytes);
    if (status == PGCN_OK) status = pgcn_i_recipe_parse(path, text, bytes, out);
    pgcn_i_arena_free(&arena);
    return status;
}

static const pgcn_i_built_in_recipe *built_in(const char *name) {
    for (const pgcn_i_built_in_recipe *r = pgcn_i_built_in_recipes; r->name; r++)
        if (strcmp(r->name, name) == 0) return r;
    return NULL;
}

static pgcn_status parse_built_in(const pgcn_i_built_in_recipe *found, pgcn_i_recipe *out) {
    return pgcn_i_recipe_parse("built in", (const char *)found->text, found->bytes, out);
}

/* The path of NAME.recipe in the folder; false if there is none. */
static bool in_folder(const char *name, char path[PGCN_I_PATH_BYTES]) {
    char file[PGCN_I_NAME_BYTES + sizeof ending];
    if (!folder() || strlen(name) >= PGCN_I_NAME_BYTES) return false;
    snprintf(file, sizeof file, "%s%s", name, ending);
    return pgcn_i_path_join(path, folder(), file) == PGCN_OK && pgcn_i_file_exists(path);
}

static bool exists(const char *name) {
    char path[PGCN_I_PATH_BYTES];
    return in_folder(name, path) || built_in(name);
}

/* A recipe that exists. Names of files and recipes agree, so that what is listed can be loaded. */
static pgcn_status read_named(const char *name, pgcn_i_recipe *out) {
    char path[PGCN_I_PATH_BYTES];
    if (!in_folder(name, path)) return parse_built_in(built_in(name), out);
    PGCN_TRY(read_file(path, out));
    if (strcmp(out->info.name, name) != 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "'%s' holds a recipe of another name, %s; rename the file or the recipe",
                           path, out->info.name);
    return PGCN_OK;
}

/* ---- all of them --------------------------------------------------------------------------------- */

typedef struct recipe_name {
    char text[PGCN_I_NAME_BYTES];
} recipe_name;

static int by_name(const void *a, const void *b) {
    return strcmp(((const recipe_name *)a)->text, ((const recipe_name *)b)->text);
}

static pgcn_status add_name(pgcn_i_buffer *names, const char *text, size_t length) {
    recipe_name *name = pgcn_i_buffer_add(names, (int64_t)sizeof *name);
    if (!name) return PGCN_ERR_MEMORY;
    snprintf(name->text, sizeof name->text, "%.*s", (int)length, text);
    return PGCN_OK;
}

static pgcn_status add_names_of_folder(pgcn_i_buffer *names, const char *path) {
    DIR *stream = opendir(path);
    pgcn_status status = PGCN_OK;
    if (!stream)
        return pgcn_i_fail(PGCN_ERR_IO, "cannot list the folder PATHGCN_RECIPES, '%s': %s", path,
                           pgcn_system_error(errno));
    for (struct dirent *entry; status == PGCN_OK;) {
        status = pgcn_i_directory_next(stream, path, &entry);
        if (status != PGCN_OK || !entry) break;
        if (ends_in_recipe(entry->d_name) && entry->d_name[0] != '.')
            status = add_name(names, entry->d_name, strlen(entry->d_name) - (sizeof ending - 1));
    }
    closedir(stream);
    return status;
}

/* recipe_name [count], sorted; those of the folder that are built in too stand once. */
static pgcn_status all_names(pgcn_i_buffer *names, int *count) {
    *names = (pgcn_i_buffer){0};
    pgcn_status status = folder() ? add_names_of_folder(names, folder()) : PGCN_OK;
    char path[PGCN_I_PATH_BYTES];
    for (const pgcn_i_built_in_recipe *r = pgcn_i_built_in_recipes; status == PGCN_OK && r->name;
         r++)
        if (!in_folder(r->name, path)) status = add_name(names, r->name, strlen(r->name));
    if (status != PGCN_OK) {
        pgcn_i_buffer_free(names);
        return status;
    }
    *count = (int)(names->bytes / (int64_t)sizeof(recipe_name));
    if (*count > 0) qsort(names->data, (size_t)*count, sizeof(recipe_name), by_name);
    return PGCN_OK;
}

pgcn_status pgcn_recipe_count(int *out) {
    PGCN_I_NEED(out);
    pgcn_i_buffer names;
    PGCN_TRY(all_names(&names, out));
    pgcn_i_buffer_free(&names);
    return PGCN_OK;
}

pgcn_status pgcn_recipe_get(int i, pgcn_recipe_info *out) {
    PGCN_I_NEED(out);
    pgcn_i_buffer names;
    pgcn_i_recipe recipe;
    int count;
    PGCN_TRY(all_names(&names, &count));
    pgcn_status status = PGCN_OK;
    if (i < 0 || i >= count)
        status = pgcn_i_fail(PGCN_ERR_ARGUMENT,
                             "recipe number %d is not among the %d that there "
                             "are",
                             i, count);
    else
        status = read_named(((const recipe_name *)names.data)[i].text, &recipe);
    pgcn_i_buffer_free(&names);
    if (status == PGCN_OK) *out = recipe.info;
    return status;
}

/* ---- which one is meant -------------------------------------------------------------------------- */

enum { DATASET_BYTES = sizeof((pgcn_recipe_info *)0)->dataset };

/* Whether `dataset` is one of the words of the recipe's line; MUTAG and mutag are one set. */
static bool is_for(const pgcn_recipe_info *info, const char *dataset) {
    char words[DATASET_BYTES], *rest = NULL;
    if (strcmp(info->dataset, "any") == 0) return true;
    strcpy(words, info->dataset);
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        if (strcasecmp(word, dataset) == 0) return true;
    return false;
}

/* Which recipes are gone through. */
typedef struct selection {
    const char *dataset;
    int network;  /* -1: of all */
    bool general; /* those for any data set of the task, too */
    pgcn_task task;
} selection;

static bool is_of_task(const pgcn_recipe_info *info, pgcn_task task) {
    return task == PGCN_TASK_NONE || strcmp(info->task, pgcn_task_name(task)) == 0;
}

static bool is_selected(const selection *s, const pgcn_i_recipe *recipe) {
    const pgcn_recipe_info *info = &recipe->info;
    if (s->network >= 0 && recipe->config.model != s->network) return false;
    if (strcmp(info->dataset, "any") == 0) return s->general && is_of_task(info, s->task);
    return is_for(info, s->dataset);
}

/* Name and data set of a built-in recipe, before all of it is read: there are hundreds, and a run looks for a few. */
static bool peek(const pgcn_i_built_in_recipe *recipe, pgcn_recipe_info *out) {
    static const char key[] = "\ndataset = ";
    const char *line = memmem(recipe->text, (size_t)recipe->bytes, key, sizeof key - 1);
    if (!line) return false;
    line += sizeof key - 1;
    snprintf(out->name, sizeof out->name, "%s", recipe->name);
    snprintf(out->dataset, sizeof out->dataset, "%.*s", (int)strcspn(line, "\n"), line);
    return true;
}

/* The same by name. A recipe of the folder is read whole: false. */
static bool peek_named(const char *name, pgcn_recipe_info *out) {
    char path[PGCN_I_PATH_BYTES];
    return !in_folder(name, path) && built_in(name) && peek(built_in(name), out);
}

static bool is_for_others(const selection *s, const char *name) {
    pgcn_recipe_info info;
    if (!peek_named(name, &info)) return false;
    return strcmp(info.dataset, "any") == 0 ? !s->general : !is_for(&info, s->dataset);
}

/* Goes through the recipes that can be read and are selected. `visit` returns false to stop. A broken
 * file in the folder is in nobody's way until it is asked for by name. */
static pgcn_status each_of(const selection *s,
                           bool (*visit)(const pgcn_recipe_info *info, void *context),
                           void *context) {
    pgcn_i_buffer names;
    pgcn_i_recipe recipe;
    int count;
    PGCN_TRY(all_names(&names, &count));
    pgcn_status status = PGCN_OK;
    bool more = true;
    for (int i = 0; i < count && more && status != PGCN_ERR_MEMORY; i++) {
        const char *name = ((const recipe_name *)names.data)[i].text;
        if (is_for_others(s, name)) continue;
        status = read_named(name, &recipe);
        if (status == PGCN_OK && is_selected(s, &recipe)) more = visit(&recipe.info, context);
    }
    pgcn_i_buffer_free(&names);
    return status == PGCN_ERR_MEMORY ? status : PGCN_OK;
}

static bool take_first_word(const pgcn_recipe_info *info, void *context) {
    snprintf(context, DATASET_BYTES, "%.*s", (int)strcspn(info->dataset, " "), info->dataset);
    return false;
}

/* The name that recipes have for a data set: its own, or that of the set with the same recipes
 * ("cornell" for "cornell_fixed"). */
static pgcn_status known_as(const char *dataset, char out[DATASET_BYTES]) {
    pgcn_i_recipe recipe;
    snprintf(out, DATASET_BYTES, "%s", dataset);
    if (exists(dataset)) {
        PGCN_TRY(read_named(dataset, &recipe));
        if (is_for(&recipe.info, dataset)) return PGCN_OK;
    }
    return each_of(&(selection){.dataset = dataset, .network = -1}, take_first_word, out);
}

/* What a recipe is wanted for. */
typedef struct wanted {
    const char *recipe;  /* as the caller says it; NULL: what suits */
    const char *dataset; /* NULL: whatever the recipe is for */
    pgcn_task task;      /* PGCN_TASK_NONE: the same */
    int network;         /* its number; -1: not named */
    bool numbered;       /* the split is one of the numbered ones */
    int layers;          /* 0: the recipe's own */
} wanted;

/* The network whose recipes are looked for: the first where none is named. */
static int network_of(const wanted *w) {
    return w->network > 0 ? w->network : 0;
}
static const char *network_name(const wanted *w) {
    return pgcn_network_name(network_of(w));
}

enum { LIST_BYTES = 512 };
static bool list_name(const pgcn_recipe_info *info, void *context) {
    char *list = context;
    size_t length = strlen(list);
    snprintf(list + length, LIST_BYTES - length, "%s%s", length > 0 ? ", " : "", info->name);
    return true;
}

/* " (did you mean any-alike?)", or "". */
static pgcn_status hint_at(const char *word, char out[128]) {
    pgcn_i_buffer names;
    int count;
    size_t distance = SIZE_MAX;
    PGCN_TRY(all_names(&names, &count));
    *out = '\0';
    for (int i = 0; i < count && *word; i++) {
        const char *name = ((const recipe_name *)names.data)[i].text;
        if (pgcn_spelling_nearer(word, name, &distance))
            snprintf(out, 128, " (did you mean %.64s?)", name);
    }
    pgcn_i_buffer_free(&names);
    return PGCN_OK;
}

static pgcn_status fail_unknown(const wanted *w) {
    char list[LIST_BYTES] = "", hint[128];
    const char *dataset = w->dataset;
    const selection own = {dataset, network_of(w), w->network > 0, w->task};
    if (dataset) PGCN_TRY(each_of(&own, list_name, list));
    PGCN_TRY(hint_at(w->recipe, hint));
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "there is no recipe '%s'%s%s%s%s%s%s%s ('pathgcn recipes' lists all; a file "
                       "is given with a / in its path or the ending .recipe)",
                       w->recipe, w->network > 0 ? " of network " : "",
                       w->network > 0 ? network_name(w) : "", dataset ? " for data set " : "",
                       dataset ? dataset : "", hint, *list ? "; there are " : "", list);
}

/* A family: with the prefix "" `paper` of cora is paper-cora, `full` is cora-full, and `paper-full` is
 * paper-cora-full; with the prefix "gcn-" `authors` is gcn-authors-cora. */
static bool is_family(const char *prefix, const char *word, const char *dataset,
                      char out[PGCN_I_NAME_BYTES]) {
    snprintf(out, PGCN_I_NAME_BYTES, "%s%s-%s", prefix, dataset, word);
    if (exists(out)) return true;
    snprintf(out, PGCN_I_NAME_BYTES, "%s%s-%s", prefix, word, dataset);
    if (exists(out)) return true;
    for (const char *dash = strchr(word, '-'); dash; dash = strchr(dash + 1, '-')) {
        snprintf(out, PGCN_I_NAME_BYTES, "%s%.*s-%s%s", prefix, (int)(dash - word), word, dataset,
                 dash);
        if (exists(out)) return true;
    }
    return false;
}

/* A word that means a recipe of the wanted network. */
static bool is_of_network(const wanted *w, const char *dataset, char out[PGCN_I_NAME_BYTES]) {
    char prefix[32];
    snprintf(prefix, sizeof prefix, "%s-", network_name(w));
    if (strcmp(w->recipe, "full") == 0)
        return is_family(prefix, "authors-full", dataset, out) ||
               is_family(prefix, "authors-like-full", dataset, out);
    if (is_family(prefix, w->recipe, dataset, out)) return true;
    snprintf(out, PGCN_I_NAME_BYTES, "%s%s", prefix, w->recipe);
    return exists(out);
}

/* The name that is meant: as it is, or else a family, of the wanted network before others. */
static pgcn_status find_name(const wanted *w, char out[PGCN_I_NAME_BYTES]) {
    char known[DATASET_BYTES] = "";
    if (strlen(w->recipe) >= 64) return fail_unknown(w);
    snprintf(out, PGCN_I_NAME_BYTES, "%s", w->recipe);
    if (exists(out)) return PGCN_OK;
    if (w->dataset) PGCN_TRY(known_as(w->dataset, known));
    if (w->network > 0 && is_of_network(w, known, out)) return PGCN_OK;
    if (w->dataset && is_family("", w->recipe, known, out)) return PGCN_OK;
    return fail_unknown(w);
}

/* ---- loading --------------------------------------------------------------------------------------- */

static void nothing_known(const wanted *w, pgcn_i_recipe *out) {
    *out = (pgcn_i_recipe){.config = pgcn_config_default(),
                           .info = {.name = "none", .origin = "built in"}};
    snprintf(out->info.task, sizeof out->info.task, "%s",
             pgcn_task_name(w->task == PGCN_TASK_NONE ? PGCN_TASK_NODE : w->task));
    out->config.model = network_of(w);
}

/* The recipe called `name`, if there is one and it suits. */
static pgcn_status read_if_suited(const char *name, const wanted *w, pgcn_i_recipe *out,
                                  bool *suits) {
    *suits = exists(name);
    if (!*suits) return PGCN_OK;
    PGCN_TRY(read_named(name, out));
    *suits = is_for(&out->info, w->dataset) && is_of_task(&out->info, w->task);
    return PGCN_OK;
}

/* The one of the data set's own name, or of its task. */
static pgcn_status read_default(const wanted *w, pgcn_i_recipe *out) {
    char known[DATASET_BYTES], usual[32];
    bool found;
    PGCN_TRY(known_as(w->dataset, known));
    PGCN_TRY(read_if_suited(known, w, out, &found));
    snprintf(usual, sizeof usual, "any-%s", pgcn_task_name(w->task));
    if (!found && w->task != PGCN_TASK_NONE) PGCN_TRY(read_if_suited(usual, w, out, &found));
    if (!found) nothing_known(w, out);
    return PGCN_OK;
}

/* "it has gcn-authors-cora, gcn-default": what there is of the wanted network for the data. */
static pgcn_status fail_network(const wanted *w, const char *why) {
    char list[LIST_BYTES] = "";
    const selection own = {w->dataset ? w->dataset : "", network_of(w), true, w->task};
    PGCN_TRY(each_of(&own, list_name, list));
    return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s; %s has %s here, and none starts from the defaults",
                       why, network_name(w), *list ? list : "no recipe");
}

/* Whether a recipe is made for the wanted depth. */
static bool has_depth(const pgcn_i_recipe *recipe, int layers) {
    bool found = layers == 0 || recipe->config.layers == layers;
    for (int i = 0; i < recipe->sections; i++)
        found |= layers >= recipe->section[i].first && layers <= recipe->section[i].last;
    return found;
}

/* The first of `names` that there is and that suits: of the wanted network, data set and task. What authors
 * published for another depth gives way to what comes near to it. */
static pgcn_status read_first(const wanted *w, char names[][PGCN_I_NAME_BYTES], int count,
                              pgcn_i_recipe *out) {
    char why[160];
    const char *other_depth = NULL;
    for (int i = 0; i < count; i++) {
        bool suits, published = strstr(names[i], "-authors-") != NULL;
        if (other_depth && !published) break;
        PGCN_TRY(read_if_suited(names[i], w, out, &suits));
        if (!suits || out->config.model != w->network) continue;
        if (!published || has_depth(out, w->layers) || other_depth) return PGCN_OK;
        other_depth = names[i];
    }
    if (other_depth) return read_named(other_depth, out);
    snprintf(why, sizeof why, "network %s has no recipe for data set %.64s, nor one for any%s%s",
             network_name(w), w->dataset, w->task == PGCN_TASK_NONE ? "" : " of the task ",
             w->task == PGCN_TASK_NONE ? "" : pgcn_task_name(w->task));
    return fail_network(w, why);
}

/* What a network other than the first is trained with: what its authors published for the data set,
 * what comes near to it, or what it has for any data (`general` alone). A recipe with the bare name of
 * the network is one for any data, too. */
static pgcn_status read_of_network(const wanted *w, bool general, pgcn_i_recipe *out) {
    static const char *const kinds[] = {"authors", "authors-like"};
    char names[7][PGCN_I_NAME_BYTES], known[DATASET_BYTES];
    const char *network = network_name(w);
    int count = 0;
    PGCN_TRY(known_as(w->dataset, known));
    for (int full = w->numbered; full >= 0 && !general; full--)
        for (int i = 0; i < 2; i++)
            snprintf(names[count++], sizeof *names, "%s-%s-%s%s", network, kinds[i], known,
                     full ? "-full" : "");
    snprintf(names[count++], sizeof *names, "%s-default-%s", network, pgcn_task_name(w->task));
    snprintf(names[count++], sizeof *names, "%s-default", network);
    snprintf(names[count++], sizeof *names, "%s", network);
    return read_first(w, names, count, out);
}

/* What suits, where nothing is named. */
static pgcn_status read_suited(const wanted *w, pgcn_i_recipe *out) {
    bool general = w->recipe != NULL; /* "default" */
    wanted suited = *w;
    if (!suited.dataset) suited.dataset = "";
    PGCN_TRY(pgcn_i_check_task_of(pgcn_i_network_at(network_of(w)), w->task, suited.dataset));
    return w->network > 0 ? read_of_network(&suited, general, out) : read_default(&suited, out);
}

static pgcn_status check_network(const wanted *w, const pgcn_i_recipe *recipe) {
    char why[240];
    if (w->network < 0 || recipe->config.model == w->network) return PGCN_OK;
    snprintf(why, sizeof why, "recipe %s is of the network %s, and model is %s", recipe->info.name,
             pgcn_network_name(recipe->config.model), network_name(w));
    return fail_network(w, why);
}

/* A recipe that is named, by a file or by its name. */
static pgcn_status read_by_name(const wanted *w, bool file, pgcn_i_recipe *out) {
    const char *dataset = w->dataset;
    char name[PGCN_I_NAME_BYTES];
    if (!file) PGCN_TRY(find_name(w, name));
    PGCN_TRY(file ? read_file(w->recipe, out) : read_named(name, out));
    PGCN_TRY(check_network(w, out));
    pgcn_recipe_info *info = &out->info;
    if (!is_of_task(info, w->task))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "recipe %s is for the task %s, and data set %s has the task %s",
                           info->name, info->task, dataset, pgcn_task_name(w->task));
    if (!dataset || is_for(info, dataset)) return PGCN_OK;
    info->other_dataset = file;
    return file
               ? PGCN_OK
               : pgcn_i_fail(PGCN_ERR_ARGUMENT,
                             "recipe %s is for data set %s and not for %s; to use it all the same, "
                             "give it as a file",
                             info->name, info->dataset, dataset);
}

static pgcn_status read_wanted(const wanted *w, pgcn_i_recipe *out) {
    const char *recipe = w->recipe;
    if (recipe && strcmp(recipe, "none") == 0) {
        nothing_known(w, out);
        return PGCN_OK;
    }
    bool file = recipe && (strchr(recipe, '/') || ends_in_recipe(recipe));
    if (!file && folder() && !pgcn_i_is_directory(folder()))
        return pgcn_i_fail(PGCN_ERR_IO, "PATHGCN_RECIPES is '%s', which is no folder", folder());
    bool suited = !recipe || (w->network > 0 && strcmp(recipe, "default") == 0);
    return suited ? read_suited(w, out) : read_by_name(w, file, out);
}

static pgcn_status load_as(pgcn_i_recipe *found, wanted w, int layers, pgcn_config *out,
                           pgcn_recipe_info *info) {
    char name[PGCN_I_NAME_BYTES]; /* "sbm:nodes=500" is still sbm */
    if (w.dataset) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(w.dataset, ":"), w.dataset);
        w.dataset = name;
    }
    w.layers = layers;
    PGCN_TRY(read_wanted(&w, found));
    pgcn_config config;
    pgcn_i_recipe_settings(found, layers, &config);
    PGCN_TRY(pgcn_config_check(&config)); /* the caller's number of layers */
    *out = config;
    if (info) *info = found->info;
    return PGCN_OK;
}

/* "gcn-default", "gcn-default-graph" */
static bool is_default_of_network(const char *name) {
    const char *network;
    for (int i = 0; (network = pgcn_network_name(i)); i++) {
        char prefix[64];
        int length = snprintf(prefix, sizeof prefix, "%s-default", network);
        if (strncmp(name, prefix, (size_t)length) == 0 && strchr("-", name[length])) return true;
    }
    return false;
}

bool pgcn_recipe_races(const pgcn_recipe_info *info, bool all_networks) {
    return info && strcmp(info->dataset, "any") == 0 &&
           (all_networks || !is_default_of_network(info->name));
}

pgcn_status pgcn_i_recipe_families(pgcn_task task, bool all_networks, pgcn_i_arena *arena,
                                   pgcn_i_recipe **out, int *count) {
    pgcn_i_buffer names, found = {0};
    int all;
    PGCN_TRY(all_names(&names, &all));
    *count = 0;
    pgcn_status status = PGCN_OK;
    for (int i = 0; i < all && status == PGCN_OK; i++) {
        const char *name = ((const recipe_name *)names.data)[i].text;
        pgcn_recipe_info known;
        if (peek_named(name, &known) && !pgcn_recipe_races(&known, all_networks)) continue;
        pgcn_i_recipe *next = pgcn_i_buffer_add(&found, (int64_t)sizeof *next);
        status = next ? read_named(name, next) : PGCN_ERR_MEMORY;
        if (status == PGCN_OK && pgcn_recipe_races(&next->info, all_networks) &&
            is_of_task(&next->info, task))
            (*count)++;
        found.bytes = *count * (int64_t)sizeof *next; /* the place of one that was read in vain */
    }
    pgcn_i_buffer_free(&names);
    *out = status == PGCN_OK ? pgcn_i_arena_take(arena, &found) : NULL;
    pgcn_i_buffer_free(&found);
    if (status != PGCN_OK) return status;
    return *out ? PGCN_OK : PGCN_ERR_MEMORY;
}

/* A recipe holds the settings of many depths: too much for the stack beside others that are read. */
static pgcn_status load(wanted w, int layers, pgcn_config *out, pgcn_recipe_info *info) {
    pgcn_i_recipe *found = pgcn_i_alloc(1, sizeof *found);
    pgcn_status status = found ? load_as(found, w, layers, out, info) : PGCN_ERR_MEMORY;
    pgcn_i_free(found);
    return status;
}

pgcn_recipe_query pgcn_recipe_query_default(void) {
    return (pgcn_recipe_query){.size = sizeof(pgcn_recipe_query)};
}

static pgcn_status network_named(const char *name, int *out) {
    *out = -1;
    if (!name) return PGCN_OK;
    for (int i = 0; pgcn_network_name(i); i++)
        if (strcmp(pgcn_network_name(i), name) == 0) *out = i;
    if (*out >= 0) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT, "there is no network '%.64s', expected %s", name,
                       pgcn_i_network_names());
}

/* Whether the split of the training is one of those that have numbers. */
static bool is_numbered(const pgcn_recipe_query *query) {
    const pgcn_dataset *data = query->data;
    if (query->split && strcmp(query->split, "auto") != 0)
        return strcmp(query->split, "public") != 0;
    return data && data->splits > 0 && strcmp(data->split[0].name, "public") != 0;
}

pgcn_status pgcn_recipe_find(const pgcn_recipe_query *given, pgcn_config *out,
                             pgcn_recipe_info *info) {
    PGCN_I_NEED(out);
    pgcn_recipe_query query = pgcn_recipe_query_default();
    pgcn_recipe_info used;
    PGCN_TRY(pgcn_i_opts_over(&query, sizeof query, given, "pgcn_recipe_query_default"));
    const pgcn_dataset *data = query.data;
    wanted w = {.recipe = query.recipe,
                .dataset = data ? data->name : query.dataset,
                .task = data ? data->task : PGCN_TASK_NONE,
                .numbered = is_numbered(&query)};
    PGCN_TRY(network_named(query.network, &w.network));
    PGCN_TRY(load(w, query.layers, out, &used));
    if (data) pgcn_i_recipe_measure(&used, data, out);
    if (info) *info = used;
    return PGCN_OK;
}

pgcn_status pgcn_recipe_load(const char *recipe, const char *dataset, int layers, pgcn_config *out,
                             pgcn_recipe_info *info) {
    pgcn_recipe_query query = pgcn_recipe_query_default();
    query.recipe = recipe;
    query.dataset = dataset;
    query.layers = layers;
    return pgcn_recipe_find(&query, out, info);
}

pgcn_status pgcn_recipe_for(const char *recipe, const pgcn_dataset *data, int layers,
                            pgcn_config *out, pgcn_recipe_info *info) {
    PGCN_I_NEED(data);
    pgcn_recipe_query query = pgcn_recipe_query_default();
    query.recipe = recipe;
    query.data = data;
    query.layers = layers;
    return pgcn_recipe_find(&query, out, info);
}

void pgcn_i_recipe_measure(const pgcn_recipe_info *info, const pgcn_dataset *data,
                           pgcn_config *config) {
    if (strcmp(info->dataset, "any") != 0 || config->select != PGCN_SELECT_ACCURACY) return;
    config->select = (pgcn_select)(PGCN_SELECT_ACCURACY + (int)data->info.measure);
    pgcn_config_adopt(config);
}

/* Our own text was checked by the tests, so that what can fail here is memory. */
pgcn_config pgcn_config_for(const char *dataset) {
    pgcn_config config = pgcn_config_default();
    pgcn_recipe_info known;
    pgcn_i_recipe recipe;
    char name[DATASET_BYTES];
    if (!dataset) return config;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(dataset, ":"), dataset);
    for (const pgcn_i_built_in_recipe *r = pgcn_i_built_in_recipes; r->name; r++) {
        if (!peek(r, &known) || !is_for(&known, name)) continue;
        size_t first = strcspn(known.dataset, " ");
        if (strlen(r->name) == first && strncmp(r->name, known.dataset, first) == 0 &&
            parse_built_in(r, &recipe) == PGCN_OK)
            pgcn_i_recipe_settings(&recipe, 0, &config);
    }
    return config;
}
