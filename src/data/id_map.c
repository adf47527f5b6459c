/* Text ids to numbers: a hash table with open addressing over one block of text. Equal means equal bytes:
 * "7" and "07" are two ids. Called by own_files.c. One writer at a time. */
#include "data/id_map.h"

#include <string.h>

enum { FIRST_SLOTS = 1024 };

/* 64-bit multiply and fold, 8 bytes at a time. Only the slot in the table depends on it, no result. */
static uint64_t hash_of(const char *id, size_t length) {
    uint64_t hash = length * UINT64_C(0x9e3779b97f4a7c15);
    for (; length > 0;) {
        uint64_t word = 0;
        size_t piece = length < 8 ? length : 8;
        memcpy(&word, id, piece);
        hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
        id += piece;
        length -= piece;
    }
    return hash * UINT64_C(0xc4ceb9fe1a85ec53) >> 20;
}

const char *pgcn_i_id_map_text(const pgcn_i_id_map *map, int64_t number) {
    int64_t offset;
    memcpy(&offset, map->offset.data + number * (int64_t)sizeof offset, sizeof offset);
    return map->text.data + offset;
}

/* The slot of an id, or the free slot for it. */
static int64_t find_slot(const pgcn_i_id_map *map, const char *id) {
    int64_t mask = map->slots - 1, at = (int64_t)hash_of(id, strlen(id)) & mask;
    while (map->slot[at] && strcmp(pgcn_i_id_map_text(map, map->slot[at] - 1), id) != 0)
        at = (at + 1) & mask;
    return at;
}

int64_t pgcn_i_id_map_find(const pgcn_i_id_map *map, const char *id) {
    return map->slots ? (int64_t)map->slot[find_slot(map, id)] - 1 : -1;
}

static pgcn_status grow(pgcn_i_id_map *map) {
    int64_t slots = map->slots ? 4 * map->slots : FIRST_SLOTS;
    int32_t *slot = pgcn_i_alloc(slots, sizeof *slot);
    if (!slot) return PGCN_ERR_MEMORY;
    pgcn_i_free(map->slot);
    map->slot = slot;
    map->slots = slots;
    for (int64_t i = 0; i < map->count; i++)
        slot[find_slot(map, pgcn_i_id_map_text(map, i))] = (int32_t)i + 1;
    return PGCN_OK;
}

pgcn_status pgcn_i_id_map_add(pgcn_i_id_map *map, const char *id, int64_t *number) {
    if (2 * (map->count + 1) > map->slots) PGCN_TRY(grow(map));
    int64_t at = find_slot(map, id);
    if (map->slot[at]) {
        *number = map->slot[at] - 1;
        return PGCN_OK;
    }
    if (map->count == INT32_MAX - 1)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "there are more than %d different ids, which is more "
                           "nodes than a graph may have",
                           INT32_MAX - 1);
    int64_t length = (int64_t)strlen(id) + 1;
    int64_t *offset = pgcn_i_buffer_add(&map->offset, (int64_t)sizeof *offset);
    if (!offset) return PGCN_ERR_MEMORY;
    *offset = map->text.bytes;
    char *text = pgcn_i_buffer_add(&map->text, length);
    if (!text) return PGCN_ERR_MEMORY;
    memcpy(text, id, (size_t)length);
    *number = map->count++;
    map->slot[at] = (int32_t)map->count;
    return PGCN_OK;
}

pgcn_status pgcn_i_push_i32(pgcn_i_buffer *buffer, int64_t value) {
    int32_t *added = pgcn_i_buffer_add(buffer, (int64_t)sizeof *added);
    if (!added) return PGCN_ERR_MEMORY;
    *added = (int32_t)value;
    return PGCN_OK;
}

void pgcn_i_id_map_free(pgcn_i_id_map *map) {
    pgcn_i_buffer_free(&map->text);
    pgcn_i_buffer_free(&map->offset);
    pgcn_i_free(map->slot);
    *map = (pgcn_i_id_map){0};
}
