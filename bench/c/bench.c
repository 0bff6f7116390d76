/* The C library measured: each line is a name, a unit and the numbers of all rounds, between tabs. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "leaseflake.h"

enum { WINDOWS = 5, COST_ROUNDS = 300, COST_CALLS = 10000, FILLS = 20, MILLION = 1000000 };

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static leaseflake_generator_t *open_with(const char *store, const char *layout) {
    leaseflake_options_t *options = leaseflake_options_new();
    leaseflake_generator_t *ids = NULL;
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    if (leaseflake_options_set(options, "store", store, &error) != LEASEFLAKE_OK ||
        leaseflake_options_set(options, "layout", layout, &error) != LEASEFLAKE_OK ||
        leaseflake_open(options, &ids, &error) != LEASEFLAKE_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    leaseflake_options_free(options);
    return ids;
}

static void row(const char *what, const char *unit, const double *rounds, int count) {
    printf("%s\t%s\t", what, unit);
    for (int i = 0; i < count; i++) printf("%.9g ", rounds[i]);
    printf("\n");
    fflush(stdout);
}

struct taker {
    pthread_t thread;
    leaseflake_generator_t *ids;
    double until;
    int64_t issued, refused;
};

/* The loop that any program has; the clock is looked at now and then. */
static void *take(void *argument) {
    struct taker *taker = argument;
    while (seconds(CLOCK_MONOTONIC) < taker->until) {
        for (int i = 0; i < 256; i++) {
            int64_t id;
            if (leaseflake_next_id(taker->ids, &id) == LEASEFLAKE_OK) {
                taker->issued++;
            } else {
                taker->refused++;
            }
        }
    }
    return NULL;
}

static void rates(int threads) {
    double rate[WINDOWS], cores[WINDOWS], refused = 0;
    char store[32], what[3][80];
    snprintf(store, sizeof store, "memory:%d", threads);
    leaseflake_generator_t *ids = open_with(store, "41-5-5-12");
    for (int round = 0; round < WINDOWS; round++) {
        struct taker takers[8] = {0};
        double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), began = seconds(CLOCK_MONOTONIC);
        int64_t issued = 0;
        for (int i = 0; i < threads; i++) {
            takers[i].ids = ids;
            takers[i].until = began + 1;
            if (pthread_create(&takers[i].thread, NULL, take, &takers[i]) != 0) exit(1);
        }
        for (int i = 0; i < threads; i++) {
            pthread_join(takers[i].thread, NULL);
            issued += takers[i].issued;
            refused += (double)takers[i].refused;
        }
        double passed = seconds(CLOCK_MONOTONIC) - began;
        rate[round] = (double)issued / passed / 4096000;
        cores[round] = (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / passed;
    }
    leaseflake_free(ids);
    snprintf(what[0], sizeof what[0], "rate, %d thread(s), of the layout's limit", threads);
    snprintf(what[1], sizeof what[1], "CPU at the limit, %d thread(s)", threads);
    snprintf(what[2], sizeof what[2], "calls refused at the limit, %d thread(s)", threads);
    row(what[0], "ratio", rate, WINDOWS);
    row(what[1], "cores", cores, WINDOWS);
    row(what[2], "calls", &refused, 1);
}

static volatile int64_t sink;

static double nanoseconds(double began) { return (seconds(CLOCK_MONOTONIC) - began) * 1e9 / COST_CALLS; }

/* One call, where the limit is out of the way: with 20 sequence bits. */
static void cost(void) {
    static double empty[COST_ROUNDS], clock[COST_ROUNDS], next[COST_ROUNDS];
    double least[3] = {1e9, 1e9, 1e9}, ratio;
    leaseflake_generator_t *ids = open_with("memory:cost", "41-1-1-20");
    for (int round = 0; round < COST_ROUNDS; round++) {
        double began = seconds(CLOCK_MONOTONIC);
        for (int i = 0; i < COST_CALLS; i++) sink = leaseflake_abi_version();
        empty[round] = nanoseconds(began);
        began = seconds(CLOCK_MONOTONIC);
        for (int i = 0; i < COST_CALLS; i++) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            sink = now.tv_nsec;
        }
        clock[round] = nanoseconds(began);
        began = seconds(CLOCK_MONOTONIC);
        for (int i = 0; i < COST_CALLS; i++) {
            int64_t id;
            if (leaseflake_next_id(ids, &id) != LEASEFLAKE_OK) exit(1);
            sink = id;
        }
        next[round] = nanoseconds(began);
        if (empty[round] < least[0]) least[0] = empty[round];
        if (clock[round] < least[1]) least[1] = clock[round];
        if (next[round] < least[2]) least[2] = next[round];
    }
    leaseflake_free(ids);
    /* The noise of rounds in turn hits all of them; their least is what each costs by itself. */
    ratio = least[2] / (least[0] + least[1]);
    row("leaseflake_next_id() / (an empty call + reading the wall clock)", "ratio", &ratio, 1);
    row("an empty call of the library", "ns", empty, COST_ROUNDS);
    row("reading the wall clock", "ns", clock, COST_ROUNDS);
    row("leaseflake_next_id()", "ns", next, COST_ROUNDS);
}

static void fill(void) {
    double rate[FILLS];
    leaseflake_generator_t *ids = open_with("memory:fill", "41-1-1-20");
    int64_t *numbers = malloc(MILLION * sizeof *numbers);
    if (numbers == NULL) exit(1);
    for (int round = 0; round < FILLS; round++) {
        size_t written = 0;
        double began = seconds(CLOCK_MONOTONIC);
        if (leaseflake_fill(ids, numbers, MILLION, &written, NULL) != LEASEFLAKE_OK || written != MILLION) exit(1);
        rate[round] = MILLION / (seconds(CLOCK_MONOTONIC) - began) / 1e6;
        sink = numbers[MILLION - 1];
    }
    free(numbers);
    leaseflake_free(ids);
    row("fill of 1,000,000 IDs, 20 sequence bits", "million IDs/s", rate, FILLS);
}

int main(void) {
    rates(1);
    rates(8);
    cost();
    fill();
    return 0;
}
