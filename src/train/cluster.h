/* Trainings of several ranks (cluster.c): what trainer.c calls at the beginning and end of its public functions. Alone
 * all of it does nothing. */
#ifndef PGCN_CLUSTER_H
#define PGCN_CLUSTER_H

#include "train/train.h"

/* Rank 0 tells the others to make a trainer, to free it, to run an epoch, to score the best weights; and what a resume
 * has read. */
void pgcn_i_cluster_new(pgcn_i_cluster *cluster, const pgcn_dataset *data,
                        const pgcn_config *config);
void pgcn_i_cluster_free(const pgcn_i_cluster *cluster);
void pgcn_i_cluster_epoch(const pgcn_i_cluster *cluster);
void pgcn_i_cluster_scores(const pgcn_i_cluster *cluster);
void pgcn_i_cluster_state(pgcn_trainer *trainer);
/* Rank 0 tells the others to predict all items of the data with it, by pgcn_i_session_serve(). False: it is alone. */
bool pgcn_i_cluster_infer(const pgcn_model *model, const pgcn_dataset *data,
                          const pgcn_inference *inference);
/* The first failure of any rank, with its sentence and host, on all of them. */
pgcn_status pgcn_i_cluster_agree(pgcn_status status);
/* What rank 0 answers. */
bool pgcn_i_cluster_ask(const pgcn_i_cluster *cluster, bool answer);
/* A failure in the middle of a step, after which ranks cannot go on. */
pgcn_status pgcn_i_cluster_status(const pgcn_i_cluster *cluster);
/* Of features that are divided: what the others have of magnitudes. */
void pgcn_i_cluster_largest(pgcn_i_input *input);
/* Adds the probabilities of masked items to the tally of every rank, each of which has those of its own rows. */
void pgcn_i_cluster_tally(pgcn_i_tally *tally, const pgcn_i_loss *loss,
                          const pgcn_i_target *target);
/* Around every step, to count what comes in. */
void pgcn_i_cluster_step_begin(pgcn_i_cluster *cluster);
void pgcn_i_cluster_step_end(pgcn_i_cluster *cluster);

#endif
