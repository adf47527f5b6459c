/* The path convolution on the arrays of other programs (paper, eq. pathGCNAv and pathExpectation):
 *
 *   sampled  out = sum_i s_i (.) S_i x      one gather over the visit lists
 *   exact    out = sum_i s_i (.) T^i x      Horner's rule: k-1 sparse products
 *
 * Backward, for both forms, with q_i = S_i^T g or (T^T)^i g:
 *
 *   dx = sum_i s_i (.) q_i     ds_i = sum_u x[u] (.) q_i[u]
 *
 * So dx alone is the forward pass over transposed matrices. With ds, sums over the nodes go by groups of
 * nodes, and these are added in their order: the bits do not depend on the threads.
 *
 * This file has the public calls on operators, and the float kernels on blocks of rows; the same in
 * double precision is in conv_double.c. src/nn/ops_path.c has the convolution as an operation of a tape,
 * with what only a network knows: live rows, residuals, products that follow at once. */
#include "paths/conv.h"

#include <string.h>

/* ---- the operator ------------------------------------------------------------------------------ */

static void free_operator(pgcn_i_operator *shared) {
    pgcn_i_pool_free(shared->pool);
    pgcn_i_walker_free(&shared->walker);
    pgcn_i_arena_free(&shared->arena);
    pgcn_i_free(shared->scratch);
    pthread_mutex_destroy(&shared->lock);
    pgcn_i_free(shared);
}

static pgcn_status check_settings(const pgcn_paths_opts *opts, pgcn_scaling scaling,
                                  pgcn_form form) {
    if (scaling != PGCN_SCALING_WALK && scaling != PGCN_SCALING_SYMMETRIC)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "making visits: scaling is %d, but must be walk (0) or symmetric (1)",
                           (int)scaling);
    if (form != PGCN_FORM_SAMPLED && form != PGCN_FORM_EXACT)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "making visits: form is %d, but must be sampled (0) or exact (1)",
                           (int)form);
    if (form == PGCN_FORM_EXACT && opts->walk == PGCN_WALK_NODE2VEC)
        return pgcn_i_fail(
            PGCN_ERR_ARGUMENT,
            "making visits: node2vec walks have no exact form, because a step depends "
            "on the one before; use the sampled form, or uniform or weighted walks");
    if (opts->seed != 0 || opts->draw != 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "making visits: seed is %llu and draw is %llu, which do nothing here; "
                           "leave them at 0 and give both to pgcn_visits_sample()",
                           (unsigned long long)opts->seed, (unsigned long long)opts->draw);
    return pgcn_i_walk_check(opts);
}

/* The transition matrix, for the exact form and for the degrees that symmetric visits are scaled by. */
static pgcn_status fill_transition(pgcn_i_operator *shared, const pgcn_graph *graph,
                                   const pgcn_paths_opts *opts, pgcn_scaling scaling) {
    const bool exact = shared->form == PGCN_FORM_EXACT;
    if (!exact && scaling == PGCN_SCALING_WALK) return PGCN_OK;
    float *degree;
    shared->arena.read_at_random = exact;
    PGCN_TRY(pgcn_i_graph_transition(
        graph,
        (pgcn_i_transition_opts){.self_loops = opts->may_stay,
                                 .weighted = opts->walk != PGCN_WALK_UNIFORM,
                                 .scaling = scaling},
        &shared->arena, &shared->exact, exact ? &shared->exact_t : NULL, &degree));
    if (scaling == PGCN_SCALING_SYMMETRIC) shared->degree = degree;
    return PGCN_OK;
}

static pgcn_status new_operator(const pgcn_graph *graph, const pgcn_paths_opts *opts,
                                pgcn_scaling scaling, pgcn_form form, pgcn_i_operator **out) {
    pgcn_i_operator *shared = pgcn_i_alloc(1, sizeof *shared);
    if (!shared) return PGCN_ERR_MEMORY;
    pthread_mutex_init(&shared->lock, NULL); /* with default attributes it cannot fail */
    shared->form = form;
    shared->n = graph->n;
    pgcn_status status = pgcn_i_walker_init(&shared->walker, graph, opts);
    if (status == PGCN_OK) status = fill_transition(shared, graph, opts, scaling);
    if (status == PGCN_OK) status = pgcn_i_pool_new(opts->threads, &shared->pool);
    if (status != PGCN_OK) {
        free_operator(shared);
        return status;
    }
    *out = shared;
    return PGCN_OK;
}

/* One more user of the operator. After an error there is none more. */
static pgcn_status new_visits(pgcn_i_operator *shared, pgcn_visits **out) {
    pgcn_visits *visits = pgcn_i_alloc(1, sizeof *visits);
    if (!visits) return PGCN_ERR_MEMORY;
    visits->shared = shared;
    pgcn_status status = PGCN_OK;
    if (shared->form == PGCN_FORM_SAMPLED)
        status = pgcn_i_visits_new(&shared->walker, NULL, 1, true, &visits->lists);
    if (status != PGCN_OK) {
        pgcn_i_free(visits);
        return status;
    }
    pthread_mutex_lock(&shared->lock);
    shared->users++;
    pthread_mutex_unlock(&shared->lock);
    *out = visits;
    return PGCN_OK;
}

pgcn_status pgcn_visits_new(const pgcn_graph *graph, const pgcn_paths_opts *opts,
                            pgcn_scaling scaling, pgcn_form form, pgcn_visits **out) {
    PGCN_I_NEED(graph);
    PGCN_I_NEED(out);
    pgcn_paths_opts set = pgcn_paths_opts_default();
    PGCN_TRY(pgcn_i_opts_over(&set, sizeof set, opts, "pgcn_paths_opts_default"));
    PGCN_TRY(check_settings(&set, scaling, form));
    PGCN_TRY(pgcn_i_kernels_check());
    pgcn_i_operator *shared;
    PGCN_TRY(new_operator(graph, &set, scaling, form, &shared));
    pgcn_status status = new_visits(shared, out);
    if (status != PGCN_OK) free_operator(shared);
    return status;
}

pgcn_status pgcn_visits_new_beside(const pgcn_visits *visits, pgcn_visits **out) {
    PGCN_I_NEED(visits);
    PGCN_I_NEED(out);
    return new_visits(visits->shared, out);
}

void pgcn_visits_free(pgcn_visits *visits) {
    if (!visits) return;
    pgcn_i_operator *shared = visits->shared;
    pgcn_i_visits_free(visits->lists);
    pgcn_i_free(visits);
    pthread_mutex_lock(&shared->lock);
    int users = --shared->users;
    pthread_mutex_unlock(&shared->lock);
    if (users == 0) free_operator(shared);
}

pgcn_status pgcn_visits_sample(pgcn_visits *visits, uint64_t seed, uint64_t draw) {
    PGCN_I_NEED(visits);
    if (!visits->lists)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "drawing paths: these visits were made for the exact form, which has no "
                           "paths; make them for the sampled form");
    PGCN_TRY(pgcn_i_draw_check(seed, draw));
    pgcn_i_operator *shared = visits->shared;
    pthread_mutex_lock(&shared->lock);
    pgcn_i_visits_sample(visits->lists, &shared->walker, shared->pool,
                         (pgcn_i_path_draw){seed, PGCN_I_RNG_WALK, (int64_t)draw, 0},
                         shared->degree);
    pthread_mutex_unlock(&shared->lock);
    visits->drawn = true;
    return PGCN_OK;
}

pgcn_status pgcn_i_operator_scratch(pgcn_i_operator *shared, int64_t count, size_t size,
                                    void **out) {
    const int64_t bytes = count * (int64_t)size;
    if (bytes > shared->scratch_bytes) {
        void *scratch = pgcn_i_alloc(count, size);
        if (!scratch) return PGCN_ERR_MEMORY;
        pgcn_i_free(shared->scratch);
        shared->scratch = scratch;
        shared->scratch_bytes = bytes;
    }
    *out = shared->scratch;
    return PGCN_OK;
}

pgcn_status pgcn_i_pathconv_check(const pgcn_visits *visits, int64_t channels) {
    PGCN_I_NEED(visits);
    /* few enough that no product of sizes overflows: n < 2^31, k <= 2^12, a few arrays of doubles */
    if (channels < 1 || channels > INT64_C(1) << 26)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "a path convolution: channels is %lld, but must be 1 to 2^26",
                           (long long)channels);
    if (visits->lists && !visits->drawn)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "a path convolution: these visits hold no paths yet; call "
                           "pgcn_visits_sample() first");
    return PGCN_OK;
}

/* ---- one pass of Horner's rule ------------------------------------------------------------------ */

void pgcn_i_horner_pass(const pgcn_i_horner *horner, int pass, int64_t first, int64_t begin,
                        int64_t end) {
    const int k = horner->k;
    const int64_t c = horner->c, place = horner->n * first;
    const int64_t width = c - first < horner->slab ? c - first : horner->slab;
    const float *s = horner->s + first, *h = horner->h + first;
    const bool is_last = pass == k - 1;
    const pgcn_i_horner_args args = {
        .out = is_last ? horner->out + first : horner->power[(k - 2 - pass) % 2] + place,
        .out_c = is_last ? c : width,
        .x = pass == 1 ? h : horner->power[(k - 1 - pass) % 2] + place,
        .x_c = pass == 1 ? c : width,
        .h = h,
        .h_c = c,
        .width = width,
        .a = horner->t,
        .s = s + (k - 1 - pass) * c,
        .s_x = pass == 1 ? s + (k - 1) * c : NULL,
        .prefetch = horner->prefetch,
    };
    horner->kernels->horner(&args, begin, end);
}

/* ---- tasks ------------------------------------------------------------------------------------- */

/* One call, forward or backward, and what is the same for all of its tasks.
 *
 * Where channels are gathered slab by slab, the slabs are first copied one after the other, without gaps:
 * rows of 1024 bytes of which 256 are read would use a quarter of the sets of every cache (Pubmed, 256
 * channels, one core: 43 instead of 58 ms). A slab from channel `first` on starts at n * first, its
 * weights at k * first. Results leave through a tile of rows. */
typedef struct conv_call {
    const pgcn_visits *visits;
    const pgcn_i_kernels *kernels;
    int64_t n, c;
    int k;
    bool transposed;   /* over the transposed matrices */
    const float *from; /* [n, c] what is gathered: x, or the gradient g */
    const float *x;    /* [n, c] of ds */
    const float *s;    /* [k, c] */
    float *to;         /* [n, c]; NULL: dx is not wanted */
    float *packed[2];  /* slabs of `from` and of x */
    float *kernel;     /* [k, c] memory for s: spread over the channels, or as slabs */
    float *partial;    /* [groups, slabs] sums of ds */
    float *tile;       /* [threads, TILE, slab] */
    float *power[2];   /* [n, c] of the exact form */
    int64_t slab;
    pgcn_i_blocks blocks; /* of rows; groups where ds is wanted */
    int pass;
} conv_call;

enum { TILE = PGCN_BLOCK_ROWS };

static int64_t slabs_of(const conv_call *call) {
    return (call->c + call->slab - 1) / call->slab;
}
static int64_t width_of(const conv_call *call, int64_t first) {
    return call->c - first < call->slab ? call->c - first : call->slab;
}

static void run(conv_call *call, int64_t tasks, pgcn_i_task task) {
    pgcn_i_parallel(call->visits->shared->pool, tasks, task, call);
}

/* Rows of `width` numbers between matrices with rows of other sizes. */
static void copy_rows(float *to, int64_t to_c, const float *from, int64_t from_c, int64_t rows,
                      int64_t width) {
    for (int64_t r = 0; r < rows; r++)
        memcpy(to + r * to_c, from + r * from_c, (size_t)width * sizeof *to);
}

/* Task: the slabs of a block of rows. */
static void pack_task(void *context, int64_t block, int worker) {
    (void)worker;
    const conv_call *call = context;
    const float *matrix[2] = {call->from, call->x};
    const int64_t begin = pgcn_i_block_begin(call->blocks, block), c = call->c;
    const int64_t rows = pgcn_i_block_end(call->blocks, block) - begin;
    for (int m = 0; m < 2 && call->packed[m]; m++)
        for (int64_t first = 0; first < c; first += call->slab) {
            const int64_t width = width_of(call, first);
            copy_rows(call->packed[m] + call->n * first + begin * width, width,
                      matrix[m] + begin * c + first, c, rows, width);
        }
}

static pgcn_i_path_args path_args(const conv_call *call, int64_t first) {
    const pgcn_i_visits *lists = call->visits->lists;
    return (pgcn_i_path_args){.h = call->packed[0] ? call->packed[0] + call->n * first : call->from,
                              .s = call->s + call->k * first,
                              .hop = lists ? (call->transposed ? lists->hop_t : lists->hop) : NULL,
                              .k = call->k,
                              .c = width_of(call, first),
                              .width = width_of(call, first),
                              .prefetch = pgcn_i_rows_are_far(call->n, call->c)};
}

/* Task: a block of rows of a slab of channels. */
static void gather_task(void *context, int64_t task, int worker) {
    const conv_call *call = context;
    const int64_t block = task % call->blocks.count, first = task / call->blocks.count * call->slab;
    const int64_t c = call->c, end = pgcn_i_block_end(call->blocks, block);
    pgcn_i_path_args args = path_args(call, first);
    args.packed = true;
    for (int64_t at = pgcn_i_block_begin(call->blocks, block); at < end; at += TILE) {
        const pgcn_i_rows rows = {NULL, at, end - at < TILE ? end - at : TILE};
        float *tile = call->tile ? call->tile + worker * TILE * call->slab : call->to + at * c;
        call->kernels->pathconv_forward(tile, &args, rows);
        if (call->tile)
            copy_rows(call->to + at * c + first, c, tile, args.width, rows.count, args.width);
    }
}

static void power_task(void *context, int64_t task, int worker) {
    (void)worker;
    const conv_call *call = context;
    const int64_t block = task % call->blocks.count, first = task / call->blocks.count * call->slab;
    const pgcn_i_horner horner = {.kernels = call->kernels,
                                  .t = pgcn_i_hop_of(call->visits, 1, call->transposed),
                                  .h = call->from,
                                  .s = call->s,
                                  .out = call->to,
                                  .power = {call->power[0], call->to},
                                  .k = call->k,
                                  .n = call->n,
                                  .c = call->c,
                                  .slab = call->slab,
                                  .prefetch = pgcn_i_rows_are_far(call->n, call->c)};
    pgcn_i_horner_pass(&horner, call->pass, first, pgcn_i_block_begin(call->blocks, block),
                       pgcn_i_block_end(call->blocks, block));
}

/* to = sum_i s_i (.) S_i from, or of the transposed matrices. */
static void gather(conv_call *call) {
    call->blocks = pgcn_i_blocks_of(call->n);
    const int64_t tasks = call->blocks.count * slabs_of(call);
    if (call->packed[0]) run(call, call->blocks.count, pack_task);
    if (call->visits->lists || call->k == 1) run(call, tasks, gather_task);
    for (call->pass = 1; !call->visits->lists && call->pass < call->k; call->pass++)
        run(call, tasks, power_task);
}

/* Task: a group of rows of a slab of channels; dx of its rows, and its partial sums of ds. */
static void gradient_task(void *context, int64_t task, int worker) {
    const conv_call *call = context;
    const int64_t group = task % call->blocks.count, first = task / call->blocks.count * call->slab;
    const int64_t c = call->c, end = pgcn_i_block_end(call->blocks, group);
    const pgcn_i_path_args args = path_args(call, first);
    const float *x = call->packed[1] ? call->packed[1] + call->n * first : call->x;
    float *partial = call->partial + call->k * (group * c + first);
    memset(partial, 0, (size_t)(call->k * args.width) * sizeof *partial);
    for (int64_t at = pgcn_i_block_begin(call->blocks, group); at < end; at += TILE) {
        const pgcn_i_rows rows = {NULL, at, end - at < TILE ? end - at : TILE};
        float *dx = call->tile ? call->tile + worker * TILE * call->slab : call->to + at * c;
        call->kernels->pathconv_backward(dx, partial, x, &args, rows);
        if (call->tile && call->to)
            copy_rows(call->to + at * c + first, c, dx, args.width, rows.count, args.width);
    }
}

/* Task: a group of rows of pass i: q_i = T^T q_{i-1} (q_0 = g); dx += s_i (.) q_i; ds_i += x (.) q_i */
static void power_gradient_task(void *context, int64_t group, int worker) {
    (void)worker;
    const conv_call *call = context;
    const int i = call->pass;
    const int64_t c = call->c, begin = pgcn_i_block_begin(call->blocks, group);
    const int64_t end = pgcn_i_block_end(call->blocks, group);
    float *partial = call->partial + (group * call->k + i) * c, *power = call->power[i % 2];
    memset(partial, 0, (size_t)c * sizeof *partial);
    if (i > 0)
        call->kernels->gather(power + begin * c, i == 1 ? call->from : call->power[(i - 1) % 2],
                              &call->visits->shared->exact_t, begin, end, c);
    const pgcn_i_power_gradient gradient = {.dh = call->to,
                                            .ds = partial,
                                            .q = i > 0 ? power : call->from,
                                            .h = call->x,
                                            .s = call->s + i * c,
                                            .c = c,
                                            .add = i > 0};
    call->kernels->scale_dot(&gradient, begin, end);
}

/* ---- float ------------------------------------------------------------------------------------- */

/* One weight per hop becomes one per hop and channel, and slabs lie one after the other: all that the
 * loops know is [k, width]. */
static void take_weight(conv_call *call, bool depthwise, const float *weight) {
    call->s = weight;
    if (depthwise && !call->packed[0]) return;
    float *to = call->kernel;
    const int64_t slab = call->packed[0] ? call->slab : call->c;
    for (int64_t first = 0; first < call->c; first += slab)
        for (int i = 0; i < call->k; i++)
            for (int64_t ch = first; ch < call->c && ch < first + slab; ch++)
                *to++ = weight[depthwise ? i * call->c + ch : i];
    call->s = call->kernel;
}

/* The groups in their order; and then the channels, where one weight stands for all of them. */
static void add_groups(const conv_call *call, bool depthwise, float *grad_weight) {
    const int64_t c = call->c, k = call->k, slab = call->packed[0] ? call->slab : c;
    for (int64_t i = 0; i < k; i++) {
        double hop = 0;
        for (int64_t ch = 0; ch < c; ch++) {
            const int64_t first = ch / slab * slab, width = c - first < slab ? c - first : slab;
            const float *partial = call->partial + k * first + i * width + (ch - first);
            double sum = 0;
            for (int64_t group = 0; group < call->blocks.count; group++)
                sum += (double)partial[group * k * c];
            hop += sum;
            if (depthwise) grad_weight[i * c + ch] = (float)sum;
        }
        if (!depthwise) grad_weight[i] = (float)hop;
    }
}

static conv_call call_of(const pgcn_visits *visits, int64_t channels) {
    const pgcn_i_operator *shared = visits->shared;
    return (conv_call){.visits = visits,
                       .kernels = shared->walker.kernels,
                       .n = shared->n,
                       .c = channels,
                       .k = shared->walker.k,
                       .slab = pgcn_i_slab_of(shared->n, channels),
                       .blocks = pgcn_i_groups_of(shared->n, PGCN_GROUPS)};
}

/* A part of the scratch memory; counted in the first round, without memory, and given in the second. */
static float *take(float *scratch, int64_t *used, int64_t count) {
    float *part = scratch && count > 0 ? scratch + *used : NULL;
    *used += count;
    return part;
}

/* What a call needs besides the caller's arrays; with `sums` for ds. */
static pgcn_status take_scratch(conv_call *call, bool sums) {
    pgcn_i_operator *shared = call->visits->shared;
    const bool sampled = call->visits->lists || (call->k == 1 && !sums);
    const bool packed = sampled && call->slab < call->c;
    const int64_t matrix = call->n * call->c, kernel = call->k * call->c;
    const int64_t tile = pgcn_i_pool_threads(shared->pool) * TILE * call->slab;
    const bool no_dx = sums && !call->to;
    void *scratch = NULL;
    for (int round = 0; round < 2; round++) {
        int64_t used = 0;
        call->power[0] = take(scratch, &used, sampled ? 0 : matrix);
        call->power[1] = take(scratch, &used, sampled || !sums ? 0 : matrix);
        if (!sampled && no_dx) call->to = take(scratch, &used, matrix);
        call->packed[0] = take(scratch, &used, packed ? matrix : 0);
        call->packed[1] = take(scratch, &used, packed && sums ? matrix : 0);
        call->partial = take(scratch, &used, sums ? call->blocks.count * kernel : 0);
        call->kernel = take(scratch, &used, kernel);
        call->tile = take(scratch, &used, packed || (sampled && no_dx) ? tile : 0);
        if (round == 0) PGCN_TRY(pgcn_i_operator_scratch(shared, used, sizeof(float), &scratch));
    }
    return PGCN_OK;
}

pgcn_status pgcn_pathconv_forward(const pgcn_visits *visits, int64_t channels, bool depthwise,
                                  const float *x, const float *weight, float *out) {
    PGCN_TRY(pgcn_i_pathconv_check(visits, channels));
    PGCN_I_NEED(x);
    PGCN_I_NEED(weight);
    PGCN_I_NEED(out);
    conv_call call = call_of(visits, channels);
    call.from = x;
    call.to = out;
    pthread_mutex_lock(&visits->shared->lock);
    pgcn_status status = take_scratch(&call, false);
    if (status == PGCN_OK) {
        take_weight(&call, depthwise, weight);
        gather(&call);
    }
    pthread_mutex_unlock(&visits->shared->lock);
    return status;
}

/* Both gradients, or that of the weight alone. */
static void both_gradients(conv_call *call) {
    if (call->packed[0]) run(call, call->blocks.count, pack_task);
    if (call->visits->lists) run(call, call->blocks.count * slabs_of(call), gradient_task);
    for (call->pass = 0; !call->visits->lists && call->pass < call->k; call->pass++)
        run(call, call->blocks.count, power_gradient_task);
}

pgcn_status pgcn_pathconv_backward(const pgcn_visits *visits, int64_t channels, bool depthwise,
                                   const float *x, const float *weight, const float *grad_out,
                                   float *grad_x, float *grad_weight) {
    PGCN_TRY(pgcn_i_pathconv_check(visits, channels));
    PGCN_I_NEED(x);
    PGCN_I_NEED(weight);
    PGCN_I_NEED(grad_out);
    conv_call call = call_of(visits, channels);
    call.transposed = true;
    call.from = grad_out;
    call.x = x;
    call.to = grad_x;
    pthread_mutex_lock(&visits->shared->lock);
    pgcn_status status = take_scratch(&call, grad_weight != NULL);
    if (status == PGCN_OK) {
        take_weight(&call, depthwise, weight);
        if (grad_weight) {
            both_gradients(&call);
            add_groups(&call, depthwise, grad_weight);
        } else if (grad_x) {
            gather(&call);
        }
    }
    pthread_mutex_unlock(&visits->shared->lock);
    return status;
}
