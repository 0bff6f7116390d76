/* The shared vectors: every language is held to the same numbers. vectors.h is written by vectors.py. */
#include "check.h"

struct valid_id {
    leaseflake_layout_t layout;
    int64_t id;
    const char *text;
    leaseflake_id_parts_t parts;
};
struct widths {
    uint32_t bits[4];
};
struct code {
    leaseflake_code_t code;
    const char *name;
    int retryable;
};

#include "vectors.h"

#define EACH(index, array) for (size_t index = 0; index < sizeof(array) / sizeof *(array); index++)

int main(void) {
    EACH(i, valid_ids) {
        const struct valid_id *expected = &valid_ids[i];
        leaseflake_id_parts_t parts;
        char text[LEASEFLAKE_ID_TEXT_SIZE];
        int64_t id = 0;
        CHECK_CODE(LEASEFLAKE_OK, leaseflake_decode_id(&expected->layout, expected->id, &parts, NULL));
        CHECK(parts.timestamp_ms == expected->parts.timestamp_ms && parts.sequence == expected->parts.sequence);
        CHECK(parts.datacenter_id == expected->parts.datacenter_id && parts.worker_id == expected->parts.worker_id);
        CHECK_CODE(LEASEFLAKE_OK, leaseflake_format_id(expected->id, text, sizeof text));
        CHECK(strcmp(text, expected->text) == 0);
        CHECK_CODE(LEASEFLAKE_OK, leaseflake_parse_id(expected->text, &id, NULL));
        CHECK(id == expected->id);
    }
    EACH(i, bad_id_texts) {
        int64_t id = 77;
        leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
        CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_parse_id(bad_id_texts[i], &id, &error));
        CHECK(id == 77 && error.code == LEASEFLAKE_INVALID_ARGUMENT && error.message[0] != '\0');
    }
    EACH(i, bad_ids) {
        char text[LEASEFLAKE_ID_TEXT_SIZE];
        leaseflake_id_parts_t parts;
        CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_format_id(bad_ids[i], text, sizeof text));
        CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_decode_id(NULL, bad_ids[i], &parts, NULL));
    }
    EACH(i, good_layouts) {
        leaseflake_id_parts_t parts;
        CHECK_CODE(LEASEFLAKE_OK, leaseflake_decode_id(&good_layouts[i], INT64_MAX, &parts, NULL));
        CHECK(parts.sequence == (1u << good_layouts[i].sequence_bits) - 1);
    }
    EACH(i, bad_widths) {
        const uint32_t *bits = bad_widths[i].bits;
        leaseflake_layout_t layout = {bits[0], bits[1], bits[2], bits[3], 0};
        leaseflake_id_parts_t parts;
        CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_decode_id(&layout, 1, &parts, NULL));
    }
    leaseflake_options_t *options = leaseflake_options_new();
    EACH(i, bad_layout_texts)
        CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_options_set(options, "layout", bad_layout_texts[i], NULL));
    EACH(i, bad_epochs)
        CHECK_CODE(LEASEFLAKE_INVALID_ARGUMENT, leaseflake_options_set(options, "epoch_ms", bad_epochs[i], NULL));
    leaseflake_options_free(options);
    EACH(i, codes) {
        CHECK(strcmp(leaseflake_code_name(codes[i].code), codes[i].name) == 0);
        CHECK(leaseflake_code_retryable(codes[i].code) == (codes[i].retryable != 0));
    }
    return 0;
}
