#include "member.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a forked child issues in a second if `run` has not said it. */
#define CHILD_RATE 1000

static struct {
    leaseflake_generator_t *generator;
    struct background *background;
    bool ran;
    uint64_t rate;
    int foreground;
    unsigned forks;
    int64_t ends_ms;
} member = {.rate = CHILD_RATE, .foreground = -1};

__attribute__((format(printf, 1, 2))) static void answer(const char *format, ...) {
    char line[8192];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    for (char *at = line; *at != '\0'; at++)
        if (*at == '\n' || *at == '\r') *at = ' ';
    puts(line);
    if (fflush(stdout) != 0) exit(1);
}

static void answer_error(leaseflake_code_t code, const char *message) {
    answer("error %d %s %s", (int)code, leaseflake_code_name(code), message);
}

static int foreground(void) {
    if (member.foreground < 0) member.foreground = stream_create("", 0);
    return member.foreground;
}

/* What one command has issued. */
struct issued {
    uint64_t count;
    int64_t first, last;
};

static void add(struct issued *issued, const int64_t *ids, size_t count) {
    if (count == 0) return;
    stream_append(foreground(), ids, count);
    if (issued->count == 0) issued->first = ids[0];
    issued->last = ids[count - 1];
    issued->count += count;
}

static void answer_issued(leaseflake_code_t code, const leaseflake_error_t *error, const struct issued *issued) {
    if (code != LEASEFLAKE_OK) answer_error(code, error->message);
    else answer("ok %" PRIu64 " %" PRId64 " %" PRId64, issued->count, issued->first, issued->last);
}

static void issue(uint64_t count) {
    struct issued issued = {0, 0, 0};
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    leaseflake_code_t code = LEASEFLAKE_OK;
    for (uint64_t i = 0; i < count; i++) {
        int64_t id;
        code = leaseflake_next_id(member.generator, &id);
        if (code != LEASEFLAKE_OK) {
            leaseflake_explain(member.generator, code, &error);
            break;
        }
        add(&issued, &id, 1);
    }
    answer_issued(code, &error, &issued);
}

static void batch(uint64_t size, uint64_t count) {
    static int64_t ids[1000];
    struct issued issued = {0, 0, 0};
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    leaseflake_code_t code = LEASEFLAKE_OK;
    for (uint64_t i = 0; i < count && code == LEASEFLAKE_OK; i++) {
        code = leaseflake_next_batch(member.generator, ids, (size_t)size, &error);
        if (code == LEASEFLAKE_OK) add(&issued, ids, (size_t)size);
    }
    answer_issued(code, &error, &issued);
}

static void fill(uint64_t count) {
    static int64_t ids[BLOCK];
    struct issued issued = {0, 0, 0};
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    size_t written = 0;
    if (count == 0 || count > BLOCK) {
        answer_error(LEASEFLAKE_INVALID_ARGUMENT, "fill takes 1 to 10000");
        return;
    }
    leaseflake_code_t code = leaseflake_fill(member.generator, ids, (size_t)count, &written, &error);
    add(&issued, ids, written);
    answer_issued(code, &error, &issued);
}

static void open_generator(void) {
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    leaseflake_code_t code = LEASEFLAKE_OK;
    if (member.generator == NULL) code = leaseflake_open(NULL, &member.generator, &error);
    if (code == LEASEFLAKE_OK) answer("ok");
    else answer_error(code, error.message);
}

/* A closed handle is kept while threads of `run` may still be in it. */
static void close_generator(void) {
    leaseflake_generator_t *generator = member.generator;
    member.generator = NULL;
    if (generator == NULL) return;
    leaseflake_close(generator);
    if (member.background == NULL) leaseflake_free(generator);
}

static void status(void) {
    leaseflake_status_t s = LEASEFLAKE_STATUS_INIT;
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    leaseflake_code_t code = leaseflake_status(member.generator, &s, &error);
    if (code != LEASEFLAKE_OK) {
        answer_error(code, error.message);
        return;
    }
    char *texts[] = {s.instance_id, s.store, s.last_error, s.clock_suspect};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        for (char *at = texts[t]; *at != '\0'; at++)
            if (isspace((unsigned char)*at)) *at = '_';
    char worker[64] = "datacenter_id= worker_id=";
    if (s.worker_id >= 0)
        snprintf(worker, sizeof worker, "datacenter_id=%" PRId32 " worker_id=%" PRId32, s.datacenter_id, s.worker_id);
    answer("ok state=%s since_ms=%" PRId64 " %s fencing_epoch=%" PRIu64 " lease_expiry_ts=%" PRId64 " lease_length_ms=%" PRId64
           " ceiling_ms=%" PRId64 " instance_id=%s store=%s owns_keeper=%s clock_suspect=%s last_error=%s last_error_ms=%" PRId64
           " issued=%" PRIu64 " waits=%" PRIu64 " clock_steps=%" PRIu64 " heartbeats_sent=%" PRIu64 " heartbeats_failed=%" PRIu64
           " leases_acquired=%" PRIu64 " leases_lost=%" PRIu64 " claims_lost=%" PRIu64 " requests=%" PRIu64,
           leaseflake_state_name(s.state), s.since_ms, worker, s.fencing_epoch, s.lease_expiry_ts, s.lease_length_ms, s.ceiling_ms,
           s.instance_id, s.store, s.owns_keeper ? "true" : "false", s.clock_suspect, s.last_error, s.last_error_ms, s.issued,
           s.waits, s.clock_steps, s.heartbeats_sent, s.heartbeats_failed, s.leases_acquired, s.leases_lost, s.claims_lost,
           s.requests);
}

static void run(uint64_t rate, uint64_t threads) {
    if (member.ran) {
        answer_error(LEASEFLAKE_INVALID_ARGUMENT, "one `run` in the life of a program");
        return;
    }
    member.ran = true;
    member.rate = rate;
    member.background = background_start(member.generator, rate, (unsigned)threads);
    answer("ok");
}

static void stop(void) {
    uint64_t issued = background_stop(member.background);
    member.background = NULL;
    answer("ok %" PRIu64, issued);
}

static void fork_child(void) {
    unsigned number = ++member.forks;
    pid_t child = fork();
    if (child == 0) {
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
        _exit(live_as_child(member.generator, number, member.rate, member.ends_ms));
    }
    if (child < 0) answer_error(LEASEFLAKE_INTERNAL, strerror(errno));
    else answer("ok %d", (int)child);
}

/* A line as a word and up to two numbers; how many numbers, -1 where it is anything else. */
static int parse(char *line, char **word, uint64_t numbers[2]) {
    int count = -1;
    char *rest = NULL;
    *word = "";
    for (char *part = strtok_r(line, " \t\r\n", &rest); part != NULL; part = strtok_r(NULL, " \t\r\n", &rest)) {
        if (++count == 0) {
            *word = part;
            continue;
        }
        char *end = NULL;
        errno = 0;
        if (count > 2 || !isdigit((unsigned char)*part)) return -1;
        numbers[count - 1] = strtoull(part, &end, 10);
        if (errno != 0 || *end != '\0') return -1;
    }
    return count;
}

/* Performs and answers a command; whether to go on. */
static bool perform(char *line) {
    char *word, shown[64];
    uint64_t n[2] = {0, 0};
    snprintf(shown, sizeof shown, "%s", line);
    int count = parse(line, &word, n);
#define IS(name, numbers) (count == (numbers) && strcmp(word, name) == 0)
    bool issuing = IS("issue", 1) || IS("batch", 2) || IS("fill", 1) || (IS("run", 2) && n[1] >= 1 && n[1] <= 64) ||
                   IS("fork", 0) || IS("status", 0);
    if (issuing && member.generator == NULL) answer_error(LEASEFLAKE_CLOSED, "no generator is open; say `open` first");
    else if (IS("open", 0)) open_generator();
    else if (IS("issue", 1)) issue(n[0]);
    else if (IS("batch", 2)) batch(n[0], n[1]);
    else if (IS("fill", 1)) fill(n[0]);
    else if (IS("run", 2) && issuing) run(n[0], n[1]);
    else if (IS("stop", 0)) stop();
    else if (IS("progress", 0)) {
        char fields[2048];
        background_progress(member.background, fields, sizeof fields);
        answer("ok %s", fields);
    } else if (IS("fork", 0)) fork_child();
    else if (IS("status", 0)) status();
    else if (IS("close", 0)) {
        close_generator();
        answer("ok");
    } else if (IS("exit", 0)) {
        answer("ok");
        return false;
    } else {
        char message[128];
        snprintf(message, sizeof message, "no line of the fleet's protocol: %s", shown);
        answer_error(LEASEFLAKE_INVALID_ARGUMENT, message);
    }
    return true;
}

/* Whatever hangs: the driver is gone, and nobody waits for a clean end. */
static void *end_in_time(void *unused) {
    (void)unused;
    for (int64_t left; (left = member.ends_ms - monotonic_ms()) > 0;) sleep_ms(left < 1000 ? (uint32_t)left : 1000);
    _exit(3);
}

int main(void) {
    const char *seconds = getenv("FLEET_SECONDS");
    char *end = NULL;
    long life = seconds != NULL ? strtol(seconds, &end, 10) : 0;
    if (getenv("FLEET_OUT") == NULL || life <= 0 || *end != '\0') {
        fprintf(stderr, "fleet-c: FLEET_OUT or FLEET_SECONDS is not set: see PROTOCOL.md\n");
        return 2;
    }
    member.ends_ms = monotonic_ms() + life * 1000;
    signal(SIGCHLD, SIG_IGN);
    pthread_t watch;
    if (pthread_create(&watch, NULL, end_in_time, NULL) != 0) return 1;
    answer("ready fork threads");
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stdin) >= 0 && perform(line)) {
    }
    free(line);
    close_generator();
    return 0;
}
