package io.leaseflake;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * Virtual threads, where this Java has them. One that blocks in native code holds on to its carrier, so
 * their waiting is done in Java.
 */
final class Threads {
    /** {@code Thread.isVirtual}, which is newer than what we compile for; or {@code false}. */
    private static final MethodHandle IS_VIRTUAL = isVirtualMethod();

    /** How much longer than it should a wait may take before the clock counts as gone away. */
    private static final long GRACE_NANOS = 20_000_000;

    private Threads() {}

    private static MethodHandle isVirtualMethod() {
        try {
            return MethodHandles.publicLookup()
                    .findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
        } catch (NoSuchMethodException | IllegalAccessException older) {
            return MethodHandles.dropArguments(MethodHandles.constant(boolean.class, false), 0, Thread.class);
        }
    }

    static boolean isVirtual() {
        try {
            return (boolean) IS_VIRTUAL.invokeExact(Thread.currentThread());
        } catch (RuntimeException | Error thrown) {
            throw thrown;
        } catch (Throwable thrown) {
            throw new IllegalStateException(thrown);
        }
    }

    /**
     * Waits until a reserved ID may be used. Goes on over interrupts, as every call here does, and leaves the
     * thread interrupted.
     *
     * @return 0, or a refusal as {@link Native#timeLeft} gives it
     */
    static long await(long handle, long id) {
        boolean interrupted = false;
        try {
            long began = System.nanoTime();
            long first = -1;
            for (;;) {
                long left = Native.timeLeft(handle, id);
                if (left <= 0) {
                    return left;
                }
                if (first < 0) {
                    first = left;
                } else if (System.nanoTime() - began > first + GRACE_NANOS && left >= first) {
                    // Time has passed here, and none by the clock that IDs go by.
                    return -ErrorCode.CLOCK_BACKWARDS.number();
                }
                LockSupport.parkNanos(left);
                interrupted |= Thread.interrupted();
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Makes a call that may block for long: on a thread of its own, where this one is virtual. */
    static <T> T offCarrier(Supplier<T> call) {
        if (!isVirtual()) {
            return call.get();
        }
        FutureTask<T> task = new FutureTask<>(call::get);
        Thread thread = new Thread(task, "leaseflake-call");
        thread.setDaemon(true);
        thread.start();
        boolean interrupted = false;
        try {
            for (;;) {
                try {
                    return task.get();
                } catch (InterruptedException again) {
                    interrupted = true;
                } catch (ExecutionException thrown) {
                    throw rethrown(thrown.getCause());
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static RuntimeException rethrown(Throwable thrown) {
        if (thrown instanceof Error) {
            throw (Error) thrown;
        }
        // A supplier throws nothing checked.
        return (RuntimeException) thrown;
    }
}
