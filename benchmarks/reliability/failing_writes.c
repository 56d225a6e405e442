/* A preloaded library that lets the k-th write-like call below a folder fail, and counts these calls.
 *
 * failing_writes_begin(folder, first, error, once, record) starts counting. Call number `first` (from 1) sets errno to
 * `error` and fails; unless `once`, all later calls fail too, as on a full disk. 0 only counts. The count is in shared
 * memory, so that the process that forked can read it. The file `record`, if its name is not empty, gets a line per
 * call: its name and the path.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[PATH_MAX];
static int first, chosen, once, lines = -1;
static int *count;

__attribute__((constructor)) static void share(void) {
    count = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

void failing_writes_begin(const char *below, int number, int error, int only_once, const char *record) {
    strncpy(folder, below, sizeof folder - 1);
    first = number;
    chosen = error;
    once = only_once;
    *count = 0;
    if (record[0]) lines = syscall(SYS_openat, AT_FDCWD, record, O_WRONLY | O_CREAT | O_APPEND, 0666);
}

int failing_writes_count(void) { return *count; }

static int is_below(const char *path) {
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static int fails(const char *call, const char *path) {
    char line[PATH_MAX + 64];
    if (lines >= 0) syscall(SYS_write, lines, line, snprintf(line, sizeof line, "%s %s\n", call, path));
    int number = __sync_add_and_fetch(count, 1);
    if (first && (once ? number == first : number >= first)) {
        errno = chosen;
        return 1;
    }
    return 0;
}

static int path_fails(const char *call, int at, const char *path) {
    char whole[PATH_MAX * 2], base[PATH_MAX], link[64];
    if (!folder[0] || !path) return 0;
    if (path[0] != '/') {
        if (at == AT_FDCWD) {
            if (!getcwd(base, sizeof base)) return 0;
        } else {
            snprintf(link, sizeof link, "/proc/self/fd/%d", at);
            ssize_t length = readlink(link, base, sizeof base - 1);
            if (length < 0) return 0;
            base[length] = 0;
        }
        snprintf(whole, sizeof whole, "%s/%s", base, path);
        path = whole;
    }
    return is_below(path) && fails(call, path);
}

static int file_fails(const char *call, int file) {
    char link[64], path[PATH_MAX];
    if (!folder[0]) return 0;
    int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = saved;
    if (length < 0) return 0;
    path[length] = 0;
    return is_below(path) && fails(call, path);
}

#define REAL(result, name, ...)                                   \
    static result (*real)(__VA_ARGS__);                           \
    if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)
#define WRITES(flags) ((flags) & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC))
#define MODE                                  \
    mode_t mode = 0;                          \
    if (flags & (O_CREAT | O_TMPFILE)) {      \
        va_list rest;                         \
        va_start(rest, flags);                \
        mode = va_arg(rest, mode_t);          \
        va_end(rest);                         \
    }
#define OPEN(name)                                                        \
    int name(const char *path, int flags, ...) {                          \
        REAL(int, #name, const char *, int, ...);                         \
        MODE;                                                             \
        return WRITES(flags) && path_fails("open", AT_FDCWD, path) ? -1 : real(path, flags, mode); \
    }
#define OPEN_AT(name)                                                     \
    int name(int at, const char *path, int flags, ...) {                  \
        REAL(int, #name, int, const char *, int, ...);                    \
        MODE;                                                             \
        return WRITES(flags) && path_fails("open", at, path) ? -1 : real(at, path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
OPEN_AT(openat)
OPEN_AT(openat64)

FILE *fopen(const char *path, const char *how) {
    REAL(FILE *, "fopen", const char *, const char *);
    return strpbrk(how, "wa+") && path_fails("open", AT_FDCWD, path) ? NULL : real(path, how);
}
FILE *fopen64(const char *path, const char *how) {
    REAL(FILE *, "fopen64", const char *, const char *);
    return strpbrk(how, "wa+") && path_fails("open", AT_FDCWD, path) ? NULL : real(path, how);
}
ssize_t write(int file, const void *content, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    return file_fails("write", file) ? -1 : real(file, content, size);
}
ssize_t writev(int file, const struct iovec *parts, int size) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    return file_fails("write", file) ? -1 : real(file, parts, size);
}
ssize_t pwrite(int file, const void *content, size_t size, off_t place) {
    REAL(ssize_t, "pwrite", int, const void *, size_t, off_t);
    return file_fails("write", file) ? -1 : real(file, content, size, place);
}
ssize_t pwrite64(int file, const void *content, size_t size, off64_t place) {
    REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
    return file_fails("write", file) ? -1 : real(file, content, size, place);
}
int fsync(int file) {
    REAL(int, "fsync", int);
    return file_fails("fsync", file) ? -1 : real(file);
}
int fdatasync(int file) {
    REAL(int, "fdatasync", int);
    return file_fails("fsync", file) ? -1 : real(file);
}
int ftruncate(int file, off_t size) {
    REAL(int, "ftruncate", int, off_t);
    return file_fails("truncate", file) ? -1 : real(file, size);
}
int ftruncate64(int file, off64_t size) {
    REAL(int, "ftruncate64", int, off64_t);
    return file_fails("truncate", file) ? -1 : real(file, size);
}
int mkdir(const char *path, mode_t mode) {
    REAL(int, "mkdir", const char *, mode_t);
    struct stat known;
    return (stat(path, &known) != 0 && path_fails("mkdir", AT_FDCWD, path)) ? -1 : real(path, mode);
}
int rename(const char *from, const char *to) {
    REAL(int, "rename", const char *, const char *);
    return path_fails("rename", AT_FDCWD, to) ? -1 : real(from, to);
}
int renameat(int from_at, const char *from, int to_at, const char *to) {
    REAL(int, "renameat", int, const char *, int, const char *);
    return path_fails("rename", to_at, to) ? -1 : real(from_at, from, to_at, to);
}
