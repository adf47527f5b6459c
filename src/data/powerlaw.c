/* The built-in set `powerlaw`: a large synthetic graph with the properties that decide the speed of
 * walks and gathers on real ones: hubs, classes, small communities, and ids in random order.
 *
 * A degree-corrected block model with two levels. Nodes have a hidden order: class by class, in
 * a class community by community. An edge is of one of two kinds:
 *   local     joins two nodes of a community; every node has about the same number of these
 *   weighted  from a node of weight w to one drawn by weight, in the same class or in another
 * In a class of n nodes weights fall like (rank + x)^(-1 / (exponent - 1)), rank = 0 .. n-1, so
 * that the number of nodes of degree d falls like d^-exponent. x keeps the largest ones so small
 * that few edges are drawn twice; those become one edge. Hubs are at random positions of their
 * class.
 *
 * Every random number is a function of (seed, what it is for, element): a name always means the
 * same data. Serial, O(nodes + edges), thread-safe. Called by builtin.c. */
#include "data/data.h"

#include <math.h>

/* Per local edge of a node, its community has this many nodes: dense enough to be found again. */
enum { NODES_PER_LOCAL_EDGE = 16, LEAST_COMMUNITY = 16 };
enum { TELL_EVERY = 1 << 16 };

/* Expected edges between the two largest nodes of a class are at most the square of this. */
static const double largest_overlap = 4;

/* Length of the class means in units of the noise. At the default size the nearest class mean finds
 * 31 per cent of the test labels, and 80 and 98 per cent after averaging each node with its
 * neighbours once and twice. */
static const double mean_length = 1;

static const double train_share = 0.54, val_share = 0.18; /* as in ogbn-arxiv */

typedef struct model {
    const pgcn_i_powerlaw *set;
    double local_per_node;   /* local edges that a node begins */
    double within;           /* share of the weighted edges that stay in the class */
    int64_t local, weighted; /* edges of each kind */
    double power, shift;     /* 1 - 1 / (exponent - 1), and x */
    double least;            /* x^power */
    const double *total;     /* [classes] sum of the weights of a class */
    const pgcn_node *node;   /* [nodes] node at a position of the hidden order */
    const pgcn_node *ranked; /* [nodes] the node of a rank, by class */
    pgcn_node *from, *to;    /* [edges] */
    int64_t count;           /* of edges that are drawn */
} model;

static int64_t class_begin(const pgcn_i_powerlaw *set, int64_t class) {
    return set->nodes * class / set->classes;
}

/* Integral of the weights of the first `ranks` of a class, without the factor that all have. */
static double weight_up_to(const model *m, double ranks) {
    return pow(ranks + m->shift, m->power) - m->least;
}

static void set_shift(model *m, double shift) {
    m->shift = shift;
    m->least = pow(shift, m->power);
}

/* The rank in a class of n nodes with total weight `total` at which the cumulative weight reaches
 * this share. */
static int64_t rank_at(const model *m, int64_t n, double total, double share) {
    int64_t rank = (int64_t)(pow(m->least + share * total, 1 / m->power) - m->shift);
    return rank < 0 ? 0 : rank < n ? rank : n - 1; /* rounding may step over the end */
}

/* The smallest x at which the first node of a class has no more than its share. */
static void choose_shift(model *m) {
    const pgcn_i_powerlaw *set = m->set;
    double n = (double)set->nodes / set->classes;
    double within = 2 * m->within * (double)m->weighted / set->classes;
    double between = 2 * (1 - m->within) * (double)m->weighted;
    double most = fmin(largest_overlap / sqrt(within + 1),
                       largest_overlap * set->classes / sqrt(between + 1));
    double low = 0, high = n * 1000; /* there all weights are nearly equal */
    set_shift(m, 0);
    if (weight_up_to(m, 1) <= most * weight_up_to(m, n)) return;
    for (int i = 0; i < 100; i++) {
        set_shift(m, 0.5 * (low + high));
        if (weight_up_to(m, 1) > most * weight_up_to(m, n))
            low = m->shift;
        else
            high = m->shift;
    }
    set_shift(m, high);
}

static void add_edge(model *m, pgcn_node from, pgcn_node to) {
    m->from[m->count] = from;
    m->to[m->count++] = to;
}

/* A community is a circle, and each node picks partners in the half in front of it, one in each of
 * equal parts: no edge is drawn twice, none is a self-loop. */
static void draw_local(model *m) {
    const pgcn_i_powerlaw *set = m->set;
    pgcn_i_rng_domain domain = pgcn_i_data_domain(set->seed, PGCN_I_DRAW_EDGE, 1);
    int64_t usual = (int64_t)ceil(NODES_PER_LOCAL_EDGE * m->local_per_node);
    if (usual < LEAST_COMMUNITY) usual = LEAST_COMMUNITY;
    for (int64_t class = 0; class < set->classes; class ++) {
        int64_t first = class_begin(set, class), n = class_begin(set, class + 1) - first;
        int64_t communities = n / usual > 1 ? n / usual : 1;
        for (int64_t c = 0; c < communities; c++) {
            int64_t begin = first + n * c / communities, end = first + n * (c + 1) / communities;
            int64_t size = end - begin, half = (size - 1) / 2;
            for (int64_t i = begin; i < end; i++) {
                pgcn_i_stream stream = pgcn_i_stream_of(domain, (uint64_t)i);
                int64_t edges = (int64_t)floor((double)(i + 1) * m->local_per_node) -
                                (int64_t)floor((double)i * m->local_per_node);
                if (edges > half) edges = half;
                for (int64_t e = 0; e < edges; e++) {
                    int64_t low = half * e / edges, high = half * (e + 1) / edges;
                    int64_t ahead = 1 + low + pgcn_i_bounded(&stream, (uint32_t)(high - low));
                    add_edge(m, m->node[i], m->node[begin + (i - begin + ahead) % size]);
                }
            }
        }
    }
}

/* The other end of weighted edge e from a node of `class`. The few that are the node itself are
 * left out when the graph is built. */
static pgcn_node draw_target(const model *m, pgcn_i_rng_domain domain, int64_t e, int64_t class) {
    const pgcn_i_powerlaw *set = m->set;
    uint32_t word[4];
    pgcn_i_rng_words(domain, (uint64_t)e, 0, word);
    double share = (double)(((uint64_t)word[0] << 32 | word[1]) >> 11) * 0x1p-53;
    bool same = (double)word[2] * 0x1p-32 < m->within;
    int64_t other = (int64_t)((uint64_t)word[3] * (uint64_t)(set->classes - 1) >> 32);
    int64_t of = same ? class : other + (other >= class);
    int64_t first = class_begin(set, of), n = class_begin(set, of + 1) - first;
    return m->ranked[first + rank_at(m, n, m->total[of], share)];
}

/* A node of weight w begins w / 2 of the edges, to the nearest whole number in the sum over the
 * ranks, and is on average the target of as many. */
static void draw_weighted(model *m) {
    const pgcn_i_powerlaw *set = m->set;
    pgcn_i_rng_domain domain = pgcn_i_data_domain(set->seed, PGCN_I_DRAW_EDGE, 0);
    for (int64_t class = 0, e = 0; class < set->classes; class ++) {
        int64_t first = class_begin(set, class), n = class_begin(set, class + 1) - first;
        int64_t before = m->weighted * class / set->classes;
        int64_t edges = m->weighted * (class + 1) / set->classes - before;
        for (int64_t rank = 0; rank < n; rank++) {
            double up_to = (double)edges * weight_up_to(m, (double)(rank + 1)) / m->total[class];
            int64_t end = before + (rank + 1 < n ? (int64_t)floor(up_to + 0.5) : edges);
            for (; e < end; e++)
                add_edge(m, m->ranked[first + rank], draw_target(m, domain, e, class));
        }
    }
}

/* The nodes of every class in a second random order, by which they get their weights. */
static void rank_nodes(const model *m, pgcn_node *ranked) {
    const pgcn_i_powerlaw *set = m->set;
    for (int64_t class = 0; class < set->classes; class ++) {
        int64_t first = class_begin(set, class), n = class_begin(set, class + 1) - first;
        pgcn_i_shuffle(pgcn_i_data_domain(set->seed, PGCN_I_DRAW_ORDER, 1 + (int)class), n,
                       ranked + first);
        for (int64_t i = first; i < first + n; i++) ranked[i] = m->node[first + ranked[i]];
    }
}

static pgcn_status draw_graph(model *m, pgcn_graph **out) {
    const pgcn_i_powerlaw *set = m->set;
    double homophily = set->homophily, local = fmin(set->local, homophily);
    m->local_per_node = local * (double)set->edges / (double)set->nodes;
    m->local = (int64_t)floor(local * (double)set->edges);
    m->weighted = set->edges - m->local;
    m->within = local < 1 ? (homophily - local) / (1 - local) : 1;
    m->power = 1 - 1 / (set->exponent - 1);
    choose_shift(m);
    pgcn_i_arena arena = {0};
    pgcn_node *ranked = PGCN_I_ARRAY(&arena, pgcn_node, set->nodes);
    double *total = PGCN_I_ARRAY(&arena, double, set->classes);
    m->ranked = ranked;
    m->total = total;
    m->from = PGCN_I_ARRAY(&arena, pgcn_node, set->edges + 1); /* one more: floors of sums */
    m->to = PGCN_I_ARRAY(&arena, pgcn_node, set->edges + 1);
    pgcn_status status = PGCN_ERR_MEMORY;
    if (ranked && total && m->from && m->to) {
        for (int64_t class = 0; class < set->classes; class ++)
            total[class] =
                weight_up_to(m, (double)(class_begin(set, class + 1) - class_begin(set, class)));
        rank_nodes(m, ranked);
        status = pgcn_i_stage("drawing edges", 0);
        if (status == PGCN_OK) draw_local(m);
        if (status == PGCN_OK) status = pgcn_i_stage("drawing edges", 0.5);
        if (status == PGCN_OK) draw_weighted(m);
        pgcn_i_arena_drop(&arena, ranked);
    }
    if (status == PGCN_OK) {
        status = pgcn_graph_from_edges(set->nodes, m->count, m->from, m->to, NULL, NULL, out);
    }
    pgcn_i_arena_free(&arena); /* freed before the features are made: the peak is lower */
    return status;
}

/* ---- features -------------------------------------------------------------------------------- */

/* Means of the classes: random directions of one length, [classes, features]. */
static void draw_means(const pgcn_i_powerlaw *set, float *mean) {
    for (int64_t class = 0; class < set->classes; class ++) {
        float *row = mean + class * set->features;
        double squares = 0;
        for (int64_t f = 0; f < set->features; f++) { /* a stream would end after 2^18 words */
            pgcn_i_stream stream =
                pgcn_i_stream_of(pgcn_i_data_domain(set->seed, PGCN_I_DRAW_MEAN, 0),
                                 (uint64_t)(class * set->features + f));
            row[f] = (float)pgcn_i_normal(&stream);
            squares += (double)row[f] * (double)row[f];
        }
        for (int64_t f = 0; f < set->features; f++)
            row[f] = (float)((double)row[f] * mean_length / sqrt(squares));
    }
}

/* Sum of the four bytes of a word, shifted and scaled to mean 0 and deviation 1: close enough to a
 * normal number for noise, and many times as fast. */
static float noise_of(uint32_t word) {
    uint32_t pairs = (word & 0x00ff00ffu) + (word >> 8 & 0x00ff00ffu);
    int32_t sum = (int32_t)((pairs & 0xffffu) + (pairs >> 16));
    return (float)(sum - 510) * 0.0067659085f; /* 1 / sqrt(4 (256^2 - 1) / 12) */
}

static pgcn_status draw_features(const pgcn_i_powerlaw *set, const int32_t *label,
                                 pgcn_i_source *source) {
    int64_t columns = set->features, groups = (columns + 3) / 4, count;
    if (!pgcn_i_mul(set->nodes, columns, &count))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "powerlaw: nodes times features is too large");
    pgcn_i_rng_domain domain = pgcn_i_data_domain(set->seed, PGCN_I_DRAW_FEATURE, 0);
    float *mean = PGCN_I_ARRAY(&source->edge_arena, float, set->classes *columns);
    float *dense = PGCN_I_ARRAY(&source->arena, float, count);
    if (!mean || !dense) return PGCN_ERR_MEMORY;
    draw_means(set, mean);
    for (int64_t i = 0; i < set->nodes; i++) {
        if (i % TELL_EVERY == 0)
            PGCN_TRY(pgcn_i_stage("drawing features", (double)i / (double)set->nodes));
        const float *centre = mean + label[i] * columns;
        float *row = dense + i * columns;
        for (int64_t group = 0; group < groups; group++) {
            uint32_t word[4];
            int64_t first = 4 * group, here = columns - first < 4 ? columns - first : 4;
            pgcn_i_rng_words(domain, (uint64_t)(i * groups + group), 0, word);
            for (int64_t f = 0; f < here; f++)
                row[first + f] = centre[first + f] + noise_of(word[f]);
        }
    }
    source->x = (pgcn_i_features){.n = set->nodes, .columns = columns, .dense = dense};
    return PGCN_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static pgcn_status draw_split(const pgcn_i_powerlaw *set, pgcn_i_source *source) {
    int64_t *train = PGCN_I_ARRAY(&source->edge_arena, int64_t, set->classes);
    int64_t *val = PGCN_I_ARRAY(&source->edge_arena, int64_t, set->classes);
    if (!train || !val) return PGCN_ERR_MEMORY;
    for (int64_t class = 0; class < set->classes; class ++) { /* each part has a node of a class */
        int64_t n = class_begin(set, class + 1) - class_begin(set, class);
        train[class] = (int64_t)fmax(1, floor(train_share * (double)n));
        val[class] = (int64_t)fmax(1, floor(val_share * (double)n));
    }
    pgcn_i_quotas quotas = {.items = set->nodes,
                            .class_of = source->label,
                            .classes = set->classes,
                            .quota = {train, val, NULL}};
    return pgcn_i_draw_splits(source, &quotas, set->seed, 1);
}

pgcn_status pgcn_i_powerlaw_make(const pgcn_i_powerlaw *set, pgcn_i_source *source) {
    int32_t *label = PGCN_I_ARRAY(&source->arena, int32_t, set->nodes);
    pgcn_node *node = PGCN_I_ARRAY(&source->edge_arena, pgcn_node, set->nodes);
    if (!label || !node) return PGCN_ERR_MEMORY;
    pgcn_i_shuffle(pgcn_i_data_domain(set->seed, PGCN_I_DRAW_ORDER, 0), set->nodes, node);
    for (int64_t class = 0; class < set->classes; class ++)
        for (int64_t at = class_begin(set, class); at < class_begin(set, class + 1); at++)
            label[node[at]] = (int32_t) class;
    source->nodes = set->nodes;
    source->label = label;
    source->classes = set->classes;
    model m = {.set = set, .node = node};
    PGCN_TRY(draw_graph(&m, &source->graph));
    PGCN_TRY(draw_features(set, label, source));
    PGCN_TRY(draw_split(set, source));
    pgcn_i_arena_free(&source->edge_arena);
    return PGCN_OK;
}
