/* The table of published data sets: the eleven node and four graph sets of the paper, and variants
 * of them that people compare with. Where the files of each set are, what they must be, who made
 * them and under which terms. docs/DATASETS.md is the same for users; tests/unit/test_registry.c
 * checks the one against the other.
 *
 * The URLs are those that the common loaders use (PyTorch Geometric, DGL, OGB). Where a file has
 * no SHA-256 here, no copy was at hand whose origin is certain. A licence is named only where the
 * publisher names it. Read-only: any thread may call. Called by download.c and the command line. */
#include "data/registry.h"

#include "data/registry_files.h"

#include <string.h>
#include <strings.h>

#define GITHUB    "https://raw.githubusercontent.com/"
#define PLANETOID "https://github.com/kimiyoung/planetoid/raw/master/data/"
#define GEOM_GCN  GITHUB "graphdml-uiuc-jlu/geom-gcn/master/"
/* chameleon is not on the main branch any more */
#define GEOM_GCN_WIKI GITHUB "graphdml-uiuc-jlu/geom-gcn/f1fc0d14b3b019c562737240d06ec83b07d16a8f/"
#define HETEROPHILOUS                                                                              \
    GITHUB "yandex-research/heterophilous-graphs/a431395582e929d88271309716bea4fe24ce6318/data/"
#define DGCNN GITHUB "muhanzhang/pytorch_DGCNN/master/data/"
#define TU    "https://www.chrsmrrs.com/graphkerneldatasets/"

#define NO_LICENCE        "none stated with the files"
#define PLANETOID_LICENCE "none stated for the data; the planetoid repository is under MIT"

#define YANG   "; split: Yang, Cohen, Salakhutdinov, ICML 2016"
#define PEI    "; form and splits: Pei et al., Geom-GCN, ICLR 2020"
#define MORRIS "; collection: Morris et al., TUDataset, 2020 (arXiv:2007.08663)"
#define HELMA  "Helma et al., The predictive toxicology challenge, Bioinformatics 2001"
#define CRAVEN "Craven et al., Learning to extract symbolic knowledge from the web, AAAI 1998" PEI
#define XU     "; form: Zhang et al., AAAI 2018; Xu et al., GIN, ICLR 2019"

#define SPLITS_NOTE "the splits called 60/20/20 by Geom-GCN are 48/32/20"
#define GIN_NOTE    "text form of DGCNN and GIN with its ten folds; some graphs are in no test fold"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))
#define FILES(url_, files_)                                                                        \
    { .url = (url_), .folder = "", .file = (files_), .files = COUNT(files_) }
#define SPLITS(url_, files_)                                                                       \
    { .url = url_ "splits/", .folder = "splits/", .file = (files_), .files = COUNT(files_) }
#define ARCHIVE(url_, name_, bytes_, sha256_, members_)                                            \
    {                                                                                              \
        .url = (url_), .folder = "", .archive = {(name_), (bytes_), (sha256_)},                    \
        .file = (members_), .files = COUNT(members_)                                               \
    }

/* clang-format off */
static const pgcn_i_remote_set sets[] = {
    {.about = {.name = "cora", .alias = "", .in_paper = true,
        .summary = "2,708 papers, 1,433 words, 7 classes; public split and ten of Geom-GCN",
        .home = "https://github.com/kimiyoung/planetoid",
        .licence = PLANETOID_LICENCE,
        .reference = "Sen et al., Collective classification in network data, AI Magazine 2008" YANG,
        .note = "the Geom-GCN splits are 48/32/20 of 2,485 nodes; the other 223 are in none"},
     .parts = 2, .part = {FILES(PLANETOID, cora_files), SPLITS(GEOM_GCN, cora_splits)}},
    {.about = {.name = "citeseer", .alias = "", .in_paper = true,
        .summary = "3,327 papers, 3,703 words, 6 classes; public split and ten of Geom-GCN",
        .home = "https://github.com/kimiyoung/planetoid",
        .licence = PLANETOID_LICENCE,
        .reference = "Sen et al., Collective classification in network data, AI Magazine 2008" YANG,
        .note = "15 papers have no features and no label; " SPLITS_NOTE},
     .parts = 2, .part = {FILES(PLANETOID, citeseer_files), SPLITS(GEOM_GCN, citeseer_splits)}},
    {.about = {.name = "pubmed", .alias = "", .in_paper = true,
        .summary = "19,717 papers, 500 words, 3 classes; public split and ten of Geom-GCN",
        .home = "https://github.com/kimiyoung/planetoid",
        .licence = PLANETOID_LICENCE,
        .reference = "Namata et al., Query-driven active surveying, MLG 2012" YANG,
        .note = SPLITS_NOTE},
     .parts = 2, .part = {FILES(PLANETOID, pubmed_files), SPLITS(GEOM_GCN, pubmed_splits)}},
    {.about = {.name = "chameleon", .alias = "", .in_paper = true,
        .summary = "2,277 Wikipedia pages, 2,325 nouns, 5 classes of traffic; ten splits",
        .home = "https://github.com/graphdml-uiuc-jlu/geom-gcn",
        .licence = NO_LICENCE,
        .reference = "Rozemberczki, Allen, Sarkar, Multi-scale attributed node embedding, 2021" PEI,
        .note = SPLITS_NOTE},
     .parts = 2, .part = {FILES(GEOM_GCN_WIKI "new_data/chameleon/", chameleon_files),
                          SPLITS(GEOM_GCN_WIKI, chameleon_splits)}},
    {.about = {.name = "cornell", .alias = "", .in_paper = true,
        .summary = "183 web pages, 1,703 words, 5 classes; ten splits",
        .home = "https://github.com/graphdml-uiuc-jlu/geom-gcn",
        .licence = NO_LICENCE,
        .reference = CRAVEN,
        .note = "the published node file is that of texas, only the edges differ (cornell_fixed is "
                "the corrected set); " SPLITS_NOTE},
     .parts = 2, .part = {FILES(GEOM_GCN "new_data/cornell/", cornell_files),
                          SPLITS(GEOM_GCN, cornell_splits)}},
    {.about = {.name = "texas", .alias = "", .in_paper = true,
        .summary = "183 web pages, 1,703 words, 5 classes; ten splits",
        .home = "https://github.com/graphdml-uiuc-jlu/geom-gcn",
        .licence = NO_LICENCE,
        .reference = CRAVEN,
        .note = SPLITS_NOTE},
     .parts = 2, .part = {FILES(GEOM_GCN "new_data/texas/", texas_files),
                          SPLITS(GEOM_GCN, texas_splits)}},
    {.about = {.name = "wisconsin", .alias = "", .in_paper = true,
        .summary = "251 web pages, 1,703 words, 5 classes; ten splits",
        .home = "https://github.com/graphdml-uiuc-jlu/geom-gcn",
        .licence = NO_LICENCE,
        .reference = CRAVEN,
        .note = SPLITS_NOTE},
     .parts = 2, .part = {FILES(GEOM_GCN "new_data/wisconsin/", wisconsin_files),
                          SPLITS(GEOM_GCN, wisconsin_splits)}},
    {.about = {.name = "film", .alias = "actor", .in_paper = true,
        .summary = "7,600 actors, 932 keywords, 5 classes; ten splits",
        .home = "https://github.com/graphdml-uiuc-jlu/geom-gcn",
        .licence = NO_LICENCE,
        .reference = "Tang et al., Social influence analysis in large-scale networks, KDD 2009" PEI,
        .note = SPLITS_NOTE},
     .parts = 2, .part = {FILES(GEOM_GCN "new_data/film/", film_files),
                          SPLITS(GEOM_GCN, film_splits)}},
    {.about = {.name = "ppi", .alias = "", .in_paper = true,
        .summary = "24 protein graphs, 56,944 nodes, 50 features, 121 labels; inductive split",
        .home = "https://data.dgl.ai",
        .licence = NO_LICENCE,
        .reference = "Zitnik, Leskovec, Bioinformatics 2017; Hamilton, Ying, Leskovec, GraphSAGE, "
                     "NeurIPS 2017",
        .note = "DGL's form of GraphSAGE's files: features are standardised, every node has a "
                "self-loop"},
     .parts = 1, .part = {ARCHIVE("https://data.dgl.ai/dataset/ppi.zip", "ppi.zip", 7088822,
        "1f5b2b09ac0f897fa6aa1338c64ab75a5473674cbba89380120bede8cddb2a6a", ppi_members)}},
    {.about = {.name = "wikics", .alias = "wiki-cs", .in_paper = true,
        .summary = "11,701 Wikipedia articles, 300 features, 10 classes; twenty splits",
        .home = "https://github.com/pmernyei/wiki-cs-dataset",
        .licence = "MIT (of the repository that publishes it)",
        .reference = "Mernyei, Cangea, Wiki-CS, 2020 (arXiv:2007.02901)",
        .note = ""},
     .parts = 1, .part = {FILES("https://github.com/pmernyei/wiki-cs-dataset/raw/master/dataset/",
                                wikics_files)}},
    {.about = {.name = "ogbn-arxiv", .alias = "ogbn_arxiv", .in_paper = true,
        .summary = "169,343 papers, 1,166,243 citations, 128 features, 40 classes; split by year",
        .home = "https://ogb.stanford.edu",
        .licence = "ODC-BY (as the Open Graph Benchmark states it)",
        .reference = "Hu et al., Open Graph Benchmark, NeurIPS 2020",
        .note = ""},
     .parts = 1, .part = {ARCHIVE("https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip",
        "arxiv.zip", 83058288,
        "49f85c801589ecdcc52cfaca99693aaea7b8af16a9ac3f41dd85a5f3193fe276", ogbn_arxiv_members)}},
    {.about = {.name = "MUTAG", .alias = "", .graphs = true, .in_paper = true,
        .summary = "188 molecules, 7 node labels, 2 classes",
        .home = "https://chrsmrrs.github.io/datasets/",
        .licence = NO_LICENCE,
        .reference = "Debnath et al., J. Med. Chem. 34(2), 1991" MORRIS,
        .note = ""},
     .parts = 1, .part = {ARCHIVE(TU "MUTAG.zip", "MUTAG.zip", 0, "", mutag_members)}},
    {.about = {.name = "PTC_MR", .alias = "PTC", .graphs = true, .in_paper = true,
        .summary = "344 molecules, 18 node labels, 2 classes",
        .home = "https://chrsmrrs.github.io/datasets/",
        .licence = NO_LICENCE,
        .reference = HELMA MORRIS,
        .note = "not the PTC of GIN's archive, which has other node counts (PTC-gin)"},
     .parts = 1, .part = {ARCHIVE(TU "PTC_MR.zip", "PTC_MR.zip", 0, "", ptc_mr_members)}},
    {.about = {.name = "PROTEINS", .alias = "", .graphs = true, .in_paper = true,
        .summary = "1,113 proteins, 3 node labels and an attribute, 2 classes",
        .home = "https://chrsmrrs.github.io/datasets/",
        .licence = NO_LICENCE,
        .reference = "Borgwardt et al., Protein function prediction via graph kernels, 2005" MORRIS,
        .note = ""},
     .parts = 1, .part = {ARCHIVE(TU "PROTEINS.zip", "PROTEINS.zip", 0, "", proteins_members)}},
    {.about = {.name = "NCI1", .alias = "", .graphs = true, .in_paper = true,
        .summary = "4,110 molecules, 37 node labels, 2 classes",
        .home = "https://chrsmrrs.github.io/datasets/",
        .licence = NO_LICENCE,
        .reference = "Wale, Karypis, Comparison of descriptor spaces, ICDM 2006" MORRIS,
        .note = ""},
     .parts = 1, .part = {ARCHIVE(TU "NCI1.zip", "NCI1.zip", 0, "", nci1_members)}},
    {.about = {.name = "cornell_fixed", .alias = "",
        .summary = "cornell with its own features, labels and edges; ten splits",
        .home = "https://github.com/yandex-research/heterophilous-graphs",
        .licence = "none stated for the data; the repository is under MIT",
        .reference = "Platonov et al., A critical look at heterophily, ICLR 2023",
        .note = ""},
     .parts = 1, .part = {FILES(HETEROPHILOUS, cornell_fixed_files)}},
    {.about = {.name = "MUTAG-gin", .alias = "", .graphs = true,
        .summary = "188 molecules, 7 node labels, 2 classes, ten folds",
        .home = "https://github.com/muhanzhang/pytorch_DGCNN",
        .licence = NO_LICENCE,
        .reference = "Debnath et al., J. Med. Chem. 34(2), 1991" XU,
        .note = GIN_NOTE},
     .parts = 1, .part = {FILES(DGCNN "MUTAG/", mutag_gin_files)}},
    {.about = {.name = "PTC-gin", .alias = "", .graphs = true,
        .summary = "344 molecules, 19 node labels, 2 classes, ten folds",
        .home = "https://github.com/muhanzhang/pytorch_DGCNN",
        .licence = NO_LICENCE,
        .reference = HELMA XU,
        .note = GIN_NOTE},
     .parts = 1, .part = {FILES(DGCNN "PTC/", ptc_gin_files)}},
    {.about = {.name = "PROTEINS-gin", .alias = "", .graphs = true,
        .summary = "1,113 proteins, 3 node labels, 2 classes, ten folds",
        .home = "https://github.com/muhanzhang/pytorch_DGCNN",
        .licence = NO_LICENCE,
        .reference = "Borgwardt et al., Protein function prediction via graph kernels, 2005" XU,
        .note = GIN_NOTE},
     .parts = 1, .part = {FILES(DGCNN "PROTEINS/", proteins_gin_files)}},
    {.about = {.name = "NCI1-gin", .alias = "", .graphs = true,
        .summary = "4,110 molecules, 37 node labels, 2 classes, ten folds",
        .home = "https://github.com/muhanzhang/pytorch_DGCNN",
        .licence = NO_LICENCE,
        .reference = "Wale, Karypis, Comparison of descriptor spaces, ICDM 2006" XU,
        .note = "text form of DGCNN and GIN with its ten folds"},
     .parts = 1, .part = {FILES(DGCNN "NCI1/", nci1_gin_files)}},
};
/* clang-format on */

const pgcn_i_remote_set *pgcn_i_registry_get(int i) {
    return i >= 0 && i < COUNT(sets) ? &sets[i] : NULL;
}

const pgcn_i_remote_set *pgcn_i_registry_find(const char *name) {
    if (!name) return NULL;
    for (int i = 0; i < COUNT(sets); i++)
        if (strcasecmp(sets[i].about.name, name) == 0) return &sets[i];
    for (int i = 0; i < COUNT(sets); i++)
        if (*sets[i].about.alias && strcasecmp(sets[i].about.alias, name) == 0) return &sets[i];
    return NULL;
}

/* Data sets of two unbalanced classes, whose publishers report ROC-AUC (Platonov et al., A critical
 * look at heterophily, ICLR 2023). They are read as files and have no entry above. */
static const char *const reported_by_auc[] = {"minesweeper", "tolokers", "questions"};

pgcn_measure pgcn_i_registry_measure(const char *name) {
    size_t length = name ? strcspn(name, ":") : 0; /* steps follow a colon */
    for (int i = 0; i < COUNT(reported_by_auc); i++)
        if (strlen(reported_by_auc[i]) == length &&
            strncasecmp(reported_by_auc[i], name, length) == 0)
            return PGCN_MEASURE_AUC;
    return PGCN_MEASURE_ACCURACY;
}

void pgcn_i_registry_count(const pgcn_i_remote_set *set, int *files, int64_t *bytes) {
    *files = 0;
    *bytes = 0;
    for (int p = 0; p < set->parts; p++) {
        const pgcn_i_remote_part *part = &set->part[p];
        bool archive = part->archive.path != NULL;
        *files += archive ? 1 : part->files;
        *bytes += archive ? part->archive.bytes : 0;
        for (int f = 0; !archive && f < part->files; f++) *bytes += part->file[f].bytes;
    }
}

static bool describe(const pgcn_i_remote_set *set, pgcn_published *out) {
    if (!set) return false;
    if (!out) return true;
    *out = set->about;
    pgcn_i_registry_count(set, &out->files, &out->bytes);
    return true;
}

bool pgcn_published_get(int i, pgcn_published *out) {
    return describe(pgcn_i_registry_get(i), out);
}

bool pgcn_published_find(const char *name, pgcn_published *out) {
    return describe(pgcn_i_registry_find(name), out);
}
