/* Walks and visits: the random words of many walks at once, their hops, and the sorting of what
 * they visit. A step is a load that depends on the one before, so walks go in batches, hop by hop,
 * and the loads of different walks overlap. Nothing here depends on the width of a register: all
 * instruction sets give the same walks.
 *
 * No threads here: paths gives each task its own walks. */
#include "kernels/philox.h"

/* Whether a bounded draw of 0 .. choices-1 must be rejected (pgcn_i_bounded in rng.h). */
ALWAYS_INLINE bool is_refused(uint64_t product, uint32_t choices) {
    return __builtin_expect((uint32_t)product < choices, 0) &&
           (uint32_t)product < (0u - choices) % choices;
}

/* All choices of a node are listed, staying included. The high half of row + word * choices is the
 * index of the chosen one: the high half of the product is the index among the node's choices, and
 * the high half of `row` adds where these begin. The low half of `row` adds the number of choices
 * to the low half of the product. After a carry, and after any draw that might have to be rejected,
 * the low half is below `doubtful`: one comparison finds both, and the caller repeats the walks one
 * by one. 0.8 ns per step on Cora; with gathers of AVX-512 it was 1.2 to 2 (Zen 4). */
static bool hop_listed(pgcn_node *restrict next, const pgcn_node *at, const uint64_t *word,
                       const pgcn_i_walk_steps *steps, int count) {
    const uint64_t *row = steps->row;
    const pgcn_node *choice = steps->choice;
    const uint32_t doubtful = steps->doubtful;
    bool refused = false;
#pragma GCC unroll 4
    for (int b = 0; b < count; b++) {
        uint64_t sum = row[at[b]];
        sum += (uint64_t)(uint32_t)word[b] * (uint32_t)sum;
        if (__builtin_expect((uint32_t)sum < doubtful, 0)) refused = true;
        next[b] = choice[sum >> 32];
    }
    return refused;
}

/* The same on the graph's own arrays, in two passes, each of which prefetches what the next one
 * reads. An index that is not a neighbour means staying, which reads the node itself: one load from
 * a selected address, without a branch. */
static bool hop_far(pgcn_node *next, const pgcn_node *at, const uint64_t *word,
                    const pgcn_i_walk_steps *steps, int count) {
    const int64_t *offset = steps->graph->offset;
    const uint32_t stay = steps->may_stay;
    const pgcn_node *chosen[PGCN_WALK_BATCH];
    bool refused = false;
    for (int b = 0; b < count; b++) {
        int64_t begin = offset[at[b]];
        uint32_t degree = (uint32_t)(offset[at[b] + 1] - begin);
        uint64_t product = (uint64_t)(uint32_t)word[b] * (degree + stay);
        refused |= is_refused(product, degree + stay);
        uintptr_t move = (uintptr_t)0 - (uintptr_t)((uint32_t)(product >> 32) < degree);
        uintptr_t place = ((uintptr_t)(steps->graph->neighbour + begin + (product >> 32)) & move) |
                          ((uintptr_t)(at + b) & ~move);
        chosen[b] = (const pgcn_node *)place;
        __builtin_prefetch(chosen[b]);
    }
    for (int b = 0; b < count; b++) {
        next[b] = *chosen[b];
        __builtin_prefetch(offset + next[b]);
    }
    return refused;
}

static bool walk_hops(pgcn_node (*nodes)[PGCN_WALK_BATCH], const pgcn_i_walk_steps *steps,
                      const pgcn_i_walk_words *words, int hops, int count) {
    uint64_t word[PGCN_WALK_HOPS][PGCN_WALK_BATCH]; /* in the low halves */
    for (int b = 0; b < count; b += PHILOX_COUNTERS)
        philox((uint64_t *[]){word[0] + b, word[1] + b, word[2] + b, word[3] + b}, words->domain,
               words->element + b, words->block);
    bool refused = false;
    for (int i = 0; i < hops; i++)
        refused |= steps->row ? hop_listed(nodes[i + 1], nodes[i], word[i], steps, count)
                              : hop_far(nodes[i + 1], nodes[i], word[i], steps, count);
    return refused;
}

/* ---- visits ------------------------------------------------------------------------------ */

enum { ROWS = PGCN_TILE_ROWS };

ALWAYS_INLINE vec_int load_ids(const pgcn_node *id) {
    vec_int v;
    memcpy(&v, id, sizeof v);
    return v;
}

/* Not left to the compiler, which unrolls a loop of 16 lanes instead of vectorising it. */
ALWAYS_INLINE vec_int least(vec_int a, vec_int b) {
#if defined(__AVX512F__)
    return (vec_int)_mm512_min_epi32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (vec_int)_mm256_min_epi32((__m256i)a, (__m256i)b);
#else
    vec_int first = a < b;
    return (first & a) | (~first & b);
#endif
}

/* The smaller ids of each lane to a, the larger ones to b. */
ALWAYS_INLINE void exchange(pgcn_node *a, pgcn_node *b) {
    for (int lane = 0; lane < ROWS; lane += LANES) {
        vec_int x = load_ids(a + lane), y = load_ids(b + lane);
        vec_int low = least(x, y), high = x ^ y ^ low;
        memcpy(a + lane, &low, sizeof low);
        memcpy(b + lane, &high, sizeof high);
    }
}

/* Batcher's merge exchange (Knuth, The Art of Computer Programming 3, algorithm 5.2.2 M): a network
 * for any p, about p log2(p)^2 / 4 exchanges, nine for p = 5. */
static void sort_lanes(pgcn_node *id, int64_t p) {
    int64_t top = 1;
    while (top * 2 < p) top *= 2;
    for (int64_t step = top; step > 0; step /= 2) {
        int64_t wide = top, from = 0, gap = step;
        for (;;) {
            for (int64_t i = 0; i + gap < p; i++)
                if ((i & step) == from) exchange(id + i * ROWS, id + (i + gap) * ROWS);
            if (wide == step) break;
            gap = wide - step;
            wide /= 2;
            from = step;
        }
    }
}

static void count_lanes(int32_t *distinct, const pgcn_node *id, int64_t p) {
    for (int lane = 0; lane < ROWS; lane += LANES) {
        vec_int count = 1 + (vec_int){0}, before = load_ids(id + lane);
        for (int64_t q = 1; q < p; q++) {
            vec_int now = load_ids(id + q * ROWS + lane);
            count -= now != before; /* a comparison is -1 where it holds */
            before = now;
        }
        memcpy(distinct + lane, &count, sizeof count);
    }
}

/* One vector of lanes, the first of which is node `first`. A later visit of a run overwrites the
 * earlier ones, so that there is no branch to predict. */
ALWAYS_INLINE void merge(const pgcn_i_merge *args, const int64_t *offset, const pgcn_node *id,
                         pgcn_node first, int lanes, bool with_rows) {
    const pgcn_node shift = args->shift, row = first + shift;
    const int64_t p = args->p;
    const float *inverse_root = args->inverse_root;
    pgcn_node *to_column = args->out.column + offset[0],
              *to_row = with_rows ? args->out.row + offset[0] : NULL;
    float *to_value = args->out.value + offset[0];
    int32_t place[LANES];
    float share[LANES];
    for (int lane = 0; lane < LANES; lane++)
        place[lane] = lane < lanes ? (int32_t)(offset[lane] - offset[0]) : 0;
    vec_int places = load_ids(place), run = {0}, before = load_ids(id);
    const vec roots = vec_load(args->root + first, lanes);
    for (int64_t q = 0; q < p; q++) {
        const pgcn_node *visit = id + q * ROWS;
        vec_int now = load_ids(visit), differs = now != before; /* -1 where it holds */
        places -= differs;
        run = (run & ~differs) + 1;
        vec shares = __builtin_convertvector(run, vec) / (float)p * roots;
        memcpy(place, &places, sizeof places);
        memcpy(share, &shares, sizeof shares);
        for (int lane = 0; lane < lanes; lane++) {
            to_column[place[lane]] = visit[lane] + shift;
            to_value[place[lane]] = share[lane] * inverse_root[visit[lane]];
            if (with_rows) to_row[place[lane]] = row + lane;
        }
        before = now;
    }
}

static void merge_lanes(const pgcn_i_merge *args, const int64_t *offset, const pgcn_node *id,
                        pgcn_node first, int lanes) {
    for (int lane = 0; lane < lanes; lane += LANES) {
        int some = lanes - lane < LANES ? lanes - lane : LANES;
        if (some == LANES && args->out.row)
            merge(args, offset + lane, id + lane, first + lane, LANES, true);
        else
            merge(args, offset + lane, id + lane, first + lane, some, args->out.row != NULL);
    }
}

static void roots(float *root, float *inverse_root, const float *degree, int64_t begin,
                  int64_t end) {
    if (degree) {
        INDEPENDENT_ITERATIONS
        for (int64_t j = begin; j < end; j++) {
            float r = __builtin_sqrtf(degree[j]);
            root[j] = r;
            inverse_root[j] = 1 / r;
        }
    } else {
        for (int64_t j = begin; j < end; j++) root[j] = inverse_root[j] = 1;
    }
}

void PGCN_I_ISA(pgcn_i_fill_walk)(pgcn_i_kernels *table) {
    table->walk_hops = walk_hops;
    table->sort_lanes = sort_lanes;
    table->count_lanes = count_lanes;
    table->merge_lanes = merge_lanes;
    table->roots = roots;
}
