/* A program that ends without closing gives its worker ID back all the same. The argument is the store; the next one that
 * opens it gets the same worker ID at once, with a higher fencing epoch, which it prints. */
#include "check.h"

int main(int argc, char **argv) {
    CHECK(argc == 2);
    leaseflake_generator_t *ids = NULL;
    leaseflake_status_t status = LEASEFLAKE_STATUS_INIT;
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    int64_t id = 0;
    leaseflake_code_t code = try_open(&ids, &error, "store", argv[1], "layout", "43-0-0-20", "acquire_timeout_ms", "20000", NULL);
    if (code != LEASEFLAKE_OK) fprintf(stderr, "%s\n", error.message);
    CHECK_CODE(LEASEFLAKE_OK, code);
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_next_id(ids, &id));
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_status(ids, &status, NULL));
    printf("%lld %lld\n", (long long)status.fencing_epoch, (long long)id);
    return 0;
}
