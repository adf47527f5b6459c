/* Trains a pathGCN on arrays and asks it about nodes whose class nobody told it.
 *
 *   cc train_from_arrays.c $(pkg-config --cflags --libs pathgcn) -o train_from_arrays
 *
 * Two groups of six people. Each person has two measurements, and those of person 4 and person 9
 * look like the other group: only their friends give them away. */
#include <pathgcn/pathgcn.h>
#include <stdio.h>

enum { NODES = 12, EDGES = 19, FEATURES = 2, CLASSES = 2 };

static const pgcn_node from[EDGES] = {0, 0, 0, 1, 1, 2, 2, 3, 4, 6, 6, 6, 7, 7, 8, 8, 9, 10, 5};
static const pgcn_node to[EDGES] = {1, 2, 4, 3, 4, 4, 5, 5, 5, 7, 8, 9, 9, 10, 9, 11, 11, 11, 6};
static const float features[NODES][FEATURES] = {
    {0.9f, 0.1f}, {0.8f, 0.3f}, {1.0f, 0.2f}, {0.7f, 0.2f}, {0.3f, 0.6f}, {0.9f, 0.4f},
    {0.2f, 0.9f}, {0.1f, 0.8f}, {0.3f, 1.0f}, {0.6f, 0.4f}, {0.2f, 0.7f}, {0.1f, 1.0f}};
/* -1: not known. Every labelled node is in one of the three masks: to learn from, to choose the
 * epoch with, and to test the result. */
static const int32_t label[NODES] = {0, 0, 0, -1, -1, 0, 1, 1, 1, -1, -1, 1};
static const uint8_t train[NODES] = {1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0};
static const uint8_t val[NODES] = {0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0};
static const uint8_t test[NODES] = {0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1};

int main(void) {
    pgcn_graph *graph = NULL;
    pgcn_dataset *data = NULL;
    pgcn_model *model = NULL;
    float probability[NODES][CLASSES];

    pgcn_dataset_arrays arrays = pgcn_dataset_arrays_default();
    pgcn_config config = pgcn_config_default();
    pgcn_inference inference = pgcn_inference_default(); /* deterministic */
    pgcn_status status = pgcn_graph_from_edges(NODES, EDGES, from, to, NULL, NULL, &graph);
    arrays.graph = graph; /* everything in `arrays` is copied by the call below */
    arrays.features = features[0];
    arrays.n_features = FEATURES;
    arrays.label = label;
    arrays.n_splits = 1;
    arrays.train = train, arrays.val = val, arrays.test = test;
    config.channels = 16; /* the rest of the recipe stays as it is */
    config.epochs = 200;
    if (status == PGCN_OK) status = pgcn_dataset_from_arrays(&arrays, &data);
    if (status == PGCN_OK) status = pgcn_train(data, &config, &model);
    if (status == PGCN_OK)
        status = pgcn_model_predict(model, data, &inference, probability[0], NULL);
    if (status != PGCN_OK) fprintf(stderr, "%s\n", pgcn_last_error());

    int right = 0;
    for (int j = 0; j < NODES && status == PGCN_OK; j++) {
        int class = probability[j][1] > probability[j][0];
        printf("person %2d: group %d (%.2f)%s\n", j, class, (double)probability[j][class],
               label[j] < 0 ? "  not told" : "");
        right += class == (j >= 6);
    }
    pgcn_model_free(model);
    pgcn_dataset_free(data);
    pgcn_graph_free(graph);
    return right == NODES ? 0 : 1;
}
