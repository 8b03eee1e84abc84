/*
 * Faults of the operating system, for the torture test: preloaded into a server (LD_PRELOAD), controlled by a file that
 * the test and the server both map.
 *
 * Layout of the file, 64-bit words in the machine's order:
 *   0  writes fail with ENOSPC        0 or 1
 *   1  one write in this many fails with EIO, 0 for none
 *   2  one sync in this many fails with EIO, 0 for none
 *   3  the wall clock is off by this many milliseconds
 *   4  every write is delayed by this many microseconds
 *   5  number of faults so far
 *   6  state of the generator of random numbers
 *   7  the disk is read-only           0 or 1
 *   8  syncs do not return while this is 1
 *
 * Only files below the folder of TOISE_TORTURE_FOLDER are affected, so that standard error can still be written.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { FULL, WRITE_EIO, SYNC_EIO, CLOCK_MS, SLOW_US, MADE, RANDOM, READ_ONLY, HANG, WORDS };

static volatile int64_t *words;
static char folder[4096];
static size_t folder_length;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("TOISE_TORTURE_FAULTS");
    const char *below = getenv("TOISE_TORTURE_FOLDER");
    if (path == NULL || below == NULL || strlen(below) >= sizeof folder) return;
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    void *mapped = mmap(NULL, WORDS * sizeof *words, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped == MAP_FAILED) return;
    strcpy(folder, below);
    folder_length = strlen(folder);
    words = mapped;
}

/* A random number: splitmix64 over a shared state. */
static uint64_t drawn(void) {
    uint64_t z = (uint64_t)__atomic_add_fetch(&words[RANDOM], (int64_t)0x9e3779b97f4a7c15ULL, __ATOMIC_RELAXED);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

/* Whether a descriptor belongs to a file below the folder. */
static int is_ours(int descriptor) {
    char link[64], target[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, target, sizeof target);
    return length > (ssize_t)folder_length && memcmp(target, folder, folder_length) == 0;
}

static int is_hit(int word) {
    int64_t one_in = words[word];
    return one_in > 0 && drawn() % (uint64_t)one_in == 0;
}

/* The error with which a write must fail; 0 for none. */
static int write_error(int descriptor) {
    if (words == NULL) return 0;
    int64_t slow = words[SLOW_US];
    if (!words[FULL] && !words[WRITE_EIO] && !words[READ_ONLY] && !slow) return 0;
    int before = errno;
    int ours = is_ours(descriptor);
    if (ours && slow > 0) usleep((useconds_t)slow);
    errno = before;
    if (!ours) return 0;
    int error = words[READ_ONLY] ? EROFS : words[FULL] ? ENOSPC : is_hit(WRITE_EIO) ? EIO : 0;
    if (error) __atomic_add_fetch(&words[MADE], 1, __ATOMIC_RELAXED);
    return error;
}

/* The error of a call that changes a path, as on a disk remounted read-only; 0 for none. */
static int path_error(const char *path) {
    if (words == NULL || !words[READ_ONLY] || strncmp(path, folder, folder_length) != 0) return 0;
    __atomic_add_fetch(&words[MADE], 1, __ATOMIC_RELAXED);
    return EROFS;
}

static int open_error(const char *path, int flags) {
    int writes = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC));
    return writes ? path_error(path) : 0;
}

/* Interval at which a hanging sync checks whether it may return, in microseconds. */
enum { HANG_LOOK_US = 2000 };

static int sync_error(int descriptor) {
    if (words != NULL && words[HANG] && is_ours(descriptor)) {
        __atomic_add_fetch(&words[MADE], 1, __ATOMIC_RELAXED);
        while (words[HANG]) usleep(HANG_LOOK_US);
    }
    if (words == NULL || !words[SYNC_EIO] || !is_hit(SYNC_EIO) || !is_ours(descriptor)) return 0;
    __atomic_add_fetch(&words[MADE], 1, __ATOMIC_RELAXED);
    return EIO;
}

#define REAL(name) \
    static __typeof__(name) *real; \
    if (real == NULL) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define FAIL(error) \
    do { \
        int found = (error); \
        if (found) { \
            errno = found; \
            return -1; \
        } \
    } while (0)

ssize_t write(int descriptor, const void *bytes, size_t count) {
    REAL(write);
    FAIL(write_error(descriptor));
    return real(descriptor, bytes, count);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    REAL(writev);
    FAIL(write_error(descriptor));
    return real(descriptor, parts, count);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t at) {
    REAL(pwrite);
    FAIL(write_error(descriptor));
    return real(descriptor, bytes, count, at);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t at) {
    REAL(pwrite64);
    FAIL(write_error(descriptor));
    return real(descriptor, bytes, count, at);
}

int fsync(int descriptor) {
    REAL(fsync);
    FAIL(sync_error(descriptor));
    return real(descriptor);
}

int fdatasync(int descriptor) {
    REAL(fdatasync);
    FAIL(sync_error(descriptor));
    return real(descriptor);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    REAL(clock_gettime);
    int outcome = real(clock, time);
    if (outcome == 0 && words != NULL && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t off = words[CLOCK_MS];
        int64_t nanoseconds = time->tv_nsec + (off % 1000) * 1000000;
        time->tv_sec += off / 1000;
        if (nanoseconds < 0) {
            nanoseconds += 1000000000;
            time->tv_sec -= 1;
        } else if (nanoseconds >= 1000000000) {
            nanoseconds -= 1000000000;
            time->tv_sec += 1;
        }
        time->tv_nsec = nanoseconds;
    }
    return outcome;
}

/* The mode of a call that may create a file. */
#define MODE(flags, last) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { \
        va_list more; \
        va_start(more, last); \
        mode = va_arg(more, mode_t); \
        va_end(more); \
    }

int open(const char *path, int flags, ...) {
    REAL(open);
    MODE(flags, flags)
    FAIL(open_error(path, flags));
    return real(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    REAL(open64);
    MODE(flags, flags)
    FAIL(open_error(path, flags));
    return real(path, flags, mode);
}

int openat(int at, const char *path, int flags, ...) {
    REAL(openat);
    MODE(flags, flags)
    FAIL(open_error(path, flags));
    return real(at, path, flags, mode);
}

int openat64(int at, const char *path, int flags, ...) {
    REAL(openat64);
    MODE(flags, flags)
    FAIL(open_error(path, flags));
    return real(at, path, flags, mode);
}

int ftruncate(int descriptor, off_t length) {
    REAL(ftruncate);
    FAIL(write_error(descriptor));
    return real(descriptor, length);
}

int ftruncate64(int descriptor, off64_t length) {
    REAL(ftruncate64);
    FAIL(write_error(descriptor));
    return real(descriptor, length);
}

int rename(const char *from, const char *to) {
    REAL(rename);
    FAIL(path_error(to));
    return real(from, to);
}

int link(const char *from, const char *to) {
    REAL(link);
    FAIL(path_error(to));
    return real(from, to);
}

int unlink(const char *path) {
    REAL(unlink);
    FAIL(path_error(path));
    return real(path);
}

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    FAIL(path_error(path));
    return real(path, mode);
}

int rmdir(const char *path) {
    REAL(rmdir);
    FAIL(path_error(path));
    return real(path);
}
