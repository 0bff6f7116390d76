package io.leaseflake;

/** Makes a queue before a generator, for {@code programs.Virtual}. */
public final class VirtualQueue {
    private VirtualQueue() {}

    /** Takes IDs without waiting for them, until the next one has to wait for so long. */
    public static void reach(IdGenerator ids, long aheadMs) {
        long handle = Support.handleOf(ids);
        for (;;) {
            long result = Native.reserve(handle);
            if (result < Native.LOWEST_CODE) {
                long left = Native.timeLeft(handle, Native.ahead(result));
                if (left > aheadMs * 1_000_000) {
                    return;
                }
            } else if (result < 0) {
                throw new AssertionError(result);
            }
        }
    }
}
