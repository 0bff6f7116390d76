package io.leaseflake;

import static io.leaseflake.Support.on;
import static io.leaseflake.Support.open;
import static io.leaseflake.Support.refused;
import static io.leaseflake.Support.registry;
import static io.leaseflake.Support.rises;
import static io.leaseflake.Support.run;
import static io.leaseflake.Support.until;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;
import org.junit.jupiter.api.io.TempDir;

/** Many threads, and the collector. */
class ThreadsTest {
    @TempDir
    Path folder;

    @Test
    void eightThreadsRepeatNothingAndNoneIsRefused() {
        try (IdGenerator ids = open(registry(folder))) {
            List<CompletableFuture<long[]>> threads = new CopyOnWriteArrayList<>();
            for (int thread = 0; thread < 8; thread++) {
                threads.add(CompletableFuture.supplyAsync(() -> ids.ids().limit(50_000).toArray(), this::onItsOwn));
            }
            LongStream all = threads.stream().map(CompletableFuture::join).peek(made -> assertTrue(rises(made)))
                    .flatMapToLong(Arrays::stream);
            assertEquals(400_000, all.distinct().count());
        }
    }

    private void onItsOwn(Runnable work) {
        new Thread(work).start();
    }

    @Test
    void aCloseAmongEightGeneratingThreadsIsAnExceptionForEach() throws InterruptedException {
        for (int round = 0; round < 30; round++) {
            // The last one closes the generator; in other rounds it lives on in another handle.
            IdGenerator other = round % 3 == 0 ? open("memory:race") : null;
            IdGenerator ids = open("memory:race");
            CountDownLatch issuing = new CountDownLatch(8);
            List<LeaseflakeException> ends = new CopyOnWriteArrayList<>();
            Thread[] threads = new Thread[8];
            for (int number = 0; number < threads.length; number++) {
                int kind = number % 4;
                threads[number] = new Thread(() -> {
                    long[] room = new long[3000];
                    try {
                        for (boolean first = true; ; first = false) {
                            switch (kind) {
                                case 0:
                                    ids.nextId();
                                    break;
                                case 1:
                                    ids.nextBatch(100);
                                    break;
                                case 2:
                                    ids.fill(room);
                                    break;
                                default:
                                    ids.tryNextId();
                                    ids.status();
                            }
                            if (first) {
                                issuing.countDown();
                            }
                        }
                    } catch (LeaseflakeException end) {
                        ends.add(end);
                    }
                });
                threads[number].start();
            }
            issuing.await();
            ids.close();
            for (Thread thread : threads) {
                thread.join();
            }
            assertEquals(8, ends.size());
            ends.forEach(end -> assertEquals(ErrorCode.CLOSED, end.getCode(), end::toString));
            if (other != null) {
                assertTrue(other.nextId() > 0);
                other.close();
            }
        }
    }

    @Test
    void aLongFillHoldsUpNoCollectorAndEndsWithTheGenerator() {
        // Two IDs a millisecond: ten minutes.
        IdGenerator ids = IdGenerator.open(on(registry(folder)).layout("52-5-5-1").build());
        long[] room = new long[1_200_000];
        CompletableFuture<LeaseflakeException> filling = CompletableFuture.supplyAsync(
                () -> refused(ErrorCode.CLOSED, () -> ids.fill(room)), this::onItsOwn);
        until("it fills", () -> ids.status().issued() > 10);
        System.gc();
        System.gc();
        assertFalse(filling.isDone());
        ids.close();
        int written = filling.join().getWritten();
        assertTrue(written > 10 && written < room.length, "written: " + written);
        assertTrue(rises(Arrays.copyOf(room, written)));
    }

    @Test
    void anInterruptEndsNoCallAndIsNotLost() {
        try (IdGenerator ids = IdGenerator.open(on(registry(folder)).layout("52-5-5-1").build())) {
            CompletableFuture<Boolean> interrupted = CompletableFuture.supplyAsync(() -> {
                Thread.currentThread().interrupt();
                return rises(ids.ids().limit(100).toArray()) && Thread.currentThread().isInterrupted();
            }, this::onItsOwn);
            assertTrue(interrupted.join());
        }
    }

    @Test
    void handlesThatNobodyHoldsAnyMoreAreClosedAndNoCallLosesItsOwn() {
        assertEquals(List.of("free again"), run(List.of(), "Garbage", registry(folder)));
    }

    @Test
    void jniIsUsedAsItShouldBe() {
        assertEquals(List.of("done"), run(List.of("-Xcheck:jni"), "Everything", registry(folder)));
    }

    @Test
    @EnabledForJreRange(min = JRE.JAVA_21)
    void virtualThreadsWaitWithoutTheirCarrier() {
        List<String> options =
                List.of("-Djdk.virtualThreadScheduler.parallelism=1", "-Djdk.virtualThreadScheduler.maxPoolSize=1");
        assertEquals(
                List.of("nextId: others ran", "nextBatch: others ran", "fill: others ran", "open: others ran", "done"),
                run(options, "Virtual", registry(folder)));
    }

    @Test
    void aClockThatStandsStillIsNotWaitedForForEver() {
        // An ID whose time never comes, by a clock that goes on: the wait itself is what is asked here.
        try (IdGenerator ids = open("memory:await")) {
            long far = ids.layout().encode(new IdParts(System.currentTimeMillis() + 600_000, 0, 0, 0));
            assertEquals(-ErrorCode.CLOCK_BACKWARDS.number(), Threads.await(Support.handleOf(ids), far));
            AtomicBoolean waited = new AtomicBoolean();
            long near = ids.layout().encode(new IdParts(System.currentTimeMillis() + 5, 0, 0, 0));
            waited.set(Threads.await(Support.handleOf(ids), near) == 0);
            assertTrue(waited.get());
            assertTrue(System.currentTimeMillis() >= ids.decode(near).timestampMs());
        }
    }
}
