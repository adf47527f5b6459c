/* For the tests of compressed text: gzip members made by ISA-L. Include after scratch_help.h. */
#ifndef PGCN_TEST_GZIP_HELP_H
#define PGCN_TEST_GZIP_HELP_H

#include <isa-l.h>

#include <stdlib.h>
#include <string.h>

/* One member; free() it. */
static inline unsigned char *gzip_member(const void *data, size_t bytes, size_t *out_bytes) {
    size_t room = bytes + bytes / 8 + 4096;
    unsigned char *out = malloc(room), *level_buffer = malloc(ISAL_DEF_LVL1_DEFAULT);
    struct isal_zstream stream;
    isal_deflate_stateless_init(&stream);
    stream.gzip_flag = IGZIP_GZIP;
    stream.level = 1;
    stream.level_buf = level_buffer;
    stream.level_buf_size = ISAL_DEF_LVL1_DEFAULT;
    stream.end_of_stream = 1;
    stream.flush = NO_FLUSH;
    stream.next_in = (uint8_t *)(uintptr_t)data;
    stream.avail_in = (uint32_t)bytes;
    stream.next_out = out;
    stream.avail_out = (uint32_t)room;
    assert_int_equal(isal_deflate_stateless(&stream), COMP_OK);
    free(level_buffer);
    *out_bytes = stream.total_out;
    return out;
}

/* A file of one member that holds this text. */
static inline const char *scratch_gzip(const char *file, const void *data, size_t bytes) {
    size_t packed_bytes;
    unsigned char *packed = gzip_member(data, bytes, &packed_bytes);
    const char *path = scratch_write(file, packed, packed_bytes);
    free(packed);
    return path;
}

#endif
