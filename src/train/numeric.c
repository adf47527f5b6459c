/* After a number that is not finite: where it comes from, in a sentence. Called when a loss or a
 * prediction is not finite, so that it costs nothing otherwise. */
#include "train/train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Beyond this a feature is not of the size of the others, whatever they are: products with it lose all
 * digits of what they are added to. */
static const double EXTREME = 1e6;

/* "; feature column 'income' has values up to 1e+38 ...", or "" where no column is extreme. */
static bool extreme_column(const pgcn_i_input *input, const char *(*name_of)(const void *, int64_t),
                           const void *of, char *out, size_t bytes) {
    int64_t column;
    double largest = pgcn_i_input_largest(input, &column);
    if (largest < EXTREME) return false;
    const char *name = name_of(of, column);
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)column);
    snprintf(out, bytes,
             "feature column %s%.80s%s has values of %.3g as the first layer reads them",
             name ? "'" : "", name ? name : number, name ? "'" : "", largest);
    return true;
}

/* ---- training ---------------------------------------------------------------------------------- */

static const char *name_in_data(const void *data, int64_t j) {
    return pgcn_dataset_feature_name(data, j);
}

pgcn_status pgcn_i_fail_loss(const pgcn_trainer *trainer, const char *which) {
    const pgcn_i_progress *progress = &trainer->progress;
    char best[64] = "no epoch has good weights yet", column[256];
    if (progress->best >= 0)
        snprintf(best, sizeof best, "the best weights are those of epoch %lld",
                 (long long)progress->best + 1);
    bool extreme =
        extreme_column(trainer->input, name_in_data, trainer->data, column, sizeof column);
    bool steps = pgcn_i_network_has(pgcn_i_network_of(&trainer->config), &pgcn_i_step_size);
    return pgcn_i_fail(PGCN_ERR_NUMERIC, "the %s loss of epoch %lld is not finite; %s; %s%s%s",
                       which, (long long)progress->epochs + 1, best,
                       extreme ? column : "lower the learning rates (lr-ends, lr-mix, lr-kernel)",
                       !extreme && steps ? ", lower the size of a step (step)," : "",
                       extreme ? ": rescale or remove it" : " or scale the features");
}

/* ---- prediction -------------------------------------------------------------------------------- */

static const char *name_in_model(const void *of, int64_t j) {
    return pgcn_model_feature_name(of, j);
}

/* "layer 2 (layers.1.weight)": the last parameter on the way to the operation says where it is. */
static void name_place(const pgcn_i_tape *tape, const pgcn_i_op *bad, char *out, size_t bytes) {
    static const char layers[] = "layers.";
    const pgcn_i_param *param = NULL;
    for (const pgcn_i_op *op = tape->op; op <= bad; op++)
        for (int j = 1; j >= 0; j--)
            if (op->param[j]) param = op->param[j];
    if (!param)
        snprintf(out, bytes, "the inputs");
    else if (strncmp(param->name, layers, strlen(layers)) == 0)
        snprintf(out, bytes, "layer %ld (%s)", strtol(param->name + strlen(layers), NULL, 10) + 1,
                 param->name);
    else
        snprintf(out, bytes, "%s",
                 strncmp(param->name, "embed", 5) == 0 ? "the first layer (embed.weight)"
                                                       : param->name);
}

pgcn_status pgcn_i_fail_prediction(const pgcn_model *model, const pgcn_dataset *data,
                                   const pgcn_i_input *input, pgcn_i_tape *tape) {
    const pgcn_i_op *bad = pgcn_i_tape_first_bad(tape);
    char place[128] = "the last layer", column[256];
    if (bad) name_place(tape, bad, place, sizeof place);
    bool extreme = extreme_column(input, name_in_model, model, column, sizeof column);
    return pgcn_i_fail(PGCN_ERR_NUMERIC,
                       "the model cannot predict data set %s: the values of %s are not finite; %s",
                       data->name, place,
                       extreme ? column
                               : "its weights are too large for it; train it again with lower "
                                 "learning rates (lr-ends, lr-mix, lr-kernel)");
}
