/* Small JSON documents as trees: the metadata of our own files. Jansson holds the values, but its
 * parser is not used: where memory runs out it leaves letters out of strings, or aborts. Called by
 * safetensors.c, container.c and checkpoint.c. Thread-safe. */
#include "io/io.h"

#include <string.h>

static pgcn_status read_value(pgcn_i_json *json, json_t **out);

/* A value that jansson could not make. The document is valid JSON, so memory is out. */
static pgcn_status made(json_t *value, json_t **out) {
    *out = value;
    return value ? PGCN_OK : pgcn_i_fail(PGCN_ERR_MEMORY, "out of memory for a JSON document");
}

static pgcn_status check_text(const pgcn_i_json *json, const char *text) {
    return pgcn_i_is_utf8(text, (int64_t)strlen(text))
               ? PGCN_OK
               : pgcn_i_json_fail(json, "a string is not UTF-8");
}

static pgcn_status read_members(pgcn_i_json *json, json_t *object) {
    PGCN_TRY(pgcn_i_json_object(json));
    for (const char *next;;) {
        json_t *value = NULL;
        PGCN_TRY(pgcn_i_json_key(json, &next));
        if (!next) return PGCN_OK;
        PGCN_TRY(check_text(json, next));
        if (json_object_get(object, next))
            return pgcn_i_json_fail(json, "the key '%.40s' occurs twice", next);
        char *key = pgcn_i_strdup(next); /* the key of the stream is overwritten by the value */
        if (!key) return PGCN_ERR_MEMORY;
        pgcn_status status = read_value(json, &value);
        if (status == PGCN_OK && json_object_set_new(object, key, value) != 0)
            status = made(NULL, &value);
        pgcn_i_free(key);
        PGCN_TRY(status);
    }
}

static pgcn_status read_items(pgcn_i_json *json, json_t *array) {
    PGCN_TRY(pgcn_i_json_array(json));
    for (bool more;;) {
        json_t *value = NULL;
        PGCN_TRY(pgcn_i_json_more(json, &more));
        if (!more) return PGCN_OK;
        PGCN_TRY(read_value(json, &value));
        if (json_array_append_new(array, value) != 0) return made(NULL, &value);
    }
}

static pgcn_status read_scalar(pgcn_i_json *json, pgcn_i_json_kind kind, json_t **out) {
    const char *text;
    int64_t integer;
    double real;
    bool flag;
    if (kind == PGCN_I_JSON_TEXT) {
        PGCN_TRY(pgcn_i_json_text(json, &text));
        PGCN_TRY(check_text(json, text));
        return made(json_string(text), out);
    }
    if (kind == PGCN_I_JSON_NUMBER) {
        PGCN_TRY(pgcn_i_json_number(json, &flag, &integer, &real));
        return made(flag ? json_integer(integer) : json_real(real), out);
    }
    if (kind == PGCN_I_JSON_FLAG) {
        PGCN_TRY(pgcn_i_json_flag(json, &flag));
        return made(json_boolean(flag), out);
    }
    PGCN_TRY(pgcn_i_json_skip(json));
    return made(json_null(), out);
}

/* Recursive: the stream allows 64 levels. */
static pgcn_status read_value(pgcn_i_json *json, json_t **out) {
    pgcn_i_json_kind kind;
    PGCN_TRY(pgcn_i_json_peek(json, &kind));
    bool object = kind == PGCN_I_JSON_OBJECT;
    if (!object && kind != PGCN_I_JSON_ARRAY) return read_scalar(json, kind, out);
    PGCN_TRY(made(object ? json_object() : json_array(), out));
    pgcn_status status = object ? read_members(json, *out) : read_items(json, *out);
    if (status == PGCN_OK) return status;
    json_decref(*out);
    *out = NULL;
    return status;
}

pgcn_status pgcn_i_json_parse(const char *path, const char *text, int64_t bytes, json_t **out) {
    pgcn_i_json *json;
    *out = NULL;
    PGCN_TRY(pgcn_i_json_open_text(path, text, bytes, &json));
    pgcn_status status = read_value(json, out);
    if (status == PGCN_OK) status = pgcn_i_json_end(json);
    if (status != PGCN_OK) {
        json_decref(*out);
        *out = NULL;
    }
    pgcn_i_json_close(json);
    return status == PGCN_ERR_FORMAT ? PGCN_OK : status;
}

typedef struct dump {
    pgcn_i_buffer text;
    bool failed; /* jansson ignores some failures of the callback */
} dump;

static int add_text(const char *text, size_t bytes, void *context) {
    dump *to = context;
    char *added = to->failed ? NULL : pgcn_i_buffer_add(&to->text, (int64_t)bytes);
    if (added)
        memcpy(added, text, bytes);
    else
        to->failed = true;
    return to->failed ? -1 : 0;
}

char *pgcn_i_json_dump(const json_t *value, size_t flags) {
    dump to = {0};
    bool complete = json_dump_callback(value, add_text, &to, JSON_COMPACT | flags) == 0 &&
                    !to.failed && add_text("", 1, &to) == 0;
    char *text = complete ? pgcn_i_strdup(to.text.data) : NULL;
    pgcn_i_buffer_free(&to.text);
    return text;
}
