/* The bytes of a file, decompressed while reading if it starts with the gzip magic 1f 8b (whatever its
 * name). RFC 1952: one or more members, each a header, deflate data, CRC-32 and length; ISA-L inflates
 * and checks all of it. A file that ends inside a member or goes on with anything but a member is
 * damaged. What may come out is limited, so that a small file cannot fill the memory.
 * Called by text.c and table.c. A handle belongs to one thread at a time. */
#include "io/io.h"

#include <isa-l.h>

#include <string.h>

enum { INPUT_BYTES = PGCN_I_WINDOW(1 << 17), MAX_READ = 1 << 30 };

struct pgcn_i_bytes {
    pgcn_i_reader reader;
    char *path;
    int64_t taken;                 /* from the file */
    int64_t given;                 /* to the caller */
    struct inflate_state *inflate; /* NULL: the file is plain */
    uint8_t *input;                /* [INPUT_BYTES] of a compressed file */
    char start[2]; /* first bytes of a plain file, read to detect its type and not returned yet */
    int64_t start_bytes;
    bool between; /* a member has ended and the next one has not begun */
};

void pgcn_i_bytes_close(pgcn_i_bytes *bytes) {
    if (!bytes) return;
    pgcn_i_reader_close(&bytes->reader);
    pgcn_i_free(bytes->inflate);
    pgcn_i_free(bytes->input);
    pgcn_i_free(bytes->path);
    pgcn_i_free(bytes);
}

/* Reads the first two bytes. If they are the gzip magic, prepares to inflate. */
static pgcn_status detect_gzip(pgcn_i_bytes *bytes) {
    int64_t count = bytes->reader.bytes < 2 ? bytes->reader.bytes : 2;
    PGCN_TRY(pgcn_i_reader_read(&bytes->reader, bytes->start, count));
    bytes->taken = bytes->start_bytes = count;
    if (count < 2 || memcmp(bytes->start, "\x1f\x8b", 2) != 0) return PGCN_OK;
    bytes->inflate = pgcn_i_alloc(1, sizeof *bytes->inflate);
    bytes->input = pgcn_i_alloc(INPUT_BYTES, 1);
    if (!bytes->inflate || !bytes->input) return PGCN_ERR_MEMORY;
    isal_inflate_init(bytes->inflate);
    bytes->inflate->crc_flag = ISAL_GZIP;
    memcpy(bytes->input, bytes->start, 2);
    bytes->inflate->next_in = bytes->input;
    bytes->inflate->avail_in = 2;
    return PGCN_OK;
}

pgcn_status pgcn_i_bytes_open(const char *path, pgcn_i_bytes **out) {
    pgcn_i_bytes *bytes = pgcn_i_alloc(1, sizeof *bytes);
    if (!bytes) return PGCN_ERR_MEMORY;
    bytes->reader.descriptor = -1;
    bytes->path = pgcn_i_strdup(path);
    pgcn_status status = bytes->path ? PGCN_OK : PGCN_ERR_MEMORY;
    if (status == PGCN_OK) status = pgcn_i_reader_open(&bytes->reader, bytes->path);
    if (status == PGCN_OK) status = detect_gzip(bytes);
    if (status != PGCN_OK) {
        pgcn_i_bytes_close(bytes);
        return status;
    }
    *out = bytes;
    return PGCN_OK;
}

const char *pgcn_i_bytes_path(const pgcn_i_bytes *bytes) {
    return bytes->path;
}

int64_t pgcn_i_bytes_length(const pgcn_i_bytes *bytes) {
    return bytes->reader.bytes;
}

double pgcn_i_bytes_share(const pgcn_i_bytes *bytes) {
    if (bytes->reader.bytes == 0) return 1;
    int64_t waiting = bytes->inflate ? (int64_t)bytes->inflate->avail_in : bytes->start_bytes;
    return (double)(bytes->taken - waiting) / (double)bytes->reader.bytes;
}

/* ---- plain ------------------------------------------------------------------------------------- */

static pgcn_status read_plain(pgcn_i_bytes *bytes, char *data, int64_t capacity, int64_t *got) {
    int64_t count = bytes->start_bytes < capacity ? bytes->start_bytes : capacity;
    memcpy(data, bytes->start, (size_t)count);
    memmove(bytes->start, bytes->start + count, (size_t)(bytes->start_bytes - count));
    bytes->start_bytes -= count;
    int64_t left = bytes->reader.bytes - bytes->taken;
    if (left > capacity - count) left = capacity - count;
    PGCN_TRY(pgcn_i_reader_read(&bytes->reader, data + count, left));
    bytes->taken += left;
    *got = count + left;
    return PGCN_OK;
}

/* ---- gzip -------------------------------------------------------------------------------------- */

static pgcn_status damaged(const pgcn_i_bytes *bytes, const char *found) {
    return pgcn_i_fail(
        PGCN_ERR_FORMAT,
        "decompressing '%s': %s, near byte %lld of %lld; the file is damaged, get it "
        "again or compress it again with gzip",
        bytes->path, found, (long long)(bytes->taken - bytes->inflate->avail_in),
        (long long)bytes->reader.bytes);
}

static pgcn_status check_inflated(const pgcn_i_bytes *bytes, int result) {
    switch (result) {
    case ISAL_DECOMP_OK:
    case ISAL_END_INPUT:
    case ISAL_OUT_OVERFLOW: return PGCN_OK;
    case ISAL_INVALID_WRAPPER:
    case ISAL_UNSUPPORTED_METHOD: return damaged(bytes, "found a header that is not gzip's");
    case ISAL_INCORRECT_CHECKSUM:
        return damaged(bytes, "found a checksum (CRC-32) or length that is not that of the data");
    default: return damaged(bytes, "found compressed data that is not valid");
    }
}

static pgcn_status fill_input(pgcn_i_bytes *bytes) {
    struct inflate_state *state = bytes->inflate;
    int64_t left = bytes->reader.bytes - bytes->taken;
    if (state->avail_in > 0 || left == 0) return PGCN_OK;
    if (left > INPUT_BYTES) left = INPUT_BYTES;
    PGCN_TRY(pgcn_i_reader_read(&bytes->reader, bytes->input, left));
    bytes->taken += left;
    state->next_in = bytes->input;
    state->avail_in = (uint32_t)left;
    return PGCN_OK;
}

static pgcn_status begin_member(pgcn_i_bytes *bytes) {
    struct inflate_state *state = bytes->inflate;
    if (state->next_in[0] != 0x1f)
        return damaged(bytes, "found bytes after the end of the compressed data that are no gzip");
    isal_inflate_reset(state); /* keeps crc_flag and the buffers */
    bytes->between = false;
    return PGCN_OK;
}

static pgcn_status check_bomb(const pgcn_i_bytes *bytes, int64_t text_bytes) {
    if (text_bytes <= pgcn_i_unpacked_most(bytes->reader.bytes)) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "decompressing '%s': its %lld bytes become more than 1 GiB and more than %d "
                       "times their number, as in a file made to fill the memory; if the file is "
                       "yours, decompress it with gunzip and give the result",
                       bytes->path, (long long)bytes->reader.bytes, PGCN_I_BOMB_TIMES);
}

static pgcn_status read_gzip(pgcn_i_bytes *bytes, char *data, int64_t capacity, int64_t *got) {
    struct inflate_state *state = bytes->inflate;
    state->next_out = (uint8_t *)data;
    state->avail_out = (uint32_t)capacity;
    while (state->avail_out > 0) {
        PGCN_TRY(fill_input(bytes));
        bool no_input = state->avail_in == 0;
        if (bytes->between) {
            if (no_input) break;
            PGCN_TRY(begin_member(bytes));
        }
        uint32_t room = state->avail_out;
        PGCN_TRY(check_inflated(bytes, isal_inflate(state)));
        if (state->block_state == ISAL_BLOCK_FINISH)
            bytes->between = true;
        else if (no_input && state->avail_out == room)
            return damaged(bytes, "the file ends before its compressed data does");
    }
    *got = capacity - state->avail_out;
    return check_bomb(bytes, bytes->given + *got);
}

pgcn_status pgcn_i_bytes_read(pgcn_i_bytes *bytes, void *data, int64_t capacity, int64_t *got) {
    if (capacity > MAX_READ) capacity = MAX_READ;
    PGCN_TRY(pgcn_i_stage("reading text", pgcn_i_bytes_share(bytes)));
    PGCN_TRY(bytes->inflate ? read_gzip(bytes, data, capacity, got)
                            : read_plain(bytes, data, capacity, got));
    bytes->given += *got;
    return PGCN_OK;
}
