/* The key of a job: a hash of everything that its record depends on, and of nothing else. That is
 * the data, the masks of its splits, the settings, and the revision of the results' bits, so that a
 * search that is resumed after an upgrade does not mix results of two versions. */
#include "experiments/experiments.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

/* Changed when the format of records changes, so that old ones are not read as new ones. */
static const char record_format[] = "pathgcn job 1";

static bool finish(EVP_MD_CTX *context, char out[EXP_HASH_BYTES]) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int bytes = 0;
    if (EVP_DigestFinal_ex(context, digest, &bytes) != 1 || bytes != 32) return false;
    for (unsigned int i = 0; i < bytes; i++) snprintf(out + 2 * i, 3, "%02x", digest[i]);
    return true;
}

bool exp_hash(const void *bytes, size_t count, char out[EXP_HASH_BYTES]) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool fine = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1 &&
                EVP_DigestUpdate(context, bytes, count) == 1 && finish(context, out);
    EVP_MD_CTX_free(context);
    return fine;
}

/* The fingerprint of the library covers graph, features and labels; splits can be made on the spot
 * and are a part of what a job measures. */
bool exp_data_hash(exp_data *data) {
    pgcn_dataset_info info = pgcn_dataset_describe(data->data);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool fine = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1 &&
                EVP_DigestUpdate(context, info.fingerprint, strlen(info.fingerprint)) == 1;
    const uint8_t *mask[3];
    const char *name;
    for (int i = 0;
         fine && (name = pgcn_dataset_split(data->data, i, &mask[0], &mask[1], &mask[2])); i++) {
        fine = EVP_DigestUpdate(context, name, strlen(name) + 1) == 1;
        for (int part = 0; fine && part < 3; part++)
            fine = EVP_DigestUpdate(context, mask[part], (size_t)info.items) == 1;
    }
    fine = fine && finish(context, data->hash);
    EVP_MD_CTX_free(context);
    return fine;
}

bool exp_job_key(const exp_data *data, const pgcn_config *config, char key[EXP_KEY_BYTES],
                 char kind[EXP_KEY_BYTES]) {
    char *text = NULL, hash[EXP_HASH_BYTES];
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (!stream) return false;
    fprintf(stream, "%s\nbits %d\ndata %s\ndraws %d\n", record_format,
            pgcn_info_get().bits_revision, data->hash, EXP_DRAWS);
    pgcn_field field;
    for (int i = 0; pgcn_config_field(i, &field); i++) {
        char value[PGCN_SETTING_BYTES];
        if (cli_is_run_setting(&field) || !cli_has_setting(config, &field) ||
            strcmp(field.key, "seed") == 0 || strcmp(field.key, "split") == 0)
            continue;
        pgcn_config_get(config, field.key, value, sizeof value);
        fprintf(stream, "%s %s\n", field.key, value);
    }
    fflush(stream);
    bool fine = text && exp_hash(text, bytes, hash);
    if (fine) snprintf(kind, EXP_KEY_BYTES, "%.32s", hash);
    fprintf(stream, "seed %llu\nsplit %s\n", (unsigned long long)config->seed, config->split);
    fine = fclose(stream) == 0 && fine && exp_hash(text, bytes, hash);
    if (fine) snprintf(key, EXP_KEY_BYTES, "%.32s", hash);
    free(text);
    return fine;
}

const char *exp_program_hash(void) {
    static char hash[EXP_HASH_BYTES];
    if (*hash) return hash;
    FILE *file = fopen("/proc/self/exe", "rb");
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool fine = file && context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;
    char block[65536];
    for (size_t count; fine && (count = fread(block, 1, sizeof block, file)) > 0;)
        fine = EVP_DigestUpdate(context, block, count) == 1;
    if (!fine || ferror(file) || !finish(context, hash)) *hash = '\0';
    if (file) fclose(file);
    EVP_MD_CTX_free(context);
    return hash;
}
