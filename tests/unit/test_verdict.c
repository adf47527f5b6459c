/* Verdicts: every figure is counted once more here, from the probabilities of pgcn_model_predict(), for one class
 * per node, several labels and a class per graph. */
#include "graphs_help.h"
#include "nn_help.h"

#include "scratch_help.h"
#include "trainer_help.h"

#include <math.h>

#define QUICK                                                                                      \
    "channels=6 layers=2 path-length=3 paths=3 epochs=60 patience=0 batch=7 samples=1 consistency=0"

static const pgcn_task tasks[] = {PGCN_TASK_NODE, PGCN_TASK_MULTILABEL, PGCN_TASK_GRAPH};
enum { TASKS = 3, GRAPHS = 30, C = SET_CLASSES };

static pgcn_dataset *data_of(pgcn_task task) {
    if (task == PGCN_TASK_GRAPH) return set_of(set_new(task, true, GRAPHS), "kfold=5");
    return set_of(set_mixed(task, false, GRAPHS / 2), "");
}

static pgcn_model *trained(const pgcn_dataset *data) {
    pgcn_trainer *trainer = trainer_of(data, QUICK);
    pgcn_model *model;
    run_epochs(trainer, 9);
    must(pgcn_trainer_model(trainer, &model));
    pgcn_trainer_free(trainer);
    return model;
}

/* The predictions of a part, with the truth beside them. */
typedef struct sample {
    int64_t items;
    bool several;
    float *p;       /* [items, C] */
    uint8_t *truth; /* [items, C] */
    int32_t *graph; /* [items] */
} sample;

static sample sample_of(const pgcn_model *model, const pgcn_dataset *data, const uint8_t *mask) {
    int64_t items = data->info.items;
    float *all = calloc((size_t)items * C, sizeof *all);
    must(pgcn_model_predict(model, data, NULL, all, NULL));
    sample s = {.several = data->task == PGCN_TASK_MULTILABEL,
                .p = calloc((size_t)items * C, sizeof *s.p),
                .truth = calloc((size_t)items * C, 1),
                .graph = calloc((size_t)items, sizeof *s.graph)};
    const int32_t *label = pgcn_dataset_labels(data);
    for (int64_t i = 0; i < items; i++) {
        if (!pgcn_dataset_is_labelled(data, i) || (mask && !mask[i])) continue;
        memcpy(s.p + s.items * C, all + i * C, C * sizeof *s.p);
        for (int c = 0; c < C; c++)
            s.truth[s.items * C + c] =
                s.several ? pgcn_dataset_multilabels(data)[i * C + c] : label[i] == c;
        s.graph[s.items++] = data->task == PGCN_TASK_GRAPH ? 0 : data->from.graph_of[i];
    }
    free(all);
    return s;
}

static void sample_free(sample *s) {
    free(s->p), free(s->truth), free(s->graph);
}

static bool predicts(const sample *s, int64_t i, int c) {
    const float *p = s->p + i * C;
    if (s->several) return p[c] > 0.5f;
    for (int k = 0; k < C; k++)
        if (p[k] > p[c] || (p[k] == p[c] && k < c)) return false;
    return true;
}

static void assert_share(double found, double some, double of) {
    if (of == 0)
        assert_true(isnan(found));
    else
        assert_close(found, 100 * some / of, 1e-9);
}

static void check_classes(const sample *s, const pgcn_judgement *j) {
    for (int c = 0; c < C; c++) {
        int64_t support = 0, predicted = 0, hits = 0;
        for (int64_t i = 0; i < s->items; i++) {
            support += s->truth[i * C + c];
            predicted += predicts(s, i, c);
            hits += s->truth[i * C + c] && predicts(s, i, c);
        }
        const pgcn_class_score *found = &j->of_class[c];
        assert_int_equal(found->support, support);
        assert_int_equal(found->predicted, predicted);
        assert_int_equal(found->hits, hits);
        assert_share(found->precision, (double)hits, (double)predicted);
        assert_share(found->recall, (double)hits, (double)support);
        assert_share(found->f1, 2 * (double)hits, (double)(support + predicted));
        for (int k = 0; k < C && !s->several; k++) {
            int64_t taken = 0;
            for (int64_t i = 0; i < s->items; i++)
                taken += s->truth[i * C + c] && predicts(s, i, k);
            assert_int_equal(j->confusion[c * C + k], taken);
        }
    }
}

static void check_probabilities(const sample *s, const pgcn_judgement *j) {
    double log_loss = 0, brier = 0, n = (double)s->items, error = 0;
    double inside[PGCN_CALIBRATION_BINS] = {0}, sure[PGCN_CALIBRATION_BINS] = {0},
           right[PGCN_CALIBRATION_BINS] = {0}, all = 0;
    for (int64_t i = 0; i < s->items; i++)
        for (int c = 0; c < C; c++) {
            double p = (double)s->p[i * C + c], truth = s->truth[i * C + c];
            brier += (p - truth) * (p - truth) / n / (s->several ? C : 1);
            if (truth > 0) log_loss -= log(p) / n;
            if (s->several && truth == 0) log_loss -= log1p(-p) / n;
            if (!s->several && !predicts(s, i, c)) continue;
            double confidence = p > 0.5 || !s->several ? p : 1 - p;
            int b = (int)fmin(floor(confidence * PGCN_CALIBRATION_BINS), PGCN_CALIBRATION_BINS - 1);
            inside[b]++, all++;
            sure[b] += confidence;
            right[b] += predicts(s, i, c) == (truth > 0);
        }
    for (int b = 0; b < PGCN_CALIBRATION_BINS; b++) {
        error += fabs(sure[b] - right[b]) / all;
        assert_int_equal(j->bin[b].items, (int64_t)inside[b]);
        assert_share(j->bin[b].confidence, sure[b], inside[b]);
        assert_share(j->bin[b].accuracy, right[b], inside[b]);
    }
    assert_close(j->brier, brier, 1e-9);
    assert_close(j->log_loss, log_loss, 1e-4);
    assert_close(j->calibration_error, 100 * error, 1e-7);
}

static void check_graphs(const sample *s, const pgcn_judgement *j, pgcn_task task) {
    double hits = 0, both = 0, sum = 0;
    int64_t graphs = 0;
    for (int g = 0; g < GRAPHS; g++) {
        double g_hits = 0, g_both = 0, g_items = 0;
        for (int64_t i = 0; i < s->items; i++) {
            if (s->graph[i] != g) continue;
            g_items++;
            for (int c = 0; c < C; c++) {
                g_hits += s->truth[i * C + c] && predicts(s, i, c);
                g_both += s->truth[i * C + c] + predicts(s, i, c);
            }
        }
        hits += g_hits, both += g_both;
        if (g_items > 0) sum += g_both > 0 ? 200 * g_hits / g_both : 100;
        graphs += g_items > 0;
    }
    assert_share(j->micro_f1, 2 * hits, both);
    if (task == PGCN_TASK_GRAPH)
        assert_true(isnan(j->graph_f1));
    else
        assert_close(j->graph_f1, sum / (double)graphs, 1e-9);
    assert_int_equal(j->graphs, task == PGCN_TASK_GRAPH ? s->items : graphs);
}

static void test_verdict_of_every_task_is_what_the_predictions_say(void **state) {
    (void)state;
    for (int t = 0; t < TASKS; t++) {
        pgcn_dataset *data = data_of(tasks[t]);
        pgcn_model *model = trained(data);
        pgcn_scores scores, plain;
        pgcn_verdict *verdict;
        must(pgcn_model_judge(model, data, NULL, &scores, &verdict));
        must(pgcn_model_evaluate(model, data, NULL, &plain));
        assert_memory_equal(&scores, &plain, sizeof plain);
        const uint8_t *mask[PGCN_PARTS] = {0};
        pgcn_dataset_split(data, scores.split, &mask[0], &mask[1], &mask[2]);
        for (int part = 0; part < PGCN_PARTS; part++) {
            pgcn_judgement j = pgcn_verdict_part(verdict, (pgcn_part)part);
            sample s = sample_of(model, data, mask[part]);
            assert_int_equal(j.items, s.items);
            assert_int_equal(j.classes, C);
            assert_true((j.confusion == NULL) == s.several);
            check_classes(&s, &j);
            check_probabilities(&s, &j);
            check_graphs(&s, &j, tasks[t]);
            sample_free(&s);
        }
        pgcn_verdict_free(verdict);
        pgcn_model_free(model);
        pgcn_dataset_free(data);
    }
}

static void test_verdict_of_a_part_that_is_not_there_is_empty(void **state) {
    (void)state;
    pgcn_dataset *data = data_of(PGCN_TASK_GRAPH), *other;
    pgcn_model *model = trained(data);
    pgcn_verdict *verdict;
    other = set_of(set_new(PGCN_TASK_GRAPH, true, GRAPHS), "kfold=3,split-seed=5");
    must(pgcn_model_judge(model, other, NULL, NULL, &verdict));
    pgcn_judgement test = pgcn_verdict_part(verdict, PGCN_PART_TEST);
    assert_int_equal(test.items, 0);
    assert_true(isnan(test.brier) && isnan(test.log_loss) && isnan(test.calibration_error));
    assert_true(pgcn_verdict_part(verdict, PGCN_PART_ALL).items > 0);
    pgcn_verdict_free(verdict);
    pgcn_model_free(model);
    pgcn_dataset_free(data), pgcn_dataset_free(other);
}

static void test_parts_have_names(void **state) {
    (void)state;
    pgcn_part part;
    for (int i = 0; i < PGCN_PARTS; i++) {
        assert_true(pgcn_part_parse(pgcn_part_name((pgcn_part)i), &part));
        assert_int_equal(part, i);
    }
    assert_false(pgcn_part_parse("tests", &part));
}

static pgcn_status judge(void) {
    pgcn_verdict *verdict;
    PGCN_TRY(pgcn_model_judge(memory_model, memory_data, NULL, NULL, &verdict));
    pgcn_verdict_free(verdict);
    return PGCN_OK;
}

static void test_memory_of_a_verdict_is_reported(void **state) {
    (void)state;
    for (int t = 0; t < TASKS; t++) {
        pgcn_dataset *data = data_of(tasks[t]);
        pgcn_model *model = trained(data);
        memory_model = model, memory_data = data;
        assert_true(fail_every_allocation(judge) > 5);
        pgcn_model_free(model);
        pgcn_dataset_free(data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdict_of_every_task_is_what_the_predictions_say),
        cmocka_unit_test(test_verdict_of_a_part_that_is_not_there_is_empty),
        cmocka_unit_test(test_parts_have_names),
        cmocka_unit_test(test_memory_of_a_verdict_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
