package io.leaseflake;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.OptionalInt;

/** One change of a lease's state. Immutable. */
public final class StateChange {
    private static final int FIELDS = 8;

    private final long number;
    private final long atMs;
    private final LeaseState from;
    private final LeaseState to;
    private final OptionalInt datacenterId;
    private final OptionalInt workerId;
    private final long fencingEpoch;
    private final String reason;

    private StateChange(String[] texts, int at) {
        number = Long.parseLong(texts[at]);
        atMs = Long.parseLong(texts[at + 1]);
        from = LeaseState.of(texts[at + 2]);
        to = LeaseState.of(texts[at + 3]);
        datacenterId = Status.optional(texts[at + 4]);
        workerId = Status.optional(texts[at + 5]);
        fencingEpoch = Long.parseLong(texts[at + 6]);
        reason = texts[at + 7];
    }

    static List<StateChange> listOf(String[] texts, int from) {
        List<StateChange> changes = new ArrayList<>();
        for (int at = from; at < texts.length; at += FIELDS) {
            changes.add(new StateChange(texts, at));
        }
        return Collections.unmodifiableList(changes);
    }

    /**
     * Counts the changes of this generator, from 1.
     *
     * @return the number of this one
     */
    public long number() {
        return number;
    }

    /**
     * When it happened, by the clock of this machine.
     *
     * @return the time
     */
    public Instant at() {
        return Instant.ofEpochMilli(atMs);
    }

    /**
     * The state before.
     *
     * @return the state
     */
    public LeaseState from() {
        return from;
    }

    /**
     * The state after.
     *
     * @return the state
     */
    public LeaseState to() {
        return to;
    }

    /**
     * The datacenter of the worker ID concerned.
     *
     * @return its number, where there is a worker ID
     */
    public OptionalInt datacenterId() {
        return datacenterId;
    }

    /**
     * The worker within the datacenter.
     *
     * @return its number, where there is a worker ID
     */
    public OptionalInt workerId() {
        return workerId;
    }

    /**
     * {@code fencing_epoch} of the lease concerned.
     *
     * @return the epoch; 0 without a lease
     */
    public long fencingEpoch() {
        return fencingEpoch;
    }

    /**
     * Why, for people.
     *
     * @return the reason
     */
    public String reason() {
        return reason;
    }

    /** The change in a line, for logs. */
    @Override
    public String toString() {
        String worker = workerId.isPresent() ? datacenterId.getAsInt() + "/" + workerId.getAsInt() : "none";
        return from + " -> " + to + " (worker ID " + worker + ", fencing epoch " + fencingEpoch + "): " + reason;
    }
}
