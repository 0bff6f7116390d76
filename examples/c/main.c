/* Makes IDs until it is asked to end, and then gives its worker ID back at once. */
#define _POSIX_C_SOURCE 200809L
#include <leaseflake.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile sig_atomic_t asked_to_end;

static void on_signal(int signal) {
    (void)signal;
    asked_to_end = 1;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 5;
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    leaseflake_generator_t *ids = NULL;

    /* NULL options: LEASEFLAKE_STORE and its like say which registry. */
    if (leaseflake_open(NULL, &ids, &error) != LEASEFLAKE_OK) {
        fprintf(stderr, "%s: %s\n", leaseflake_code_name(error.code), error.message);
        return 1;
    }
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);

    while (count > 0 && !asked_to_end) {
        int64_t id;
        leaseflake_code_t code = leaseflake_next_id(ids, &id);
        if (code != LEASEFLAKE_OK) {
            leaseflake_explain(ids, code, &error);
            fprintf(stderr, "%s: %s\n", leaseflake_code_name(code), error.message);
            if (!error.retryable) break;
            struct timespec pause = {error.retry_after_ms / 1000, (long)(error.retry_after_ms % 1000) * 1000000};
            nanosleep(&pause, NULL);
            continue;
        }
        leaseflake_layout_t layout;
        leaseflake_id_parts_t parts;
        leaseflake_layout(ids, &layout);
        leaseflake_decode_id(&layout, id, &parts, NULL);
        printf("%" PRId64 " made at %" PRId64 " ms by worker %" PRIu32 "/%" PRIu32 ", sequence %" PRIu32 "\n", id,
               parts.timestamp_ms, parts.datacenter_id, parts.worker_id, parts.sequence);
        count--;
    }
    leaseflake_free(ids);
    return count > 0 && !asked_to_end;
}
