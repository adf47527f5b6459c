/* Which recipes there are, and which one is meant. A name is a file NAME.recipe in the folder
 * PATHGCN_RECIPES or, failing that, one of those that the library was built with; anything with a
 * slash or the ending .recipe is a file of its own. Read load() from top to bottom. */
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

/* Goes through the recipes that can be read and are for `dataset`. `visit` returns false to stop. A
 * broken file in the folder is in nobody's way until it is asked for by name. */
static pgcn_status each_for(const char *dataset,
                            bool (*visit)(const pgcn_recipe_info *info, void *context),
                            void *context) {
    pgcn_i_buffer names;
    pgcn_i_recipe recipe;
    int count;
    PGCN_TRY(all_names(&names, &count));
    pgcn_status status = PGCN_OK;
    bool more = true;
    for (int i = 0; i < count && more && status != PGCN_ERR_MEMORY; i++) {
        status = read_named(((const recipe_name *)names.data)[i].text, &recipe);
        if (status == PGCN_OK && strcmp(recipe.info.dataset, "any") != 0 &&
            is_for(&recipe.info, dataset))
            more = visit(&recipe.info, context);
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
    return each_for(dataset, take_first_word, out);
}

static bool list_name(const pgcn_recipe_info *info, void *context) {
    char *list = context;
    size_t length = strlen(list);
    snprintf(list + length, 512 - length, "%s%s", length > 0 ? ", " : "", info->name);
    return true;
}

static pgcn_status fail_unknown(const char *word, const char *dataset) {
    char list[512] = "";
    if (dataset) PGCN_TRY(each_for(dataset, list_name, list));
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "there is no recipe '%s'%s%s%s%s ('pathgcn recipes' lists all; a file is "
                       "given with a / in its path or the ending .recipe)",
                       word, dataset ? " for data set " : "", dataset ? dataset : "",
                       *list ? "; there are " : "", list);
}

/* A name as it is, or else a family: `paper` of cora is paper-cora, `full` is cora-full, and
 * `paper-full` is paper-cora-full. */
static pgcn_status find_name(const char *word, const char *dataset, char out[PGCN_I_NAME_BYTES]) {
    char known[DATASET_BYTES];
    size_t dash = strcspn(word, "-");
    if (strlen(word) >= 64) return fail_unknown(word, dataset);
    snprintf(out, PGCN_I_NAME_BYTES, "%s", word);
    if (exists(out)) return PGCN_OK;
    if (!dataset) return fail_unknown(word, NULL);
    PGCN_TRY(known_as(dataset, known));
    snprintf(out, PGCN_I_NAME_BYTES, "%s-%s", known, word);
    if (exists(out)) return PGCN_OK;
    snprintf(out, PGCN_I_NAME_BYTES, "%s-%s", word, known);
    if (exists(out)) return PGCN_OK;
    snprintf(out, PGCN_I_NAME_BYTES, "%.*s-%s%s", (int)dash, word, known, word + dash);
    return exists(out) ? PGCN_OK : fail_unknown(word, dataset);
}

/* ---- loading --------------------------------------------------------------------------------------- */

/* What a recipe is wanted for. */
typedef struct wanted {
    const char *recipe;  /* as the caller says it; NULL: what suits */
    const char *dataset; /* NULL: whatever the recipe is for */
    pgcn_task task;      /* PGCN_TASK_NONE: the same */
} wanted;

static void nothing_known(const wanted *w, pgcn_i_recipe *out) {
    *out = (pgcn_i_recipe){.config = pgcn_config_default(),
                           .info = {.name = "none", .origin = "built in"}};
    snprintf(out->info.task, sizeof out->info.task, "%s",
             pgcn_task_name(w->task == PGCN_TASK_NONE ? PGCN_TASK_NODE : w->task));
}

static bool is_of_task(const pgcn_recipe_info *info, pgcn_task task) {
    return task == PGCN_TASK_NONE || strcmp(info->task, pgcn_task_name(task)) == 0;
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

static pgcn_status read_wanted(const wanted *w, pgcn_i_recipe *out) {
    const char *recipe = w->recipe, *dataset = w->dataset;
    char name[PGCN_I_NAME_BYTES];
    if (recipe && strcmp(recipe, "none") == 0) {
        nothing_known(w, out);
        return PGCN_OK;
    }
    bool file = recipe && (strchr(recipe, '/') || ends_in_recipe(recipe));
    if (!file && folder() && !pgcn_i_is_directory(folder()))
        return pgcn_i_fail(PGCN_ERR_IO, "PATHGCN_RECIPES is '%s', which is no folder", folder());
    if (!recipe)
        return read_default(&(wanted){.dataset = dataset ? dataset : "", .task = w->task}, out);
    if (!file) PGCN_TRY(find_name(recipe, dataset, name));
    PGCN_TRY(file ? read_file(recipe, out) : read_named(name, out));
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

static pgcn_status load_as(pgcn_i_recipe *found, wanted w, int layers, pgcn_config *out,
                           pgcn_recipe_info *info) {
    char name[PGCN_I_NAME_BYTES]; /* "sbm:nodes=500" is still sbm */
    if (w.dataset) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(w.dataset, ":"), w.dataset);
        w.dataset = name;
    }
    PGCN_TRY(read_wanted(&w, found));
    pgcn_config config;
    pgcn_i_recipe_settings(found, layers, &config);
    PGCN_TRY(pgcn_config_check(&config)); /* the caller's number of layers */
    *out = config;
    if (info) *info = found->info;
    return PGCN_OK;
}

pgcn_status pgcn_i_recipe_families(pgcn_task task, pgcn_i_arena *arena, pgcn_i_recipe **out,
                                   int *count) {
    pgcn_i_buffer names;
    int all;
    PGCN_TRY(all_names(&names, &all));
    *out = PGCN_I_ARRAY(arena, pgcn_i_recipe, all + 1);
    *count = 0;
    pgcn_status status = *out ? PGCN_OK : PGCN_ERR_MEMORY;
    for (int i = 0; i < all && status == PGCN_OK; i++) {
        pgcn_i_recipe *next = &(*out)[*count];
        status = read_named(((const recipe_name *)names.data)[i].text, next);
        if (status == PGCN_OK && strcmp(next->info.dataset, "any") == 0 &&
            is_of_task(&next->info, task))
            (*count)++;
    }
    pgcn_i_buffer_free(&names);
    return status;
}

/* A recipe holds the settings of many depths: too much for the stack beside others that are read. */
static pgcn_status load(wanted w, int layers, pgcn_config *out, pgcn_recipe_info *info) {
    pgcn_i_recipe *found = pgcn_i_alloc(1, sizeof *found);
    pgcn_status status = found ? load_as(found, w, layers, out, info) : PGCN_ERR_MEMORY;
    pgcn_i_free(found);
    return status;
}

pgcn_status pgcn_recipe_load(const char *recipe, const char *dataset, int layers, pgcn_config *out,
                             pgcn_recipe_info *info) {
    PGCN_I_NEED(out);
    return load((wanted){recipe, dataset, PGCN_TASK_NONE}, layers, out, info);
}

pgcn_status pgcn_recipe_for(const char *recipe, const pgcn_dataset *data, int layers,
                            pgcn_config *out, pgcn_recipe_info *info) {
    PGCN_I_NEED(data);
    PGCN_I_NEED(out);
    pgcn_recipe_info used;
    PGCN_TRY(load((wanted){recipe, data->name, data->task}, layers, out, &used));
    pgcn_i_recipe_measure(&used, data, out);
    if (info) *info = used;
    return PGCN_OK;
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
    pgcn_i_recipe recipe;
    char name[DATASET_BYTES];
    if (!dataset) return config;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(dataset, ":"), dataset);
    for (const pgcn_i_built_in_recipe *r = pgcn_i_built_in_recipes; r->name; r++) {
        if (parse_built_in(r, &recipe) != PGCN_OK || !is_for(&recipe.info, name)) continue;
        size_t first = strcspn(recipe.info.dataset, " ");
        if (strlen(r->name) == first && strncmp(r->name, recipe.info.dataset, first) == 0)
            pgcn_i_recipe_settings(&recipe, 0, &config);
    }
    return config;
}
