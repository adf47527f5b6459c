/* The rule of the public header for wrong arguments, for every function of the library: NULL and
 * numbers out of range give PGCN_ERR_ARGUMENT with a sentence, or the neutral result, and never a
 * crash. The table is compared with the symbols that the shared library exports: a new function
 * without a line here fails.
 *
 * A line is the name of a function and what must be true of calls with wrong arguments. Every line
 * runs in a process of its own, so that a crash is a failure of that line. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "scratch_help.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>

/* ---- good objects, to be wrong in one argument at a time -------------------------------------- */

static pgcn_graph *graph;
static pgcn_dataset *data;
static pgcn_config config;
static pgcn_trainer *trainer;
static pgcn_model *model;
static const pgcn_model *models[2]; /* it, and none */
static pgcn_race *race;
static pgcn_race_entry entry;
static pgcn_rung rungs[PGCN_MOST_RUNGS];
static char path[128], text[64];
static float numbers[4096];
static double doubles[64];
static pgcn_visits *visits;
static pgcn_node nodes[4096];

static const pgcn_node source[] = {0, 1}, target[] = {1, 2};
static const pgcn_node outside[] = {7, -1};
static const int64_t *offset;
static const pgcn_node *neighbour;
static const float *weight;
static const uint8_t *mask[3];
static int64_t count;
static int number;

static int make_objects(void **state) {
    (void)state;
    assert_int_equal(scratch_make(state), 0);
    snprintf(path, sizeof path, "%s/file", scratch);
    config = pgcn_config_default();
    config.threads = 1; /* children of fork() have no other threads */
    config.epochs = 2;
    config.channels = 4;
    assert_int_equal(pgcn_graph_from_edges(3, 2, source, target, NULL, NULL, &graph), PGCN_OK);
    pgcn_paths_opts one_thread = pgcn_paths_opts_default();
    one_thread.threads = 1;
    assert_int_equal(
        pgcn_visits_new(graph, &one_thread, PGCN_SCALING_WALK, PGCN_FORM_SAMPLED, &visits),
        PGCN_OK);
    assert_int_equal(pgcn_visits_sample(visits, 0, 0), PGCN_OK);
    assert_int_equal(pgcn_dataset_load("karate", NULL, &data), PGCN_OK);
    assert_int_equal(pgcn_trainer_new(data, &config, &trainer), PGCN_OK);
    assert_int_equal(pgcn_race_new(data, NULL, &race), PGCN_OK);
    assert_int_equal(pgcn_trainer_epoch(trainer, NULL), PGCN_OK);
    assert_int_equal(pgcn_trainer_model(trainer, &model), PGCN_OK);
    models[0] = model;
    return 0;
}

static int free_objects(void **state) {
    pgcn_visits_free(visits);
    pgcn_graph_free(graph);
    pgcn_race_free(race);
    pgcn_trainer_free(trainer);
    pgcn_model_free(model);
    pgcn_dataset_free(data);
    return scratch_remove(state);
}

/* ---- what is asserted of a call ---------------------------------------------------------------- */

static bool wrong(pgcn_status status) {
    if (status == PGCN_ERR_ARGUMENT && strlen(pgcn_last_error()) > 20) return true;
    print_message("status %s, \"%s\"\n", pgcn_status_name(status), pgcn_last_error());
    return false;
}

/* Results that must stay as they are when a call fails. */
static pgcn_graph *no_graph;
static pgcn_visits *no_visits;
static pgcn_dataset *no_data;
static pgcn_trainer *no_trainer;
static pgcn_predictor *no_predictor;
static pgcn_model *no_model;
static pgcn_score score;
static pgcn_parts parts;
static pgcn_file *written;
static pgcn_ranks ranks;
static pgcn_traffic traffic;
static pgcn_measure measure;
static bool nothing_made(void) {
    return !no_graph && !no_data && !no_trainer && !no_model;
}

static bool refuses_edges(int64_t n, int64_t m, const pgcn_node *from, const pgcn_node *to) {
    return wrong(pgcn_graph_from_edges(n, m, from, to, NULL, NULL, &no_graph)) && nothing_made();
}

static const int64_t rows_of_two[] = {0, 1, 2};
static bool refuses_csr(int64_t n, const int64_t *rows, const pgcn_node *to) {
    return wrong(pgcn_graph_from_csr(n, rows, to, NULL, NULL, &no_graph)) && nothing_made();
}

static const uint8_t mask_of_nobody[3];
static const char *const no_names[3]; /* all NULL */
static void *no_bytes;
static size_t no_size;
static pgcn_tensor tensor;

static bool refuses_paths(pgcn_paths_opts opts) {
    return wrong(pgcn_paths_sample(graph, &opts, NULL, 0, nodes));
}
#define PATHS(field, value)                                                                        \
    refuses_paths((opts_with.paths = pgcn_paths_opts_default(), opts_with.paths.field = (value),   \
                   opts_with.paths))
#define VISITS(field, value)                                                                       \
    wrong((opts_with.paths = pgcn_paths_opts_default(), opts_with.paths.field = (value),           \
           pgcn_visits_new(graph, &opts_with.paths, PGCN_SCALING_WALK, PGCN_FORM_SAMPLED,          \
                           &no_visits)))
/* Of float and of double. */
#define refuses_conv(forward, a)                                                                   \
    (wrong(forward(NULL, 1, true, a, a, a)) && wrong(forward(visits, 0, true, a, a, a)) &&         \
     wrong(forward(visits, -1, true, a, a, a)) &&                                                  \
     wrong(forward(visits, INT64_MAX, true, a, a, a)) &&                                           \
     wrong(forward(visits, 1, true, NULL, a, a)) && wrong(forward(visits, 1, true, a, NULL, a)) && \
     wrong(forward(visits, 1, true, a, a, NULL)))
#define refuses_gradient(backward, a)                                                              \
    (wrong(backward(NULL, 1, true, a, a, a, a, a)) &&                                              \
     wrong(backward(visits, 0, true, a, a, a, a, a)) &&                                            \
     wrong(backward(visits, INT64_MIN, true, a, a, a, a, a)) &&                                    \
     wrong(backward(visits, 1, true, NULL, a, a, a, a)) &&                                         \
     wrong(backward(visits, 1, true, a, NULL, a, a, a)) &&                                         \
     wrong(backward(visits, 1, true, a, a, NULL, a, a)) &&                                         \
     backward(visits, 1, true, a, a, a, NULL, NULL) == PGCN_OK)
#define FETCH(field, value)                                                                        \
    wrong((opts_with.fetch = pgcn_fetch_opts_default(), opts_with.fetch.directory = scratch,       \
           opts_with.fetch.field = (value), pgcn_fetch("cora", &opts_with.fetch, NULL)))
#define ARRAYS(field, value)                                                                       \
    wrong((opts_with.arrays = good_arrays(), opts_with.arrays.field = (value),                     \
           pgcn_dataset_from_arrays(&opts_with.arrays, &no_data)))
#define CONFIG(field, value)                                                                       \
    refuses_config((opts_with.config = config, opts_with.config.field = (value), opts_with.config))
#define INFERENCE(field, value)                                                                    \
    refuses_inference((opts_with.inference = pgcn_inference_default(),                             \
                       opts_with.inference.field = (value), opts_with.inference))

static struct {
    pgcn_paths_opts paths;
    pgcn_fetch_opts fetch;
    pgcn_dataset_arrays arrays;
    pgcn_dataset_files files;
    pgcn_config config;
    pgcn_inference inference;
} opts_with;

static pgcn_dataset_arrays good_arrays(void) {
    static const int32_t label[] = {0, 1, 0};
    static const uint8_t train[] = {1, 0, 0}, val[] = {0, 1, 0}, test[] = {0, 0, 1};
    pgcn_dataset_arrays arrays = pgcn_dataset_arrays_default();
    arrays.name = "toy";
    arrays.graph = graph;
    arrays.n_features = 2;
    arrays.features = numbers;
    arrays.label = label;
    arrays.n_splits = 1;
    arrays.train = train;
    arrays.val = val;
    arrays.test = test;
    return arrays;
}

static bool takes_good_arrays(void) {
    pgcn_dataset_arrays arrays = good_arrays();
    pgcn_dataset *made = NULL;
    bool fine = pgcn_dataset_from_arrays(&arrays, &made) == PGCN_OK;
    pgcn_dataset_free(made);
    if (!fine) print_message("\"%s\"\n", pgcn_last_error());
    return fine;
}

static bool refuses_sparse_features_without_columns(void) {
    static const int64_t x_offset[] = {0, 1, 1, 1};
    static const int32_t x_column[] = {0};
    pgcn_dataset_arrays arrays = good_arrays();
    arrays.features = NULL;
    arrays.x_offset = x_offset;
    bool both = wrong(pgcn_dataset_from_arrays(&arrays, &no_data));
    arrays.x_column = x_column;
    return both && wrong(pgcn_dataset_from_arrays(&arrays, &no_data));
}

/* A configuration that is wrong is refused by everybody who takes one. */
static bool refuses_config(pgcn_config bad) {
    return wrong(pgcn_config_check(&bad)) && wrong(pgcn_trainer_new(data, &bad, &no_trainer)) &&
           wrong(pgcn_train(data, &bad, &no_model)) && nothing_made();
}

static bool see_layer(void *context, const pgcn_layer *layer) {
    (void)context, (void)layer;
    return true;
}

static bool refuses_inference(pgcn_inference bad) {
    pgcn_scores scores;
    return wrong(pgcn_model_predict(model, data, &bad, numbers, NULL)) &&
           wrong(pgcn_model_layers(model, data, &bad, see_layer, NULL)) &&
           wrong(pgcn_model_evaluate(model, data, &bad, &scores));
}

static pgcn_recipe_info head; /* of a recipe to write */
static const pgcn_recipe_info *good_head(void) {
    head = (pgcn_recipe_info){
        .name = "toy", .version = 1, .task = "node", .dataset = "toy", .about = "A toy."};
    return &head;
}
static const pgcn_recipe_info *head_without_end(void) {
    memset(&head, 'x', sizeof head); /* no NUL in any text */
    head.version = 1;
    return &head;
}

static pgcn_config without_end(void) {
    pgcn_config bad = config;
    memset(bad.split, 'x', sizeof bad.split);
    return bad;
}
static pgcn_config recipe_without_end(void) {
    pgcn_config bad = config;
    memset(bad.recipe, 'x', sizeof bad.recipe);
    return bad;
}

static bool empty_describe(void) {
    pgcn_dataset_info info = pgcn_dataset_describe(NULL);
    return !info.name && info.nodes == 0 && info.classes == 0 && info.task == PGCN_TASK_NONE;
}

static bool empty_memory(void) {
    return pgcn_trainer_memory(NULL).total == 0;
}

static bool csr_of_nothing(void) {
    offset = (const int64_t *)&count, neighbour = source, weight = numbers;
    pgcn_graph_csr(NULL, &offset, &neighbour, &weight);
    pgcn_graph_csr(graph, NULL, NULL, NULL);
    pgcn_graph_csr(NULL, NULL, NULL, NULL);
    return !offset && !neighbour && !weight;
}

static bool order_of_nothing(void) {
    const pgcn_node *row = source;
    neighbour = source;
    return !pgcn_dataset_order(NULL, &neighbour, &row) && !neighbour && !row &&
           !pgcn_dataset_order(NULL, NULL, NULL) && !pgcn_dataset_order(data, NULL, NULL);
}

static bool split_of_nothing(void) {
    static const int bad[] = {-1, INT_MIN, INT_MAX, 1000};
    for (int i = 0; i < 4; i++)
        if (pgcn_dataset_split(data, bad[i], &mask[0], &mask[1], &mask[2])) return false;
    return !pgcn_dataset_split(NULL, 0, &mask[0], &mask[1], &mask[2]) &&
           pgcn_dataset_split(data, 0, NULL, NULL, NULL);
}

static bool restores_default(void) {
    pgcn_set_allocator(NULL);
    pgcn_set_allocator(&(pgcn_allocator){NULL, NULL, NULL}); /* half an allocator is none */
    pgcn_set_allocator(&(pgcn_allocator){failing_alloc, NULL, NULL});
    pgcn_graph *made = NULL;
    bool fine = pgcn_graph_from_edges(3, 2, source, target, NULL, NULL, &made) == PGCN_OK;
    pgcn_graph_free(made);
    return fine;
}

static bool no_text(pgcn_config *into) {
    return wrong(pgcn_config_set(into, NULL, "1")) && wrong(pgcn_config_set(into, "layers", NULL));
}

static bool history_of_nothing(void) {
    count = 5;
    return !pgcn_trainer_history(NULL, &count) && count == 0 && !pgcn_trainer_history(NULL, NULL) &&
           pgcn_trainer_history(trainer, NULL);
}

static bool files_without(void) {
    opts_with.files = pgcn_dataset_files_default();
    bool edges = wrong(pgcn_dataset_from_files(&opts_with.files, &no_data));
    opts_with.files.edges = path;
    opts_with.files.unknown_ids = (pgcn_unknown_ids)9;
    edges = edges && wrong(pgcn_dataset_from_files(&opts_with.files, &no_data));
    opts_with.files.unknown_ids = (pgcn_unknown_ids)0;
    opts_with.files.header = (pgcn_header)9;
    edges = edges && wrong(pgcn_dataset_from_files(&opts_with.files, &no_data));
    opts_with.files.header = (pgcn_header)0;
    opts_with.files.encode = (pgcn_encode)9;
    edges = edges && wrong(pgcn_dataset_from_files(&opts_with.files, &no_data));
    opts_with.files.encode = (pgcn_encode)0;
    opts_with.files.decimal = (pgcn_decimal)-1;
    edges = edges && wrong(pgcn_dataset_from_files(&opts_with.files, &no_data));
    opts_with.files.decimal = (pgcn_decimal)0;
    opts_with.files.use = "a"; /* of features that are not given */
    edges = edges && wrong(pgcn_dataset_from_files(&opts_with.files, &no_data));
    return edges && wrong(pgcn_dataset_from_files(&opts_with.files, NULL)) &&
           wrong(pgcn_dataset_from_files(NULL, &no_data)) && nothing_made();
}

static bool empty_structs(void) {
    pgcn_graph_opts graph_opts = {0};
    pgcn_dataset_opts dataset_opts = {0};
    pgcn_inference inference = {0};
    pgcn_config none = {0};
    return wrong(pgcn_graph_from_edges(3, 2, source, target, NULL, &graph_opts, &no_graph)) &&
           wrong(pgcn_dataset_load("karate", &dataset_opts, &no_data)) &&
           wrong(pgcn_model_predict(model, data, &inference, numbers, NULL)) &&
           wrong(pgcn_trainer_new(data, &none, &no_trainer)) && nothing_made();
}

/* ---- the table --------------------------------------------------------------------------------- */

/* clang-format off */
#define EVERY_FUNCTION(X)                                                                          \
    /* errors, the library */                                                                      \
    X(pgcn_last_error, pgcn_last_error() != NULL)                                                  \
    X(pgcn_system_error, *pgcn_system_error(-1) && *pgcn_system_error(INT_MAX))                    \
    X(pgcn_status_name, *pgcn_status_name((pgcn_status)-1) && *pgcn_status_name((pgcn_status)99))  \
    X(pgcn_text_printable, pgcn_text_printable(NULL, text, sizeof text) == 0 && *text == 0 &&      \
        pgcn_text_printable("four", NULL, 0) == 4 && pgcn_text_printable("four", NULL, 64) == 4)   \
    X(pgcn_ready, pgcn_ready() == PGCN_OK)                                                         \
    X(pgcn_number_parse, !pgcn_number_parse(NULL, NULL) && !pgcn_number_parse("", NULL) &&         \
        pgcn_number_parse("1", NULL))                                                              \
    X(pgcn_integer_parse, !pgcn_integer_parse(NULL, 0, 9, NULL) &&                                 \
        pgcn_integer_parse("1", 0, 9, NULL) && !pgcn_integer_parse("1", 9, 0, NULL) &&             \
        !pgcn_integer_parse("99999999999999999999", INT64_MIN, INT64_MAX, NULL))                   \
    X(pgcn_info_get, pgcn_info_get().version != NULL)                                              \
    X(pgcn_set_allocator, restores_default())                                                      \
    X(pgcn_memory_available, pgcn_memory_available() >= -1)                                        \
    X(pgcn_format_bytes, (pgcn_format_bytes(1, NULL), pgcn_format_bytes(INT64_MIN, text), *text))  \
    X(pgcn_file_write, wrong(pgcn_file_write(NULL, "x", 1)) &&                                     \
        wrong(pgcn_file_write("", "x", 1)) && wrong(pgcn_file_write(path, NULL, 1)) &&             \
        wrong(pgcn_file_write(path, "x", SIZE_MAX)) &&                                             \
        pgcn_file_write(path, NULL, 0) == PGCN_OK)                                                 \
    X(pgcn_file_begin, wrong(pgcn_file_begin(NULL, &written)) &&                                   \
        wrong(pgcn_file_begin(path, NULL)))                                                        \
    X(pgcn_file_put, wrong(pgcn_file_put(NULL, "x", 1)) &&                                         \
        pgcn_file_begin(path, &written) == PGCN_OK && wrong(pgcn_file_put(written, NULL, 1)) &&    \
        pgcn_file_put(written, NULL, 0) == PGCN_OK && pgcn_file_end(written, false) == PGCN_OK)    \
    X(pgcn_file_end, pgcn_file_end(NULL, true) == PGCN_OK)                                         \
    X(pgcn_directory_make, wrong(pgcn_directory_make(NULL)) && wrong(pgcn_directory_make("")))     \
    /* graph and paths */                                                                          \
    X(pgcn_graph_opts_default, pgcn_graph_opts_default().size > 0)                                 \
    X(pgcn_graph_from_edges, refuses_edges(0, 0, source, target) &&                                \
        refuses_edges(-1, 2, source, target) && refuses_edges(INT64_MAX, 2, source, target) &&     \
        refuses_edges(3, -1, source, target) &&                                                    \
        refuses_edges(3, 2, NULL, target) && refuses_edges(3, 2, source, NULL) &&                  \
        wrong(pgcn_graph_from_edges(3, 2, source, target, NULL, NULL, NULL)) && empty_structs())   \
    X(pgcn_graph_from_csr, refuses_csr(0, rows_of_two, source) &&                                  \
        refuses_csr(-1, rows_of_two, source) && refuses_csr(INT64_MAX, rows_of_two, source) &&     \
        refuses_csr(2, NULL, source) && refuses_csr(2, rows_of_two, NULL) &&                       \
        wrong(pgcn_graph_from_csr(2, rows_of_two, source, NULL, NULL, NULL)) &&                    \
        wrong(pgcn_graph_from_csr(2, rows_of_two, source, NULL, &(pgcn_graph_opts){0}, &no_graph))) \
    X(pgcn_graph_free, (pgcn_graph_free(NULL), true))                                              \
    X(pgcn_graph_nodes, pgcn_graph_nodes(NULL) == 0)                                               \
    X(pgcn_graph_entries, pgcn_graph_entries(NULL) == 0)                                           \
    X(pgcn_graph_csr, csr_of_nothing())                                                            \
    X(pgcn_paths_opts_default, pgcn_paths_opts_default().size > 0)                                 \
    X(pgcn_paths_sample, wrong(pgcn_paths_sample(NULL, NULL, NULL, 0, nodes)) &&                   \
        wrong(pgcn_paths_sample(graph, NULL, NULL, 0, NULL)) &&                                    \
        wrong(pgcn_paths_sample(graph, NULL, source, -1, nodes)) &&                                \
        wrong(pgcn_paths_sample(graph, NULL, outside, 2, nodes)) &&                                \
        PATHS(size, 0) && PATHS(length, 0) && PATHS(length, INT_MIN) && PATHS(length, INT_MAX) &&  \
        PATHS(paths, 0) && PATHS(paths, -3) && PATHS(paths, INT_MAX) && PATHS(walk, 9) &&          \
        PATHS(walk, (pgcn_walk)-1) && PATHS(threads, -1) && PATHS(threads, INT_MAX) &&             \
        PATHS(draw, UINT64_MAX))                                                                   \
    X(pgcn_paths_save, wrong(pgcn_paths_save(NULL, nodes, 1, 1, 1)) &&                             \
        wrong(pgcn_paths_save(path, NULL, 1, 1, 1)) &&                                             \
        wrong(pgcn_paths_save(path, nodes, -1, 1, 1)) &&                                           \
        wrong(pgcn_paths_save(path, nodes, 1, 0, 1)) &&                                            \
        wrong(pgcn_paths_save(path, nodes, 1, 1, -1)) &&                                           \
        wrong(pgcn_paths_save(path, nodes, INT64_MAX, INT_MAX, INT_MAX)))                          \
    /* path convolution on arrays */                                                               \
    X(pgcn_visits_new, wrong(pgcn_visits_new(NULL, NULL, 0, 0, &no_visits)) &&                     \
        wrong(pgcn_visits_new(graph, NULL, 0, 0, NULL)) && VISITS(size, 0) &&                      \
        VISITS(length, 0) && VISITS(length, INT_MAX) && VISITS(paths, -3) && VISITS(walk, 9) &&    \
        VISITS(threads, -1) && VISITS(seed, 1) && VISITS(draw, 1) && !no_visits &&                 \
        wrong(pgcn_visits_new(graph, NULL, (pgcn_scaling)-1, 0, &no_visits)) &&                    \
        wrong(pgcn_visits_new(graph, NULL, 0, (pgcn_form)-1, &no_visits)) && !no_visits)           \
    X(pgcn_visits_new_beside, wrong(pgcn_visits_new_beside(NULL, &no_visits)) &&                   \
        wrong(pgcn_visits_new_beside(visits, NULL)) && !no_visits)                                 \
    X(pgcn_visits_free, (pgcn_visits_free(NULL), true))                                            \
    X(pgcn_visits_sample, wrong(pgcn_visits_sample(NULL, 0, 0)) &&                                 \
        wrong(pgcn_visits_sample(visits, UINT64_MAX, 0)) &&                                        \
        wrong(pgcn_visits_sample(visits, 0, UINT64_MAX)))                                          \
    X(pgcn_pathconv_forward, refuses_conv(pgcn_pathconv_forward, numbers))                         \
    X(pgcn_pathconv_forward_double, refuses_conv(pgcn_pathconv_forward_double, doubles))           \
    X(pgcn_pathconv_backward, refuses_gradient(pgcn_pathconv_backward, numbers))                   \
    X(pgcn_pathconv_backward_double,                                                               \
        refuses_gradient(pgcn_pathconv_backward_double, doubles))                                  \
    /* data sets */                                                                                \
    X(pgcn_dataset_arrays_default, pgcn_dataset_arrays_default().size > 0)                         \
    X(pgcn_dataset_from_arrays, takes_good_arrays() &&                                             \
        refuses_sparse_features_without_columns() &&                                               \
        wrong(pgcn_dataset_from_arrays(NULL, &no_data)) &&                                         \
        wrong((opts_with.arrays = good_arrays(),                                                   \
               pgcn_dataset_from_arrays(&opts_with.arrays, NULL))) &&                              \
        ARRAYS(size, 0) && ARRAYS(graph, NULL) && ARRAYS(features, NULL) && ARRAYS(train, NULL) && \
        ARRAYS(label, NULL) && ARRAYS(n_features, -1) && ARRAYS(n_graphs, -1) &&                   \
        ARRAYS(n_graphs, 2) && ARRAYS(n_graphs, INT64_MAX) && ARRAYS(graph_of, source) &&          \
        ARRAYS(graph_label, source) && ARRAYS(labels, mask_of_nobody) &&                           \
        ARRAYS(labels_known, mask_of_nobody) && ARRAYS(node_id, no_names) &&                       \
        ARRAYS(class_name, no_names) && ARRAYS(feature_name, no_names) &&                          \
        ARRAYS(steps, "no such step") &&                                                           \
        ARRAYS(n_features, INT64_MAX) && ARRAYS(n_splits, -1) && ARRAYS(n_splits, 0) &&            \
        ARRAYS(n_classes, -1) && ARRAYS(n_classes, INT_MAX) &&                                     \
        nothing_made())                                                                            \
    X(pgcn_dataset_prepare, wrong(pgcn_dataset_prepare(NULL, "features=degrees", &no_data)) &&     \
        wrong(pgcn_dataset_prepare(data, "no such step", &no_data)) &&                             \
        wrong(pgcn_dataset_prepare(data, "features=degrees", NULL)) && nothing_made())             \
    X(pgcn_dataset_opts_default, pgcn_dataset_opts_default().size > 0)                             \
    X(pgcn_dataset_load, wrong(pgcn_dataset_load(NULL, NULL, &no_data)) &&                         \
        wrong(pgcn_dataset_load("", NULL, &no_data)) &&                                            \
        wrong(pgcn_dataset_load("karate", NULL, NULL)) && nothing_made())                          \
    X(pgcn_dataset_files_default, pgcn_dataset_files_default().size > 0)                           \
    X(pgcn_dataset_from_files, files_without())                                                    \
    X(pgcn_dataset_save, wrong(pgcn_dataset_save(NULL, path)) &&                                   \
        wrong(pgcn_dataset_save(data, NULL)))                                                      \
    X(pgcn_save_opts_default, pgcn_save_opts_default().size > 0)                                   \
    X(pgcn_dataset_save_as, wrong(pgcn_dataset_save_as(NULL, path, NULL)) &&                       \
        wrong(pgcn_dataset_save_as(data, NULL, NULL)) &&                                           \
        wrong(pgcn_dataset_save_as(data, path, &(pgcn_save_opts){.size = 0})) &&                   \
        wrong(pgcn_dataset_save_as(data, path, &(pgcn_save_opts){sizeof(pgcn_save_opts), "int4"})))\
    X(pgcn_dataset_store, strcmp(pgcn_dataset_store(NULL), "float32") == 0)                        \
    X(pgcn_dataset_estimate, wrong(pgcn_dataset_estimate(NULL, NULL, NULL, &(int64_t){0})) &&        \
        wrong(pgcn_dataset_estimate("karate", NULL, NULL, NULL)))                                  \
    X(pgcn_memory_in_use, pgcn_memory_in_use().anonymous != 0)                                     \
    X(pgcn_memory_bound, wrong(pgcn_memory_bound(1, path)) &&                                      \
        wrong(pgcn_memory_bound(1 << 30, NULL)) && pgcn_memory_bound(0, NULL) == PGCN_OK)          \
    X(pgcn_memory_bound_done, pgcn_memory_bound_done() == PGCN_OK)                                 \
    X(pgcn_on_work, (pgcn_on_work(NULL, NULL), true))                                              \
    X(pgcn_dataset_save_npz, wrong(pgcn_dataset_save_npz(NULL, path)) &&                           \
        wrong(pgcn_dataset_save_npz(data, NULL)))                                                  \
    X(pgcn_dataset_verify, wrong(pgcn_dataset_verify(NULL)))                                       \
    X(pgcn_dataset_free, (pgcn_dataset_free(NULL), true))                                          \
    X(pgcn_task_name, *pgcn_task_name((pgcn_task)-1) && *pgcn_task_name((pgcn_task)99))            \
    X(pgcn_dataset_describe, empty_describe())                                                     \
    X(pgcn_dataset_graph, !pgcn_dataset_graph(NULL))                                               \
    X(pgcn_dataset_labels, !pgcn_dataset_labels(NULL))                                             \
    X(pgcn_dataset_multilabels, !pgcn_dataset_multilabels(NULL))                                   \
    X(pgcn_dataset_is_labelled, !pgcn_dataset_is_labelled(NULL, 0) &&                              \
        !pgcn_dataset_is_labelled(data, -1) && !pgcn_dataset_is_labelled(data, INT64_MAX) &&       \
        !pgcn_dataset_is_labelled(data, 34) && pgcn_dataset_is_labelled(data, 33))                 \
    X(pgcn_dataset_graph_of, !pgcn_dataset_graph_of(NULL) && !pgcn_dataset_graph_of(data))         \
    X(pgcn_dataset_features, pgcn_dataset_features(NULL).rows == 0 &&                              \
        !pgcn_dataset_features(NULL).dense && !pgcn_dataset_features(NULL).offset)                 \
    X(pgcn_dataset_node_id, !pgcn_dataset_node_id(NULL, 0) && !pgcn_dataset_node_id(data, -1) &&   \
        !pgcn_dataset_node_id(data, INT64_MAX))                                                    \
    X(pgcn_dataset_class_name, !pgcn_dataset_class_name(NULL, 0) &&                                \
        !pgcn_dataset_class_name(data, -1) && !pgcn_dataset_class_name(data, INT_MAX))             \
    X(pgcn_dataset_feature_name, !pgcn_dataset_feature_name(NULL, 0) &&                            \
        !pgcn_dataset_feature_name(data, -1) && !pgcn_dataset_feature_name(data, INT64_MAX))       \
    X(pgcn_dataset_order, order_of_nothing())                                                      \
    X(pgcn_dataset_encoder, !pgcn_dataset_encoder(NULL) && !pgcn_dataset_encoder(data))            \
    X(pgcn_dataset_note, !pgcn_dataset_note(NULL, 0) && !pgcn_dataset_note(data, -1) &&            \
        !pgcn_dataset_note(data, INT_MAX))                                                         \
    X(pgcn_dataset_split, split_of_nothing())                                                      \
    X(pgcn_builtin_name, pgcn_builtin_name(0, NULL) && !pgcn_builtin_name(-1, NULL) &&             \
        !pgcn_builtin_name(INT_MIN, NULL) && !pgcn_builtin_name(INT_MAX, NULL))                    \
    X(pgcn_format_name, pgcn_format_name(0, NULL) && !pgcn_format_name(-1, NULL) &&                \
        !pgcn_format_name(INT_MAX, NULL))                                                          \
    X(pgcn_format_of, !pgcn_format_of(NULL) && !pgcn_format_of(""))                                \
    /* download */                                                                                 \
    X(pgcn_published_get, pgcn_published_get(0, NULL) && !pgcn_published_get(-1, NULL) &&          \
        !pgcn_published_get(INT_MAX, NULL))                                                        \
    X(pgcn_published_find, pgcn_published_find("cora", NULL) && !pgcn_published_find(NULL, NULL))  \
    X(pgcn_cache_directory, (pgcn_cache_directory(), true))                                        \
    X(pgcn_fetch_opts_default, pgcn_fetch_opts_default().size > 0)                                 \
    X(pgcn_fetch, wrong(pgcn_fetch(NULL, NULL, NULL)) && wrong(pgcn_fetch("", NULL, NULL)) &&      \
        FETCH(size, 0) && FETCH(directory, "") && FETCH(retries, -1) && FETCH(retries, INT_MAX) && \
        FETCH(pause_seconds, -1) && FETCH(pause_seconds, (double)NAN) &&                           \
        FETCH(stall_seconds, 0) && FETCH(stall_seconds, (double)INFINITY) &&                       \
        FETCH(least_rate, -1) && FETCH(least_rate, (double)NAN))                                   \
    /* configuration and recipes */                                                                \
    X(pgcn_config_default, pgcn_config_default().size > 0)                                         \
    X(pgcn_config_for, pgcn_config_for(NULL).size > 0 && pgcn_config_for("").size > 0)             \
    X(pgcn_config_set, no_text(&config) && wrong(pgcn_config_set(NULL, "layers", "2")))            \
    X(pgcn_config_get, wrong(pgcn_config_get(NULL, "layers", text, sizeof text)) &&                \
        wrong(pgcn_config_get(&config, NULL, text, sizeof text)) &&                                \
        wrong(pgcn_config_get(&config, "layers", NULL, 32)) &&                                     \
        wrong(pgcn_config_get(&config, "layers", text, 0)) &&                                      \
        wrong(pgcn_config_get(&config, "no such key", text, sizeof text)))                         \
    X(pgcn_config_check, pgcn_config_check(NULL) == PGCN_OK && CONFIG(size, 0) && CONFIG(layers, -1) &&\
        CONFIG(layers, INT_MAX) && CONFIG(channels, 0) && CONFIG(path_length, INT_MIN) &&          \
        CONFIG(paths, 0) && CONFIG(kernel, (pgcn_kernel)9) && CONFIG(mix, (pgcn_mix)-1) &&         \
        CONFIG(kernel_start, 9) && CONFIG(residual, 9) && CONFIG(scaling, 9) &&                    \
        CONFIG(model, 999) && CONFIG(readout, 9) && CONFIG(direction, 9) && CONFIG(train_form, 9) && \
        CONFIG(select, 9) && CONFIG(normalise, 9) && CONFIG(walk, 9) &&                            \
        CONFIG(alpha, (double)NAN) && CONFIG(dropout, 1e300) && CONFIG(epochs, INT_MIN) &&         \
        CONFIG(threads, -1) && CONFIG(batch, -1) && CONFIG(eval_every, 0) &&                       \
        refuses_config(without_end()) && refuses_config(recipe_without_end()))                     \
    X(pgcn_config_check_for, pgcn_config_check_for(NULL, NULL) == PGCN_OK &&                       \
        pgcn_config_check_for(&config, NULL) == PGCN_OK &&                                         \
        wrong((opts_with.config = config, opts_with.config.layers = -1,                            \
               pgcn_config_check_for(&opts_with.config, data))))                                   \
    X(pgcn_network_name, pgcn_network_name(0) && !pgcn_network_name(-1) && !pgcn_network_name(1000)) \
    X(pgcn_network_about, pgcn_network_about(0) && !pgcn_network_about(-1) &&                      \
        !pgcn_network_about(1000))                                                                 \
    X(pgcn_config_uses, !pgcn_config_uses(NULL, "paths") && !pgcn_config_uses(&config, NULL) &&    \
        !pgcn_config_uses(&config, "no such key"))                                                 \
    X(pgcn_config_unused, !pgcn_config_unused(NULL, NULL, "paths") &&                              \
        !pgcn_config_unused(&config, NULL, NULL) &&                                                \
        !pgcn_config_unused(&config, NULL, "no such key"))                                         \
    X(pgcn_config_adopt, (pgcn_config_adopt(NULL), true))                                          \
    X(pgcn_config_settle_batches, (pgcn_config_settle_batches(NULL, data),                         \
                                   pgcn_config_settle_batches(&config, NULL), true))               \
    X(pgcn_config_field, pgcn_config_field(0, NULL) && !pgcn_config_field(-1, NULL) &&             \
        !pgcn_config_field(INT_MAX, NULL))                                                         \
    X(pgcn_recipe_load, wrong(pgcn_recipe_load(NULL, "cora", 0, NULL, NULL)) &&                    \
        wrong(pgcn_recipe_load(NULL, "cora", -1, &config, NULL)) &&                                \
        wrong(pgcn_recipe_load(NULL, "cora", INT_MAX, &config, NULL)) &&                           \
        pgcn_recipe_load(NULL, NULL, 0, &config, NULL) == PGCN_OK)                                 \
    X(pgcn_recipe_for, wrong(pgcn_recipe_for(NULL, NULL, 0, &config, NULL)) &&                     \
        wrong(pgcn_recipe_for(NULL, data, 0, NULL, NULL)) &&                                       \
        wrong(pgcn_recipe_for(NULL, data, -1, &config, NULL)))                                     \
    X(pgcn_recipe_query_default, pgcn_recipe_query_default().size == sizeof(pgcn_recipe_query))    \
    X(pgcn_recipe_find, wrong(pgcn_recipe_find(NULL, NULL, NULL)) &&                               \
        pgcn_recipe_find(NULL, &config, NULL) == PGCN_OK)                                          \
    X(pgcn_recipe_races, !pgcn_recipe_races(NULL, true))                                           \
    X(pgcn_spelling_nearer, !pgcn_spelling_nearer(NULL, "a", &(size_t){9}) &&                            \
        !pgcn_spelling_nearer("a", NULL, &(size_t){9}) && !pgcn_spelling_nearer("a", "a", NULL))         \
    X(pgcn_config_overlay, wrong(pgcn_config_overlay(NULL, &config)) &&                            \
        wrong(pgcn_config_overlay(&config, NULL)))                                                 \
    X(pgcn_halving, pgcn_halving(0, 1, 2, rungs) == 0 && pgcn_halving(1, 0, 2, rungs) == 0 &&      \
        pgcn_halving(1, 1, 1, rungs) == 0 && pgcn_halving(1, 1, 2, NULL) == 0)                     \
    X(pgcn_race_new, wrong(pgcn_race_new(NULL, &config, &race)) &&                                 \
        wrong(pgcn_race_new(data, &config, NULL)))                                                 \
    X(pgcn_race_opts_default, pgcn_race_opts_default().size == sizeof(pgcn_race_opts))             \
    X(pgcn_race_new_with, wrong(pgcn_race_new_with(NULL, &config, NULL, &race)) &&                 \
        wrong(pgcn_race_new_with(data, &config, NULL, NULL)))                                      \
    X(pgcn_race_free, (pgcn_race_free(NULL), true))                                                \
    X(pgcn_race_get, !pgcn_race_get(NULL, 0, &entry) && !pgcn_race_get(race, -1, &entry) &&        \
        !pgcn_race_get(race, 1000, &entry) && pgcn_race_get(race, 0, NULL))                        \
    X(pgcn_race_epoch, wrong(pgcn_race_epoch(NULL)))                                               \
    X(pgcn_race_finished, pgcn_race_finished(NULL))                                                \
    X(pgcn_race_on_step, (pgcn_race_on_step(NULL, NULL, NULL), pgcn_race_on_step(race, NULL, NULL), true)) \
    X(pgcn_race_done, pgcn_race_done(NULL) == 1)                                                   \
    X(pgcn_race_leader, pgcn_race_leader(NULL) == -1 && pgcn_race_leader(race) == -1)              \
    X(pgcn_race_winner, wrong(pgcn_race_winner(NULL, &config, NULL)) &&                            \
        wrong(pgcn_race_winner(race, NULL, NULL)) &&                                               \
        wrong(pgcn_race_winner(race, &config, NULL)))                                              \
    X(pgcn_recipe_auto, wrong(pgcn_recipe_auto(NULL, &config, &config, NULL)) &&                   \
        wrong(pgcn_recipe_auto(data, &config, NULL, NULL)))                                        \
    X(pgcn_recipe_write, wrong(pgcn_recipe_write(NULL, good_head(), &config)) &&                   \
        wrong(pgcn_recipe_write(path, NULL, &config)) &&                                           \
        pgcn_recipe_write(path, good_head(), NULL) == PGCN_OK &&                                   \
        wrong(pgcn_recipe_write(path, head_without_end(), &config)))                               \
    X(pgcn_recipe_count, wrong(pgcn_recipe_count(NULL)) && pgcn_recipe_count(&number) == PGCN_OK)  \
    X(pgcn_recipe_get, wrong(pgcn_recipe_get(0, NULL)) && wrong(pgcn_recipe_get(-1, &head)) &&     \
        wrong(pgcn_recipe_get(INT_MAX, &head)))                                                    \
    /* training */                                                                                 \
    X(pgcn_trainer_new, wrong(pgcn_trainer_new(NULL, &config, &no_trainer)) &&                     \
        wrong(pgcn_trainer_new(data, &config, NULL)) && nothing_made())                            \
    X(pgcn_trainer_free, (pgcn_trainer_free(NULL), true))                                          \
    X(pgcn_trainer_memory, empty_memory())                                                         \
    X(pgcn_model_predict_nodes,                                                                    \
        wrong(pgcn_model_predict_nodes(NULL, data, source, 1, NULL, numbers, NULL)) &&             \
        wrong(pgcn_model_predict_nodes(model, NULL, source, 1, NULL, numbers, NULL)) &&            \
        wrong(pgcn_model_predict_nodes(model, data, NULL, 1, NULL, numbers, NULL)) &&              \
        wrong(pgcn_model_predict_nodes(model, data, source, 1, NULL, NULL, NULL)))                 \
    X(pgcn_predictor_new, wrong(pgcn_predictor_new(NULL, data, NULL, &no_predictor)) &&            \
        wrong(pgcn_predictor_new(model, NULL, NULL, &no_predictor)) &&                             \
        wrong(pgcn_predictor_new(model, data, NULL, NULL)) && !no_predictor)                       \
    X(pgcn_predictor_nodes, wrong(pgcn_predictor_nodes(NULL, source, 1, numbers, NULL)))           \
    X(pgcn_predictor_new_nodes, wrong(pgcn_predictor_new_nodes(NULL, NULL, numbers, NULL)))        \
    X(pgcn_predictor_keep_hidden, wrong(pgcn_predictor_keep_hidden(NULL)))                         \
    X(pgcn_predictor_hidden_bytes, pgcn_predictor_hidden_bytes(NULL) == 0)                         \
    X(pgcn_predictor_bytes, pgcn_predictor_bytes(NULL) == 0)                                       \
    X(pgcn_predictor_rows, pgcn_predictor_rows(NULL) == 0)                                         \
    X(pgcn_predictor_free, (pgcn_predictor_free(NULL), true))                                      \
    X(pgcn_trainer_rows, !pgcn_trainer_rows(NULL, 0, NULL) &&                                      \
        !pgcn_trainer_rows(trainer, 0, NULL) && !pgcn_trainer_rows(trainer, -1, NULL))             \
    X(pgcn_trainer_row_reads, !pgcn_trainer_row_reads(NULL, NULL) &&                               \
        !pgcn_trainer_row_reads(trainer, NULL))                                                    \
    X(pgcn_dataset_row_reads, !pgcn_dataset_row_reads(NULL, NULL) &&                               \
        !pgcn_dataset_row_reads(data, NULL))                                                       \
    X(pgcn_dataset_groups, pgcn_dataset_groups(NULL, 0) == 0 && pgcn_dataset_groups(NULL, 3) == 0 && \
        pgcn_dataset_groups(data, -1) == pgcn_dataset_groups(data, 0))                             \
    X(pgcn_dataset_parts, wrong(pgcn_dataset_parts(NULL, &parts)) && wrong(pgcn_dataset_parts(data, NULL))) \
    X(pgcn_dataset_ranks,                                                                          \
      wrong(pgcn_dataset_ranks(NULL, &config, &number, 1, &ranks)) &&                               \
          wrong(pgcn_dataset_ranks(data, NULL, &number, 1, &ranks)) &&                              \
          wrong(pgcn_dataset_ranks(data, &config, NULL, 1, &ranks)) &&                              \
          wrong(pgcn_dataset_ranks(data, &config, &number, 1, NULL)) &&                             \
          wrong(pgcn_dataset_ranks(data, &config, (const int[]){0}, 1, &ranks)) &&                  \
          wrong(pgcn_dataset_ranks(data, &config, (const int[]){2}, 1, &ranks)))                    \
    X(pgcn_ranks_expected, pgcn_ranks_expected(NULL) == 1)                                         \
    X(pgcn_ranks_join, pgcn_ranks_join(NULL, NULL) == PGCN_OK)                                     \
    X(pgcn_ranks_serve, wrong(pgcn_ranks_serve(NULL, NULL)))                                       \
    X(pgcn_ranks_leave, (pgcn_ranks_leave(), true))                                                \
    X(pgcn_ranks_abort, (pgcn_ranks_abort(1), true))                                               \
    X(pgcn_ranks_host, !*pgcn_ranks_host())                                                        \
    X(pgcn_workers_join, pgcn_workers_join() == PGCN_OK)                                           \
    X(pgcn_workers_count, pgcn_workers_count() == 1)                                               \
    X(pgcn_workers_send, wrong(pgcn_workers_send(1, NULL, 1)) &&                                   \
        wrong(pgcn_workers_send(0, "x", 1)) && wrong(pgcn_workers_send(1, "x", 1)))                \
    X(pgcn_workers_waiting, pgcn_workers_waiting() == -1)                                          \
    X(pgcn_workers_receive, wrong(pgcn_workers_receive(1, NULL, &no_size)) &&                         \
        wrong(pgcn_workers_receive(1, &no_bytes, NULL)) &&                                            \
        wrong(pgcn_workers_receive(1, &no_bytes, &no_size)))                                             \
    X(pgcn_workers_silent, wrong(pgcn_workers_silent(0, 1)))                                       \
    X(pgcn_workers_status, pgcn_workers_status() == PGCN_OK)                                       \
    X(pgcn_workers_leave, (pgcn_workers_leave(), true))                                            \
    X(pgcn_trainer_traffic, wrong(pgcn_trainer_traffic(NULL, &traffic)) &&                         \
        wrong(pgcn_trainer_traffic(trainer, NULL)))                                                \
    X(pgcn_trainer_epoch, wrong(pgcn_trainer_epoch(NULL, NULL)))                                   \
    X(pgcn_trainer_on_step, (pgcn_trainer_on_step(NULL, NULL, NULL),                               \
        pgcn_trainer_on_step(trainer, NULL, NULL), true))                                          \
    X(pgcn_trainer_finished, pgcn_trainer_finished(NULL))                                          \
    X(pgcn_trainer_history, history_of_nothing())                                                  \
    X(pgcn_trainer_split, !pgcn_trainer_split(NULL))                                               \
    X(pgcn_trainer_save, wrong(pgcn_trainer_save(NULL, path)) &&                                   \
        wrong(pgcn_trainer_save(trainer, NULL)))                                                   \
    X(pgcn_trainer_resume, wrong(pgcn_trainer_resume(NULL, path)) &&                               \
        wrong(pgcn_trainer_resume(trainer, NULL)))                                                 \
    X(pgcn_resume_opts_default, pgcn_resume_opts_default().size > 0)                               \
    X(pgcn_trainer_resume_with, wrong(pgcn_trainer_resume_with(NULL, path, NULL)) &&               \
        wrong(pgcn_trainer_resume_with(trainer, NULL, NULL)) &&                                    \
        wrong(pgcn_trainer_resume_with(trainer, path, &(pgcn_resume_opts){0})))                    \
    X(pgcn_trainer_note, !pgcn_trainer_note(NULL, 0) && !pgcn_trainer_note(trainer, -1) &&         \
        !pgcn_trainer_note(trainer, INT_MAX))                                                      \
    X(pgcn_trainer_steps, pgcn_trainer_steps(NULL, NULL) == 0)                                     \
    X(pgcn_trainer_split_hash, !pgcn_trainer_split_hash(NULL) )                                    \
    X(pgcn_class_weights_read,                                                                     \
        wrong(pgcn_class_weights_read(NULL, data, PGCN_HEADER_AUTO, text)) &&                      \
        wrong(pgcn_class_weights_read("weights", NULL, PGCN_HEADER_AUTO, text)) &&                 \
        wrong(pgcn_class_weights_read("weights", data, PGCN_HEADER_AUTO, NULL)))                   \
    X(pgcn_trainer_scores, wrong(pgcn_trainer_scores(NULL, &score, &score)) &&                     \
        wrong(pgcn_trainer_scores(trainer, NULL, &score)) &&                                       \
        wrong(pgcn_trainer_scores(trainer, &score, NULL)))                                         \
    X(pgcn_score_measure, isnan(pgcn_score_measure(NULL, PGCN_MEASURE_AUC)) &&                     \
        isnan(pgcn_score_measure(&score, (pgcn_measure)INT_MAX)))                                  \
    X(pgcn_measure_name, !*pgcn_measure_name((pgcn_measure)-1))                                    \
    X(pgcn_measure_parse, !pgcn_measure_parse(NULL, &measure) &&                                   \
        !pgcn_measure_parse("auc", NULL))                                                          \
    X(pgcn_trainer_model, wrong(pgcn_trainer_model(NULL, &no_model)) &&                            \
        wrong(pgcn_trainer_model(trainer, NULL)) && nothing_made())                                \
    X(pgcn_train, wrong(pgcn_train(NULL, &config, &no_model)) &&                                   \
        wrong(pgcn_train(data, &config, NULL)) &&                                                  \
        nothing_made())                                                                            \
    X(pgcn_train_opts_default, pgcn_train_opts_default().size == sizeof(pgcn_train_opts))          \
    X(pgcn_train_with, wrong(pgcn_train_with(NULL, &config, NULL, &no_model)) &&                   \
        wrong(pgcn_train_with(data, &config, NULL, NULL)) &&                                       \
        wrong(pgcn_train_with(data, &config, &(pgcn_train_opts){0}, &no_model)) && nothing_made()) \
    /* models */                                                                                   \
    X(pgcn_model_load, wrong(pgcn_model_load(NULL, &no_model)) &&                                  \
        wrong(pgcn_model_load(path, NULL)) && nothing_made())                                      \
    X(pgcn_model_save, wrong(pgcn_model_save(NULL, path)) && wrong(pgcn_model_save(model, NULL)))  \
    X(pgcn_model_to_bytes, wrong(pgcn_model_to_bytes(NULL, &no_bytes, &no_size)) &&                \
        wrong(pgcn_model_to_bytes(model, NULL, &no_size)) &&                                       \
        wrong(pgcn_model_to_bytes(model, &no_bytes, NULL)) && !no_bytes && no_size == 0)           \
    X(pgcn_model_from_bytes, wrong(pgcn_model_from_bytes(NULL, 0, &no_model)) &&                   \
        wrong(pgcn_model_from_bytes(text, SIZE_MAX, &no_model)) &&                                 \
        wrong(pgcn_model_from_bytes(text, sizeof text, NULL)) &&                                   \
        pgcn_model_from_bytes(text, 0, &no_model) == PGCN_ERR_FORMAT && nothing_made())            \
    X(pgcn_bytes_free, (pgcn_bytes_free(NULL), true))                                              \
    X(pgcn_model_free, (pgcn_model_free(NULL), true))                                              \
    X(pgcn_model_config, !pgcn_model_config(NULL))                                                 \
    X(pgcn_model_dataset, !pgcn_model_dataset(NULL))                                               \
    X(pgcn_model_fingerprint, !pgcn_model_fingerprint(NULL))                                       \
    X(pgcn_model_split, !pgcn_model_split(NULL))                                                   \
    X(pgcn_model_split_hash, !pgcn_model_split_hash(NULL) )                                        \
    X(pgcn_model_epoch, pgcn_model_epoch(NULL) == 0)                                               \
    X(pgcn_model_encoder, !pgcn_model_encoder(NULL) && !pgcn_model_encoder(model))                 \
    X(pgcn_model_class_name, !pgcn_model_class_name(NULL, 0) &&                                    \
        !pgcn_model_class_name(model, -1) && !pgcn_model_class_name(model, INT_MAX))               \
    X(pgcn_model_task, pgcn_model_task(NULL) == PGCN_TASK_NONE)                                    \
    X(pgcn_model_classes, pgcn_model_classes(NULL) == 0)                                           \
    X(pgcn_model_features, pgcn_model_features(NULL) == 0)                                         \
    X(pgcn_model_feature_name, !pgcn_model_feature_name(NULL, 0) &&                                \
        !pgcn_model_feature_name(model, -1) && !pgcn_model_feature_name(model, INT64_MAX))         \
    X(pgcn_model_history, !pgcn_model_history(NULL))                                               \
    X(pgcn_model_tensor, !pgcn_model_tensor(NULL, 0, &tensor) && pgcn_model_tensor(model, 0, NULL) && \
        !pgcn_model_tensor(model, -1, &tensor) && !pgcn_model_tensor(model, INT_MAX, &tensor))     \
    X(pgcn_model_parameters, pgcn_model_parameters(NULL) == 0)                                     \
    X(pgcn_model_kernel, wrong(pgcn_model_kernel(NULL, 0, numbers)) &&                             \
        wrong(pgcn_model_kernel(model, 0, NULL)) && wrong(pgcn_model_kernel(model, -1, numbers)) &&\
        wrong(pgcn_model_kernel(model, INT_MAX, numbers)))                                         \
    X(pgcn_inference_default, pgcn_inference_default().size > 0)                                   \
    X(pgcn_inference_parse, wrong(pgcn_inference_parse(NULL, &opts_with.inference)) &&             \
        wrong(pgcn_inference_parse("deterministic", NULL)))                                        \
    X(pgcn_model_predict, wrong(pgcn_model_predict(NULL, data, NULL, numbers, NULL)) &&            \
        wrong(pgcn_model_predict(model, NULL, NULL, numbers, NULL)) &&                             \
        wrong(pgcn_model_predict(model, data, NULL, NULL, NULL)) && INFERENCE(draws, -1) &&        \
        INFERENCE(draws, INT_MIN) && INFERENCE(threads, -1) && INFERENCE(threads, INT_MAX))        \
    X(pgcn_model_layers, wrong(pgcn_model_layers(NULL, data, NULL, see_layer, NULL)) &&            \
        wrong(pgcn_model_layers(model, NULL, NULL, see_layer, NULL)) &&                            \
        wrong(pgcn_model_layers(model, data, NULL, NULL, NULL)))                                   \
    X(pgcn_model_evaluate, wrong(pgcn_model_evaluate(NULL, data, NULL, &opts_scores)) &&           \
        wrong(pgcn_model_evaluate(model, NULL, NULL, &opts_scores)) &&                             \
        wrong(pgcn_model_evaluate(model, data, NULL, NULL)))                                       \
    X(pgcn_model_judge, wrong(pgcn_model_judge(NULL, data, NULL, NULL, &verdict)) &&               \
        wrong(pgcn_model_judge(model, NULL, NULL, NULL, &verdict)) &&                              \
        wrong(pgcn_model_judge(model, data, NULL, NULL, NULL)))                                    \
    X(pgcn_models_predict, wrong(pgcn_models_predict(NULL, 1, data, NULL, numbers, NULL)) &&       \
        wrong(pgcn_models_predict(models, 0, data, NULL, numbers, NULL)) &&                        \
        wrong(pgcn_models_predict(models, 1, NULL, NULL, numbers, NULL)) &&                        \
        wrong(pgcn_models_predict(models, 1, data, NULL, NULL, NULL)) &&                           \
        wrong(pgcn_models_predict(models, 2, data, NULL, numbers, NULL)))                          \
    X(pgcn_models_judge, wrong(pgcn_models_judge(NULL, 1, data, NULL, NULL, &verdict)) &&          \
        wrong(pgcn_models_judge(models, -1, data, NULL, NULL, &verdict)) &&                        \
        wrong(pgcn_models_judge(models, 1, NULL, NULL, NULL, &verdict)) &&                         \
        wrong(pgcn_models_judge(models, 1, data, NULL, NULL, NULL)) &&                             \
        wrong(pgcn_models_judge(models, 2, data, NULL, NULL, &verdict)))                           \
    X(pgcn_verdict_part, pgcn_verdict_part(NULL, PGCN_PART_TEST).items == 0 &&                     \
        pgcn_verdict_part(NULL, (pgcn_part)77).classes == 0)                                       \
    X(pgcn_verdict_free, (pgcn_verdict_free(NULL), true))                                          \
    X(pgcn_explain_opts_default, pgcn_explain_opts_default().size > 0)                             \
    X(pgcn_model_explain, wrong(pgcn_model_explain(NULL, data, 0, NULL, &explanation)) &&          \
        wrong(pgcn_model_explain(model, NULL, 0, NULL, &explanation)) &&                           \
        wrong(pgcn_model_explain(model, data, 0, NULL, NULL)) &&                                   \
        wrong(pgcn_model_explain(model, data, INT64_MAX, NULL, &explanation)) &&                   \
        wrong(pgcn_model_explain(model, data, INT64_MIN, NULL, &explanation)))                     \
    X(pgcn_explanation_free, (pgcn_explanation_free(NULL), true))                                  \
    X(pgcn_part_name, !*pgcn_part_name((pgcn_part)-1) && !*pgcn_part_name((pgcn_part)4))           \
    X(pgcn_part_parse, !pgcn_part_parse(NULL, &part) && !pgcn_part_parse("test", NULL))
/* clang-format on */

static pgcn_scores opts_scores;
static pgcn_verdict *verdict;
static pgcn_explanation *explanation;
static pgcn_part part;

#define CHECK(name, condition)                                                                     \
    static bool check_##name(void) {                                                               \
        return (condition);                                                                        \
    }
EVERY_FUNCTION(CHECK)

#define ROW(name, condition) {#name, check_##name},
static const struct {
    const char *name;
    bool (*holds)(void);
} rows[] = {EVERY_FUNCTION(ROW)};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* ---- the tests --------------------------------------------------------------------------------- */

/* What became of a line: "" if it holds. */
static void run_row(int i, char out[64]) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
        for (int c = 0; c < 5; c++) signal(crashes[c], SIG_DFL); /* cmocka would go on after them */
        alarm(20); /* a loop without end is a failure too */
        bool holds = rows[i].holds();
        fflush(NULL);
        _exit(holds ? 0 : 1);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    out[0] = '\0';
    if (WIFSIGNALED(status))
        snprintf(out, 64, "ended by signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        snprintf(out, 64, "not the result of the rule");
}

static void test_every_function_takes_wrong_arguments(void **state) {
    (void)state;
    int failures = 0;
    for (int i = 0; i < ROWS; i++) {
        char found[64];
        run_row(i, found);
        if (*found) print_message("%s: %s\n", rows[i].name, found);
        failures += *found != '\0';
    }
    if (failures > 0) fail_msg("%d of %d functions break the rule", failures, (int)ROWS);
}

static int row_of(const char *name) {
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0) return i;
    return -1;
}

static void test_every_exported_function_has_a_line(void **state) {
    (void)state;
    const char *build = getenv("PATHGCN_BUILD");
    char command[4096], line[512], name[256], kind;
    snprintf(command, sizeof command, "nm -D --defined-only '%s/libpathgcn.so' 2>/dev/null",
             build ? build : ".");
    FILE *symbols = popen(command, "r");
    assert_non_null(symbols);
    bool seen[ROWS] = {false};
    int exported = 0;
    while (fgets(line, sizeof line, symbols)) {
        if (sscanf(line, "%*x %c %255[a-zA-Z0-9_]", &kind, name) != 2 || kind != 'T') continue;
        int i = row_of(name);
        if (i < 0) fail_msg("%s has no line in EVERY_FUNCTION: add what it does with NULL", name);
        seen[i] = true;
        exported++;
    }
    pclose(symbols);
    if (exported == 0) {
        print_message("SKIPPED: PATHGCN_BUILD has no libpathgcn.so, or there is no nm\n");
        skip();
    }
    for (int i = 0; i < ROWS; i++)
        if (!seen[i]) fail_msg("%s is not exported", rows[i].name);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_function_takes_wrong_arguments),
        cmocka_unit_test(test_every_exported_function_has_a_line),
    };
    return cmocka_run_group_tests(tests, make_objects, free_objects);
}
