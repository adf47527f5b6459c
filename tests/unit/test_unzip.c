/* unzip.c: listed files of an archive are unpacked, without its top folder, and no others; an archive
 * that could write elsewhere or fill the disk is refused before anything is written. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "bytes_help.h"
#include "zip_help.h"

static char target[1024];

static int begin(void **state) {
    if (scratch_make(state) != 0) return -1;
    snprintf(target, sizeof target, "%s/out", scratch);
    return mkdir(target, 0777);
}

static int files_in(const char *folder) {
    char path[2048];
    snprintf(path, sizeof path, "%s%s", target, folder);
    DIR *stream = opendir(path);
    if (!stream) return -1;
    int count = -2; /* . and .. */
    while (readdir(stream)) count++;
    closedir(stream);
    return count;
}

static void assert_unpacked(const char *file, const char *content) {
    char path[2048];
    snprintf(path, sizeof path, "%s/%s", target, file);
    assert_file_holds(path, content, (int64_t)strlen(content));
}

#define FILES_OF(list) (list), (int)(sizeof(list) / sizeof(list)[0])
static const pgcn_i_listed only_a[] = {{"a", 0}}, good_txt[] = {{"good.txt", 0}};

static void assert_refused_of(const char *path, const pgcn_i_listed *listed, int files,
                              const char *says) {
    assert_int_equal(pgcn_i_unzip(path, target, listed, files), PGCN_ERR_FORMAT);
    assert_error_says(says);
    assert_error_says(".zip");
    assert_int_equal(files_in(""), 0);
}

static void assert_refused(const char *path, const char *says) {
    assert_refused_of(path, FILES_OF(only_a), says);
}

static void test_unzip_leaves_out_the_one_folder_everything_is_in(void **state) {
    (void)state;
    const zip_member members[] = {{.name = "MUTAG/", .content = "", .mode = S_IFDIR | 0755},
                                  {.name = "MUTAG/MUTAG_A.txt", .content = "1, 2\n"},
                                  {.name = "MUTAG/more/deep/b.txt", .content = "b"},
                                  {.name = "MUTAG/empty.txt", .content = ""},
                                  {.name = "__MACOSX/MUTAG/._MUTAG_A.txt", .content = "junk"},
                                  {.name = "MUTAG/.DS_Store", .content = "junk"}};
    const pgcn_i_listed listed[] = {{"MUTAG_A.txt", 5}, {"more/deep/b.txt", 0}, {"empty.txt", 0}};
    assert_int_equal(pgcn_i_unzip(make_zip("a.zip", members, 6), target, FILES_OF(listed)),
                     PGCN_OK);
    assert_unpacked("MUTAG_A.txt", "1, 2\n");
    assert_unpacked("more/deep/b.txt", "b");
    assert_unpacked("empty.txt", "");
    assert_int_equal(files_in(""), 3);
}

static void test_unzip_keeps_folders_that_differ(void **state) {
    (void)state;
    const zip_member two[] = {{.name = "raw/edge.csv", .content = "e"},
                              {.name = "split/train.csv", .content = "t"},
                              {.name = "raw/label.csv", .content = "l"}};
    const pgcn_i_listed listed[] = {
        {"raw/edge.csv", 0}, {"raw/label.csv", 0}, {"split/train.csv", 0}};
    assert_int_equal(pgcn_i_unzip(make_zip("a.zip", two, 3), target, FILES_OF(listed)), PGCN_OK);
    assert_unpacked("raw/edge.csv", "e");
    assert_unpacked("raw/label.csv", "l");
    assert_unpacked("split/train.csv", "t");
    /* "ab/" is not the folder "a/" that the other lies in */
    const zip_member similar[] = {{.name = "a/1.txt", .content = "1"},
                                  {.name = "ab/2.txt", .content = "2"}};
    const pgcn_i_listed both[] = {{"a/1.txt", 0}, {"ab/2.txt", 0}};
    assert_int_equal(pgcn_i_unzip(make_zip("b.zip", similar, 2), target, FILES_OF(both)), PGCN_OK);
    assert_unpacked("a/1.txt", "1");
    assert_unpacked("ab/2.txt", "2");
}

static void test_unzip_flat_archive_replaces_what_is_there(void **state) {
    (void)state;
    const zip_member old[] = {{.name = "x.npy", .content = "old content"}};
    const zip_member new[] = {{.name = "x.npy", .content = "new"}, {.name = "y", .content = "y"}};
    const pgcn_i_listed listed[] = {{"x.npy", 0}, {"y", 0}};
    assert_int_equal(pgcn_i_unzip(make_zip("a.zip", old, 1), target, listed, 1), PGCN_OK);
    assert_int_equal(pgcn_i_unzip(make_zip("b.zip", new, 2), target, listed, 2), PGCN_OK);
    assert_unpacked("x.npy", "new");
    assert_int_equal(files_in(""), 2);
}

static void test_unzip_members_that_are_not_listed_are_not_unpacked(void **state) {
    (void)state;
    const zip_member members[] = {{.name = "MUTAG/edges.npy", .content = "another graph"},
                                  {.name = "MUTAG/MUTAG_A.txt", .content = "1, 2\n"},
                                  {.name = "MUTAG/deep/MUTAG_A.txt", .content = "another one"},
                                  {.name = "MUTAG/MUTAG_A.txt.gz", .content = "a third"},
                                  {.name = "MUTAG/info.txt", .content = "info"}};
    const pgcn_i_listed listed[] = {{"MUTAG_A.txt", 5}};
    assert_int_equal(pgcn_i_unzip(make_zip("a.zip", members, 5), target, FILES_OF(listed)),
                     PGCN_OK);
    assert_unpacked("MUTAG_A.txt", "1, 2\n");
    assert_int_equal(files_in(""), 1);
}

static void test_unzip_listed_file_that_is_missing_or_of_another_length_is_refused(void **state) {
    (void)state;
    const zip_member members[] = {{.name = "a", .content = "12345"},
                                  {.name = "b", .content = "1234567890"}};
    const char *path = make_zip("a.zip", members, 2);
    const pgcn_i_listed missing[] = {{"a", 5}, {"c", 0}}, longer[] = {{"a", 5}, {"b", 9}};
    assert_refused_of(path, FILES_OF(missing), "it has no c");
    assert_refused_of(path, FILES_OF(longer), "its b has 10 bytes, expected 9");
    assert_error_says("nothing was unpacked");
}

static void test_unzip_members_that_leave_the_directory_are_refused(void **state) {
    (void)state;
    static const struct {
        zip_member bad;
        const char *says;
    } cases[] = {
        {{.name = "../evil.txt", .content = "x"}, "'..'"},
        {{.name = "a/../../evil.txt", .content = "x"}, "'..'"},
        {{.name = "a/..", .content = "x"}, "'..'"},
        {{.name = "./a", .content = "x"}, "'.'"},
        {{.name = "a//b", .content = "x"}, "empty part"},
        {{.name = "/etc/evil", .content = "x"}, "absolute"},
        {{.name = "..\\evil.txt", .content = "x"}, "backslash"},
        {{.name = "a\nb", .content = "x"}, "control character"},
        {{.name = "link", .content = "/etc/passwd", .mode = S_IFLNK | 0777}, "symbolic link"},
        {{.name = "pipe", .content = "", .mode = S_IFIFO | 0666}, "device, pipe"},
        {{.name = "secret", .content = "x", .encrypted = true}, "encrypted"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        /* a good member in front of it must not be unpacked either */
        const zip_member members[] = {{.name = "good.txt", .content = "good"}, cases[i].bad};
        assert_refused_of(make_zip("a.zip", members, 2), FILES_OF(good_txt), cases[i].says);
        assert_error_says("nothing was unpacked");
        assert_int_equal(scratch_count(), 2); /* out and a.zip */
    }
}

/* Little-endian field of all central directory entries ("PK\1\2") set to a value. */
static void patch_central(file_bytes *b, size_t offset, uint32_t value) {
    int patched = 0;
    for (size_t i = 0; i + 46 <= b->count; i++)
        if (memcmp(b->data + i, "PK\1\2", 4) == 0) {
            for (int k = 0; k < 4; k++) b->data[i + offset + (size_t)k] = (char)(value >> (8 * k));
            patched++;
        }
    assert_true(patched > 0);
}

static void test_unzip_bomb_is_refused_before_it_is_unpacked(void **state) {
    (void)state;
    const zip_member members[] = {{.name = "a", .content = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
                                  {.name = "b", .content = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}};
    file_bytes b = bytes_of(make_zip("a.zip", members, 2));
    patch_central(&b, 24, 0x30000000); /* 805 MB each, 1.6 GB together */
    const char *path = scratch_write("bomb.zip", b.data, b.count);
    const pgcn_i_listed unknown[] = {{"a", 0}, {"b", 0}}, known[] = {{"a", 36}, {"b", 36}};
    assert_refused_of(path, FILES_OF(unknown), "zip bomb");
    assert_refused_of(path, FILES_OF(known), "its a has 805306368 bytes, expected 36");
    free(b.data);
}

static void test_unzip_member_of_another_length_is_refused(void **state) {
    (void)state;
    const zip_member members[] = {{.name = "a", .content = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}};
    file_bytes b = bytes_of(make_zip("a.zip", members, 1));
    for (uint32_t claimed = 35; claimed <= 37; claimed += 2) {
        patch_central(&b, 24, claimed); /* it has 36 */
        assert_refused(scratch_write("b.zip", b.data, b.count), "unpacking");
    }
    patch_central(&b, 24, 36);
    assert_int_equal(
        pgcn_i_unzip(scratch_write("b.zip", b.data, b.count), target, FILES_OF(only_a)), PGCN_OK);
    free(b.data);
}

static void test_unzip_every_changed_byte_is_unpacked_or_refused(void **state) {
    (void)state;
    const zip_member members[] = {{.name = "t/a.txt", .content = "the first file, the first file"},
                                  {.name = "t/b.txt", .content = "b"}};
    file_bytes b = bytes_of(make_zip("a.zip", members, 2));
    const pgcn_i_listed listed[] = {{"a.txt", 30}, {"b.txt", 0}};
    int refused = 0;
    for (size_t i = 0; i < b.count; i++)
        for (int flip = 1; flip < 256; flip += 84) { /* 1, 85, 169, 253 */
            b.data[i] ^= (char)flip;
            pgcn_status status =
                pgcn_i_unzip(scratch_write("b.zip", b.data, b.count), target, FILES_OF(listed));
            assert_true(status == PGCN_OK || status == PGCN_ERR_FORMAT || status == PGCN_ERR_IO);
            refused += status != PGCN_OK;
            b.data[i] ^= (char)flip;
        }
    assert_true(refused > 200); /* of about 1,200: names and times may change, contents not */
    assert_int_equal(scratch_count(), 3);
    free(b.data);
}

static void test_unzip_every_truncation_is_refused(void **state) {
    (void)state;
    const zip_member members[] = {{.name = "a.txt", .content = "some text to be cut short"}};
    file_bytes b = bytes_of(make_zip("a.zip", members, 1));
    for (size_t cut = 0; cut < b.count; cut++)
        assert_refused(scratch_write("b.zip", b.data, cut), "unpacking");
    free(b.data);
}

static void test_unzip_empty_archive_and_no_archive_are_refused(void **state) {
    (void)state;
    const zip_member folder[] = {{.name = "t/", .content = "", .mode = S_IFDIR | 0755}};
    assert_refused(make_zip("a.zip", folder, 1), "no file is in it");
    assert_refused(scratch_write("b.zip", "<html>404</html>", 16), "no zip file");
    assert_int_equal(pgcn_i_unzip(scratch_path("none.zip"), target, FILES_OF(only_a)), PGCN_ERR_IO);
    assert_error_says("No such file");
}

static void test_unzip_file_in_the_way_of_a_folder_is_an_error(void **state) {
    (void)state;
    const zip_member members[] = {{.name = "a/b", .content = "x"}, {.name = "c", .content = "x"}};
    const char *archive = make_zip("a.zip", members, 2);
    scratch_write("out/a", "a file", 6);
    const pgcn_i_listed listed[] = {{"a/b", 0}};
    assert_int_equal(pgcn_i_unzip(archive, target, FILES_OF(listed)), PGCN_ERR_IO);
    assert_error_says("cannot make the directory");
}

static pgcn_status unzip_again(void) {
    static const pgcn_i_listed listed[] = {{"a.txt", 1}};
    return pgcn_i_unzip(scratch_path("a.zip"), target, FILES_OF(listed));
}

static void test_unzip_every_allocation_may_fail(void **state) {
    (void)state;
    const zip_member members[] = {{.name = "t/a.txt", .content = "a"}};
    make_zip("a.zip", members, 1);
    assert_true(fail_every_allocation(unzip_again) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, scratch_remove)
        TEST(test_unzip_leaves_out_the_one_folder_everything_is_in),
        TEST(test_unzip_keeps_folders_that_differ),
        TEST(test_unzip_flat_archive_replaces_what_is_there),
        TEST(test_unzip_members_that_are_not_listed_are_not_unpacked),
        TEST(test_unzip_listed_file_that_is_missing_or_of_another_length_is_refused),
        TEST(test_unzip_members_that_leave_the_directory_are_refused),
        TEST(test_unzip_bomb_is_refused_before_it_is_unpacked),
        TEST(test_unzip_member_of_another_length_is_refused),
        TEST(test_unzip_every_changed_byte_is_unpacked_or_refused),
        TEST(test_unzip_every_truncation_is_refused),
        TEST(test_unzip_empty_archive_and_no_archive_are_refused),
        TEST(test_unzip_file_in_the_way_of_a_folder_is_an_error),
        TEST(test_unzip_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
