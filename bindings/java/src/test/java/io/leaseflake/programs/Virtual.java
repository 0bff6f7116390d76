package io.leaseflake.programs;

import io.leaseflake.ErrorCode;
import io.leaseflake.IdGenerator;
import io.leaseflake.LeaseflakeException;
import io.leaseflake.Options;
import io.leaseflake.VirtualQueue;
import java.lang.reflect.Method;
import java.util.concurrent.atomic.AtomicBoolean;

/** Virtual threads on one carrier, which one that waits must not hold: Virtual STORE. */
public final class Virtual {
    private Virtual() {}

    private static Thread virtual(Runnable work) {
        try {
            // Newer than what we compile for.
            Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
            return (Thread) start.invoke(null, work);
        } catch (ReflectiveOperationException error) {
            throw new AssertionError(error);
        }
    }

    /** Has one virtual thread wait, and looks whether another one has run meanwhile: they share a carrier. */
    private static void waits(String what, Runnable before, Runnable call) throws InterruptedException {
        AtomicBoolean other = new AtomicBoolean();
        String[] said = {"failed"};
        Thread first = virtual(() -> {
            virtual(() -> other.set(true));
            before.run();
            call.run();
            said[0] = other.get() ? "others ran" : "it kept its carrier";
        });
        first.join();
        System.out.println(what + ": " + said[0]);
    }

    public static void main(String[] arguments) throws InterruptedException {
        Options.Builder options = Options.builder().store(arguments[0]).layout("61-0-0-2").maxWaitMs(10_000);
        IdGenerator ids = IdGenerator.open(options.build());
        Runnable queue = () -> VirtualQueue.reach(ids, 500);
        waits("nextId", queue, ids::nextId);
        waits("nextBatch", queue, () -> ids.nextBatch(3));
        waits("fill", queue, () -> ids.fill(new long[10]));
        waits("open", () -> {}, () -> {
            try {
                IdGenerator.open(options.slot(1).acquireTimeoutMs(2000).build());
            } catch (LeaseflakeException refused) {
                if (refused.getCode() != ErrorCode.NO_WORKER_ID) {
                    throw refused;
                }
            }
        });
        AtomicBoolean kept = new AtomicBoolean();
        virtual(() -> {
            VirtualQueue.reach(ids, 100);
            Thread.currentThread().interrupt();
            kept.set(ids.nextId() > 0 && Thread.currentThread().isInterrupted());
            ids.close();
        }).join();
        System.out.println(kept.get() ? "done" : "the interrupt got lost");
    }
}
