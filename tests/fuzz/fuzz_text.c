/* Lines, cells and numbers, plain or gzip: src/io/text.c, gzip.c, number.c and table.c. */
#include "fuzz.h"

/* deflate makes at most 1032 bytes of one, which may be cells of two bytes and pointers to them */
const fuzz_target fuzz_target_is = {.file = "a.txt", .bytes_per_byte = 10000};

pgcn_status fuzz_read(const char *path) {
    pgcn_i_text *text = NULL;
    pgcn_i_buffer cells = {0};
    int64_t count, length;
    pgcn_status status = pgcn_i_text_open(path, &text);
    for (bool more = true; status == PGCN_OK && more;) {
        char *line = NULL;
        status = pgcn_i_text_line(text, &line, &length);
        more = line != NULL;
        if (status == PGCN_OK && more)
            status = pgcn_i_text_split(text, line, ",; \t"[length & 3], &cells, &count);
    }
    pgcn_i_text_close(text);
    pgcn_i_buffer_free(&cells);
    if (status != PGCN_OK) return status;
    pgcn_i_table table = {0};
    pgcn_i_table_rule rule = {.dtype = PGCN_I_F32, .delimiter = ',', .columns = 2, .threads = 1};
    status = pgcn_i_table_read(path, &rule, &table);
    if (status == PGCN_OK) pgcn_i_table_free(&table);
    return status;
}
