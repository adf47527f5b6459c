/* Answers for single nodes: how long one takes, one thread, of a prepared predictor.
 *
 *   bench_nodes MODEL DATA [draws [questions [hidden]]]
 *
 * With `hidden` (and 0 draws), hidden rows of known nodes are kept, and the time and memory of that are told.
 *
 * Asks about one node at a time: of the graph, and as if it were new, with its own edges and features. Prints the median
 * and the 99th percentile in microseconds, the rows that were read, the time per row, and the memory of the handle. */
#include "data/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static int compare_times(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int fail(void) {
    fprintf(stderr, "bench_nodes: %s\n", pgcn_last_error());
    return 1;
}

static void print_times(const char *what, double *us, int64_t *rows, int count) {
    double sum = 0, all = 0;
    for (int i = 0; i < count; i++) sum += us[i], all += (double)rows[i];
    qsort(us, (size_t)count, sizeof *us, compare_times);
    printf("%-10s median %9.1f us, 99th percentile %9.1f us, rows %9.1f, %6.3f us per row\n", what,
           us[count / 2], us[count * 99 / 100], all / count, sum / all);
}

/* The features of a node, dense. */
static void features_of(const pgcn_dataset *data, pgcn_node node, float *to) {
    const pgcn_i_features *x = &data->x;
    memset(to, 0, (size_t)x->columns * sizeof *to);
    if (x->dense) memcpy(to, x->dense + node * x->columns, (size_t)x->columns * sizeof *to);
    for (int64_t e = x->offset ? x->offset[node] : 0; x->offset && e < x->offset[node + 1]; e++)
        to[x->column[e]] = x->value[e];
}

static pgcn_status ask(pgcn_predictor *predictor, const pgcn_dataset *data, pgcn_node node,
                       bool is_new, float *feature, float *probability) {
    const pgcn_graph *g = data->graph;
    int64_t offset[] = {0, g->offset[node + 1] - g->offset[node]};
    pgcn_new_nodes guest = {1, offset, g->neighbour + g->offset[node], feature};
    return is_new ? pgcn_predictor_new_nodes(predictor, &guest, probability, NULL)
                  : pgcn_predictor_nodes(predictor, &node, 1, probability, NULL);
}

/* Keeps hidden rows, and says what that takes. */
static pgcn_status keep(pgcn_predictor *predictor) {
    double begin = now_us(), bytes = (double)pgcn_predictor_hidden_bytes(predictor);
    pgcn_status status = pgcn_predictor_keep_hidden(predictor);
    if (status == PGCN_OK)
        printf("%-10s %.1f MB, kept in %.3f s\n", "hidden", bytes / 1e6, (now_us() - begin) / 1e6);
    return status;
}

static int run(const pgcn_model *model, const pgcn_dataset *data, int draws, int questions,
               bool hidden) {
    pgcn_inference inference = pgcn_inference_default();
    pgcn_predictor *predictor;
    inference.draws = draws;
    inference.threads = 1;
    if (pgcn_predictor_new(model, data, &inference, &predictor) != PGCN_OK) return fail();
    if (hidden && keep(predictor) != PGCN_OK) {
        pgcn_predictor_free(predictor);
        return fail();
    }
    double *us = malloc((size_t)questions * sizeof *us);
    int64_t *rows = malloc((size_t)questions * sizeof *rows);
    float *feature = malloc((size_t)data->x.columns * sizeof *feature);
    float *probability = malloc((size_t)pgcn_model_classes(model) * sizeof *probability);
    int code = !us || !rows || !feature || !probability;
    for (int is_new = 0; is_new < 2 && code == 0; is_new++) {
        for (int i = -questions / 10; i < questions && code == 0;
             i++) { /* the first ones warm up */
            uint64_t random = (uint64_t)(i + questions) * UINT64_C(0x9E3779B97F4A7C15) >> 16;
            pgcn_node node = (pgcn_node)(random % (uint64_t)data->graph->n);
            features_of(data, node, feature);
            double begin = now_us();
            if (ask(predictor, data, node, is_new, feature, probability) != PGCN_OK) code = fail();
            if (i < 0) continue;
            us[i] = now_us() - begin;
            rows[i] = pgcn_predictor_rows(predictor);
        }
        if (code == 0) print_times(is_new ? "new node" : "known node", us, rows, questions);
    }
    printf("%-10s %.1f MB\n", "handle", (double)pgcn_predictor_bytes(predictor) / 1e6);
    free(us), free(rows), free(feature), free(probability);
    pgcn_predictor_free(predictor);
    return code;
}

int main(int argc, char **argv) {
    pgcn_model *model = NULL;
    pgcn_dataset *data = NULL;
    if (argc < 3) {
        fprintf(stderr, "usage: bench_nodes MODEL DATA [draws [questions [hidden]]]\n");
        return 2;
    }
    int draws = argc > 3 ? atoi(argv[3]) : 1, questions = argc > 4 ? atoi(argv[4]) : 1000;
    if (pgcn_model_load(argv[1], &model) != PGCN_OK) return fail();
    if (pgcn_dataset_load(argv[2], NULL, &data) != PGCN_OK) return fail();
    bool hidden = argc > 5 && strcmp(argv[5], "hidden") == 0;
    int code = run(model, data, draws, questions < 1 ? 1 : questions, hidden);
    pgcn_dataset_free(data);
    pgcn_model_free(model);
    return code;
}
