/* How much memory loading a data set will take, known at once from its name and the lengths of its files: what
 * does not fit is said before it is read, with what is needed, what there is and what to do.
 *
 * Of built-in sets and arrays the sizes are known. Of text only a lower bound is known: it supposes that every number
 * is as long as numbers can be, so that nothing is refused that would fit. Called by load.c; a public function. */
#include "data/data.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    EDGE_BYTES = 24,      /* at the peak: the edges, their incoming lists, and these transposed */
    NODE_BYTES = 32,      /* offsets, labels, masks */
    CHARACTERS_EDGE = 24, /* of a line of edges, at most as a rule */
    CHARACTERS_NUMBER = 12,
    PACKED = 2 /* gzip: text is at least that much longer */
};

static int64_t length_of(const char *path) {
    struct stat about;
    return path && stat(path, &about) == 0 && S_ISREG(about.st_mode) ? (int64_t)about.st_size : 0;
}

static int64_t text_length(const char *path) {
    return length_of(path) * (path && pgcn_i_ends_with(path, ".gz") ? PACKED : 1);
}

static int64_t of_edges(int64_t edges) {
    return edges * EDGE_BYTES;
}

/* Several files may be named with commas between them. */
static int64_t edge_text(const char *path) {
    int64_t length = text_length(path);
    for (const char *at = path; length == 0 && *at;) {
        char one[PGCN_I_PATH_BYTES];
        size_t letters = strcspn(at, ",");
        snprintf(one, sizeof one, "%.*s", (int)letters, at);
        length += text_length(one);
        at += letters + (at[letters] == ',');
        if (*at == '\0') break;
    }
    return of_edges(length / CHARACTERS_EDGE);
}

static int64_t feature_file(const char *path) {
    if (!path) return 0;
    if (pgcn_i_ends_with(path, ".npy")) return length_of(path);
    return text_length(path) / CHARACTERS_NUMBER * (int64_t)sizeof(float);
}

static int64_t of_files(const pgcn_dataset_files *files) {
    return (files->edges ? edge_text(files->edges) : 0) + feature_file(files->features);
}

/* Arrays of a folder: edges as they are, then as above; features once. */
static int64_t of_folder(const char *path) {
    char file[PGCN_I_PATH_BYTES];
    int64_t bytes = 0;
    if (pgcn_i_path_join(file, path, "edges.npy") == PGCN_OK)
        bytes += of_edges(length_of(file) / (2 * (int64_t)sizeof(pgcn_node)));
    static const char *const features[] = {"x.npy", "node_attr.npy", "x_indices.npy", "x_data.npy"};
    for (size_t i = 0; i < sizeof features / sizeof *features; i++)
        if (pgcn_i_path_join(file, path, features[i]) == PGCN_OK) bytes += length_of(file);
    return bytes;
}

static int64_t of_path(const char *path) {
    const pgcn_i_format *format = pgcn_i_format_find(path);
    if (!format) return 0;
    if (format->read == pgcn_i_container_read) return pgcn_i_container_decoded(path);
    if (format->read == pgcn_i_folder_read) return of_folder(path);
    if (format->read == pgcn_i_edge_list_read) return edge_text(path);
    return 0;
}

/* Edges are gone before features are made. */
static int64_t of_builtin(const char *name) {
    pgcn_i_data_size size = pgcn_i_builtin_size(name);
    int64_t graph = of_edges(size.edges);
    int64_t rest = size.edges * 2 * (int64_t)sizeof(pgcn_node) +
                   size.nodes * size.features * (int64_t)sizeof(float);
    return size.nodes * NODE_BYTES + (graph > rest ? graph : rest);
}

pgcn_status pgcn_dataset_estimate(const char *name, const pgcn_dataset_opts *opts,
                                  const pgcn_dataset_files *files, int64_t *bytes) {
    PGCN_I_NEED(bytes);
    pgcn_dataset_files set = pgcn_dataset_files_default();
    *bytes = 0;
    PGCN_TRY(pgcn_i_opts_over(&set, sizeof set, files, "pgcn_dataset_files_default"));
    if (files) {
        *bytes = of_files(&set);
        return PGCN_OK;
    }
    PGCN_I_NEED(name);
    char path[PGCN_I_PATH_BYTES];
    if (pgcn_i_builtin_knows(name))
        *bytes = of_builtin(name);
    else if (pgcn_i_dataset_find(name, opts, path))
        *bytes = of_path(path);
    return PGCN_OK;
}

pgcn_status pgcn_i_check_fits(const char *what, int64_t bytes) {
    int64_t available = pgcn_memory_available();
    if (pgcn_i_spool_is_on() || available < 0 || bytes <= available) return PGCN_OK;
    char needed[32], free_bytes[32], path[PGCN_I_PATH_BYTES];
    pgcn_format_bytes(bytes, needed);
    pgcn_format_bytes(available, free_bytes);
    if (pgcn_i_dataset_find(what, NULL, path) && pgcn_i_container_detect(path))
        return pgcn_i_fail(
            PGCN_ERR_MEMORY,
            "data set '%.200s' needs about %s in memory, and %s are available; end other "
            "programs, or %s%s",
            what, needed, free_bytes, pgcn_i_memory_remedy(),
            pgcn_i_container_is_dense(path)
                ? ", or leave its features on disk: pathgcn train --batch 1024 --memory 2G, "
                  "predict --memory 2G, eval --memory 2G, or memory=\"2G\" in Python"
                : "");
    return pgcn_i_fail(
        PGCN_ERR_MEMORY,
        "data set '%.200s' needs about %s in memory, and %s are available; end other "
        "programs, %s, or convert it within any memory by pathgcn data convert --memory "
        "1G --store float16 --out FILE.pgcn",
        what, needed, free_bytes, pgcn_i_memory_remedy());
}
