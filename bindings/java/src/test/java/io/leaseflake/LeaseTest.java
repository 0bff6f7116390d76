package io.leaseflake;

import static io.leaseflake.Support.eventually;
import static io.leaseflake.Support.on;
import static io.leaseflake.Support.refused;
import static io.leaseflake.Support.registry;
import static io.leaseflake.Support.until;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What happens to a lease is seen as exceptions, status and calls of listeners. */
class LeaseTest {
    @TempDir
    Path folder;

    @Test
    void whileTheRegistryDoesNotAnswerALeaseIsSuspendedAndGoesOnAfterwards() {
        String store = registry(folder);
        Options options = on(store).leaseTtlMs(3000).heartbeatIntervalMs(500).safetyMarginMs(200).build();
        List<LeaseState> heard = new CopyOnWriteArrayList<>();
        try (IdGenerator ids = IdGenerator.open(options)) {
            ids.addStateListener(change -> heard.add(change.to()));
            long before = ids.nextId();
            LeaseflakeException[] refused = new LeaseflakeException[1];
            try (Support.Outage outage = new Support.Outage(store)) {
                until("IDs are refused", () -> {
                    try {
                        ids.nextId();
                        return false;
                    } catch (LeaseflakeException thrown) {
                        refused[0] = thrown;
                        return true;
                    }
                });
                assertEquals(ErrorCode.LEASE_SUSPENDED, refused[0].getCode());
                assertInstanceOf(LeaseException.class, refused[0]);
                assertTrue(refused[0].isRetryable());
                assertTrue(refused[0].getRetryAfter().get().toMillis() > 0);
                refused(ErrorCode.LEASE_SUSPENDED, () -> ids.nextBatch(2));
                refused(ErrorCode.LEASE_SUSPENDED, ids::tryNextId);
                long[] room = new long[5];
                LeaseflakeException ofFill = refused(ErrorCode.LEASE_SUSPENDED, () -> ids.fill(room));
                assertEquals(0, ofFill.getWritten());
                until("the status says so", () -> ids.status().state() == LeaseState.SUSPENDED);
                until("the listener has heard", () -> heard.contains(LeaseState.SUSPENDED));
                until("the status says why", () -> ids.status().lastError().isPresent());
                assertTrue(ids.status().lastError().get().contains("STORE_UNAVAILABLE"));
                assertTrue(ids.status().lastErrorAt().isPresent());
            }
            assertTrue(eventually(ids::nextId) > before);
            until("the listener has heard", () -> heard.get(heard.size() - 1) == LeaseState.ACTIVE);
        }
        until("the listener has heard of the end", () -> heard.get(heard.size() - 1) == LeaseState.CLOSED);
    }

    @Test
    void listenersHearWhatHappensAfterTheyCameAndBeforeTheyLeft() {
        List<Object> heard = new CopyOnWriteArrayList<>();
        List<Throwable> uncaught = new CopyOnWriteArrayList<>();
        Thread.UncaughtExceptionHandler old = Thread.getDefaultUncaughtExceptionHandler();
        Thread.setDefaultUncaughtExceptionHandler((thread, thrown) -> uncaught.add(thrown));
        try {
            IdGenerator ids = IdGenerator.open(on(registry(folder)).build());
            StateListener gone = change -> heard.add("gone");
            ids.addStateListener(gone);
            ids.removeStateListener(gone);
            ids.addStateListener(change -> {
                throw new IllegalStateException("on purpose");
            });
            ids.addStateListener(heard::add);
            ids.close();
            until("it has heard", () -> !heard.isEmpty());
            until("the other one has failed", () -> !uncaught.isEmpty());
            assertEquals(1, heard.size());
            StateChange change = (StateChange) heard.get(0);
            assertEquals(LeaseState.ACTIVE, change.from());
            assertEquals(LeaseState.CLOSED, change.to());
            assertEquals(1, change.fencingEpoch());
            assertTrue(change.workerId().isPresent());
            assertTrue(change.toString().startsWith("active -> closed (worker ID "), change::toString);
            List<StateChange> known = ids.status().changes();
            assertEquals(known.get(known.size() - 1).number(), change.number());
            assertEquals("on purpose", uncaught.get(0).getMessage());
        } finally {
            Thread.setDefaultUncaughtExceptionHandler(old);
        }
    }

    @Test
    void theListenersThreadEndsWithTheGeneratorAndWithTheLastListener() {
        IdGenerator ids = IdGenerator.open(on(registry(folder)).build());
        StateListener listener = change -> {};
        ids.addStateListener(listener);
        until("it runs", () -> threads("leaseflake-state") == 1);
        ids.removeStateListener(listener);
        until("it is gone", () -> threads("leaseflake-state") == 0);
        ids.addStateListener(listener);
        until("it runs", () -> threads("leaseflake-state") == 1);
        ids.close();
        until("it is gone", () -> threads("leaseflake-state") == 0);
    }

    private static long threads(String name) {
        return Thread.getAllStackTraces().keySet().stream().filter(thread -> thread.getName().equals(name)).count();
    }

    @Test
    void openingWithoutAFreeWorkerIdSaysSoAfterItsTime() {
        Options.Builder one = on(registry(folder)).layout("51-0-0-12");
        try (IdGenerator holder = IdGenerator.open(one.build())) {
            Options second = one.slot(1).acquireTimeoutMs(2000).build();
            LeaseflakeException refused = refused(ErrorCode.NO_WORKER_ID, () -> IdGenerator.open(second));
            assertInstanceOf(LeaseException.class, refused);
            assertTrue(refused.isRetryable() && refused.getRetryAfter().isPresent());
            assertTrue(holder.nextId() > 0);
        }
        IdGenerator.open(one.slot(2).acquireTimeoutMs(60_000).build()).close();
    }
}
