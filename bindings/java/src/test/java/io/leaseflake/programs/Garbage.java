package io.leaseflake.programs;

import io.leaseflake.IdGenerator;
import io.leaseflake.LeaseflakeException;
import io.leaseflake.Options;
import java.util.concurrent.locks.LockSupport;

/** Handles that are dropped without being closed, also while a call of theirs runs: Garbage STORE. */
public final class Garbage {
    private Garbage() {}

    public static void main(String[] arguments) {
        Options.Builder one = Options.builder().store(arguments[0]).layout("51-0-0-12").closeTimeoutMs(60_000);
        Options many = Options.builder().store("memory:garbage").build();
        Thread collector = new Thread(() -> {
            for (;;) {
                System.gc();
                LockSupport.parkNanos(2_000_000);
            }
        });
        collector.setDaemon(true);
        collector.start();
        long[] room = new long[10_000];
        for (int handle = 0; handle < 100; handle++) {
            // Nothing reaches the generator once the call has begun, nor while it waits.
            if (IdGenerator.open(many).nextId() <= 0 || IdGenerator.open(many).nextBatch(1000)[0] <= 0) {
                throw new AssertionError();
            }
            IdGenerator.open(many).fill(room);
            IdGenerator.open(many).addStateListener(change -> {});
        }
        dropped(one.build());
        // The one worker ID is free once all of them are gone.
        for (int slot = 1; ; slot = slot % 999 + 1) {
            try {
                IdGenerator.open(one.slot(slot).acquireTimeoutMs(100).build()).nextId();
                break;
            } catch (LeaseflakeException refused) {
                if (!refused.isRetryable()) {
                    throw refused;
                }
            }
        }
        System.out.println("free again");
    }

    private static void dropped(Options options) {
        IdGenerator first = IdGenerator.open(options);
        for (int handle = 0; handle < 20; handle++) {
            IdGenerator.open(options).addStateListener(change -> {});
        }
        first.nextId();
    }
}
