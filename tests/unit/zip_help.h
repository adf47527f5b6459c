/* For the tests of archives from the network: zip files made of given members, good and bad.
 * Include after cmocka.h and scratch_help.h. */
#ifndef PGCN_TEST_ZIP_HELP_H
#define PGCN_TEST_ZIP_HELP_H

#include "scratch_help.h"

#include <zip.h>

typedef struct zip_member {
    const char *name, *content;
    unsigned mode;  /* of Unix, 0: a plain file */
    bool encrypted; /* by a password */
} zip_member;

/* Writes the archive `file` of the scratch directory; a name that ends in a slash is a folder. */
__attribute__((unused)) static const char *make_zip(const char *file, const zip_member *member,
                                                    int count) {
    const char *path = scratch_path(file);
    zip_t *archive = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
    assert_non_null(archive);
    for (int i = 0; i < count; i++) {
        size_t length = strlen(member[i].content);
        zip_source_t *source = zip_source_buffer(archive, member[i].content, length, 0);
        zip_int64_t index = zip_file_add(archive, member[i].name, source, ZIP_FL_ENC_GUESS);
        assert_true(index >= 0);
        zip_uint64_t at = (zip_uint64_t)index;
        unsigned mode = member[i].mode ? member[i].mode : S_IFREG | 0644;
        assert_int_equal(zip_file_set_external_attributes(archive, at, 0, ZIP_OPSYS_UNIX,
                                                          (zip_uint32_t)mode << 16),
                         0);
        if (member[i].encrypted)
            assert_int_equal(zip_file_set_encryption(archive, at, ZIP_EM_TRAD_PKWARE, "password"),
                             0);
    }
    assert_int_equal(zip_close(archive), 0);
    return path;
}

#endif
