package io.leaseflake;

import java.time.Duration;

/**
 * The native methods: {@code bindings/java/native/src}. Plain numbers cross on the path of an ID, and a
 * refusal is explained by a call of its own. A handle is the address of the native generator. Whoever comes
 * first calls {@link NativeLibrary#require}.
 */
final class Native {
    /** The version of these classes, which must be that of the native part. */
    static final String VERSION = "0.1.0";

    /** Results from here to -1 are refusals: the code, negated. Those below lie ahead of the clock. */
    static final long LOWEST_CODE = -999;

    private Native() {}

    static native String version();

    static native String[] errorTable();

    static native long open(String[] namesAndValues);

    static native long share(long handle);

    static native void release(long handle);

    static native void free(long handle);

    static native void close(long handle);

    static native boolean isClosed(long handle);

    static native long next(long handle);

    static native long tryNext(long handle);

    static native long reserve(long handle);

    static native long timeLeft(long handle, long id);

    static native long batch(long handle, int count, boolean waits);

    static native long fill(long handle, long[] array, int from, boolean waits);

    static native void explain(long handle, int code);

    static native long[] layoutOf(long handle);

    static native String[] status(long handle);

    static native String[] nextChanges(long handle, long seen, long waitMs);

    static native long[] layout(String widths, boolean hasEpoch, long epochMs);

    static native long[] decode(int widths, long epochMs, long id);

    static native long encode(int widths, long epochMs, long timestampMs, int datacenterId, int workerId, int sequence);

    static native long parse(String digits);

    /** For the benchmark: a call that does nothing. */
    static native long nothing();

    /** For the benchmark: a call that reads the wall clock. */
    static native long readClock();

    /** What a bug would do; not in releases. */
    static native void panic();

    /** What a bug would do on the path of an ID; not in releases. */
    static native long panicNext();

    /** The ID that a result of {@link #reserve} stands for, which lies ahead of the clock. */
    static long ahead(long result) {
        return result - Long.MIN_VALUE;
    }

    /** How the native part throws. */
    @SuppressWarnings("unused")
    private static void raise(String name, String message, long retryAfterNanos) {
        throw LeaseflakeException.of(
                ErrorCode.valueOf(name), message, retryAfterNanos < 0 ? null : Duration.ofNanos(retryAfterNanos));
    }
}
