/* ranks: how the rows of a tape are divided among several ranks, and fetched from each other (share.c, travel.c,
 * links.c). */
#ifndef PGCN_RANKS_H
#define PGCN_RANKS_H

#include "base/comm.h"
#include "nn/nn.h"

typedef struct pgcn_i_share pgcn_i_share;
pgcn_status pgcn_i_share_new(pgcn_i_comm *comm, pgcn_i_share **out);
void pgcn_i_share_free(pgcn_i_share *share);
/* Paths were drawn, or another view was chosen: who needs which rows has changed. NULL is fine, as in all of these. */
void pgcn_i_share_renew(pgcn_i_share *share);
/* Other rows matter than before, along the same lists. */
void pgcn_i_share_renew_live(pgcn_i_share *share);
/* Whether every operation knows how to go through the rows of one rank alone, in both passes: then lists may be divided,
 * and features. Of a tape that is planned, of whole graphs or of a part of one. */
bool pgcn_i_share_divides(const pgcn_i_tape *tape);
/* Which nodes of a graph of n are whose, for views; it lives as long as the share. */
pgcn_status pgcn_i_share_division(const pgcn_i_tape *tape, int64_t n, const pgcn_i_division **out);
/* Rows that an array of `rows` rows has room for: those of other ranks come behind, by their numbers. Memory that is
 * never touched costs nothing. */
static inline int64_t pgcn_i_share_room(const pgcn_i_tape *tape, int64_t rows) {
    return tape->share && !tape->part ? 2 * rows : rows;
}
/* Of `count` blocks of an array that ranks make together: those of this rank; */
pgcn_i_range pgcn_i_share_blocks(const pgcn_i_tape *tape, int64_t count);
/* and when each has made its own, all have all of them: `bytes` for each of the rows of the blocks. */
void pgcn_i_share_join(pgcn_i_tape *tape, void *array, int64_t bytes, pgcn_i_blocks blocks);
/* Every rank has set some of the flags of these rows: now each has those of all. */
void pgcn_i_share_flags(pgcn_i_tape *tape, uint8_t *flag, int64_t rows);
/* The groups that this process goes through, of a value of that many rows, of all samples. */
typedef struct pgcn_i_own {
    pgcn_i_blocks groups;
    int64_t first, end;  /* groups, */
    int64_t begin, stop; /* and their nodes */
} pgcn_i_own;
pgcn_i_own pgcn_i_own_of(const pgcn_i_tape *tape, int64_t rows);
/* The rows, or places in a list of those that matter, that it goes through: `count` times as many as `blocks` has, the
 * first from `first` on and each `step` after the one before. */
typedef struct pgcn_i_runs {
    int64_t first, step, count;
    pgcn_i_blocks blocks;
} pgcn_i_runs;
pgcn_i_runs pgcn_i_runs_of(const pgcn_i_tape *tape, int64_t rows, const pgcn_i_live *live);
static inline int64_t pgcn_i_runs_tasks(const pgcn_i_runs *runs) {
    return runs->count * runs->blocks.count;
}
static inline pgcn_i_range pgcn_i_runs_range(const pgcn_i_runs *runs, int64_t task) {
    int64_t shift = runs->first + task / runs->blocks.count * runs->step;
    int64_t block = task % runs->blocks.count;
    return (pgcn_i_range){shift + pgcn_i_block_begin(runs->blocks, block),
                          shift + pgcn_i_block_end(runs->blocks, block)};
}
/* Before and after a loop of the tape: fetches what it reads of other ranks. */
void pgcn_i_share_forward(pgcn_i_tape *tape, pgcn_i_loop loop);
void pgcn_i_share_forward_done(pgcn_i_tape *tape, pgcn_i_loop loop);
void pgcn_i_share_backward(pgcn_i_tape *tape, pgcn_i_loop loop);
void pgcn_i_share_backward_done(pgcn_i_tape *tape, pgcn_i_loop loop);
/* Rows that other ranks gather next may go to them while a loop makes them. Before it begins: in how many steps it has to
 * make its rows, or those of a list, or 0: all at once. */
int64_t pgcn_i_share_ahead(pgcn_i_tape *tape, pgcn_i_loop loop, const pgcn_i_live *live);
/* The groups of a step, in one sample; and their rows, or places in the list. */
typedef struct pgcn_i_slice {
    int sample;
    int64_t first, end;
    pgcn_i_runs runs;
} pgcn_i_slice;
pgcn_i_slice pgcn_i_share_slice(const pgcn_i_tape *tape, const pgcn_i_live *live, int64_t step);
/* The first `steps` of them are done. */
void pgcn_i_share_made(pgcn_i_tape *tape, int64_t steps);
/* By the thread that runs the tape, often: messages go on. */
void pgcn_i_share_progress(pgcn_i_tape *tape);
/* Rows of an array [rows of op->in[0], stride], `cols` of each, that the rows of this rank lead to along a matrix of
 * the operation's transition; for operations of several steps. */
void pgcn_i_share_fetch(pgcn_i_tape *tape, const pgcn_i_op *op, const pgcn_i_csr *along,
                        float *array, int64_t stride, int64_t cols);
/* The same along several lists of rows that all samples share. */
void pgcn_i_share_fetch_along(pgcn_i_tape *tape, const pgcn_i_op *op, pgcn_i_reach reach,
                              float *array);
/* Of links, the values of others that lead to this rank's rows, when those of all rows' links are with their ranks. */
void pgcn_i_links_to_columns(pgcn_i_tape *tape, const pgcn_i_op *op, float *array, int64_t heads);
/* Rows that are ranges on every rank, to whoever wants them: have(r) and want(r) of each rank, which all know. */
typedef pgcn_i_range (*pgcn_i_range_of)(const void *context, int rank);
void pgcn_i_share_ranges(pgcn_i_tape *tape, float *array, int64_t cols, pgcn_i_range_of have,
                         pgcn_i_range_of want, const void *context);
/* The rows of a rank, of one sample of a value of that many rows. */
pgcn_i_range pgcn_i_share_rows(const pgcn_i_tape *tape, int64_t rows, int sample, int rank);
/* The rows of a value that other ranks have, where these have them; they go on to be fetched as ever. */
void pgcn_i_share_see_all(pgcn_i_tape *tape, pgcn_i_value *value);
/* The logits of all rows on every rank; */
void pgcn_i_share_whole(pgcn_i_tape *tape, pgcn_i_value *value);
/* those of all rows on rank 0 alone; */
void pgcn_i_share_to_first(pgcn_i_tape *tape, pgcn_i_value *value);
/* and numbers [groups, each] of which every rank knows those of its own groups. */
void pgcn_i_share_numbers(const pgcn_i_tape *tape, int64_t rows, double *number, int64_t each);
/* The sum over the ranks in their order: pgcn_i_comm_relay(). */
void pgcn_i_share_relay(pgcn_i_tape *tape, float *data, int64_t count, int64_t chunk,
                        void (*add)(void *context, float *data, int64_t begin, int64_t end),
                        void *context);
/* Memory of the values of two tapes that have one memory: what has no rows of this rank, but of others. */
int64_t pgcn_i_share_resident(const pgcn_i_tape *const tape[2]);
/* Memory of messages, and of who needs what. */
int64_t pgcn_i_share_messages(const pgcn_i_share *share);
/* Bytes of rows that this rank has fetched so far. */
int64_t pgcn_i_share_fetched(const pgcn_i_share *share);
/* Room for that many floats that stays until the next call; NULL without memory, which the ranks then know. */
float *pgcn_i_share_scratch(pgcn_i_tape *tape, int64_t floats);

#endif
