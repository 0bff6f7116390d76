package io.leaseflake;

import java.time.Instant;
import java.util.Objects;

/** The fields of an ID. Immutable. */
public final class IdParts {
    private final long timestampMs;
    private final int datacenterId;
    private final int workerId;
    private final int sequence;

    /**
     * Fields, for {@link Layout#encode}.
     *
     * @param timestampMs when, in milliseconds since the Unix epoch
     * @param datacenterId the datacenter of the worker ID
     * @param workerId the worker within the datacenter
     * @param sequence the place among the IDs of one millisecond
     */
    public IdParts(long timestampMs, int datacenterId, int workerId, int sequence) {
        this.timestampMs = timestampMs;
        this.datacenterId = datacenterId;
        this.workerId = workerId;
        this.sequence = sequence;
    }

    /**
     * When the ID was made, to the millisecond.
     *
     * @return the time
     */
    public Instant timestamp() {
        return Instant.ofEpochMilli(timestampMs);
    }

    /**
     * When the ID was made.
     *
     * @return the time in milliseconds since the Unix epoch
     */
    public long timestampMs() {
        return timestampMs;
    }

    /**
     * The datacenter of the worker ID.
     *
     * @return its number
     */
    public int datacenterId() {
        return datacenterId;
    }

    /**
     * The worker within the datacenter.
     *
     * @return its number
     */
    public int workerId() {
        return workerId;
    }

    /**
     * The place among the IDs of one millisecond.
     *
     * @return the sequence number
     */
    public int sequence() {
        return sequence;
    }

    @Override
    public boolean equals(Object other) {
        if (!(other instanceof IdParts)) {
            return false;
        }
        IdParts parts = (IdParts) other;
        return timestampMs == parts.timestampMs
                && datacenterId == parts.datacenterId
                && workerId == parts.workerId
                && sequence == parts.sequence;
    }

    @Override
    public int hashCode() {
        return Objects.hash(timestampMs, datacenterId, workerId, sequence);
    }

    /** All fields, for people. */
    @Override
    public String toString() {
        return "IdParts[timestamp=" + timestamp() + ", datacenterId=" + datacenterId + ", workerId=" + workerId
                + ", sequence=" + sequence + "]";
    }
}
