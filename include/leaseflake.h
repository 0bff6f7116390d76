/*
 * Leaseflake: 64-bit, time-sorted, globally unique IDs made in your own process.
 *
 * Made by cbindgen from ffi/src (`make header`): do not edit.
 *
 * Functions give a leaseflake_code_t. Out-parameters are written only on success. Pointers that are given
 * must be NULL or valid; texts end with a NUL. Times are milliseconds; points in time count from the Unix
 * epoch. A generator may be used by any number of threads at once, and by forked children.
 *
 * This library installs no signal handlers. Where SIGTERM ends the program, have it call leaseflake_close() (not
 * within the handler), so that the worker ID is free at once; exit() and the end of main() do that by themselves.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef LEASEFLAKE_H
#define LEASEFLAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Warns where a code that must be looked at is not. */
#ifndef LEASEFLAKE_MUST_CHECK
#if defined(__GNUC__)
#define LEASEFLAKE_MUST_CHECK __attribute__((warn_unused_result))
#else
#define LEASEFLAKE_MUST_CHECK
#endif
#endif

/* What structs are initialised with before their first use. */
#define LEASEFLAKE_ERROR_INIT { sizeof(leaseflake_error_t), 0, 0, 0, { 0 } }
#define LEASEFLAKE_STATE_CHANGE_INIT { sizeof(leaseflake_state_change_t), 0, 0, -1, -1, 0, 0, 0, 0, { 0 } }
#define LEASEFLAKE_STATUS_INIT { sizeof(leaseflake_status_t), 0, 0, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { 0 }, { 0 }, { 0 }, { 0 } }

/**
 * It worked.
 */
#define LEASEFLAKE_OK 0

/**
 * An argument or option is outside what is allowed.
 */
#define LEASEFLAKE_INVALID_ARGUMENT 1

/**
 * The registry cannot be reached, or asks to slow down. Retryable.
 */
#define LEASEFLAKE_STORE_UNAVAILABLE 10

/**
 * The registry refused: no table, no permission, broken, or restored from a backup.
 */
#define LEASEFLAKE_STORE_REJECTED 11

/**
 * The registry pins another layout, epoch or region.
 */
#define LEASEFLAKE_LAYOUT_MISMATCH 12

/**
 * Every worker ID of the datacenter is leased. Retryable.
 */
#define LEASEFLAKE_NO_WORKER_ID 13

/**
 * The window of the lease is used up and no heartbeat has got through. Retryable.
 */
#define LEASEFLAKE_LEASE_SUSPENDED 14

/**
 * Somebody else owns the worker ID now; another one is being acquired. Retryable.
 */
#define LEASEFLAKE_LEASE_LOST 15

/**
 * The clock is farther behind the newest ID than a call may wait. Retryable.
 */
#define LEASEFLAKE_CLOCK_BACKWARDS 20

/**
 * The clock cannot be trusted: ahead of the registry's, or before the epoch. Retryable.
 */
#define LEASEFLAKE_CLOCK_UNTRUSTED 21

/**
 * The clock is past the end of the timestamp field.
 */
#define LEASEFLAKE_TIMESTAMP_OUT_OF_RANGE 22

/**
 * The queue of waiting calls is longer than max_wait_ms, or the call never waits. Retryable.
 */
#define LEASEFLAKE_SEQUENCE_EXHAUSTED 23

/**
 * The generator is closed.
 */
#define LEASEFLAKE_CLOSED 30

/**
 * A caught panic: a bug in Leaseflake.
 */
#define LEASEFLAKE_INTERNAL 99

/**
 * Room for any ID as text: 19 digits and a NUL.
 */
#define LEASEFLAKE_ID_TEXT_SIZE 20

/**
 * No worker ID yet.
 */
#define LEASEFLAKE_STATE_ACQUIRING 0

/**
 * IDs are issued.
 */
#define LEASEFLAKE_STATE_ACTIVE 1

/**
 * The window is used up and no heartbeat got through: IDs are refused until one does.
 */
#define LEASEFLAKE_STATE_SUSPENDED 2

/**
 * Somebody else owns the worker ID now; another one is being acquired.
 */
#define LEASEFLAKE_STATE_LOST 3

/**
 * Closed.
 */
#define LEASEFLAKE_STATE_CLOSED 4

/**
 * The version of the ABI that this header describes. Within one version functions and fields are
 * only added; it is the number in the shared library's soname.
 */
#define LEASEFLAKE_ABI_VERSION 1

/**
 * A generator of IDs. Functions that take it as `const` may be called by any number of threads at
 * once, and by forked children. Free it with leaseflake_free().
 */
typedef struct leaseflake_generator_t leaseflake_generator_t;

/**
 * Options of a generator. Not thread-safe: one thread at a time.
 */
typedef struct leaseflake_options_t leaseflake_options_t;

/**
 * What a call gives: LEASEFLAKE_OK, or why it failed. The numbers are frozen and the same in every
 * language. A later library may give codes that this header does not name: treat those by
 * leaseflake_code_retryable().
 */
typedef int32_t leaseflake_code_t;

/**
 * Why a call failed. Written only when it did.
 *
 * Initialise it with LEASEFLAKE_ERROR_INIT, once; it may be used again for any number of calls, by
 * one thread at a time.
 */
typedef struct leaseflake_error_t {
    /**
     * sizeof(leaseflake_error_t) of the caller's header.
     */
    uint32_t struct_size;
    /**
     * What the call returned.
     */
    leaseflake_code_t code;
    /**
     * 1 where the same call may succeed later, else 0.
     */
    int32_t retryable;
    /**
     * How long to wait before a retry, in milliseconds; 0 where a retry does not help.
     */
    uint32_t retry_after_ms;
    /**
     * What happened, to which worker ID or table, and what to do: UTF-8, ends with a NUL, cut where
     * it is longer.
     */
    char message[256];
} leaseflake_error_t;

/**
 * How the 63 bits of an ID are divided, and the epoch that its timestamp counts from.
 */
typedef struct leaseflake_layout_t {
    /**
     * Bits of the timestamp, 32 to 61.
     */
    uint32_t timestamp_bits;
    /**
     * Bits of the datacenter ID, 0 to 10.
     */
    uint32_t datacenter_bits;
    /**
     * Bits of the worker ID, 0 to 10.
     */
    uint32_t worker_bits;
    /**
     * Bits of the sequence number, 1 to 22. The four add up to 63.
     */
    uint32_t sequence_bits;
    /**
     * The epoch, in milliseconds since the Unix epoch: 0 to now.
     */
    int64_t epoch_ms;
} leaseflake_layout_t;

/**
 * The fields of an ID.
 */
typedef struct leaseflake_id_parts_t {
    /**
     * When the ID was made, in milliseconds since the Unix epoch.
     */
    int64_t timestamp_ms;
    /**
     * The datacenter of the worker ID.
     */
    uint32_t datacenter_id;
    /**
     * The worker within the datacenter.
     */
    uint32_t worker_id;
    /**
     * The place among the IDs of one millisecond.
     */
    uint32_t sequence;
} leaseflake_id_parts_t;

/**
 * The state of a generator's lease. A later library may have states that this header does not name.
 */
typedef int32_t leaseflake_state_t;

/**
 * One change of state. Initialise it with LEASEFLAKE_STATE_CHANGE_INIT.
 */
typedef struct leaseflake_state_change_t {
    /**
     * sizeof(leaseflake_state_change_t) of the caller's header.
     */
    uint32_t struct_size;
    /**
     * The state before.
     */
    leaseflake_state_t from_state;
    /**
     * The state after.
     */
    leaseflake_state_t to_state;
    /**
     * The datacenter of the worker ID concerned; -1 without one.
     */
    int32_t datacenter_id;
    /**
     * The worker within the datacenter; -1 without one.
     */
    int32_t worker_id;
    /**
     * Always 0.
     */
    uint32_t reserved;
    /**
     * Counts the changes of this generator, from 1.
     */
    uint64_t number;
    /**
     * When, in milliseconds since the Unix epoch by this process's clock.
     */
    int64_t at_ms;
    /**
     * fencing_epoch of the lease concerned; 0 without one.
     */
    uint64_t fencing_epoch;
    /**
     * Why, for people: UTF-8, ends with a NUL, cut where it is longer.
     */
    char reason[256];
} leaseflake_state_change_t;

/**
 * Told of each state change, on a thread of Leaseflake's. `change` is valid during the call only.
 *
 * It may call any function of this library but leaseflake_set_state_callback() on the same handle, must
 * not throw or longjmp out, and should be quick: changes wait for it, IDs do not.
 */
typedef void (*leaseflake_state_callback_t)(void *user_data, const struct leaseflake_state_change_t *change);

/**
 * Frees `user_data`.
 */
typedef void (*leaseflake_free_callback_t)(void *user_data);

/**
 * What state a generator is in: a snapshot, which may be old by the time it is read. Initialise it with
 * LEASEFLAKE_STATUS_INIT. Texts are UTF-8, end with a NUL, and are cut where they are longer.
 */
typedef struct leaseflake_status_t {
    /**
     * sizeof(leaseflake_status_t) of the caller's header.
     */
    uint32_t struct_size;
    /**
     * The state of the lease; LEASEFLAKE_STATE_CLOSED on a closed handle.
     */
    leaseflake_state_t state;
    /**
     * Since when, in milliseconds since the Unix epoch.
     */
    int64_t since_ms;
    /**
     * The datacenter of the worker ID; -1 without one.
     */
    int32_t datacenter_id;
    /**
     * The worker within the datacenter; -1 without one.
     */
    int32_t worker_id;
    /**
     * Which owner of the worker ID we are; 0 without one.
     */
    uint64_t fencing_epoch;
    /**
     * When the lease ends, in milliseconds since the Unix epoch; 0 without one.
     */
    int64_t lease_expiry_ts;
    /**
     * How long a renewal makes the lease, in milliseconds.
     */
    int64_t lease_length_ms;
    /**
     * The first timestamp that is refused just now, in milliseconds since the Unix epoch; 0 without a
     * lease.
     */
    int64_t ceiling_ms;
    /**
     * IDs issued by all who share the generator's memory (forked children too).
     */
    uint64_t issued;
    /**
     * Calls that had to wait for the clock.
     */
    uint64_t waits;
    /**
     * Steps of the wall clock seen.
     */
    uint64_t clock_steps;
    /**
     * Heartbeats sent.
     */
    uint64_t heartbeats_sent;
    /**
     * Heartbeats that were not confirmed.
     */
    uint64_t heartbeats_failed;
    /**
     * Leases acquired.
     */
    uint64_t leases_acquired;
    /**
     * Leases lost.
     */
    uint64_t leases_lost;
    /**
     * Rounds that ended with a claim taken by somebody else.
     */
    uint64_t claims_lost;
    /**
     * Requests sent to the registry.
     */
    uint64_t requests;
    /**
     * 1 where the keeper runs in this process, 0 where it runs in the one that forked it.
     */
    int32_t owns_keeper;
    /**
     * The code of the keeper's last error; LEASEFLAKE_OK without one.
     */
    leaseflake_code_t last_error_code;
    /**
     * When that was, in milliseconds since the Unix epoch; 0 without one.
     */
    int64_t last_error_ms;
    /**
     * The keeper's last error in words; empty without one.
     */
    char last_error[256];
    /**
     * Why the clock is not trusted; empty where it is.
     */
    char clock_suspect[256];
    /**
     * Who we are in the registry.
     */
    char instance_id[256];
    /**
     * The registry.
     */
    char store[256];
} leaseflake_status_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Gives the stable name of a code, such as "LEASE_SUSPENDED"; "UNKNOWN" for a number that is no
 * code.
 *
 * Never gives NULL. The text is the library's: do not free it. Any thread may call it at any time.
 */
const char *leaseflake_code_name(leaseflake_code_t code);

/**
 * Whether the same call may succeed later. False for LEASEFLAKE_OK and for a number that is no
 * code.
 *
 * Any thread may call it at any time.
 */
bool leaseflake_code_retryable(leaseflake_code_t code);

/**
 * Opens a generator and waits until it has a worker ID, for at most "acquire_timeout_ms" (10 s
 * unless set). Options that are left out come from the environment; NULL options: all of them.
 *
 * A process has one generator for each registry, "datacenter_id", "layout" and "slot": opening it
 * again is cheap and gives another handle on the same one.
 *
 * Errors: LEASEFLAKE_INVALID_ARGUMENT for options (there is no default "store");
 * LEASEFLAKE_NO_WORKER_ID, LEASEFLAKE_STORE_UNAVAILABLE, LEASEFLAKE_CLOCK_UNTRUSTED after the
 * time-out; LEASEFLAKE_STORE_REJECTED, LEASEFLAKE_LAYOUT_MISMATCH, LEASEFLAKE_TIMESTAMP_OUT_OF_RANGE
 * at once. `*generator` is written only on success. `error` may be NULL. Any thread may call it.
 */
LEASEFLAKE_MUST_CHECK
leaseflake_code_t leaseflake_open(const struct leaseflake_options_t *options,
                                  struct leaseflake_generator_t **generator,
                                  struct leaseflake_error_t *error);

/**
 * Closes a handle. With the last handle of its generator, issuing ends at once and the worker ID is
 * given back, for at most "close_timeout_ms" (2 s unless set); after that the lease expires by itself.
 * Calls on this handle give LEASEFLAKE_CLOSED from here on; leaseflake_status() still works.
 *
 * Closing again does nothing. Any thread may call it, while others generate.
 * Errors: LEASEFLAKE_INVALID_ARGUMENT for NULL.
 */
leaseflake_code_t leaseflake_close(const struct leaseflake_generator_t *generator);

/**
 * Closes a handle as leaseflake_close() and frees it. When it returns, no state callback of this
 * handle runs any more and none will (but for the one that calls it). NULL is fine.
 *
 * No other thread may be in a call on the handle, and none may use it after this. A forked child
 * may free its copy: its parent's lease stays.
 */
void leaseflake_free(struct leaseflake_generator_t *generator);

/**
 * Writes an ID as decimal digits and a NUL to a buffer of `size` bytes;
 * LEASEFLAKE_ID_TEXT_SIZE is always enough.
 *
 * Errors: LEASEFLAKE_INVALID_ARGUMENT for an ID below 1, for NULL and for a buffer that is too small; then
 * nothing is written. Any thread may call it at any time.
 */
leaseflake_code_t leaseflake_format_id(int64_t id, char *buffer, size_t size);

/**
 * Reads an ID: 1 to 19 decimal digits, no sign, no blanks, no leading zero, at most 2^63 - 1.
 *
 * Errors: LEASEFLAKE_INVALID_ARGUMENT for anything else and for NULL; `*id` is written only on success.
 * `error` may be NULL. Any thread may call it at any time.
 */
LEASEFLAKE_MUST_CHECK
leaseflake_code_t leaseflake_parse_id(const char *digits,
                                      int64_t *id,
                                      struct leaseflake_error_t *error);

/**
 * Gives the fields of an ID by a layout; NULL is the default one (41-5-5-12 from
 * 2026-01-01T00:00:00Z). leaseflake_layout() gives that of a generator.
 *
 * Errors: LEASEFLAKE_INVALID_ARGUMENT for an ID below 1, for a layout that is not allowed and for NULL;
 * `*parts` is written only on success. `error` may be NULL. Any thread may call it at any time.
 */
leaseflake_code_t leaseflake_decode_id(const struct leaseflake_layout_t *layout,
                                       int64_t id,
                                       struct leaseflake_id_parts_t *parts,
                                       struct leaseflake_error_t *error);

/**
 * Gives the layout of a generator.
 *
 * Errors: LEASEFLAKE_INVALID_ARGUMENT for NULL. Any thread may call it, on a closed handle too.
 */
leaseflake_code_t leaseflake_layout(const struct leaseflake_generator_t *generator,
                                    struct leaseflake_layout_t *layout);

/**
 * Gives the next ID: greater than zero, and greater than all that this generator has given before in
 * this process. Where the IDs of the millisecond are used up it waits for the next one, for at most
 * "max_wait_ms" (10 unless set).
 *
 * Allocates nothing and takes no lock. Any number of threads may call it at once, and so may forked
 * children. `*id` is written only on success.
 *
 * Errors: try again (leaseflake_explain() says when): LEASEFLAKE_LEASE_SUSPENDED,
 * LEASEFLAKE_LEASE_LOST, LEASEFLAKE_CLOCK_BACKWARDS, LEASEFLAKE_CLOCK_UNTRUSTED,
 * LEASEFLAKE_SEQUENCE_EXHAUSTED. Final: LEASEFLAKE_TIMESTAMP_OUT_OF_RANGE, LEASEFLAKE_CLOSED;
 * LEASEFLAKE_INVALID_ARGUMENT for NULL.
 */
LEASEFLAKE_MUST_CHECK
leaseflake_code_t leaseflake_next_id(const struct leaseflake_generator_t *generator,
                                     int64_t *id);

/**
 * Gives the next ID if there is one without waiting.
 *
 * As leaseflake_next_id(); LEASEFLAKE_SEQUENCE_EXHAUSTED where that would have waited.
 */
LEASEFLAKE_MUST_CHECK
leaseflake_code_t leaseflake_try_next_id(const struct leaseflake_generator_t *generator,
                                         int64_t *id);

/**
 * Gives `count` IDs of one millisecond, one after the other: all or nothing. `ids` has room for
 * `count` of them, 1 to 1000 (or the IDs of a millisecond, where the layout has fewer).
 *
 * Errors: LEASEFLAKE_INVALID_ARGUMENT for another count and for NULL, else as leaseflake_next_id();
 * then nothing is written to `ids`. `error` may be NULL. Any number of threads may call it at once.
 */
LEASEFLAKE_MUST_CHECK
leaseflake_code_t leaseflake_next_batch(const struct leaseflake_generator_t *generator,
                                        int64_t *ids,
                                        size_t count,
                                        struct leaseflake_error_t *error);

/**
 * Fills an array with any number of IDs, over as many milliseconds as it takes. Not atomic: on an
 * error the first `*written` IDs are valid and nobody else's.
 *
 * `written` is written on every return but for an invalid argument, and may be NULL; `ids` may be
 * NULL where `count` is 0. Errors: LEASEFLAKE_INVALID_ARGUMENT for NULL and for a count that no array can
 * have, else as leaseflake_next_id(). `error` may be NULL. Any number of threads may call it at once.
 */
LEASEFLAKE_MUST_CHECK
leaseflake_code_t leaseflake_fill(const struct leaseflake_generator_t *generator,
                                  int64_t *ids,
                                  size_t count,
                                  size_t *written,
                                  struct leaseflake_error_t *error);

/**
 * Says in words what a code of this generator means just now, and when to try again. For the calls
 * that give a code alone: call it right after one.
 *
 * Errors: LEASEFLAKE_INVALID_ARGUMENT for NULL, for an `error` that was not initialised, and for
 * LEASEFLAKE_OK or a number that is no code. Any thread may call it.
 */
leaseflake_code_t leaseflake_explain(const struct leaseflake_generator_t *generator,
                                     leaseflake_code_t code,
                                     struct leaseflake_error_t *error);

/**
 * Has a callback told of each state change from now on; the last one of a handle is its generator's
 * change to closed, where that handle is the last. A handle has one callback: a new one takes its
 * place, NULL removes it. `free_user_data`, which may be NULL, is called with `user_data` once nothing calls
 * it any more: when the callback is replaced or removed, or after the handle was closed.
 *
 * Waits for a callback that runs just now. In a forked child nothing is called while the process that forked it keeps
 * the lease, and after that only a callback that the child has set. Errors: LEASEFLAKE_CLOSED on a closed handle, LEASEFLAKE_STORE_UNAVAILABLE when the system gives no
 * thread, LEASEFLAKE_INVALID_ARGUMENT for a NULL generator and for a call from within a callback of the same
 * handle; then `user_data` stays the caller's. `error` may be NULL. Any thread may call it.
 */
leaseflake_code_t leaseflake_set_state_callback(const struct leaseflake_generator_t *generator,
                                                leaseflake_state_callback_t callback,
                                                void *user_data,
                                                leaseflake_free_callback_t free_user_data,
                                                struct leaseflake_error_t *error);

/**
 * Makes empty options: everything comes from the environment (LEASEFLAKE_STORE,
 * LEASEFLAKE_DATACENTER_ID, ...) and the defaults until it is set.
 *
 * Never fails, unless memory is used up: then the process aborts as for any Rust program; NULL
 * only for a bug in Leaseflake. Free it with leaseflake_options_free(). Any thread may call it.
 */
struct leaseflake_options_t *leaseflake_options_new(void);

/**
 * Sets one option: "store", "datacenter_id", "slot", "instance_id", "ip_address", "lease_ttl_ms",
 * "lease_ttl_max_ms", "heartbeat_interval_ms", "safety_margin_ms", "acquire_timeout_ms",
 * "close_timeout_ms", "max_wait_ms", "epoch_ms", "layout" or "sequence_jitter". An empty value leaves
 * it to the environment.
 *
 * Errors: LEASEFLAKE_INVALID_ARGUMENT for an unknown name or a value that can never be right, and
 * for texts that are NULL, not UTF-8, or longer than 64 (name) and 8192 bytes (value). `error` may
 * be NULL. One thread at a time on the same options.
 */
leaseflake_code_t leaseflake_options_set(struct leaseflake_options_t *options,
                                         const char *name,
                                         const char *value,
                                         struct leaseflake_error_t *error);

/**
 * Frees options. A generator that was opened with them keeps its own copy. NULL is fine.
 */
void leaseflake_options_free(struct leaseflake_options_t *options);

/**
 * Gives the stable name of a state, such as "suspended"; "unknown" for a number that is no state.
 *
 * Never gives NULL. The text is the library's: do not free it. Any thread may call it at any time.
 */
const char *leaseflake_state_name(leaseflake_state_t state);

/**
 * Gives the oldest state change that is newer than number `after` (0: the oldest that is kept; the last
 * 64 are). `*found` says whether there is one; without one `*change` is not written. To read all,
 * begin with 0 and go on with `change->number`.
 *
 * Errors: LEASEFLAKE_INVALID_ARGUMENT for NULL and for a `change` that was not initialised. `error` may be
 * NULL. Any thread may call it, on a closed handle too.
 */
leaseflake_code_t leaseflake_next_state_change(const struct leaseflake_generator_t *generator,
                                               uint64_t after,
                                               struct leaseflake_state_change_t *change,
                                               bool *found,
                                               struct leaseflake_error_t *error);

/**
 * Gives the status of a generator.
 *
 * Errors: LEASEFLAKE_INVALID_ARGUMENT for NULL and for a `status` that was not initialised; then it is
 * not written. `error` may be NULL. Any thread may call it, on a closed handle too. It takes a lock and
 * allocates: not for the hot path.
 */
leaseflake_code_t leaseflake_status(const struct leaseflake_generator_t *generator,
                                    struct leaseflake_status_t *status,
                                    struct leaseflake_error_t *error);

/**
 * Gives the version of the ABI of the library that is loaded: compare it with
 * LEASEFLAKE_ABI_VERSION after dlopen().
 *
 * Never fails. Any thread may call it at any time.
 */
uint32_t leaseflake_abi_version(void);

/**
 * Gives the version of the library that is loaded, such as "0.1.0".
 *
 * Never fails and never gives NULL. The text is the library's: do not free it. Any thread may call
 * it at any time.
 */
const char *leaseflake_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* LEASEFLAKE_H */
