/*
 * Every code of the table, provoked. The runner preloads the clock shim, whose offset this program writes, and gives
 * a library that was built with `faults`.
 */
#include "check.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mman.h>

static int64_t *offset_ns;
static char seen[100];

static void note(leaseflake_code_t code) { seen[code] = 1; }

/* The code, with what the generator says to it. */
static void expect(leaseflake_code_t expected, const leaseflake_error_t *error, leaseflake_code_t got) {
    if (got != expected) fprintf(stderr, "%s: %s\n", leaseflake_code_name(got), error->message);
    CHECK_CODE(expected, got);
    CHECK(error->code == expected && strlen(error->message) > 20);
    CHECK((error->retryable != 0) == leaseflake_code_retryable(expected));
    CHECK((error->retry_after_ms > 0) == (error->retryable != 0));
    note(expected);
}

static void explained(leaseflake_generator_t *ids, leaseflake_code_t code) {
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_explain(ids, code, &error));
    expect(code, &error, error.code);
}

static const char *path_of(const char *store) { return store + strlen("sqlite:"); }

/* Whoever holds the lock of the sidecar keeps everybody else from the registry. */
static int lock_registry(const char *store) {
    char sidecar[4200];
    snprintf(sidecar, sizeof sidecar, "%s.lock", path_of(store));
    int file = open(sidecar, O_RDWR | O_CREAT, 0600);
    CHECK(file >= 0);
    WAIT_FOR(flock(file, LOCK_EX | LOCK_NB) == 0);
    return file;
}

static void arguments_and_options(void) {
    leaseflake_generator_t *ids = NULL;
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    expect(LEASEFLAKE_INVALID_ARGUMENT, &error, try_open(&ids, &error, "store", "memory:", "lease_ttl_ms", "6000", NULL));
}

static void registries_that_refuse(void) {
    leaseflake_generator_t *ids = NULL;
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    const char *store = sqlite_store("garbage.db");
    FILE *file = fopen(path_of(store), "w");
    CHECK(file != NULL && fputs("this is no registry, and was never one", file) >= 0 && fclose(file) == 0);
    expect(LEASEFLAKE_STORE_REJECTED, &error, try_open(&ids, &error, "store", store, NULL));

    store = sqlite_store("layout.db");
    leaseflake_free(open_with(store));
    expect(LEASEFLAKE_LAYOUT_MISMATCH, &error, try_open(&ids, &error, "store", store, "layout", "41-4-6-12", NULL));

    store = sqlite_store("held.db");
    leaseflake_free(open_with(store));
    int held = lock_registry(store);
    expect(LEASEFLAKE_STORE_UNAVAILABLE, &error,
           try_open(&ids, &error, "store", store, "acquire_timeout_ms", "300", NULL));
    close(held);
    CHECK(ids == NULL);
}

static void all_worker_ids_taken(void) {
    leaseflake_generator_t *one = NULL, *two = NULL;
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    CHECK_CODE(LEASEFLAKE_OK, try_open(&one, NULL, "store", "memory:one", "layout", "43-0-0-20", NULL));
    expect(LEASEFLAKE_NO_WORKER_ID, &error,
           try_open(&two, &error, "store", "memory:one", "layout", "43-0-0-20", "slot", "1", "acquire_timeout_ms", "2000", NULL));
    CHECK(two == NULL);
    leaseflake_free(one);
}

static void on_change_free(void *place, const leaseflake_state_change_t *change) {
    (void)change;
    leaseflake_free(atomic_exchange((_Atomic(leaseflake_generator_t *) *)place, NULL));
}

static void lease_runs_out_and_comes_back(void) {
    leaseflake_generator_t *ids = NULL, *freed_within = NULL;
    const char *store = sqlite_store("suspended.db");
    int64_t id = 0;
    CHECK_CODE(LEASEFLAKE_OK, try_open(&ids, NULL, "store", store, "lease_ttl_ms", "2500", "heartbeat_interval_ms", "500",
                                       "safety_margin_ms", "500", NULL));
    CHECK_CODE(LEASEFLAKE_OK, try_open(&freed_within, NULL, "store", store, NULL));
    _Atomic(leaseflake_generator_t *) handle = freed_within;
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_set_state_callback(freed_within, on_change_free, (void *)&handle, NULL, NULL));
    int held = lock_registry(store);
    leaseflake_code_t code;
    WAIT_FOR((code = leaseflake_next_id(ids, &id)) != LEASEFLAKE_OK);
    CHECK_CODE(LEASEFLAKE_LEASE_SUSPENDED, code);
    explained(ids, LEASEFLAKE_LEASE_SUSPENDED);
    WAIT_FOR(atomic_load(&handle) == NULL);
    size_t written = 99;
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    expect(LEASEFLAKE_LEASE_SUSPENDED, &error, leaseflake_fill(ids, &id, 1, &written, &error));
    CHECK(written == 0);
    close(held);
    WAIT_FOR(leaseflake_next_id(ids, &id) == LEASEFLAKE_OK);
    leaseflake_free(ids);
}

static void somebody_else_takes_the_worker_id(void) {
    leaseflake_generator_t *ids = NULL;
    const char *store = sqlite_store("lost.db");
    int64_t id = 0;
    CHECK_CODE(LEASEFLAKE_OK, try_open(&ids, NULL, "store", store, "layout", "43-0-0-20", "heartbeat_interval_ms", "100", NULL));
    sqlite3 *db = NULL;
    char *fault = NULL;
    CHECK(sqlite3_open(path_of(store), &db) == SQLITE_OK);
    sqlite3_busy_timeout(db, 30000);
    const char *sql = "UPDATE WorkerNodeRegistryTable SET fencing_epoch = fencing_epoch + 1, version = version + 1,"
                      " lease_expiry_ts = lease_expiry_ts + 100000, renewal_id = 'somebody', instance_id = 'somebody'"
                      " WHERE SK = 'WORKER#00'";
    if (sqlite3_exec(db, sql, NULL, NULL, &fault) != SQLITE_OK) fprintf(stderr, "%s\n", fault);
    CHECK(fault == NULL && sqlite3_changes(db) == 1);
    CHECK(sqlite3_close(db) == SQLITE_OK);
    leaseflake_code_t code;
    WAIT_FOR((code = leaseflake_next_id(ids, &id)) != LEASEFLAKE_OK);
    CHECK_CODE(LEASEFLAKE_LEASE_LOST, code);
    explained(ids, LEASEFLAKE_LEASE_LOST);
    leaseflake_free(ids);
}

static void clock_goes_astray(void) {
    leaseflake_generator_t *ids = open_with("memory:clock"), *before_epoch = NULL;
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    int64_t id = 0, second = 1000000000;
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_next_id(ids, &id));
    *offset_ns = -5 * second;
    CHECK_CODE(LEASEFLAKE_CLOCK_BACKWARDS, leaseflake_next_id(ids, &id));
    explained(ids, LEASEFLAKE_CLOCK_BACKWARDS);
    *offset_ns = 0;
    leaseflake_free(ids);

    *offset_ns = -(int64_t)10 * 365 * 24 * 3600 * second;
    expect(LEASEFLAKE_CLOCK_UNTRUSTED, &error,
           try_open(&before_epoch, &error, "store", "memory:before-epoch", "acquire_timeout_ms", "2000", NULL));
    *offset_ns = 0;

    /* 32 bits of milliseconds from 1970 ended in February 1970. */
    expect(LEASEFLAKE_TIMESTAMP_OUT_OF_RANGE, &error,
           try_open(&before_epoch, &error, "store", "memory:ended", "layout", "32-1-10-20", "epoch_ms", "0", NULL));
    CHECK(before_epoch == NULL);
}

static void sequence_is_used_up(void) {
    leaseflake_generator_t *ids = NULL;
    int64_t id = 0;
    CHECK_CODE(LEASEFLAKE_OK, try_open(&ids, NULL, "store", "memory:short", "layout", "52-5-5-1", NULL));
    /* Two IDs a millisecond: a loop takes them quicker than that. */
    leaseflake_code_t code;
    int64_t began = boot_ms();
    while ((code = leaseflake_try_next_id(ids, &id)) == LEASEFLAKE_OK) CHECK(boot_ms() - began < 60000);
    CHECK_CODE(LEASEFLAKE_SEQUENCE_EXHAUSTED, code);
    explained(ids, LEASEFLAKE_SEQUENCE_EXHAUSTED);
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_close(ids));
    CHECK_CODE(LEASEFLAKE_CLOSED, leaseflake_next_id(ids, &id));
    explained(ids, LEASEFLAKE_CLOSED);
    leaseflake_free(ids);
}

static void (*panic_next)(void);

#define PANICS(call)                                        \
    do {                                                    \
        panic_next();                                       \
        CHECK_CODE(LEASEFLAKE_INTERNAL, call);              \
    } while (0)

static void nothing(void *count, const leaseflake_state_change_t *change) {
    (void)count;
    (void)change;
}

/* Every function of the header, told to panic: the panic stays inside. */
static void panics_stay_inside(void) {
    /* ISO C has no way from a void pointer to a function. */
    void *found_fault = dlsym(RTLD_DEFAULT, "leaseflake_fault_panic_next");
    CHECK(found_fault != NULL);
    memcpy(&panic_next, &found_fault, sizeof found_fault);
    leaseflake_generator_t *ids = open_with("memory:panics"), *none = NULL;
    leaseflake_options_t *options = leaseflake_options_new();
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    leaseflake_status_t status = LEASEFLAKE_STATUS_INIT;
    leaseflake_state_change_t change = LEASEFLAKE_STATE_CHANGE_INIT;
    leaseflake_layout_t layout;
    leaseflake_id_parts_t parts;
    int64_t id = 5;
    size_t written = 5;
    bool found = false;
    char text[LEASEFLAKE_ID_TEXT_SIZE];
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_options_set(options, "store", "memory:panics", NULL));
    PANICS(leaseflake_options_set(options, "slot", "3", &error));
    PANICS(leaseflake_open(options, &none, &error));
    PANICS(leaseflake_next_id(ids, &id));
    PANICS(leaseflake_try_next_id(ids, &id));
    PANICS(leaseflake_next_batch(ids, &id, 1, &error));
    PANICS(leaseflake_fill(ids, &id, 1, &written, &error));
    PANICS(leaseflake_format_id(1, text, sizeof text));
    PANICS(leaseflake_parse_id("1", &id, &error));
    PANICS(leaseflake_decode_id(NULL, 1, &parts, &error));
    PANICS(leaseflake_layout(ids, &layout));
    PANICS(leaseflake_status(ids, &status, &error));
    PANICS(leaseflake_next_state_change(ids, 0, &change, &found, &error));
    PANICS(leaseflake_set_state_callback(ids, nothing, NULL, NULL, &error));
    PANICS(leaseflake_explain(ids, LEASEFLAKE_CLOSED, &error));
    PANICS(leaseflake_close(ids));
    CHECK(none == NULL && id == 5 && written == 5 && !found);
    CHECK(error.code == LEASEFLAKE_INTERNAL && strstr(error.message, "bug") != NULL);
    note(LEASEFLAKE_INTERNAL);
    panic_next();
    CHECK(leaseflake_options_new() == NULL);
    panic_next();
    CHECK(strcmp(leaseflake_code_name(LEASEFLAKE_CLOSED), "UNKNOWN") == 0);
    panic_next();
    CHECK(!leaseflake_code_retryable(LEASEFLAKE_LEASE_LOST));
    panic_next();
    CHECK(strcmp(leaseflake_state_name(LEASEFLAKE_STATE_ACTIVE), "unknown") == 0);
    panic_next();
    CHECK(leaseflake_version()[0] == '\0');
    panic_next();
    CHECK(leaseflake_abi_version() == 0);
    panic_next();
    leaseflake_free(NULL);
    panic_next();
    leaseflake_options_free(NULL);
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_next_id(ids, &id));
    leaseflake_free(ids);
    leaseflake_options_free(options);
}

int main(void) {
    int file = open(getenv("CLOCKSHIM_FILE"), O_RDWR);
    CHECK(file >= 0);
    offset_ns = mmap(NULL, sizeof *offset_ns, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(offset_ns != MAP_FAILED);
    arguments_and_options();
    registries_that_refuse();
    all_worker_ids_taken();
    lease_runs_out_and_comes_back();
    somebody_else_takes_the_worker_id();
    clock_goes_astray();
    sequence_is_used_up();
    panics_stay_inside();
    /* The whole table, as the library knows it. */
    for (int code = 1; code < 100; code++)
        if (strcmp(leaseflake_code_name(code), "UNKNOWN") != 0 && !seen[code]) {
            fprintf(stderr, "%s was never provoked\n", leaseflake_code_name(code));
            return 1;
        }
    return 0;
}
