package io.leaseflake;

import java.util.Objects;

/**
 * How the 63 bits of an ID are divided (timestamp, datacenter, worker, sequence), and the epoch. Immutable.
 *
 * <p>The default is {@code 41-5-5-12} from 2026-01-01T00:00:00Z, good until 2095-09-07.
 */
public final class Layout {
    private static final int FIELDS = 12;

    /** What the core says of it, in the order of {@code native/src/layout.rs}. */
    private final long[] fields;

    /** The default layout. */
    public Layout() {
        this(of(null, false, 0));
    }

    /**
     * A layout from the default epoch on.
     *
     * @param widths such as {@code "41-5-5-12"}
     * @throws LeaseflakeException {@code INVALID_ARGUMENT}
     */
    public Layout(String widths) {
        this(of(Objects.requireNonNull(widths, "widths"), false, 0));
    }

    /**
     * A layout.
     *
     * @param widths such as {@code "41-5-5-12"}
     * @param epochMs what timestamps count from, in milliseconds since the Unix epoch
     * @throws LeaseflakeException {@code INVALID_ARGUMENT}
     */
    public Layout(String widths, long epochMs) {
        this(of(Objects.requireNonNull(widths, "widths"), true, epochMs));
    }

    Layout(long[] fields) {
        if (fields.length != FIELDS) {
            throw new IllegalStateException("a layout of " + fields.length + " fields");
        }
        this.fields = fields;
    }

    private static long[] of(String widths, boolean hasEpoch, long epochMs) {
        NativeLibrary.require();
        return Native.layout(widths, hasEpoch, epochMs);
    }

    /**
     * The fields of an ID.
     *
     * @param id an ID
     * @return its fields
     * @throws LeaseflakeException {@code INVALID_ARGUMENT} for zero and below
     */
    public IdParts decode(long id) {
        long[] parts = Native.decode(widths(), epochMs(), id);
        return new IdParts(parts[0], (int) parts[1], (int) parts[2], (int) parts[3]);
    }

    /**
     * The fields of an ID.
     *
     * @param id the decimal digits of an ID: no sign, no blanks, no leading zeros
     * @return its fields
     * @throws LeaseflakeException {@code INVALID_ARGUMENT} for any other text
     */
    public IdParts decode(String id) {
        return decode(Native.parse(Objects.requireNonNull(id, "id")));
    }

    /**
     * The ID with these fields: the inverse of {@link #decode(long)}.
     *
     * @param parts the fields
     * @return the ID
     * @throws LeaseflakeException {@code TIMESTAMP_OUT_OF_RANGE}, or {@code INVALID_ARGUMENT} for another field
     *     that does not fit, or for all fields zero
     */
    public long encode(IdParts parts) {
        return Native.encode(
                widths(), epochMs(), parts.timestampMs(), parts.datacenterId(), parts.workerId(), parts.sequence());
    }

    /**
     * Bits of the timestamp.
     *
     * @return the width
     */
    public int timestampBits() {
        return (int) fields[0];
    }

    /**
     * Bits of the datacenter ID.
     *
     * @return the width
     */
    public int datacenterBits() {
        return (int) fields[1];
    }

    /**
     * Bits of the worker ID.
     *
     * @return the width
     */
    public int workerBits() {
        return (int) fields[2];
    }

    /**
     * Bits of the sequence number.
     *
     * @return the width
     */
    public int sequenceBits() {
        return (int) fields[3];
    }

    /**
     * What timestamps count from.
     *
     * @return the epoch, in milliseconds since the Unix epoch
     */
    public long epochMs() {
        return fields[4];
    }

    /**
     * The largest timestamp.
     *
     * @return it, in milliseconds since the layout's epoch
     */
    public long maxTimestamp() {
        return fields[5];
    }

    /**
     * The last millisecond that has IDs.
     *
     * @return it, in milliseconds since the Unix epoch
     */
    public long lastMs() {
        return fields[6];
    }

    /**
     * The largest datacenter ID.
     *
     * @return its number
     */
    public int maxDatacenterId() {
        return (int) fields[7];
    }

    /**
     * The largest worker ID.
     *
     * @return its number
     */
    public int maxWorkerId() {
        return (int) fields[8];
    }

    /**
     * The largest sequence number: one less than the IDs of a millisecond.
     *
     * @return the number
     */
    public int maxSequence() {
        return (int) fields[9];
    }

    /**
     * The largest batch: 1000, or all of a millisecond where that is less.
     *
     * @return its size
     */
    public int maxBatch() {
        return (int) fields[10];
    }

    /**
     * How many IDs one worker ID can issue in a second.
     *
     * @return the limit
     */
    public long idsPerSecond() {
        return fields[11];
    }

    private int widths() {
        return timestampBits() << 24 | datacenterBits() << 16 | workerBits() << 8 | sequenceBits();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Layout
                && widths() == ((Layout) other).widths()
                && epochMs() == ((Layout) other).epochMs();
    }

    @Override
    public int hashCode() {
        return Objects.hash(widths(), epochMs());
    }

    /** The widths: {@code 41-5-5-12}. */
    @Override
    public String toString() {
        return timestampBits() + "-" + datacenterBits() + "-" + workerBits() + "-" + sequenceBits();
    }
}
