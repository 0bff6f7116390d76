/* What the C tests share: checks that say where and what, and generators opened in one line. */
#ifndef CHECK_H
#define CHECK_H

#include <leaseflake.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            _exit(1);                                                                 \
        }                                                                             \
    } while (0)

#define CHECK_CODE(expected, call) check_code(__FILE__, __LINE__, #call, (expected), (call))

static inline void check_code(const char *file, int line, const char *call, leaseflake_code_t expected,
                              leaseflake_code_t got) {
    if (got != expected) {
        fprintf(stderr, "%s:%d: %s gave %s, not %s\n", file, line, call, leaseflake_code_name(got),
                leaseflake_code_name(expected));
        _exit(1);
    }
}

/* Options from pairs of name and value, up to a NULL. */
static inline leaseflake_options_t *options_from(va_list pairs) {
    leaseflake_options_t *options = leaseflake_options_new();
    const char *name;
    CHECK(options != NULL);
    while ((name = va_arg(pairs, const char *)) != NULL) {
        leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
        if (leaseflake_options_set(options, name, va_arg(pairs, const char *), &error) != LEASEFLAKE_OK) {
            fprintf(stderr, "%s: %s\n", name, error.message);
            _exit(1);
        }
    }
    return options;
}

/* Opens with pairs of name and value, up to a NULL. */
static inline leaseflake_code_t try_open(leaseflake_generator_t **generator, leaseflake_error_t *error, ...) {
    va_list pairs;
    va_start(pairs, error);
    leaseflake_options_t *options = options_from(pairs);
    va_end(pairs);
    leaseflake_code_t code = leaseflake_open(options, generator, error);
    leaseflake_options_free(options);
    return code;
}

static inline leaseflake_generator_t *open_with(const char *store) {
    leaseflake_generator_t *generator = NULL;
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    leaseflake_code_t code = try_open(&generator, &error, "store", store, NULL);
    if (code != LEASEFLAKE_OK) fprintf(stderr, "%s: %s\n", store, error.message);
    CHECK(code == LEASEFLAKE_OK && generator != NULL);
    return generator;
}

/* A store in the folder that the runner gives. */
static inline const char *sqlite_store(const char *name) {
    static char store[4096];
    const char *folder = getenv("ABI_TMP");
    CHECK(folder != NULL);
    snprintf(store, sizeof store, "sqlite:%s/%s", folder, name);
    return store;
}

static inline int64_t boot_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Looks again and again until the condition holds; a minute is far more than anything here takes. */
#define WAIT_FOR(condition)                                                            \
    do {                                                                               \
        int64_t began = boot_ms();                                                     \
        while (!(condition)) {                                                         \
            if (boot_ms() - began > 60000) {                                           \
                fprintf(stderr, "%s:%d: waited in vain for: %s\n", __FILE__, __LINE__, #condition); \
                _exit(1);                                                              \
            }                                                                          \
            usleep(1000);                                                              \
        }                                                                              \
    } while (0)

#endif
