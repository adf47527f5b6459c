/* JSON: src/io/json_stream.c by itself. */
#include "fuzz.h"

const fuzz_target fuzz_target_is = {.file = "a.json", .bytes_per_byte = FUZZ_ORDINARY};

pgcn_status fuzz_read(const char *path) {
    pgcn_i_json *json = NULL;
    PGCN_TRY(pgcn_i_json_open(path, &json));
    pgcn_status status = pgcn_i_json_skip(json);
    if (status == PGCN_OK) status = pgcn_i_json_end(json);
    pgcn_i_json_close(json);
    return status;
}
