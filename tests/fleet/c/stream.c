#include "member.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "records are little-endian"
#endif

int stream_create(const char *suffix, unsigned thread) {
    char path[PATH_MAX];
    const char *out = getenv("FLEET_OUT");
    snprintf(path, sizeof path, "%s%s.%u.ordered", out != NULL ? out : "", suffix, thread);
    int file = out != NULL ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644) : -1;
    if (file < 0) {
        fprintf(stderr, "fleet-c: %s: %s\n", path, strerror(errno));
        abort();
    }
    return file;
}

void stream_append(int file, const int64_t *ids, size_t count) {
    const char *from = (const char *)ids;
    size_t left = count * sizeof *ids;
    while (left > 0) {
        ssize_t done = write(file, from, left);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) {
            fprintf(stderr, "fleet-c: a stream cannot be written: %s\n", strerror(errno));
            abort();
        }
        from += done;
        left -= (size_t)done;
    }
}
