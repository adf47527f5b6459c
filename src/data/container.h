/* Our own file, FILE.pgcn, as container.c reads and container_write.c writes it: the arrays of a data set as they are in memory, so that loading is mapping.
 * Little-endian.
 *
 *   0    8   "PGCNDATA"
 *   8    4   version, u32: 1; 2 if there is a section x.absent, 3 if features are not float32: older
 *            programs must not overlook that
 *   12   4   number of sections s, u32
 *   16   8   length of the file, u64
 *   24   32  SHA-256 of everything from byte 64 to the end
 *   56   8   zero
 *   64   80s table of sections: name [24] filled with NUL, type u32 (0 uint8, 1 int32, 2 int64,
 *            3 float32, 6 float16, 7 bf16, 8 int8), dimensions u32 (1 or 2), shape u64 [4] (unused ones 0), offset u64,
 *            bytes u64
 *   ...      sections in the order of the table, each at a multiple of 64; zeros between them and
 *            after the last, up to a multiple of 64
 *
 * docs/FORMATS.md lists the sections. */
#ifndef PGCN_CONTAINER_H
#define PGCN_CONTAINER_H

#include "data/data.h"

#include <string.h>

enum {
    VERSION = 1,
    VERSION_ABSENT = 2, /* some nodes have no features */
    VERSION_NARROW = 3, /* features are not float32; some nodes may have none */
    HEADER_BYTES = 64,
    ENTRY_BYTES = 80,
    NAME_BYTES = 24,
    MAX_RANK = 4,
    MAX_SECTIONS = 64,
    MAX_META_BYTES = 1 << 26,
    MAX_SPLITS = 100000
};
static const char container_magic[8] = {'P', 'G', 'C', 'N', 'D', 'A', 'T', 'A'};
static const char container_made_from[] = "container of pathgcn, made from ";

/* The numbers of types in the file are those of pgcn_i_dtype, for life. */
_Static_assert(PGCN_I_U8 == 0 && PGCN_I_I32 == 1 && PGCN_I_I64 == 2 && PGCN_I_F32 == 3,
               "types of version 1");
_Static_assert(PGCN_I_F16 == 6 && PGCN_I_BF16 == 7 && PGCN_I_I8 == 8, "types of version 3");

/* As it is in the file. */
typedef struct table_entry {
    char name[NAME_BYTES];
    uint32_t dtype, rank;
    uint64_t shape[MAX_RANK];
    uint64_t offset, bytes;
} table_entry;
_Static_assert(sizeof(table_entry) == ENTRY_BYTES, "table of version 1");

typedef struct file_header {
    char magic[8];
    uint32_t version, sections;
    uint64_t file_bytes;
    unsigned char sha256[32];
    uint64_t zero;
} file_header;
_Static_assert(sizeof(file_header) == HEADER_BYTES, "header of version 1");

static inline uint64_t aligned(uint64_t bytes) {
    return (bytes + PGCN_ALIGN - 1) / PGCN_ALIGN * PGCN_ALIGN;
}

static inline void bytes_of_hex(const char hex[65], unsigned char out[32]) {
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 32; i++)
        out[i] = (unsigned char)((strchr(digits, hex[2 * i]) - digits) << 4 |
                                 (strchr(digits, hex[2 * i + 1]) - digits));
}

#endif
