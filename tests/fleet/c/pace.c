#include "member.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* How long one step of the pace is, and to what slept time is made up for. */
#define STEP_MS 5
#define MADE_UP_MS 100
#define LONGEST_RETRY_MS 100
/* Single calls before the next write, and the largest batch. */
#define SINGLES 64
#define BATCH 1000
#define CODES 100

struct background {
    const leaseflake_generator_t *generator;
    uint64_t rate;
    unsigned threads;
    atomic_bool stop;
    _Atomic uint64_t issued;
    _Atomic uint64_t errors[CODES];
    struct issuer {
        struct background *of;
        pthread_t thread;
        int file;
    } issuers[];
};

/* Issues in steps, by a monotonic clock. */
struct paced {
    uint64_t rate;
    double credit;
    int64_t looked_ms;
    unsigned turn;
    int64_t ids[BLOCK];
};

int64_t monotonic_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void sleep_ms(uint32_t ms) {
    struct timespec span = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&span, NULL);
}

static struct paced *paced_new(uint64_t rate) {
    struct paced *paced = calloc(1, sizeof *paced);
    if (paced == NULL) abort();
    paced->rate = rate;
    paced->looked_ms = monotonic_ms();
    return paced;
}

static size_t due(struct paced *paced) {
    if (paced->rate == 0) return BLOCK;
    int64_t now_ms = monotonic_ms();
    double most = (double)paced->rate * MADE_UP_MS / 1000;
    paced->credit += (double)paced->rate * (double)(now_ms - paced->looked_ms) / 1000;
    if (paced->credit > (most > 1 ? most : 1)) paced->credit = most > 1 ? most : 1;
    paced->looked_ms = now_ms;
    return paced->credit < BLOCK ? (size_t)paced->credit : BLOCK;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Issues what is due, single calls, a batch or a fill in turn, and writes it; sleeps where nothing is due. */
static leaseflake_code_t step(struct paced *paced, const leaseflake_generator_t *generator, int file, size_t *issued,
                              leaseflake_error_t *error) {
    leaseflake_code_t code = LEASEFLAKE_OK;
    size_t count = due(paced);
    *issued = 0;
    if (count == 0) {
        sleep_ms(STEP_MS);
        return LEASEFLAKE_OK;
    }
    switch (paced->turn++ % 3) {
    case 0:
        for (count = least(count, SINGLES); *issued < count; ++*issued)
            if ((code = leaseflake_next_id(generator, &paced->ids[*issued])) != LEASEFLAKE_OK) {
                leaseflake_explain(generator, code, error);
                break;
            }
        break;
    case 1:
        count = least(count, BATCH);
        code = leaseflake_next_batch(generator, paced->ids, count, error);
        if (code == LEASEFLAKE_OK) *issued = count;
        break;
    default:
        code = leaseflake_fill(generator, paced->ids, count, issued, error);
    }
    stream_append(file, paced->ids, *issued);
    paced->credit -= (double)*issued;
    return code;
}

static void pause_for(const leaseflake_error_t *error) {
    sleep_ms(error->retry_after_ms < LONGEST_RETRY_MS ? error->retry_after_ms : LONGEST_RETRY_MS);
}

static void *issue(void *argument) {
    struct issuer *issuer = argument;
    struct background *background = issuer->of;
    struct paced *paced = paced_new((background->rate + background->threads - 1) / background->threads);
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    while (!atomic_load(&background->stop)) {
        size_t issued;
        leaseflake_code_t code = step(paced, background->generator, issuer->file, &issued, &error);
        atomic_fetch_add(&background->issued, issued);
        if (code == LEASEFLAKE_OK) continue;
        atomic_fetch_add(&background->errors[code > 0 && code < CODES ? code : 0], 1);
        if (!leaseflake_code_retryable(code)) break;
        pause_for(&error);
    }
    free(paced);
    return NULL;
}

struct background *background_start(const leaseflake_generator_t *generator, uint64_t rate, unsigned threads) {
    struct background *background = calloc(1, sizeof *background + threads * sizeof *background->issuers);
    if (background == NULL) abort();
    background->generator = generator;
    background->rate = rate;
    background->threads = threads;
    for (unsigned t = 0; t < threads; t++) {
        struct issuer *issuer = &background->issuers[t];
        issuer->of = background;
        issuer->file = stream_create("", t + 1);
        if (pthread_create(&issuer->thread, NULL, issue, issuer) != 0) abort();
    }
    return background;
}

uint64_t background_stop(struct background *background) {
    if (background == NULL) return 0;
    atomic_store(&background->stop, true);
    for (unsigned t = 0; t < background->threads; t++) pthread_join(background->issuers[t].thread, NULL);
    uint64_t issued = atomic_load(&background->issued);
    free(background);
    return issued;
}

void background_progress(const struct background *background, char *line, size_t size) {
    uint64_t issued = background != NULL ? atomic_load(&background->issued) : 0;
    size_t length = (size_t)snprintf(line, size, "issued=%llu", (unsigned long long)issued);
    for (int code = 1; background != NULL && code < CODES && length < size; code++) {
        uint64_t count = atomic_load(&background->errors[code]);
        if (count > 0)
            length += (size_t)snprintf(line + length, size - length, " %s=%llu", leaseflake_code_name(code),
                                       (unsigned long long)count);
    }
}

int live_as_child(const leaseflake_generator_t *generator, unsigned number, uint64_t rate, int64_t ends_ms) {
    char suffix[32];
    snprintf(suffix, sizeof suffix, "-f%u", number);
    int file = stream_create(suffix, 1);
    struct paced *paced = paced_new(rate);
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    while (monotonic_ms() < ends_ms) {
        size_t issued;
        leaseflake_code_t code = step(paced, generator, file, &issued, &error);
        if (code == LEASEFLAKE_OK) continue;
        if (!leaseflake_code_retryable(code)) return 5;
        pause_for(&error);
    }
    return 0;
}
