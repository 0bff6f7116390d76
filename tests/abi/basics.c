/* What each call does, in a program of one thread. */
#include "check.h"

static void versions(void) {
    CHECK(leaseflake_abi_version() == LEASEFLAKE_ABI_VERSION);
    CHECK(strchr(leaseflake_version(), '.') != NULL);
}

static void one_after_the_other(leaseflake_generator_t *ids) {
    int64_t last = 0, id = 0;
    for (int i = 0; i < 100000; i++) {
        CHECK_CODE(LEASEFLAKE_OK, leaseflake_next_id(ids, &id));
        CHECK(id > last);
        last = id;
    }
    int given = 0;
    for (int i = 0; i < 100000; i++) {
        int64_t before = id;
        leaseflake_code_t code = leaseflake_try_next_id(ids, &id);
        CHECK(code == LEASEFLAKE_OK || code == LEASEFLAKE_SEQUENCE_EXHAUSTED);
        CHECK(code == LEASEFLAKE_OK ? id > before : id == before);
        given += code == LEASEFLAKE_OK;
    }
    CHECK(given > 0);
}

static void batch_is_one_run(leaseflake_generator_t *ids) {
    int64_t batch[1001];
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_next_batch(ids, batch, 1000, NULL));
    for (int i = 1; i < 1000; i++) CHECK(batch[i] == batch[i - 1] + 1);
    leaseflake_id_parts_t first, last;
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_decode_id(NULL, batch[0], &first, NULL));
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_decode_id(NULL, batch[999], &last, NULL));
    CHECK(first.timestamp_ms == last.timestamp_ms && last.sequence == first.sequence + 999);
    batch[0] = -5;
    CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_next_batch(ids, batch, 0, &error));
    CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_next_batch(ids, batch, 1001, &error));
    CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_next_batch(ids, batch, (size_t)-1, &error));
    CHECK(batch[0] == -5);
    CHECK(error.code == LEASEFLAKE_INVALID_ARGUMENT && error.retryable == 0 && error.retry_after_ms == 0);
    CHECK(strstr(error.message, "1..=1000") != NULL);
}

static void fill_takes_any_length(leaseflake_generator_t *ids) {
    size_t count = 50000, written = 7;
    int64_t *array = malloc(count * sizeof *array);
    CHECK(array != NULL);
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_fill(ids, array, count, &written, NULL));
    CHECK(written == count);
    for (size_t i = 1; i < count; i++) CHECK(array[i] > array[i - 1]);
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_fill(ids, array, 10, NULL, NULL));
    CHECK(array[0] > array[count - 1]);
    free(array);
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_fill(ids, NULL, 0, &written, NULL));
    CHECK(written == 0);
    written = 7;
    CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_fill(ids, NULL, 1, &written, NULL));
    CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_fill(ids, (int64_t *)&written, (size_t)-1, &written, NULL));
    CHECK(written == 7);
}

static void text_and_back(leaseflake_generator_t *ids) {
    int64_t id = 0, again = 0;
    char text[LEASEFLAKE_ID_TEXT_SIZE], expected[32];
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_next_id(ids, &id));
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_format_id(id, text, sizeof text));
    snprintf(expected, sizeof expected, "%lld", (long long)id);
    CHECK(strcmp(text, expected) == 0);
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_parse_id(text, &again, NULL));
    CHECK(again == id);
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_format_id(INT64_MAX, text, sizeof text));
    CHECK(strcmp(text, "9223372036854775807") == 0);

    char small[4] = "xyz";
    CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_format_id(1234, small, sizeof small));
    CHECK(strcmp(small, "xyz") == 0);
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_format_id(123, small, sizeof small));
    CHECK(strcmp(small, "123") == 0);
    CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_format_id(1, small, 0));
    CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_format_id(0, small, sizeof small));
    CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_format_id(-1, small, sizeof small));
    CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_format_id(INT64_MIN, small, sizeof small));
    CHECK(strcmp(small, "123") == 0);
}

static void layout_is_the_generators(void) {
    leaseflake_generator_t *ids = NULL;
    leaseflake_layout_t layout;
    leaseflake_id_parts_t parts;
    int64_t id = 0;
    CHECK_CODE(LEASEFLAKE_OK, try_open(&ids, NULL, "store", "memory:layout", "layout", "43-0-8-12", "epoch_ms", "1000", NULL));
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_layout(ids, &layout));
    CHECK(layout.timestamp_bits == 43 && layout.datacenter_bits == 0 && layout.worker_bits == 8);
    CHECK(layout.sequence_bits == 12 && layout.epoch_ms == 1000);
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_next_id(ids, &id));
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_decode_id(&layout, id, &parts, NULL));
    int64_t now_ms = (int64_t)time(NULL) * 1000;
    CHECK(parts.timestamp_ms > now_ms - 60000 && parts.timestamp_ms < now_ms + 60000);

    leaseflake_status_t status = LEASEFLAKE_STATUS_INIT;
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_status(ids, &status, NULL));
    CHECK((int32_t)parts.worker_id == status.worker_id);
    layout.sequence_bits = 13;
    parts.sequence = 77;
    CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_decode_id(&layout, id, &parts, NULL));
    layout.sequence_bits = 12 + 256;
    CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_decode_id(&layout, id, &parts, NULL));
    CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_decode_id(NULL, 0, &parts, NULL));
    CHECK(parts.sequence == 77);
    leaseflake_free(ids);
}

static void status_tells(leaseflake_generator_t *ids) {
    leaseflake_status_t status = LEASEFLAKE_STATUS_INIT;
    int64_t id = 0;
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_next_id(ids, &id));
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_status(ids, &status, NULL));
    CHECK(status.struct_size == sizeof status);
    CHECK(status.state == LEASEFLAKE_STATE_ACTIVE && strcmp(leaseflake_state_name(status.state), "active") == 0);
    CHECK(status.datacenter_id >= 0 && status.worker_id >= 0 && status.fencing_epoch > 0);
    CHECK(status.owns_keeper == 1 && status.issued > 0 && status.leases_acquired == 1);
    CHECK(status.lease_length_ms == 30000 && status.lease_expiry_ts > status.ceiling_ms);
    CHECK(strcmp(status.store, "memory:basics") == 0 && status.instance_id[0] != '\0');
    CHECK(status.last_error_code == LEASEFLAKE_OK && status.last_error[0] == '\0');

    leaseflake_state_change_t change = LEASEFLAKE_STATE_CHANGE_INIT;
    bool found = false;
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_next_state_change(ids, 0, &change, &found, NULL));
    CHECK(found && change.number == 1 && change.struct_size == sizeof change);
    CHECK(change.from_state == LEASEFLAKE_STATE_ACQUIRING && change.to_state == LEASEFLAKE_STATE_ACTIVE);
    CHECK(change.worker_id == status.worker_id && change.fencing_epoch == status.fencing_epoch);
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_next_state_change(ids, 1, &change, &found, NULL));
    CHECK(!found && change.number == 1);
}

/* A program of an older header has smaller structs, one of a newer header larger ones. */
static void structs_of_other_versions(leaseflake_generator_t *ids) {
    struct {
        leaseflake_status_t status;
        char more[64];
    } newer;
    memset(&newer, 0x5a, sizeof newer);
    newer.status.struct_size = sizeof newer;
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_status(ids, &newer.status, NULL));
    CHECK(newer.status.struct_size == sizeof newer && newer.status.state == LEASEFLAKE_STATE_ACTIVE);
    for (size_t i = 0; i < sizeof newer.more; i++) CHECK(newer.more[i] == 0x5a);

    leaseflake_status_t status = LEASEFLAKE_STATUS_INIT;
    leaseflake_state_change_t change = LEASEFLAKE_STATE_CHANGE_INIT;
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    leaseflake_generator_t *other = NULL;
    bool found = false;
    for (uint32_t size = 0; size < 8; size++) {
        status.struct_size = change.struct_size = error.struct_size = size;
        status.state = change.to_state = error.code = 77;
        CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_status(ids, &status, NULL));
        CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_next_state_change(ids, 0, &change, &found, NULL));
        CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_open(NULL, &other, &error));
        CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_explain(ids, LEASEFLAKE_CLOSED, &error));
        CHECK(status.state == 77 && change.to_state == 77 && error.code == 77 && other == NULL);
    }
}

static void bad_arguments(leaseflake_generator_t *ids) {
    int64_t id = 3;
    leaseflake_generator_t *none = NULL;
    leaseflake_status_t status = LEASEFLAKE_STATUS_INIT;
    leaseflake_state_change_t change = LEASEFLAKE_STATE_CHANGE_INIT;
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    leaseflake_layout_t layout;
    leaseflake_options_t *options = leaseflake_options_new();
    bool found = false;
    char text[LEASEFLAKE_ID_TEXT_SIZE];
    const leaseflake_code_t bad = LEASEFLAKE_INVALID_ARGUMENT;

    CHECK_CODE(bad, leaseflake_next_id(NULL, &id));
    CHECK_CODE(bad, leaseflake_next_id(ids, NULL));
    CHECK_CODE(bad, leaseflake_try_next_id(NULL, &id));
    CHECK_CODE(bad, leaseflake_try_next_id(ids, NULL));
    CHECK_CODE(bad, leaseflake_next_batch(NULL, &id, 1, NULL));
    CHECK_CODE(bad, leaseflake_next_batch(ids, NULL, 1, NULL));
    CHECK_CODE(bad, leaseflake_fill(NULL, &id, 1, NULL, NULL));
    CHECK(id == 3);
    CHECK_CODE(bad, leaseflake_format_id(1, NULL, 20));
    CHECK_CODE(bad, leaseflake_parse_id(NULL, &id, NULL));
    CHECK_CODE(bad, leaseflake_parse_id("1", NULL, NULL));
    CHECK_CODE(bad, leaseflake_decode_id(NULL, 1, NULL, NULL));
    CHECK_CODE(bad, leaseflake_layout(NULL, &layout));
    CHECK_CODE(bad, leaseflake_layout(ids, NULL));
    CHECK_CODE(bad, leaseflake_status(NULL, &status, NULL));
    CHECK_CODE(bad, leaseflake_status(ids, NULL, NULL));
    CHECK_CODE(bad, leaseflake_next_state_change(NULL, 0, &change, &found, NULL));
    CHECK_CODE(bad, leaseflake_next_state_change(ids, 0, NULL, &found, NULL));
    CHECK_CODE(bad, leaseflake_next_state_change(ids, 0, &change, NULL, NULL));
    CHECK_CODE(bad, leaseflake_set_state_callback(NULL, NULL, NULL, NULL, NULL));
    CHECK_CODE(bad, leaseflake_explain(NULL, LEASEFLAKE_CLOSED, &error));
    CHECK_CODE(bad, leaseflake_explain(ids, LEASEFLAKE_CLOSED, NULL));
    CHECK_CODE(bad, leaseflake_explain(ids, LEASEFLAKE_OK, &error));
    CHECK_CODE(bad, leaseflake_explain(ids, 12345, &error));
    CHECK(strstr(error.message, "12345") != NULL);
    CHECK_CODE(bad, leaseflake_open(options, NULL, &error));
    CHECK(strstr(error.message, "generator") != NULL && strstr(error.message, "NULL") != NULL);
    CHECK_CODE(bad, leaseflake_close(NULL));
    CHECK_CODE(bad, leaseflake_options_set(NULL, "store", "memory:", NULL));
    CHECK_CODE(bad, leaseflake_options_set(options, NULL, "memory:", NULL));
    CHECK_CODE(bad, leaseflake_options_set(options, "store", NULL, NULL));
    leaseflake_free(NULL);
    leaseflake_options_free(NULL);

    /* Over-long and without end, not UTF-8, unknown, and not allowed. */
    char *endless = malloc(1 << 20);
    CHECK(endless != NULL);
    memset(endless, '7', 1 << 20);
    CHECK_CODE(bad, leaseflake_options_set(options, endless, "1", &error));
    CHECK(strstr(error.message, "64") != NULL);
    CHECK_CODE(bad, leaseflake_options_set(options, "store", endless, &error));
    CHECK(strstr(error.message, "8192") != NULL);
    id = 3;
    CHECK_CODE(bad, leaseflake_parse_id(endless, &id, &error));
    CHECK(id == 3);
    free(endless);
    CHECK_CODE(bad, leaseflake_options_set(options, "store", "sqlite:\xff\xfe", &error));
    CHECK(strstr(error.message, "UTF-8") != NULL);
    CHECK_CODE(bad, leaseflake_options_set(options, "sto\xc3", "memory:", &error));
    CHECK_CODE(bad, leaseflake_parse_id("1\xff", &id, &error));
    CHECK_CODE(bad, leaseflake_options_set(options, "heartbeat", "1", &error));
    CHECK(strstr(error.message, "heartbeat") != NULL && strstr(error.message, "heartbeat_interval_ms") != NULL);
    CHECK_CODE(bad, leaseflake_options_set(options, "lease_ttl_ms", "soon", &error));
    CHECK(strstr(error.message, "soon") != NULL);
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_options_set(options, "store", "memory:x", &error));
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_options_set(options, "store", "", &error));
    CHECK_CODE(bad, leaseflake_open(options, &none, &error));
    CHECK(none == NULL && strstr(error.message, "store") != NULL);
    CHECK_CODE(bad, leaseflake_open(NULL, &none, NULL));
    leaseflake_options_free(options);
    CHECK(leaseflake_format_id(1, text, sizeof text) == LEASEFLAKE_OK);
}

static void names(void) {
    CHECK(strcmp(leaseflake_code_name(LEASEFLAKE_OK), "OK") == 0);
    CHECK(strcmp(leaseflake_code_name(2), "UNKNOWN") == 0);
    CHECK(strcmp(leaseflake_code_name(INT32_MIN), "UNKNOWN") == 0);
    CHECK(!leaseflake_code_retryable(0) && !leaseflake_code_retryable(-1));
    CHECK(strcmp(leaseflake_state_name(-1), "unknown") == 0);
}

static void environment_opens(void) {
    leaseflake_generator_t *ids = NULL;
    int64_t id = 0;
    CHECK(setenv("LEASEFLAKE_STORE", "memory:environment", 1) == 0);
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_open(NULL, &ids, NULL));
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_next_id(ids, &id));
    leaseflake_free(ids);
    CHECK(unsetenv("LEASEFLAKE_STORE") == 0);
}

static void handles_close_one_by_one(void) {
    leaseflake_generator_t *one = open_with("memory:handles"), *two = open_with("memory:handles");
    leaseflake_status_t first = LEASEFLAKE_STATUS_INIT, second = LEASEFLAKE_STATUS_INIT;
    int64_t id = 0, later = 0;
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_status(one, &first, NULL));
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_status(two, &second, NULL));
    CHECK(first.worker_id == second.worker_id && first.fencing_epoch == second.fencing_epoch);
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_next_id(one, &id));
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_close(one));
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_close(one));
    CHECK_CODE(LEASEFLAKE_CLOSED, leaseflake_next_id(one, &later));
    CHECK(later == 0);
    CHECK_CODE(LEASEFLAKE_CLOSED, leaseflake_try_next_id(one, &later));
    CHECK_CODE(LEASEFLAKE_CLOSED, leaseflake_next_batch(one, &later, 1, NULL));
    size_t written = 9;
    CHECK_CODE(LEASEFLAKE_CLOSED, leaseflake_fill(one, &later, 1, &written, NULL));
    CHECK(written == 0 && later == 0);
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_status(one, &first, NULL));
    CHECK(first.state == LEASEFLAKE_STATE_CLOSED);
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_next_id(two, &later));
    CHECK(later > id);
    leaseflake_free(one);
    leaseflake_free(two);
}

int main(void) {
    unsetenv("LEASEFLAKE_STORE");
    versions();
    names();
    leaseflake_generator_t *ids = open_with("memory:basics");
    one_after_the_other(ids);
    batch_is_one_run(ids);
    fill_takes_any_length(ids);
    text_and_back(ids);
    layout_is_the_generators();
    status_tells(ids);
    structs_of_other_versions(ids);
    bad_arguments(ids);
    leaseflake_free(ids);
    environment_opens();
    handles_close_one_by_one();
    return 0;
}
