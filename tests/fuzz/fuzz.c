/* What the fuzz targets share: the input as files, memory that is counted, and the run over a
 * corpus that `make test` does. */
#define _GNU_SOURCE
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zip.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DIE(...)                                                                                   \
    do {                                                                                           \
        fprintf(stderr, "fuzz: " __VA_ARGS__);                                                     \
        fputc('\n', stderr);                                                                       \
        abort();                                                                                   \
    } while (0)

/* ---- memory ---------------------------------------------------------------------------------- */

/* Every input may make the library allocate this much; the rest is in proportion to its length. */
enum { ANY_INPUT_BYTES = 64 << 20 };
static _Atomic int64_t live_bytes, peak_bytes, most_bytes;

static void *counted_alloc(size_t bytes, size_t align, void *context) {
    (void)context;
    int64_t live = atomic_fetch_add(&live_bytes, (int64_t)bytes) + (int64_t)bytes;
    if (live > atomic_load(&peak_bytes)) atomic_store(&peak_bytes, live);
    if (live > atomic_load(&most_bytes))
        DIE("%zu more bytes make %lld live ones, more than the %lld this input may ask for", bytes,
            (long long)live, (long long)atomic_load(&most_bytes));
    return aligned_alloc(align, bytes);
}

static void counted_free(void *block, void *context) {
    (void)context;
    atomic_fetch_sub(&live_bytes, (int64_t)malloc_usable_size(block));
    free(block);
}

/* ---- files ----------------------------------------------------------------------------------- */

static char directory[256]; /* of this process, removed at its end */

static void remove_tree(const char *path) {
    DIR *stream = opendir(path);
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        char inside[1024];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        snprintf(inside, sizeof inside, "%.500s/%.500s", path, entry->d_name);
        if (unlink(inside) != 0) remove_tree(inside);
    }
    if (stream) closedir(stream);
    rmdir(path);
}

static void remove_directory(void) {
    remove_tree(directory);
}

static void make_directory(void) {
    const char *where = getenv("FUZZ_SCRATCH"); /* tools/fuzz.sh empties it: a crash cannot */
    if (!where) where = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%.200s/pathgcn_fuzz_XXXXXX", where ? where : "/tmp");
    if (!mkdtemp(directory)) DIE("cannot make %s: %s", directory, strerror(errno));
    atexit(remove_directory);
}

static void write_file(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        DIE("cannot write %s: %s", path, strerror(errno));
}

/* A file of a bundle; names that lead elsewhere are not for us to test. */
static void write_member(const char *name, const void *data, size_t size) {
    char path[512];
    size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                 "._-/");
    if (length == 0 || name[length] || name[0] == '/' || name[length - 1] == '/' ||
        name[0] == '.' || strstr(name, "..") || strstr(name, "//") || strstr(name, "/."))
        return;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    for (char *slash = strchr(path + strlen(directory) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST) return;
        *slash = '/';
    }
    FILE *file = fopen(path, "wb"); /* not if a file is where the name wants a directory */
    if (!file) return;
    if (fwrite(data, 1, size, file) != size || fclose(file) != 0) DIE("cannot write %s", path);
}

static void zip_member(zip_t *archive, const char *name, const void *data, size_t size) {
    zip_source_t *from = zip_source_buffer(archive, data, size, 0);
    zip_int64_t index = zip_file_add(archive, name, from, ZIP_FL_OVERWRITE);
    if (index < 0)
        zip_source_free(from);
    else
        zip_set_file_compression(archive, (zip_uint64_t)index, ZIP_CM_STORE, 0);
}

static void unpack_bundle(const uint8_t *data, size_t size, const char *zip_path) {
    enum { MOST_FILES = 64 };
    const uint8_t *at = data, *end = data + size;
    int error = 0;
    zip_t *archive = zip_path ? zip_open(zip_path, ZIP_CREATE | ZIP_TRUNCATE, &error) : NULL;
    for (int files = 0; files < MOST_FILES && end - at >= 4 && memcmp(at, "=== ", 4) == 0;
         files++) {
        char name[101] = "";
        const uint8_t *line = memchr(at, '\n', (size_t)(end - at));
        if (!line || line - at - 4 > 100) break;
        memcpy(name, at + 4, (size_t)(line - at - 4));
        const uint8_t *content = line + 1;
        const uint8_t *next = memmem(content, (size_t)(end - content), "\n=== ", 5);
        size_t length = (size_t)((next ? next : end) - content);
        if (archive && name[0])
            zip_member(archive, name, content, length);
        else if (!archive)
            write_member(name, content, length);
        at = next ? next + 1 : end;
    }
    if (archive && zip_close(archive) != 0) zip_discard(archive);
}

/* ---- one input ------------------------------------------------------------------------------- */

/* The file steps.txt of a bundle, if there is one. */
static pgcn_status read_steps(const char *path, pgcn_i_steps *steps) {
    char file[PGCN_I_PATH_BYTES], *text;
    pgcn_i_arena arena = {0};
    int64_t bytes;
    bool known;
    PGCN_TRY(pgcn_i_path_join(file, path, "steps.txt"));
    if (!pgcn_i_is_directory(path) || !pgcn_i_file_exists(file)) return PGCN_OK;
    pgcn_status status = pgcn_i_file_read(file, 1 << 20, &arena, &text, &bytes);
    if (status == PGCN_OK) status = pgcn_i_steps_parse(text, steps, &known);
    pgcn_i_arena_free(&arena);
    return status;
}

/* What was read can be written as a container, and that is the same data. */
static void check_round_trip(const pgcn_dataset *data) {
    char path[512];
    pgcn_i_steps steps = {0};
    pgcn_i_source source = {0};
    pgcn_dataset *again = NULL;
    snprintf(path, sizeof path, "%s/again.pgcn", directory);
    if (pgcn_dataset_save(data, path) != PGCN_OK) DIE("cannot be saved: %s", pgcn_last_error());
    if (pgcn_i_container_verify(path) != PGCN_OK ||
        pgcn_i_container_read(path, &steps, &source) != PGCN_OK ||
        pgcn_i_dataset_build("again", path, &steps, &source, &again) != PGCN_OK ||
        pgcn_dataset_verify(again) != PGCN_OK)
        DIE("was saved and cannot be read: %s", pgcn_last_error());
    if (strcmp(pgcn_dataset_describe(data).fingerprint, pgcn_dataset_describe(again).fingerprint))
        DIE("is not the same after it was saved and read");
    pgcn_dataset_free(again);
    unlink(path);
}

pgcn_status fuzz_dataset(const char *path, pgcn_i_format_detect detect, pgcn_i_format_read read) {
    pgcn_i_steps steps = {0};
    pgcn_i_source source = {0};
    pgcn_dataset *data = NULL;
    PGCN_TRY(read_steps(path, &steps));
    (void)detect(path); /* reads bytes of the file too */
    pgcn_status status = read(path, &steps, &source);
    if (status != PGCN_OK) {
        pgcn_i_source_free(&source);
        return status;
    }
    status = pgcn_i_dataset_build("fuzz", path, &steps, &source, &data);
    if (status == PGCN_OK && pgcn_dataset_verify(data) == PGCN_OK) check_round_trip(data);
    if (status == PGCN_OK) pgcn_dataset_free(data);
    return status;
}

/* One sentence, which a terminal may show. */
static void check_error(pgcn_status status) {
    const char *sentence = pgcn_last_error();
    if (strlen(sentence) < 10) DIE("status %d without a sentence", (int)status);
    for (const char *c = sentence; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            DIE("the error holds the byte 0x%02x: %s", (unsigned char)*c, sentence);
}

static pgcn_status run_input(const uint8_t *data, size_t size) {
    static const pgcn_allocator counted = {counted_alloc, counted_free, NULL};
    char path[512];
    if (!directory[0]) make_directory();
    bool bundle = !fuzz_target_is.file;
    if (bundle || fuzz_target_is.fresh) {
        remove_tree(directory);
        if (mkdir(directory, 0700) != 0) DIE("cannot make %s: %s", directory, strerror(errno));
    }
    const char *file = bundle ? (fuzz_target_is.zip ? "/bundle.npz" : "") : fuzz_target_is.file;
    snprintf(path, sizeof path, "%s%s%s", directory, bundle ? "" : "/", file);
    if (bundle)
        unpack_bundle(data, size, fuzz_target_is.zip ? path : NULL);
    else
        write_file(path, data, size);
    atomic_store(&most_bytes, ANY_INPUT_BYTES + fuzz_target_is.bytes_per_byte * (int64_t)size);
    pgcn_i_fail(PGCN_OK, "%s", "");
    pgcn_set_allocator(&counted);
    pgcn_status status = fuzz_read(path);
    pgcn_set_allocator(NULL);
    if (atomic_load(&live_bytes) != 0)
        DIE("%lld bytes were not freed", (long long)atomic_load(&live_bytes));
    if (status != PGCN_OK) check_error(status);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    run_input(data, size);
    return 0;
}

/* ---- the corpus ------------------------------------------------------------------------------ */

#ifdef FUZZ_REPLAY

enum { MOST_SEED_BYTES = 1 << 20, CUTS = 60, CHANGES = 120 };
static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t next_random(void) { /* xorshift64*: the same changes in every run */
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545f4914f6cdd1du;
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint8_t *read_seed(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(MOST_SEED_BYTES);
    if (!file || !data) DIE("cannot read %s", path);
    *size = fread(data, 1, MOST_SEED_BYTES, file);
    fclose(file);
    return data;
}

/* In a block of its own, so that a read behind its end is seen. */
static void run_copy(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    run_input(copy, size);
    free(copy);
}

static long run_variants(uint8_t *data, size_t size) {
    static const uint8_t telling[] = {0,   1,   '\n', ' ', ',',  '-', '.',
                                      '0', '9', '[',  '{', 0x7f, 0xff};
    long runs = 0;
    size_t step = size / CUTS + 1;
    for (size_t cut = 0; cut < size; cut += step, runs++) run_copy(data, cut);
    for (int i = 0; size > 0 && i < CHANGES; i++, runs++) {
        size_t at = next_random() % size;
        uint8_t kept = data[at], word = (uint8_t)next_random();
        const uint8_t choice[3] = {telling[word % sizeof telling],
                                   (uint8_t)(kept ^ (1u << (word % 8))), word};
        data[at] = choice[i % 3];
        run_copy(data, size);
        data[at] = kept;
    }
    return runs;
}

/* good-* must be read, bad-* must be refused, others (found by a fuzzer once) only survived. */
static bool check_seed(const char *name, pgcn_status status) {
    bool good = strncmp(name, "good-", 5) == 0, bad = strncmp(name, "bad-", 4) == 0;
    if (good && status != PGCN_OK) printf("FAILED: %s was refused: %s\n", name, pgcn_last_error());
    if (bad && status == PGCN_OK) printf("FAILED: %s was read\n", name);
    if (bad && status != PGCN_OK && getenv("FUZZ_SHOW"))
        printf("%s: %s\n", name, pgcn_last_error());
    return !(good && status != PGCN_OK) && !(bad && status == PGCN_OK);
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

int main(int argc, char **argv) {
    if (argc != 2) return fprintf(stderr, "usage: %s FILE|CORPUS_DIRECTORY\n", argv[0]), 2;
    struct dirent **entry = NULL;
    double begin = seconds_now();
    int count = scandir(argv[1], &entry, NULL, by_name), seeds = 0, failed = 0;
    long runs = 0;
    if (count < 0) { /* one file: an input that crashed */
        size_t size;
        uint8_t *data = read_seed(argv[1], &size);
        pgcn_status status = run_input(data, size);
        printf("%s: %s %s\n", argv[1], pgcn_status_name(status), pgcn_last_error());
        free(data);
        return 0;
    }
    for (int i = 0; i < count; i++) {
        char path[1024];
        size_t size;
        if (entry[i]->d_name[0] != '.') {
            snprintf(path, sizeof path, "%.500s/%s", argv[1], entry[i]->d_name);
            uint8_t *data = read_seed(path, &size);
            failed += !check_seed(entry[i]->d_name, run_input(data, size));
            runs += 1 + run_variants(data, size);
            free(data);
            seeds++;
        }
        free(entry[i]);
    }
    free(entry);
    printf("%d seeds, %ld inputs in %.1f s, at most %.1f MB of memory\n", seeds, runs,
           seconds_now() - begin, (double)atomic_load(&peak_bytes) / 1e6);
    if (seeds == 0) printf("FAILED: no seed in %s\n", argv[1]);
    return failed > 0 || seeds == 0;
}

#endif
