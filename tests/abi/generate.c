/* generate COUNT FILE: so many IDs, one a line in decimal, in the order of issue. The demo's program in C. */
#define _POSIX_C_SOURCE 200809L
#include <leaseflake.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int fail(const leaseflake_error_t *error) {
    fprintf(stderr, "%s: %s\n", leaseflake_code_name(error->code), error->message);
    return 1;
}

int main(int argc, char **argv) {
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    leaseflake_generator_t *ids = NULL;
    FILE *out = argc == 3 ? fopen(argv[2], "w") : NULL;
    if (out == NULL) {
        fprintf(stderr, "usage: generate COUNT FILE\n");
        return 2;
    }
    if (leaseflake_open(NULL, &ids, &error) != LEASEFLAKE_OK) return fail(&error);
    for (unsigned long long left = strtoull(argv[1], NULL, 10); left > 0;) {
        int64_t id;
        leaseflake_code_t code = leaseflake_next_id(ids, &id);
        if (code == LEASEFLAKE_OK) {
            fprintf(out, "%" PRId64 "\n", id);
            left--;
            continue;
        }
        leaseflake_explain(ids, code, &error);
        if (!error.retryable) return fail(&error);
        struct timespec pause = {error.retry_after_ms / 1000, (long)(error.retry_after_ms % 1000) * 1000000};
        nanosleep(&pause, NULL);
    }
    leaseflake_free(ids);
    if (fclose(out) != 0) {
        perror(argv[2]);
        return 1;
    }
    return 0;
}
