/**
 * Leaseflake: 64-bit IDs that sort by time and never repeat among all who use the same registry.
 *
 * <pre>{@code
 * try (IdGenerator ids = IdGenerator.open(Options.builder().store("sqlite:./ids.db").build())) {
 *     long id = ids.nextId();
 *     Instant made = ids.decode(id).timestamp();
 * }
 * }</pre>
 *
 * <p>No method takes or returns {@code null} unless it says so; {@code null} where it is not allowed is a
 * {@link NullPointerException}.
 */
package io.leaseflake;
