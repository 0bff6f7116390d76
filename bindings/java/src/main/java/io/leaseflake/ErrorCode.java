package io.leaseflake;

import java.util.EnumMap;
import java.util.Map;

/**
 * What went wrong: the same codes, names and numbers in every language. Numbers are frozen; new codes
 * may come with a new minor version.
 */
public enum ErrorCode {
    /** An argument or option is outside what is allowed. */
    INVALID_ARGUMENT,
    /** The registry cannot be reached, or asks to slow down. */
    STORE_UNAVAILABLE,
    /** The registry refused: no table, no permission, broken, or restored from a backup. */
    STORE_REJECTED,
    /** The registry pins another layout, epoch or region. */
    LAYOUT_MISMATCH,
    /** Every worker ID of the datacenter is leased. */
    NO_WORKER_ID,
    /** The window of the lease is used up and no heartbeat has got through. */
    LEASE_SUSPENDED,
    /** Somebody else owns the worker ID now; another one is being acquired. */
    LEASE_LOST,
    /** The clock is farther behind the newest ID than a call may wait. */
    CLOCK_BACKWARDS,
    /** The clock cannot be trusted: ahead of the registry's, or before the epoch. */
    CLOCK_UNTRUSTED,
    /** The clock is past the end of the timestamp field. */
    TIMESTAMP_OUT_OF_RANGE,
    /** The queue of waiting calls is longer than {@code maxWaitMs}, or the call never waits. */
    SEQUENCE_EXHAUSTED,
    /** The generator is closed. */
    CLOSED,
    /** A bug in Leaseflake. */
    INTERNAL;

    /** What the core knows of each code. */
    private static final class Table {
        static final Map<ErrorCode, Integer> NUMBERS = new EnumMap<>(ErrorCode.class);
        static final Map<ErrorCode, Boolean> RETRYABLE = new EnumMap<>(ErrorCode.class);

        static {
            String[] texts = Native.errorTable();
            for (int at = 0; at < texts.length; at += 3) {
                ErrorCode code = ErrorCode.valueOf(texts[at]);
                NUMBERS.put(code, Integer.valueOf(texts[at + 1]));
                RETRYABLE.put(code, Boolean.valueOf(texts[at + 2]));
            }
        }
    }

    /**
     * The frozen number.
     *
     * @return the number, the same in every language
     */
    public int number() {
        NativeLibrary.require();
        return Table.NUMBERS.get(this);
    }

    /**
     * Whether the same call may succeed later.
     *
     * @return whether a retry may help
     */
    public boolean isRetryable() {
        NativeLibrary.require();
        return Table.RETRYABLE.get(this);
    }
}
