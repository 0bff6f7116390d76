/* A forked child goes on with its parent's generator: no ID twice, and the parent's lease stays. */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>

#define CHILDREN 4
#define EACH 20000

static void give(leaseflake_generator_t *ids, int pipe_end) {
    static int64_t batch[1000];
    for (int done = 0; done < EACH;) {
        size_t written = 0;
        leaseflake_code_t code = leaseflake_fill(ids, batch, 1000, &written, NULL);
        CHECK(code == LEASEFLAKE_OK || code == LEASEFLAKE_SEQUENCE_EXHAUSTED);
        size_t bytes = written * sizeof *batch;
        CHECK(write(pipe_end, batch, bytes) == (ssize_t)bytes);
        done += (int)written;
    }
}

static void on_change(void *count, const leaseflake_state_change_t *change) {
    (void)change;
    ++*(int *)count;
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void generations_share_without_repeats(void) {
    int ends[2];
    int calls = 0;
    CHECK(pipe(ends) == 0);
    leaseflake_generator_t *ids = open_with(sqlite_store("fork.db"));
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_set_state_callback(ids, on_change, &calls, NULL, NULL));
    pid_t children[CHILDREN];
    for (int c = 0; c < CHILDREN; c++) {
        children[c] = fork();
        CHECK(children[c] >= 0);
        if (children[c] == 0) {
            close(ends[0]);
            pid_t grandchild = fork();
            give(ids, ends[1]);
            if (grandchild == 0) _exit(0);
            int how = 0;
            CHECK(waitpid(grandchild, &how, 0) == grandchild && how == 0);
            leaseflake_status_t status = LEASEFLAKE_STATUS_INIT;
            CHECK_CODE(LEASEFLAKE_OK, leaseflake_status(ids, &status, NULL));
            CHECK(status.owns_keeper == 0 && status.worker_id >= 0);
            /* One child closes and frees, one exits by atexit, one sets a callback of its own. */
            if (c == 1) leaseflake_free(ids);
            if (c == 2) {
                CHECK_CODE(LEASEFLAKE_OK, leaseflake_set_state_callback(ids, on_change, &calls, NULL, NULL));
                leaseflake_free(ids);
            }
            if (c == 3) exit(0);
            _exit(0);
        }
    }
    int64_t *all = malloc(sizeof(int64_t) * (2 * CHILDREN + 1) * (EACH + 1000));
    CHECK(all != NULL);
    size_t bytes = 0;
    close(ends[1]);
    for (;;) {
        ssize_t got = read(ends[0], (char *)all + bytes, 65536);
        if (got < 0 && errno == EINTR) continue;
        CHECK(got >= 0);
        if (got == 0) break;
        bytes += (size_t)got;
    }
    for (int c = 0; c < CHILDREN; c++) {
        int how = 0;
        CHECK(waitpid(children[c], &how, 0) == children[c] && WIFEXITED(how) && WEXITSTATUS(how) == 0);
    }
    size_t count = bytes / sizeof *all;
    CHECK(count >= 2 * CHILDREN * EACH);
    for (int i = 0; i < 500; i++) CHECK_CODE(LEASEFLAKE_OK, leaseflake_next_id(ids, &all[count++]));
    qsort(all, count, sizeof *all, by_value);
    for (size_t i = 1; i < count; i++) CHECK(all[i] != all[i - 1]);
    free(all);

    /* No child has given back what is its parent's. */
    leaseflake_status_t status = LEASEFLAKE_STATUS_INIT;
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_status(ids, &status, NULL));
    CHECK(status.state == LEASEFLAKE_STATE_ACTIVE && status.owns_keeper == 1 && status.leases_acquired == 1);
    leaseflake_free(ids);
    CHECK(calls == 1);
}

static volatile int going;
static leaseflake_generator_t *shared;

static void *set_callbacks(void *unused) {
    int calls = 0;
    (void)unused;
    while (going) {
        CHECK_CODE(LEASEFLAKE_OK, leaseflake_set_state_callback(shared, on_change, &calls, NULL, NULL));
        CHECK_CODE(LEASEFLAKE_OK, leaseflake_set_state_callback(shared, NULL, NULL, NULL, NULL));
    }
    return NULL;
}

/* Whatever lock another thread held at the fork, the child can close, free and exit. */
static void child_never_waits_for_a_lock_of_its_parent(void) {
    pthread_t thread;
    shared = open_with("memory:fork-locks");
    going = 1;
    CHECK(pthread_create(&thread, NULL, set_callbacks, NULL) == 0);
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(60);
            int64_t id = 0;
            CHECK_CODE(LEASEFLAKE_OK, leaseflake_next_id(shared, &id));
            leaseflake_free(shared);
            exit(0);
        }
        int how = 0;
        CHECK(waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == 0);
    }
    going = 0;
    CHECK(pthread_join(thread, NULL) == 0);
    leaseflake_free(shared);
}

int main(void) {
    generations_share_without_repeats();
    child_never_waits_for_a_lock_of_its_parent();
    return 0;
}
