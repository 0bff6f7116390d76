/* next_id allocates nothing, whatever it gives: the allocator is counted. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static _Thread_local long counted;

void *malloc(size_t size) {
    counted++;
    return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    counted++;
    return __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
    counted++;
    return __libc_realloc(old, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
    counted++;
    return __libc_memalign(alignment, size);
}
int posix_memalign(void **place, size_t alignment, size_t size) {
    counted++;
    *place = __libc_memalign(alignment, size);
    return *place == NULL ? ENOMEM : 0;
}

int main(void) {
    static int64_t array[5000];
    int64_t id = 0;
    char text[LEASEFLAKE_ID_TEXT_SIZE];
    leaseflake_id_parts_t parts;
    long before = counted;
    leaseflake_generator_t *ids = open_with("memory:alloc");
    CHECK(counted > before); /* The library's allocations are seen. */

    before = counted;
    for (int i = 0; i < 200000; i++) {
        leaseflake_code_t code = leaseflake_next_id(ids, &id);
        CHECK(code == LEASEFLAKE_OK || code == LEASEFLAKE_SEQUENCE_EXHAUSTED);
    }
    int refused = 0;
    for (int i = 0; i < 200000; i++) refused += leaseflake_try_next_id(ids, &id) != LEASEFLAKE_OK;
    CHECK(leaseflake_next_id(NULL, &id) == LEASEFLAKE_INVALID_ARGUMENT);
    CHECK(leaseflake_next_batch(ids, array, 100, NULL) == LEASEFLAKE_OK);
    CHECK(leaseflake_fill(ids, array, 5000, NULL, NULL) == LEASEFLAKE_OK);
    CHECK(leaseflake_format_id(id, text, sizeof text) == LEASEFLAKE_OK);
    CHECK(leaseflake_parse_id(text, &id, NULL) == LEASEFLAKE_OK);
    CHECK(leaseflake_decode_id(NULL, id, &parts, NULL) == LEASEFLAKE_OK);
    CHECK(counted == before);

    leaseflake_close(ids);
    before = counted;
    CHECK(leaseflake_next_id(ids, &id) == LEASEFLAKE_CLOSED);
    CHECK(counted == before);
    leaseflake_free(ids);
    return 0;
}
