/* What attention draws: dropped coefficients, and the pairs that SuperGAT tells apart. That values and gradients are
 * right is checked by test_networks.c and test_models.c. */
#include "network_help.h"

#include <math.h>

/* Half of the coefficients count nothing, and those that are left count twice as much: the mean stays. */
static void test_attention_dropout_keeps_the_mean(void **state) {
    (void)state;
    problem p = problem_new(300);
    network net;
    network_open(&net, &p,
                 "model=gat heads=4 channels=8 layers=1 heads-last=4 dropout=0 "
                 "dropout-attention=0.5 samples=1 consistency=0",
                 2);
    double kept = 0, all = 0, marked = 0;
    for (int step = 0; step < 20; step++) {
        net.tape.step = step;
        pgcn_i_tape_forward(&net.tape);
        for (int i = 0; i < net.tape.count; i++) {
            const pgcn_i_value *value = net.tape.op[i].out;
            if (value->space != PGCN_I_LINKS) continue;
            for (int64_t e = 0; e < value->rows * value->cols; e++) {
                double a = (double)value->data[e];
                all += fabs(a);
                kept += a > 0 ? 2 * a : 0;
                marked += signbit(a) ? 1.0 / (double)(value->rows * value->cols) / 20 : 0;
            }
        }
    }
    assert_true(fabs(kept / all - 1) < 0.02);
    assert_true(fabs(marked - 0.5) < 0.02);
    network_close(&net);
    problem_free(&p);
}

/* With z = 0 nothing is known of any pair: the loss of each is log 2, however many there are. */
static void test_attention_loss_of_links_that_nothing_is_known_of_is_log_2(void **state) {
    (void)state;
    problem p = problem_new(60);
    network net;
    network_open(&net, &p,
                 "model=supergat heads=2 channels=8 layers=2 dropout=0 edge-loss=3 "
                 "negatives=2 samples=2 consistency=0",
                 2);
    for (int64_t i = 0; i < net.params.total; i++) net.params.value[i] = 0;
    pgcn_i_tape_forward(&net.tape);
    assert_true(fabs(pgcn_i_tape_loss_terms(&net.tape) - 2 * 3 * log(2)) < 1e-6);
    network_close(&net);
    problem_free(&p);
}

/* Of a complete graph no pair is without a link: all that is told apart are links. */
static void test_attention_pairs_without_a_link_are_not_links(void **state) {
    (void)state;
    enum { N = 12 };
    pgcn_node source[N * N], target[N * N];
    int64_t m = 0;
    for (pgcn_node i = 0; i < N; i++)
        for (pgcn_node j = 0; j < i; j++) {
            source[m] = i;
            target[m++] = j;
        }
    problem p = {.n = N};
    must(pgcn_graph_from_edges(N, m, source, target, NULL, NULL, &p.graph));
    problem_fill(&p);
    double term[2];
    for (int negatives = 0; negatives < 2; negatives++) {
        network net;
        char text[256];
        snprintf(text, sizeof text,
                 "model=supergat heads=2 channels=8 layers=1 dropout=0 edge-loss=1 negatives=%d "
                 "edge-sample=1 samples=1 consistency=0",
                 3 * negatives);
        network_open(&net, &p, text, 1);
        pgcn_i_tape_forward(&net.tape);
        term[negatives] = pgcn_i_tape_loss_terms(&net.tape);
        network_close(&net);
    }
    assert_true(term[0] > 0);
    assert_true(fabs(term[0] - term[1]) < 1e-12);
    problem_free(&p);
}

/* Other pairs in every step, and the same ones when a step is repeated. */
static void test_attention_pairs_are_drawn_anew_in_every_step(void **state) {
    (void)state;
    problem p = problem_new(80);
    network net;
    network_open(&net, &p,
                 "model=supergat heads=2 channels=8 layers=1 dropout=0 edge-loss=1 "
                 "samples=1 consistency=0",
                 2);
    network_shake(&net);
    double term[3];
    for (int i = 0; i < 3; i++) {
        net.tape.step = i % 2;
        pgcn_i_tape_forward(&net.tape);
        term[i] = pgcn_i_tape_loss_terms(&net.tape);
    }
    assert_true(term[0] != term[1]);
    assert_true(term[0] == term[2]);
    network_close(&net);
    problem_free(&p);
}

/* ---- memory that has a fence behind it ------------------------------------------------------------------ */

enum { FENCE = 8192, FENCE_BYTE = 0xa5 };
static int fences_broken;

typedef struct fenced {
    unsigned char *fence;
    char unused[PGCN_ALIGN - sizeof(unsigned char *)];
} fenced;

static void *fenced_alloc(size_t bytes, size_t align, void *context) {
    (void)context;
    assert_true(align <= sizeof(fenced));
    size_t all = (sizeof(fenced) + bytes + FENCE + PGCN_ALIGN - 1) / PGCN_ALIGN * PGCN_ALIGN;
    fenced *block = aligned_alloc(PGCN_ALIGN, all);
    if (!block) return NULL;
    block->fence = (unsigned char *)(block + 1) + bytes;
    memset(block->fence, FENCE_BYTE, FENCE);
    return block + 1;
}

static void fenced_free(void *data, void *context) {
    (void)context;
    if (!data) return;
    fenced *block = (fenced *)data - 1;
    for (int i = 0; i < FENCE; i++)
        if (block->fence[i] != FENCE_BYTE) {
            fences_broken++;
            break;
        }
    free(block);
}

/* 65536 pairs are 1024 blocks, and a few more are half as many: as many pairs as were drawn may have more blocks than as
 * many as there might have been. */
static void test_attention_pairs_of_any_number_have_room(void **state) {
    (void)state;
    pgcn_set_allocator(&(pgcn_allocator){fenced_alloc, fenced_free, NULL});
    problem p = {.n = 3000, .graph = random_graph(3000, 22400, false, false, false, 3)};
    problem_fill(&p);
    network net;
    network_open(&net, &p,
                 "model=supergat heads=1 channels=2 layers=1 edge-loss=1 samples=1 consistency=0",
                 1);
    int64_t links = net.spatial.exact.offset[p.n];
    assert_true(1.4 * (double)links > 65536 && 1.25 * (double)links < 65536);
    pgcn_i_tape_forward(&net.tape);
    network_close(&net);
    problem_free(&p);
    pgcn_set_allocator(NULL);
    assert_int_equal(fences_broken, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_dropout_keeps_the_mean),
        cmocka_unit_test(test_attention_loss_of_links_that_nothing_is_known_of_is_log_2),
        cmocka_unit_test(test_attention_pairs_without_a_link_are_not_links),
        cmocka_unit_test(test_attention_pairs_are_drawn_anew_in_every_step),
        cmocka_unit_test(test_attention_pairs_of_any_number_have_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
