package io.leaseflake.programs;

import io.leaseflake.IdGenerator;
import io.leaseflake.IdParts;
import io.leaseflake.Layout;
import io.leaseflake.LeaseflakeException;
import io.leaseflake.Options;
import java.util.concurrent.CountDownLatch;

/** Every call, with what it refuses: Everything STORE. */
public final class Everything {
    private Everything() {}

    private static void refused(Runnable call) {
        try {
            call.run();
        } catch (LeaseflakeException expected) {
            if (expected.toString().isEmpty() || expected.isRetryable()) {
                throw new AssertionError(expected);
            }
            return;
        }
        throw new AssertionError("it was to be refused");
    }

    public static void main(String[] arguments) throws InterruptedException {
        Options options = Options.builder().store(arguments[0]).build();
        refused(() -> IdGenerator.open(Options.builder().store("nonsense").build()));
        refused(() -> IdGenerator.open(Options.builder().store(arguments[0]).option("colour", "red").build()));
        IdGenerator ids = IdGenerator.open(options);
        CountDownLatch told = new CountDownLatch(1);
        ids.addStateListener(change -> told.countDown());
        for (int round = 0; round < 100; round++) {
            ids.nextId();
            ids.tryNextId();
            ids.nextString();
            ids.nextBatch(1000);
            ids.fill(new long[5000]);
            ids.status();
            ids.layout();
            refused(() -> ids.nextBatch(0));
            refused(() -> ids.decode("x"));
            refused(() -> ids.decode(0));
            refused(() -> new Layout("x"));
            ids.decode(ids.layout().encode(new IdParts(System.currentTimeMillis(), 1, 2, 3)));
        }
        ids.close();
        refused(ids::nextId);
        refused(() -> ids.fill(new long[1]));
        refused(() -> ids.nextBatch(1));
        told.await();
        System.out.println("done");
    }
}
