/* Pseudo-labels: of every class the nodes that are most probably of it train too, as if that class were their label.
 *
 * They are chosen anew for every step, from the nodes that neither train nor validate and by what the weights before
 * the step predict. So they follow from these weights alone, and a resumed run chooses the same. As many of every class
 * keeps a class that is easy from crowding out the others. Called by trainer.c. */
#include "train/train.h"

#include <stdlib.h>

typedef struct candidate {
    float probability;
    int32_t label; /* predicted */
    pgcn_node node;
} candidate;

struct pgcn_i_pseudo {
    pgcn_i_target target; /* training nodes with their labels, and the chosen ones */
    int32_t *label;       /* [nodes] of the target, */
    uint8_t *mask;        /* [nodes] */
    candidate *candidate; /* [nodes] */
    int64_t epochs;       /* that the weights had when they were chosen; -1: not yet */
};

pgcn_status pgcn_i_pseudo_new(pgcn_i_arena *arena, int64_t nodes, pgcn_i_pseudo **out) {
    pgcn_i_pseudo *pseudo = PGCN_I_ARRAY(arena, pgcn_i_pseudo, 1);
    if (!pseudo) return PGCN_ERR_MEMORY;
    pseudo->label = PGCN_I_ARRAY(arena, int32_t, nodes);
    pseudo->mask = PGCN_I_ARRAY(arena, uint8_t, nodes);
    pseudo->candidate = PGCN_I_ARRAY(arena, candidate, nodes);
    pseudo->epochs = -1;
    *out = pseudo;
    return pseudo->label && pseudo->mask && pseudo->candidate ? PGCN_OK : PGCN_ERR_MEMORY;
}

/* By class, the most probable first; equal ones by number. */
static int compare(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->label != y->label) return x->label < y->label ? -1 : 1;
    if (x->probability != y->probability) return x->probability > y->probability ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static int64_t list_candidates(pgcn_i_pseudo *pseudo, const pgcn_i_split *split, int64_t nodes,
                               const float *probability, int classes) {
    int64_t count = 0;
    for (int64_t i = 0; i < nodes; i++) {
        if (split->train[i] || split->val[i]) continue;
        const float *row = probability + i * classes;
        int best = pgcn_i_best_class(row, classes);
        pseudo->candidate[count++] = (candidate){row[best], best, (pgcn_node)i};
    }
    qsort(pseudo->candidate, (size_t)count, sizeof *pseudo->candidate, compare);
    return count;
}

void pgcn_i_pseudo_choose(pgcn_i_pseudo *pseudo, const pgcn_dataset *data,
                          const pgcn_i_split *split, const float *probability, int each,
                          int64_t epochs) {
    int64_t nodes = data->info.items, chosen = 0;
    pgcn_i_target *target = &pseudo->target;
    int64_t count = list_candidates(pseudo, split, nodes, probability, data->classes);
    *target = (pgcn_i_target){.label = pseudo->label, .mask = pseudo->mask};
    for (int64_t i = 0; i < nodes; i++) {
        pseudo->label[i] = data->label[i];
        pseudo->mask[i] = split->train[i] && pgcn_i_source_has_label(&data->from, i);
        target->masked += pseudo->mask[i];
    }
    for (int64_t i = 0; i < count; i++) {
        const candidate *c = &pseudo->candidate[i];
        chosen = i > 0 && c[-1].label == c->label ? chosen + 1 : 1; /* of this class */
        if (chosen > each) continue;
        pseudo->label[c->node] = c->label;
        pseudo->mask[c->node] = 1;
        target->masked++;
    }
    pseudo->epochs = epochs;
}

bool pgcn_i_pseudo_is_of(const pgcn_i_pseudo *pseudo, int64_t epochs) {
    return pseudo->epochs == epochs;
}

pgcn_i_target pgcn_i_pseudo_target(const pgcn_i_pseudo *pseudo) {
    return pseudo->target;
}
