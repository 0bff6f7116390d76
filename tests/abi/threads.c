/* Many threads on one generator, closing while they generate, and state callbacks. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS 8
#define EACH 100000

static leaseflake_generator_t *shared;

static void *generate(void *place) {
    int64_t *ids = place;
    for (int i = 0; i < EACH;) {
        if (i % 3 == 0 && i + 100 <= EACH) {
            leaseflake_code_t code = leaseflake_next_batch(shared, ids + i, 100, NULL);
            if (code == LEASEFLAKE_OK) i += 100;
            else CHECK_CODE(LEASEFLAKE_SEQUENCE_EXHAUSTED, code);
        } else {
            leaseflake_code_t code = leaseflake_next_id(shared, &ids[i]);
            if (code == LEASEFLAKE_OK) i++;
            else CHECK_CODE(LEASEFLAKE_SEQUENCE_EXHAUSTED, code);
        }
    }
    return NULL;
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void threads_share_without_repeats(void) {
    pthread_t threads[THREADS];
    int64_t *ids = malloc(sizeof(int64_t) * THREADS * EACH);
    CHECK(ids != NULL);
    shared = open_with("memory:threads");
    for (int t = 0; t < THREADS; t++) CHECK(pthread_create(&threads[t], NULL, generate, ids + t * EACH) == 0);
    for (int t = 0; t < THREADS; t++) CHECK(pthread_join(threads[t], NULL) == 0);
    for (int t = 0; t < THREADS; t++)
        for (int i = 1; i < EACH; i++) CHECK(ids[t * EACH + i] > ids[t * EACH + i - 1]);
    qsort(ids, THREADS * EACH, sizeof *ids, by_value);
    for (int i = 1; i < THREADS * EACH; i++) CHECK(ids[i] != ids[i - 1]);
    free(ids);
    leaseflake_free(shared);
}

static atomic_int refused;
static atomic_long given;

static void *generate_until_closed(void *unused) {
    (void)unused;
    for (;;) {
        int64_t id = -1;
        leaseflake_code_t code = leaseflake_next_id(shared, &id);
        CHECK(code == LEASEFLAKE_OK ? id > 0 : id == -1);
        if (code == LEASEFLAKE_OK) atomic_fetch_add(&given, 1);
        if (code == LEASEFLAKE_CLOSED) break;
        if (code != LEASEFLAKE_OK) CHECK_CODE(LEASEFLAKE_SEQUENCE_EXHAUSTED, code);
    }
    atomic_fetch_add(&refused, 1);
    return NULL;
}

static void *close_it(void *unused) {
    (void)unused;
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_close(shared));
    return NULL;
}

static void close_while_others_generate(void) {
    for (int round = 0; round < 10; round++) {
        pthread_t generating[THREADS], closing[2];
        long before = atomic_load(&given);
        atomic_store(&refused, 0);
        shared = open_with("memory:closing");
        for (int t = 0; t < THREADS; t++) CHECK(pthread_create(&generating[t], NULL, generate_until_closed, NULL) == 0);
        WAIT_FOR(atomic_load(&given) > before + 1000);
        for (int t = 0; t < 2; t++) CHECK(pthread_create(&closing[t], NULL, close_it, NULL) == 0);
        for (int t = 0; t < 2; t++) CHECK(pthread_join(closing[t], NULL) == 0);
        for (int t = 0; t < THREADS; t++) CHECK(pthread_join(generating[t], NULL) == 0);
        CHECK(atomic_load(&refused) == THREADS);
        leaseflake_free(shared);
    }
}

struct seen {
    atomic_int calls, frees, closed;
    pthread_t thread;
    leaseflake_generator_t *close_from_within;
    leaseflake_code_t reentrant;
};

static void on_change(void *user_data, const leaseflake_state_change_t *change) {
    struct seen *seen = user_data;
    CHECK(change->struct_size == sizeof *change && change->number > 0 && change->reason[0] != '\0');
    seen->thread = pthread_self();
    if (change->to_state == LEASEFLAKE_STATE_CLOSED) atomic_fetch_add(&seen->closed, 1);
    if (seen->close_from_within != NULL) {
        CHECK_CODE(LEASEFLAKE_OK, leaseflake_close(seen->close_from_within));
        seen->reentrant = leaseflake_set_state_callback(seen->close_from_within, on_change, seen, NULL, NULL);
    }
    atomic_fetch_add(&seen->calls, 1);
}

static void on_free(void *user_data) {
    atomic_fetch_add(&((struct seen *)user_data)->frees, 1);
}

static void callback_hears_the_end_and_is_freed_once(void) {
    struct seen seen = {0}, other = {0};
    leaseflake_generator_t *ids = open_with("memory:callback");
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_set_state_callback(ids, on_change, &seen, on_free, NULL));
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_set_state_callback(ids, on_change, &other, on_free, NULL));
    CHECK(atomic_load(&seen.frees) == 1 && atomic_load(&other.frees) == 0);
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_close(ids));
    WAIT_FOR(atomic_load(&other.closed) == 1);
    CHECK(!pthread_equal(other.thread, pthread_self()));
    CHECK_CODE(LEASEFLAKE_CLOSED, leaseflake_set_state_callback(ids, on_change, &seen, on_free, NULL));
    leaseflake_free(ids);
    CHECK(atomic_load(&seen.calls) == 0 && atomic_load(&seen.frees) == 1);
    CHECK(atomic_load(&other.calls) == 1 && atomic_load(&other.frees) == 1);
}

static void free_alone_hears_the_end_too(void) {
    for (int round = 0; round < 50; round++) {
        struct seen seen = {0};
        leaseflake_generator_t *ids = open_with("memory:free-alone");
        CHECK_CODE(LEASEFLAKE_OK, leaseflake_set_state_callback(ids, on_change, &seen, on_free, NULL));
        leaseflake_free(ids);
        CHECK(atomic_load(&seen.closed) == 1 && atomic_load(&seen.frees) == 1);
    }
}

static void a_handle_that_is_not_the_last_ends_its_callback(void) {
    struct seen seen = {0};
    leaseflake_generator_t *one = open_with("memory:two"), *two = open_with("memory:two");
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_set_state_callback(one, on_change, &seen, on_free, NULL));
    leaseflake_free(one);
    CHECK(atomic_load(&seen.frees) == 1 && atomic_load(&seen.calls) == 0);
    int64_t id = 0;
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_next_id(two, &id));
    leaseflake_free(two);
    CHECK(atomic_load(&seen.calls) == 0);
}

static void removed_callback_is_silent(void) {
    struct seen seen = {0};
    leaseflake_generator_t *ids = open_with("memory:removed");
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_set_state_callback(ids, NULL, NULL, NULL, NULL));
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_set_state_callback(ids, on_change, &seen, on_free, NULL));
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_set_state_callback(ids, NULL, NULL, NULL, NULL));
    CHECK(atomic_load(&seen.frees) == 1);
    leaseflake_free(ids);
    CHECK(atomic_load(&seen.calls) == 0 && atomic_load(&seen.frees) == 1);
}

static void callback_may_close_its_handle(void) {
    struct seen closing = {0};
    leaseflake_generator_t *ids = open_with("memory:within");
    closing.close_from_within = ids;
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_set_state_callback(ids, on_change, &closing, on_free, NULL));
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_close(ids));
    WAIT_FOR(atomic_load(&closing.calls) == 1);
    leaseflake_free(ids);
    CHECK(closing.reentrant == LEASEFLAKE_CLOSED && atomic_load(&closing.frees) == 1);
}

int main(void) {
    threads_share_without_repeats();
    close_while_others_generate();
    callback_hears_the_end_and_is_freed_once();
    free_alone_hears_the_end_too();
    a_handle_that_is_not_the_last_ends_its_callback();
    removed_callback_is_silent();
    callback_may_close_its_handle();
    return 0;
}
