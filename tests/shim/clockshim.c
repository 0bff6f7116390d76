/*
 * A wall clock that a test can move while the process runs.
 *
 * Preloaded (LD_PRELOAD), it adds an offset to CLOCK_REALTIME as clock_gettime, gettimeofday,
 * time and timespec_get read it, and to CLOCK_REALTIME_COARSE, which is the same clock at a
 * coarser tick. Every other clock (MONOTONIC, BOOTTIME, CPU time) is passed through untouched:
 * what moves is what an operator or a bad time server moves, and nothing else.
 *
 * The offset is a signed 64-bit number of nanoseconds, native byte order, at the start of the
 * file that CLOCKSHIM_FILE names. The file is mapped shared, so that a driver that writes it
 * steps the clock of the running process, of its forked children (they inherit the mapping)
 * and of programs that it executes (they inherit the environment and map it again).
 *
 * Reading takes no lock and allocates nothing, so that it may be called from a signal handler
 * and on both sides of a fork; it costs one load and one addition more than the true clock.
 *
 * Deadlines that a caller hands to the kernel as an absolute CLOCK_REALTIME time are not moved.
 * If CLOCKSHIM_FILE is set but cannot be mapped, the process ends at once with code 127: a test
 * that believes in a skew that is not there would prove nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define NS_PER_S 1000000000LL

typedef int (*clock_gettime_fn)(clockid_t, struct timespec *);

static const int64_t no_offset = 0;

/* Null until the first read or the constructor, whichever comes first: other libraries'
 * constructors may read the clock before ours has run. */
static const int64_t *offset_ns;
static clock_gettime_fn true_clock_gettime;

static void die(const char *message) {
    const char *file = getenv("CLOCKSHIM_FILE");
    ssize_t ignored = write(2, message, strlen(message));
    if (file != NULL)
        ignored = write(2, file, strlen(file));
    ignored = write(2, "\n", 1);
    (void)ignored;
    _exit(127);
}

/* Only system calls: safe before any constructor has run. Two threads that come here at once
 * map the file twice, which costs a page and nothing else. */
static const int64_t *map_offset(void) {
    const char *file = getenv("CLOCKSHIM_FILE");
    if (file == NULL || *file == '\0')
        return &no_offset;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (fd < 0 || fstat(fd, &about) != 0)
        die("clockshim: cannot open CLOCKSHIM_FILE=");
    /* A read past the end of the file would be SIGBUS in the middle of the tested program. */
    if (about.st_size < (off_t)sizeof(int64_t))
        die("clockshim: shorter than 8 bytes: CLOCKSHIM_FILE=");
    void *page = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        die("clockshim: cannot map CLOCKSHIM_FILE=");
    close(fd);
    return page;
}

static int64_t offset(void) {
    const int64_t *at = __atomic_load_n(&offset_ns, __ATOMIC_ACQUIRE);
    if (__builtin_expect(at == NULL, 0)) {
        int saved = errno;
        at = map_offset();
        __atomic_store_n(&offset_ns, at, __ATOMIC_RELEASE);
        errno = saved;
    }
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static int read_true(clockid_t clock, struct timespec *now) {
    clock_gettime_fn next = __atomic_load_n(&true_clock_gettime, __ATOMIC_ACQUIRE);
    if (__builtin_expect(next != NULL, 1))
        return next(clock, now);
    return (int)syscall(SYS_clock_gettime, clock, now);
}

__attribute__((constructor)) static void find_true_clock(void) {
    (void)offset();
    /* The C library's own function reads the vDSO: ten times cheaper than the system call. */
    clock_gettime_fn next = (clock_gettime_fn)dlsym(RTLD_NEXT, "clock_gettime");
    __atomic_store_n(&true_clock_gettime, next, __ATOMIC_RELEASE);
}

static int read_moved(clockid_t clock, struct timespec *now) {
    int result = read_true(clock, now);
    if (result != 0)
        return result;
    int64_t move = offset();
    int64_t seconds = move / NS_PER_S;
    int64_t ns = now->tv_nsec + move % NS_PER_S;
    if (ns < 0) {
        ns += NS_PER_S;
        seconds -= 1;
    } else if (ns >= NS_PER_S) {
        ns -= NS_PER_S;
        seconds += 1;
    }
    now->tv_sec += (time_t)seconds;
    now->tv_nsec = (long)ns;
    return 0;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *now) {
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        return read_moved(clock, now);
    return read_true(clock, now);
}

EXPORT int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec moved;
    if (zone != NULL)
        memset(zone, 0, sizeof(struct timezone));
    if (read_moved(CLOCK_REALTIME, &moved) != 0)
        return -1;
    now->tv_sec = moved.tv_sec;
    now->tv_usec = (suseconds_t)(moved.tv_nsec / 1000);
    return 0;
}

EXPORT time_t time(time_t *out) {
    struct timespec moved;
    if (read_moved(CLOCK_REALTIME, &moved) != 0)
        return (time_t)-1;
    if (out != NULL)
        *out = moved.tv_sec;
    return moved.tv_sec;
}

EXPORT int timespec_get(struct timespec *now, int base) {
    if (base != TIME_UTC || read_moved(CLOCK_REALTIME, now) != 0)
        return 0;
    return base;
}
