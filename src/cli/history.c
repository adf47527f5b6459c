/* A line of history.jsonl: what an epoch of a training did. */
#include "cli/cli.h"

/* Adds the measure that --select names, unless it is one of those that every line has. */
static void put_selected(json_t *line, const pgcn_epoch *epoch, pgcn_select select) {
    char name[32], key[64];
    if (select <= PGCN_SELECT_ACCURACY) return;
    cli_measure_key((pgcn_measure)(select - 1), name);
    snprintf(key, sizeof key, "val_%s", name);
    json_object_set_new(line, key, cli_json_real(epoch->val_measure));
    snprintf(key, sizeof key, "test_%s", name);
    json_object_set_new(line, key, cli_json_real(epoch->test_measure));
}

void cli_put_reads(json_t *object, const pgcn_row_reads *reads) {
    if (!reads) return;
    json_object_set_new(object, "row_hits", json_integer((json_int_t)reads->hits));
    json_object_set_new(object, "row_misses", json_integer((json_int_t)reads->misses));
    json_object_set_new(object, "row_bytes_read", json_integer((json_int_t)reads->bytes));
}

bool cli_write_history_line(FILE *file, const pgcn_epoch *epoch, const pgcn_config *config,
                            const pgcn_row_reads *reads) {
    json_t *line = json_pack(
        "{s:o, s:I, s:o, s:o, s:o, s:o, s:b}", "seed", json_integer((json_int_t)config->seed),
        "epoch", (json_int_t)epoch->epoch, "train_loss", cli_json_real(epoch->train_loss),
        "val_loss", cli_json_real(epoch->val_loss), "val_accuracy",
        cli_json_real(epoch->val_accuracy), "test_accuracy", cli_json_real(epoch->test_accuracy),
        "best", (int)epoch->best);
    put_selected(line, epoch, config->select);
    cli_put_reads(line, reads);
    bool fine = line && json_dumpf(line, file, JSON_COMPACT) == 0 && fputc('\n', file) != EOF;
    json_decref(line);
    return fine;
}
