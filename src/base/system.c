/* Messages about the operating system: why a call failed and what to do about it, and how much
 * memory is available. Nothing here allocates, because it is used when memory is out. Called by
 * every room and by the command line. Any thread. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- errors --------------------------------------------------------------------------------- */

static bool is_address_space_limited(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

const char *pgcn_i_memory_remedy(void) {
    return is_address_space_limited() ? "raise the limit of memory (ulimit -v)"
                                      : "use a machine with more memory";
}

/* What can be done about an errno, "" where that depends on what was tried. */
static const char *remedy(int error) {
    switch (error) {
    case EACCES:
    case EPERM: return "ask for permission, or choose another directory";
    case EROFS: return "choose another directory, or have this one mounted for writing";
    case ENOSPC: return "make space or write elsewhere";
    case EDQUOT: return "remove files of yours, or write elsewhere";
    case EFBIG: return "raise the limit of file sizes (ulimit -f) or write elsewhere";
    case EMFILE: return "close files of this program or raise their limit (ulimit -n)";
    case ENFILE: return "the whole system has too many, end other programs";
    case ENOTDIR: return "a part of the path is a file, expected a directory";
    case EISDIR: return "give the name of a file";
    case ENAMETOOLONG: return "give a shorter name";
    case ELOOP: return "symbolic links lead in a circle";
    case ENOMEM:
        return is_address_space_limited()
                   ? "end other programs, or raise the limit of memory (ulimit -v)"
                   : "end other programs";
    case EIO: return "the disk, or the network it is behind, has failed; dmesg may say more";
    default: return "";
    }
}

const char *pgcn_system_error(int error) {
    static _Thread_local char text[256];
    const char *todo = remedy(error);
    snprintf(text, sizeof text, "%s%s%s", strerror(error), *todo ? "; " : "", todo);
    return text;
}

const char *pgcn_i_disk_error(const char *path, int error) {
    static _Thread_local char text[512];
    const char *slash = strrchr(path, '/');
    char directory[PATH_MAX], left[32];
    struct statvfs disk;
    snprintf(directory, sizeof directory, "%.*s", slash ? (int)(slash - path) + 1 : 1,
             slash ? path : ".");
    if (error != ENOSPC || statvfs(directory, &disk) != 0) return pgcn_system_error(error);
    pgcn_format_bytes((int64_t)disk.f_bavail * (int64_t)disk.f_frsize, left);
    snprintf(text, sizeof text, "%s (%s are left on this disk); %s", strerror(error), left,
             remedy(error));
    return text;
}

/* ---- memory --------------------------------------------------------------------------------- */

/* The number after `key` ("": the first number) in a small file of the system; -1: there is none. */
static int64_t system_number(const char *path, const char *key) {
    char text[4096];
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return -1;
    ssize_t bytes = read(descriptor, text, sizeof text - 1);
    close(descriptor);
    if (bytes <= 0) return -1;
    text[bytes] = '\0';
    const char *at = strstr(text, key);
    if (!at) return -1;
    at += strlen(key);
    char *end;
    long long number = strtoll(at, &end, 10);
    return end != at && number >= 0 ? (int64_t)number : -1;
}

/* What this process may still map under its own limit; -1: it has none. */
static int64_t address_space_left(void) {
    struct rlimit limit;
    int64_t pages = system_number("/proc/self/statm", "");
    if (pages < 0 || getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return -1;
    int64_t used = pages * (int64_t)sysconf(_SC_PAGESIZE), most = (int64_t)limit.rlim_cur;
    return most > used ? most - used : 0;
}

/* How a version of control groups calls what we ask for. */
typedef struct group_files {
    const char *line; /* of /proc/self/cgroup, before the name of our group */
    const char *root, *most, *used;
    const char *cached; /* pages of files, which the group gives up before it has no memory */
} group_files;
static const group_files group_versions[] = {
    {"0::", "/sys/fs/cgroup", "memory.max", "memory.current", "\nfile "},
    {":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     "\ntotal_cache "}};
enum { GROUP_VERSIONS = 2, GROUP_PATH = 4096 };

/* The name of our group, as its line has it: "" where there is none. */
static void group_name(const group_files *files, char out[GROUP_PATH]) {
    char text[GROUP_PATH];
    FILE *stream = fopen("/proc/self/cgroup", "r");
    *out = '\0';
    while (stream && fgets(text, sizeof text, stream)) {
        const char *at = strstr(text, files->line);
        if (!at) continue;
        snprintf(out, GROUP_PATH, "%s", at + strlen(files->line));
        out[strcspn(out, "\n")] = '\0';
        break;
    }
    if (stream) fclose(stream);
}

static int64_t group_number(const group_files *files, const char *group, const char *file,
                            const char *key) {
    char path[2 * GROUP_PATH];
    snprintf(path, sizeof path, "%s%s/%s", files->root, group, file);
    return system_number(path, key);
}

/* Memory left in our control group, or that of the container; -1: no limit. */
static int64_t group_left(const group_files *files) {
    char group[GROUP_PATH];
    group_name(files, group);
    if (group_number(files, group, files->most, "") < 0) *group = '\0'; /* seen from inside */
    int64_t most = group_number(files, group, files->most, "");
    int64_t used = group_number(files, group, files->used, "");
    int64_t cached = group_number(files, group, "memory.stat", files->cached);
    if (most < 0 || used < 0) return -1;
    if (cached > 0 && cached <= used) used -= cached;
    return most > used ? most - used : 0;
}

int64_t pgcn_memory_available(void) {
    int64_t kilobytes = system_number("/proc/meminfo", "MemAvailable:");
    int64_t least = kilobytes < 0 ? -1 : kilobytes * 1024;
    const int64_t limits[] = {address_space_left(), group_left(&group_versions[0]),
                              group_left(&group_versions[1])};
    for (int i = 0; i < 1 + GROUP_VERSIONS; i++)
        if (limits[i] >= 0 && (least < 0 || limits[i] < least)) least = limits[i];
    return least;
}

int64_t pgcn_i_resident_bytes(void) {
    int64_t pages = system_number("/proc/self/statm", " "); /* the second number */
    return pages < 0 ? 0 : pages * (int64_t)sysconf(_SC_PAGESIZE);
}

pgcn_memory_use pgcn_memory_in_use(void) {
    int64_t anonymous = system_number("/proc/self/status", "RssAnon:");
    int64_t mapped = system_number("/proc/self/status", "RssFile:");
    int64_t shared = system_number("/proc/self/status", "RssShmem:");
    if (anonymous < 0 || mapped < 0) return (pgcn_memory_use){-1, -1};
    return (pgcn_memory_use){anonymous * 1024, (mapped + (shared > 0 ? shared : 0)) * 1024};
}

void pgcn_format_bytes(int64_t bytes, char *out) {
    static const char units[] = "KMGTP";
    double size = 1024;
    if (!out) return;
    snprintf(out, 32, "%lld bytes", (long long)bytes);
    for (const char *unit = units; *unit && (double)bytes >= size; unit++, size *= 1024)
        snprintf(out, 32, "%.1f %ciB", (double)bytes / size, *unit);
}

void pgcn_i_available_text(char out[64]) {
    int64_t bytes = pgcn_memory_available();
    char size[32] = "an unknown amount";
    if (bytes >= 0) pgcn_format_bytes(bytes, size);
    snprintf(out, 64, "%s are available", size);
}
