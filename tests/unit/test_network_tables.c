/* The lines of tables of networks: long runs get one seed, operations are counted as in the paper,
 * and settings are those of the line. */
#include "experiments/reproduce.h"
#include "unit/nn_help.h"

static const cli_command command = {.name = "test"};

static void test_plan_long_runs_get_one_seed(void **state) {
    (void)state;
    const exp_experiment networks = {.name = "n", .networks = true}, others = {.name = "o"};
    exp_kind kinds[2] = {{.epoch_seconds = 20}, {.epoch_seconds = 1}};
    exp_job list[6] = {{.kind = 0}, {.kind = 0}, {.kind = 1},
                       {.kind = 1}, {.kind = 0}, {.kind = 0}};
    exp_jobs jobs = {.count = 6, .job = list, .kinds = 2, .kind = kinds};
    for (int i = 0; i < 6; i++) {
        list[i].config = pgcn_config_default();
        list[i].config.epochs = 100;
        list[i].config.patience = 0;
    }
    size_t slow[] = {0, 1}, fast[] = {2, 3}, elsewhere[] = {4, 5};
    exp_cell cells[3] = {{.experiment = &networks, .runs = 2, .job = slow},
                         {.experiment = &networks, .runs = 2, .job = fast},
                         {.experiment = &others, .runs = 2, .job = elsewhere}};
    exp_plan plan = {.cells = 3, .cell = cells};
    exp_plan_shorten(&plan, &jobs, 1800);
    assert_true(cells[0].one_seed && cells[0].runs == 1);
    assert_true(!cells[1].one_seed && cells[1].runs == 2);
    assert_true(!cells[2].one_seed && cells[2].runs == 2);
    assert_int_equal(list[0].state, EXP_WAITING);
    assert_int_equal(list[1].state, EXP_DROPPED);
    assert_int_equal(list[5].state, EXP_WAITING);
    assert_int_equal(exp_jobs_wanted(&jobs), 5);
}

static void test_multiply_adds_follow_the_formulas(void **state) {
    (void)state;
    exp_data set = {0};
    assert_int_equal(pgcn_dataset_load("karate", NULL, &set.data), PGCN_OK);
    pgcn_dataset_info info = pgcn_dataset_describe(set.data);
    exp_cell cell = {.data = &set, .config = pgcn_config_default()};
    cell.config.layers = 3;
    cell.config.channels = 8;
    cell.config.path_length = 5;
    cell.config.paths = 10;
    double n = (double)info.nodes, entries = 2 * (double)info.edges;
    double ends = (double)info.feature_nonzeros * 8 + n * 8 * info.classes;
    assert_true(exp_multiply_adds(&cell) == ends + 3 * (n * 5 * 10 * 8 + n * 64));
    cell.config.train_form = PGCN_FORM_EXACT;
    assert_true(exp_multiply_adds(&cell) == ends + 3 * (4 * entries * 8 + n * 64));
    cell.config.model = exp_network_number("gcn");
    assert_true(exp_multiply_adds(&cell) == ends + n * 64 + (entries + n) * (16 + info.classes));
    cell.config.model = exp_network_number("gat");
    cell.config.channels = 8;
    assert_int_equal(pgcn_config_set(&cell.config, "heads-last", "3"), PGCN_OK);
    double out = 3 * info.classes;
    assert_true(exp_multiply_adds(&cell) == (double)info.feature_nonzeros * 8 + n * 64 +
                                                n * 8 * out + (entries + 3 * n) * (16 + out));
    pgcn_dataset_free(set.data);
}

static void test_settle_line_has_its_network_depth_and_settings(void **state) {
    (void)state;
    const exp_variant gin = {.name = "GIN",
                             .network = "gin",
                             .layers = 3,
                             .change = {{.key = "channels", .value = "4"}}};
    const exp_experiment experiment = {.name = "n", .variants = &gin, .networks = true};
    const cli_arguments nothing = {0};
    const exp_request r = {.command = &command, .arguments = &nothing};
    exp_data set = {.name = "karate"};
    assert_int_equal(pgcn_dataset_load("karate", NULL, &set.data), PGCN_OK);
    exp_cell cell = {.experiment = &experiment, .variant = &gin, .dataset = "karate"};
    assert_int_equal(exp_settle(&r, &set, 2, &cell), PGCN_OK);
    assert_string_equal(pgcn_network_name(cell.config.model), "gin");
    assert_int_equal(cell.config.layers, 3);
    assert_int_equal(cell.config.channels, 4);
    assert_true(cell.unpublished); /* nobody published settings of GIN for karate */
    pgcn_dataset_free(set.data);
}

static void test_paper_mentions_data_sets_and_systems(void **state) {
    (void)state;
    const exp_place table_3[] = {EXP_TABLE_3, EXP_NOWHERE}, table_8[] = {EXP_TABLE_8, EXP_NOWHERE};
    assert_true(exp_paper_mentions(table_3, "cora", "JKNet"));
    assert_false(exp_paper_mentions(table_3, "karate", NULL));
    assert_false(exp_paper_mentions(table_8, NULL, "GCN"));
    assert_int_equal(exp_paper_decimals(EXP_TABLE_5), 2);
    assert_float_equal(exp_paper_times_of("GCNII (8 layers)")->step_ms, 13.05, 1e-9);
    assert_null(exp_paper_times_of("GCN (3 layers)"));
}

/* The line of a system in a table of networks. */
static const exp_variant *line_of(int table, const char *system) {
    const exp_experiment *e = exp_experiments;
    while (e->name && (e->table != table || !e->networks)) e++;
    const exp_variant *line = e->name ? e->variants : NULL;
    while (line && line->name && strcmp(line->name, system) != 0) line++;
    return line && line->name ? line : NULL;
}

static void test_tables_have_the_networks_of_attention_diffusion_and_energy(void **state) {
    (void)state;
    static const struct {
        const char *system, *network;
        int tables[8]; /* ends with 0 */
    } rows[] = {{"GAT", "gat", {2, 4, 5, 6, 7}}, {"SuperGAT", "supergat", {6}},
                {"GRAND", "grand", {2, 5}},      {"PDE-GCN", "pde-gcn-d", {2}},
                {"PDE-GCN_D", "pde-gcn-d", {3}}, {"PDE-GCN_M", "pde-gcn-m", {4, 7}},
                {"EGNN", "egnn", {2, 3, 5}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (const int *table = rows[i].tables; *table; table++) {
            const exp_variant *line = line_of(*table, rows[i].system);
            if (!line) fail_msg("Table %d has no %s", *table, rows[i].system);
            assert_string_equal(line->network, rows[i].network);
        }
}

/* Or nothing would stand below a line of ours, and nothing could be quoted. */
static void test_tables_lines_have_numbers_of_the_paper(void **state) {
    (void)state;
    for (const exp_experiment *e = exp_experiments; e->name; e++)
        for (const exp_variant *line = e->variants; e->networks && line->name; line++) {
            bool ours =
                e->table == 8 && (strcmp(line->name, "MLP") == 0 || strcmp(line->name, "GCN") == 0);
            if (exp_paper_mentions(e->places, NULL, line->name) == ours)
                fail_msg("Table %d and %s", e->table, line->name);
        }
}

/* What is printed below a table of one cell, in a buffer that lasts until the next call. */
static const char *legend_of(const exp_experiment *experiment, exp_cell cell) {
    static char text[1024];
    exp_plan plan = {.cells = 1, .cell = &cell};
    cell.experiment = experiment;
    FILE *stream = fmemopen(text, sizeof text, "w");
    exp_print_marks(stream, &plan, experiment);
    fputc('\0', stream);
    fclose(stream);
    return text;
}

static void test_legend_explains_the_marks_that_occur(void **state) {
    (void)state;
    const exp_variant line = {.name = "GCN"};
    const exp_paper paper = {.accuracy = 81.1};
    const exp_experiment table = {.layout = EXP_BY_SET, .networks = true, .variants = &line},
                         sweep = {.variants = &line}, bare = {.name = "semi"};
    const exp_cell plain = {.variant = &line}, like = {.variant = &line, .unpublished = true},
                   quoted = {.variant = &line, .quoted = true, .paper = &paper},
                   slow = {.variant = &line, .one_seed = true};
    assert_string_equal(legend_of(&table, plain), "");
    assert_non_null(strstr(legend_of(&table, like), "~: "));
    assert_non_null(strstr(legend_of(&sweep, like), "~: "));
    assert_string_equal(legend_of(&bare, like), ""); /* it has no column for the mark */
    assert_non_null(strstr(legend_of(&table, quoted), "'quoted': "));
    assert_null(strstr(legend_of(&table, quoted), "one seed"));
    assert_non_null(strstr(legend_of(&table, slow), "'one seed': "));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_long_runs_get_one_seed),
        cmocka_unit_test(test_multiply_adds_follow_the_formulas),
        cmocka_unit_test(test_settle_line_has_its_network_depth_and_settings),
        cmocka_unit_test(test_tables_have_the_networks_of_attention_diffusion_and_energy),
        cmocka_unit_test(test_tables_lines_have_numbers_of_the_paper),
        cmocka_unit_test(test_legend_explains_the_marks_that_occur),
        cmocka_unit_test(test_paper_mentions_data_sets_and_systems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
