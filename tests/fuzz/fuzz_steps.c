/* The steps after the colon of a name: src/data/steps.c. */
#include "fuzz.h"

const fuzz_target fuzz_target_is = {.file = "steps.txt", .bytes_per_byte = FUZZ_ORDINARY};

pgcn_status fuzz_read(const char *path) {
    pgcn_i_arena arena = {0};
    char *text, canonical[PGCN_I_STEPS_TEXT];
    int64_t bytes;
    bool known = false;
    pgcn_i_steps steps = {0};
    pgcn_status status = pgcn_i_file_read(path, 1 << 20, &arena, &text, &bytes);
    if (status == PGCN_OK) status = pgcn_i_steps_parse(text, &steps, &known);
    if (status == PGCN_OK) pgcn_i_steps_text(&steps, canonical);
    pgcn_i_arena_free(&arena);
    return status;
}
