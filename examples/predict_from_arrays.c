/* Asks a trained model about a graph that it has never seen, held in arrays: no labels, no masks.
 *
 *   cc predict_from_arrays.c $(pkg-config --cflags --libs pathgcn) -o predict_from_arrays
 *   ./predict_from_arrays [MODEL.safetensors]      of two features and two classes; else a small one is made
 *
 * Two groups of people who know each other. Person 2 of the new graph was never measured well: only the
 * friends tell the group. */
#include <pathgcn/pathgcn.h>
#include <stdio.h>

enum { NODES = 6, FEATURES = 2, CLASSES = 2 };

/* ---- a model, if none is given: three friends of each group ------------------------------------ */

static const pgcn_node old_from[] = {0, 1, 2, 3, 4, 5}, old_to[] = {1, 2, 0, 4, 5, 3};
static const float old_features[] = {1.0f, 0.1f, 0.8f, 0.2f, 0.9f, 0.0f,
                                     0.1f, 0.9f, 0.2f, 1.0f, 0.0f, 0.8f};
static const int32_t old_label[] = {0, 0, 0, 1, 1, 1};
static const uint8_t all[] = {1, 1, 1, 1, 1, 1};

static pgcn_status train(pgcn_model **model) {
    pgcn_graph *graph = NULL;
    pgcn_dataset *data = NULL;
    pgcn_dataset_arrays arrays = pgcn_dataset_arrays_default();
    pgcn_config config = pgcn_config_default();
    pgcn_status status = pgcn_graph_from_edges(NODES, NODES, old_from, old_to, NULL, NULL, &graph);
    arrays.graph = graph;
    arrays.features = old_features, arrays.n_features = FEATURES;
    arrays.label = old_label;
    arrays.n_splits = 1, arrays.train = all; /* nothing validates: the last epoch counts */
    config.channels = 16, config.epochs = 100;
    if (status == PGCN_OK) status = pgcn_dataset_from_arrays(&arrays, &data);
    if (status == PGCN_OK) status = pgcn_train(data, &config, model);
    pgcn_dataset_free(data);
    pgcn_graph_free(graph);
    return status;
}

/* ---- the new graph, as rows of neighbours ------------------------------------------------------- */

static const int64_t offset[NODES + 1] = {0, 2, 4, 6, 8, 10, 12};
static const pgcn_node neighbour[] = {1, 2, 0, 2, 0, 1, 4, 5, 3, 5, 3, 4};
static const float features[NODES][FEATURES] = {{0.9f, 0.2f}, {1.0f, 0.1f}, {0.5f, 0.5f},
                                                {0.2f, 0.9f}, {0.1f, 0.8f}, {0.0f, 1.0f}};

int main(int argc, char **argv) {
    pgcn_model *model = NULL;
    pgcn_graph *graph = NULL;
    pgcn_dataset *data = NULL;
    float probability[NODES][CLASSES];
    pgcn_dataset_arrays arrays = pgcn_dataset_arrays_default();
    pgcn_status status = argc > 1 ? pgcn_model_load(argv[1], &model) : train(&model);
    if (status == PGCN_OK && pgcn_model_classes(model) != CLASSES) {
        fprintf(stderr, "%s has %d classes, expected 2\n", argv[1], pgcn_model_classes(model));
        pgcn_model_free(model);
        return 2;
    }
    if (status == PGCN_OK)
        status = pgcn_graph_from_csr(NODES, offset, neighbour, NULL, NULL, &graph);
    arrays.graph = graph;
    arrays.features = features[0], arrays.n_features = FEATURES;
    if (status == PGCN_OK) status = pgcn_dataset_from_arrays(&arrays, &data);
    if (status == PGCN_OK) status = pgcn_model_predict(model, data, NULL, probability[0], NULL);
    if (status != PGCN_OK) fprintf(stderr, "%s\n", pgcn_last_error());

    int right = 0;
    for (int j = 0; j < NODES && status == PGCN_OK; j++) {
        int class = probability[j][1] > probability[j][0];
        printf("person %d: group %d (%.2f)\n", j, class, (double)probability[j][class]);
        right += class == (j >= 3);
    }
    pgcn_dataset_free(data);
    pgcn_graph_free(graph);
    pgcn_model_free(model);
    return status == PGCN_OK && (argc > 1 || right == NODES) ? 0 : 1;
}
