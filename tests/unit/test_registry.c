/* registry.c: the table of published sets is complete and consistent, and agrees with the upstream
 * files where they are at hand ($PATHGCN_DATA/raw). */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "published_help.h"

#include "data/registry.h"

#include <ctype.h>

/* The eleven node and four graph sets of the paper. */
static const char *const paper[] = {"cora",       "citeseer",  "pubmed", "chameleon", "cornell",
                                    "texas",      "wisconsin", "film",   "ppi",       "wikics",
                                    "ogbn-arxiv", "MUTAG",     "PTC_MR", "PROTEINS",  "NCI1"};

static void test_registry_holds_every_set_of_the_paper(void **state) {
    (void)state;
    pgcn_published set;
    int in_paper = 0;
    for (size_t i = 0; i < sizeof paper / sizeof paper[0]; i++) {
        assert_true(pgcn_published_find(paper[i], &set));
        assert_string_equal(set.name, paper[i]);
        assert_true(set.in_paper);
        assert_int_equal(set.graphs, i >= 11);
    }
    for (int i = 0; pgcn_published_get(i, &set); i++) in_paper += set.in_paper;
    assert_int_equal(in_paper, 15);
    assert_false(pgcn_published_get(-1, &set));
}

static void test_registry_finds_aliases_and_any_case(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"actor", "film"},    {"Cora", "cora"},      {"PTC", "PTC_MR"},     {"mutag", "MUTAG"},
        {"WikiCS", "wikics"}, {"wiki-cs", "wikics"}, {"ptc-GIN", "PTC-gin"}};
    pgcn_published set;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        assert_true(pgcn_published_find(pairs[i][0], &set));
        assert_string_equal(set.name, pairs[i][1]);
    }
    assert_false(pgcn_published_find("", &set));
    assert_false(pgcn_published_find("cora2", &set));
    assert_false(pgcn_published_find("../cora", &set));
}

static void assert_file_entry(const pgcn_i_remote_file *file) {
    assert_true(*file->path && file->path[0] != '/' && !strstr(file->path, ".."));
    assert_true(file->bytes >= 0);
    size_t digits = strlen(file->sha256);
    assert_true(digits == 0 || digits == 64);
    for (size_t i = 0; i < digits; i++)
        assert_true(isdigit((unsigned char)file->sha256[i]) ||
                    (file->sha256[i] >= 'a' && file->sha256[i] <= 'f'));
}

static void assert_part(const pgcn_i_remote_part *part) {
    assert_int_equal(strncmp(part->url, "https://", 8), 0);
    assert_true(part->files > 0);
    if (part->archive.path)
        assert_file_entry(&part->archive);
    else
        assert_int_equal(part->url[strlen(part->url) - 1], '/');
    for (int f = 0; f < part->files; f++) {
        assert_file_entry(&part->file[f]);
        /* or an archive may claim any size for a member */
        if (part->archive.path)
            assert_true(*part->archive.sha256 ||
                        (part->file[f].bytes > 0 && *part->file[f].sha256));
        for (int g = 0; g < f; g++) assert_string_not_equal(part->file[f].path, part->file[g].path);
    }
}

static void test_registry_entries_are_well_formed(void **state) {
    (void)state;
    const pgcn_i_remote_set *set;
    for (int i = 0; (set = pgcn_i_registry_get(i)); i++) {
        const pgcn_published *about = &set->about;
        assert_true(*about->name && *about->summary && *about->licence && *about->reference);
        assert_int_equal(strncmp(about->home, "https://", 8), 0);
        assert_non_null(about->alias);
        assert_non_null(about->note);
        assert_true(set->parts >= 1 && set->parts <= PGCN_I_MAX_PARTS);
        for (int p = 0; p < set->parts; p++) assert_part(&set->part[p]);
        for (int k = 0; k < i; k++) {
            const pgcn_published *other = &pgcn_i_registry_get(k)->about;
            assert_string_not_equal(about->name, other->name);
            assert_string_not_equal(about->alias, other->name);
        }
    }
}

static void test_registry_tells_the_two_facts_about_geom_gcn(void **state) {
    (void)state;
    pgcn_published set;
    assert_true(pgcn_published_find("cornell", &set));
    assert_non_null(strstr(set.note, "texas"));
    static const char *const split[] = {"cora",    "citeseer", "pubmed",    "chameleon",
                                        "cornell", "texas",    "wisconsin", "film"};
    for (size_t i = 0; i < sizeof split / sizeof split[0]; i++) {
        assert_true(pgcn_published_find(split[i], &set));
        assert_non_null(strstr(set.note, "48/32/20"));
    }
    /* and the first is visible in the table itself */
    const pgcn_i_remote_part *cornell = &pgcn_i_registry_find("cornell")->part[0];
    const pgcn_i_remote_part *texas = &pgcn_i_registry_find("texas")->part[0];
    assert_string_equal(cornell->file[1].path, "out1_node_feature_label.txt");
    assert_string_equal(cornell->file[1].sha256, texas->file[1].sha256);
    assert_string_not_equal(cornell->file[0].sha256, texas->file[0].sha256);
}

static void test_registry_counts_transfers_and_their_bytes(void **state) {
    (void)state;
    pgcn_published set;
    assert_true(pgcn_published_find("cora", &set));
    assert_int_equal(set.files, 18);
    assert_int_equal(set.bytes, 592074);
    assert_true(pgcn_published_find("ogbn-arxiv", &set));
    assert_int_equal(set.files, 1);
    assert_int_equal(set.bytes, 83058288);
}

static void test_registry_is_documented(void **state) {
    (void)state;
    const char *source = getenv("PATHGCN_SOURCE");
    char path[4096];
    snprintf(path, sizeof path, "%s/docs/DATASETS.md", source ? source : "");
    FILE *file = source ? fopen(path, "r") : NULL;
    if (!file) {
        print_message("SKIPPED: PATHGCN_SOURCE does not name the source tree\n");
        skip();
    }
    static char text[1 << 17];
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    for (char *c = text; *c; c++)
        if (*c == '\n') *c = ' '; /* a sentence may go over the end of a line */
    pgcn_published set;
    for (int i = 0; pgcn_published_get(i, &set); i++) {
        char heading[64];
        snprintf(heading, sizeof heading, "| `%s`", set.name);
        if (!strstr(text, heading)) fail_msg("docs/DATASETS.md does not describe %s", set.name);
        if (!strstr(text, set.home)) fail_msg("docs/DATASETS.md lacks %s", set.home);
        if (!strstr(text, set.licence)) fail_msg("docs/DATASETS.md lacks '%s'", set.licence);
    }
}

static void test_registry_agrees_with_the_upstream_files(void **state) {
    (void)state;
    const char *data = published_data();
    const pgcn_i_remote_set *set;
    int compared = 0;
    for (int i = 0; (set = pgcn_i_registry_get(i)); i++) {
        char folder[4096], path[8192];
        snprintf(folder, sizeof folder, "%s/raw/%s", data, set->about.name);
        if (!pgcn_i_is_directory(folder)) continue;
        for (int p = 0; p < set->parts; p++)
            for (int f = 0; f < set->part[p].files; f++) {
                const pgcn_i_remote_file *file = &set->part[p].file[f];
                snprintf(path, sizeof path, "%s/%s%s", folder, set->part[p].folder, file->path);
                assert_true(file->bytes > 0 && *file->sha256);
                bool right;
                assert_int_equal(pgcn_i_file_is(path, file, &right), PGCN_OK);
                if (!right) fail_msg("%s is another file", path);
                compared++;
            }
    }
    if (compared == 0) {
        print_message("SKIPPED: PATHGCN_DATA has no folder raw\n");
        skip();
    }
    assert_int_equal(compared, 3 * 8 + 5 * 2 + 8 * 10 + 1 + 5 + 5 + 5 + 4 + 4 * 21);
}

/* A set of that name is told in AUC if it has two classes, as the published ones have. */
static void test_registry_names_the_measure_of_published_results(void **state) {
    (void)state;
    static const int32_t label[] = {0, 1, 0}, other[] = {0, 1, 2};
    static const uint8_t train[] = {1, 0, 0}, val[] = {0, 1, 0}, test[] = {0, 0, 1};
    static const float x[] = {1, 2, 3};
    static const pgcn_node from[] = {0, 1}, to[] = {1, 2};
    pgcn_graph *graph;
    assert_int_equal(pgcn_graph_from_edges(3, 2, from, to, NULL, NULL, &graph), PGCN_OK);
    for (int i = 0; i < 3; i++) {
        pgcn_dataset_arrays arrays = pgcn_dataset_arrays_default();
        pgcn_dataset *data;
        arrays.name = i == 2 ? "cora" : "Minesweeper";
        arrays.graph = graph;
        arrays.n_features = 1;
        arrays.features = x;
        arrays.label = i == 1 ? other : label;
        arrays.n_splits = 1;
        arrays.train = train, arrays.val = val, arrays.test = test;
        assert_int_equal(pgcn_dataset_from_arrays(&arrays, &data), PGCN_OK);
        assert_int_equal(pgcn_dataset_describe(data).measure,
                         i == 0 ? PGCN_MEASURE_AUC : PGCN_MEASURE_ACCURACY);
        pgcn_dataset_free(data);
    }
    pgcn_graph_free(graph);
    assert_int_equal(pgcn_i_registry_measure("questions:directed"), PGCN_MEASURE_AUC);
    assert_int_equal(pgcn_i_registry_measure("question"), PGCN_MEASURE_ACCURACY);
    assert_int_equal(pgcn_i_registry_measure(NULL), PGCN_MEASURE_ACCURACY);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registry_holds_every_set_of_the_paper),
        cmocka_unit_test(test_registry_finds_aliases_and_any_case),
        cmocka_unit_test(test_registry_entries_are_well_formed),
        cmocka_unit_test(test_registry_tells_the_two_facts_about_geom_gcn),
        cmocka_unit_test(test_registry_counts_transfers_and_their_bytes),
        cmocka_unit_test(test_registry_is_documented),
        cmocka_unit_test(test_registry_agrees_with_the_upstream_files),
        cmocka_unit_test(test_registry_names_the_measure_of_published_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
