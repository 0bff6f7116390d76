/* The C API as a member of the fleet: see ../PROTOCOL.md. */
#ifndef MEMBER_H
#define MEMBER_H

#include <leaseflake.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most IDs that are issued before they are written. */
#define BLOCK 10000

/* stream.c: what a killed process had issued is in its files up to its last call. */

/* The new file `$FLEET_OUT<suffix>.<thread>.ordered`. Ends the program where there can be none: IDs that nobody can
 * check must not look like a pass. */
int stream_create(const char *suffix, unsigned thread);
/* Appends whole records in one write. */
void stream_append(int file, const int64_t *ids, size_t count);

/* pace.c: `run` and `fork`. */

struct background;

int64_t monotonic_ms(void);
void sleep_ms(uint32_t ms);
/* NULL: no threads. */
struct background *background_start(const leaseflake_generator_t *generator, uint64_t rate, unsigned threads);
uint64_t background_stop(struct background *background);
/* As `issued=N NAME=COUNT ...`. */
void background_progress(const struct background *background, char *line, size_t size);
/* What a forked child does with its life: its exit code. */
int live_as_child(const leaseflake_generator_t *generator, unsigned number, uint64_t rate, int64_t ends_ms);

#endif
