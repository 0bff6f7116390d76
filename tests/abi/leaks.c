/* Opens and closes again and again, errors and callbacks among it: run under a checker of leaks. The argument is how
 * often. */
#include "check.h"

static void nothing(void *count, const leaseflake_state_change_t *change) {
    (void)change;
    (void)count;
}

static void release(void *memory) { free(memory); }

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 1000;
    char store[4096];
    snprintf(store, sizeof store, "%s", sqlite_store("leaks.db"));
    for (int round = 0; round < rounds; round++) {
        leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
        leaseflake_status_t status = LEASEFLAKE_STATUS_INIT;
        leaseflake_generator_t *none = NULL;
        int64_t ids[64];
        /* A file now and then; memory is quicker. */
        leaseflake_generator_t *generator = open_with(round % 50 == 0 ? store : "memory:leaks");
        if (round % 4 == 0)
            CHECK_CODE(LEASEFLAKE_OK, leaseflake_set_state_callback(generator, nothing, malloc(10), release, &error));
        CHECK_CODE(LEASEFLAKE_OK, leaseflake_fill(generator, ids, 64, NULL, &error));
        CHECK_CODE(LEASEFLAKE_OK, leaseflake_next_batch(generator, ids, 64, &error));
        CHECK_CODE(LEASEFLAKE_OK, leaseflake_status(generator, &status, &error));
        CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_next_batch(generator, ids, 0, &error));
        CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, try_open(&none, &error, "store", "memory:", "lease_ttl_ms", "6000", NULL));
        if (round % 3 == 0) CHECK_CODE(LEASEFLAKE_OK, leaseflake_close(generator));
        leaseflake_free(generator);
    }
    return 0;
}
