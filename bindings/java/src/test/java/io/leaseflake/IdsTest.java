package io.leaseflake;

import static io.leaseflake.Support.on;
import static io.leaseflake.Support.open;
import static io.leaseflake.Support.refused;
import static io.leaseflake.Support.registry;
import static io.leaseflake.Support.rises;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.annotation.JsonSerialize;
import com.fasterxml.jackson.databind.ser.std.ToStringSerializer;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Making IDs. */
class IdsTest {
    @TempDir
    Path folder;

    /** Two IDs a millisecond. */
    private static final String NARROW = "52-5-5-1";

    @Test
    void everyWayOfMakingAnIdContinuesWhereTheOthersStopped() {
        try (IdGenerator ids = open(registry(folder))) {
            LongStream.Builder made = LongStream.builder();
            made.add(ids.nextId()).add(ids.tryNextId()).add(Long.parseLong(ids.nextString()));
            Arrays.stream(ids.nextBatch(1000)).forEach(made);
            long[] filled = new long[5000];
            ids.fill(filled);
            Arrays.stream(filled).forEach(made);
            ids.fill(new long[0]);
            ids.ids().limit(500).forEach(made);
            assertTrue(rises(made.build().toArray()));
            IdParts parts = ids.decode(ids.nextString());
            assertTrue(Duration.between(parts.timestamp(), Instant.now()).abs().toMinutes() < 10, parts::toString);
            assertEquals(ids.status().workerId().getAsInt(), parts.workerId());
            assertEquals(ids.status().datacenterId().getAsInt(), parts.datacenterId());
            assertEquals(new Layout(), ids.layout());
        }
    }

    @Test
    void aLoopAtFullSpeedRepeatsNothingAndIsNeverRefused() {
        try (IdGenerator ids = open(registry(folder))) {
            long[] made = new long[300_000];
            for (int at = 0; at < made.length; at++) {
                made[at] = ids.nextId();
            }
            assertTrue(rises(made));
            assertTrue(ids.status().issued() >= made.length);
        }
    }

    @Test
    void aBatchIsOfOneMillisecondAndAllOrNothing() {
        try (IdGenerator ids = open(registry(folder))) {
            for (int round = 0; round < 50; round++) {
                long[] batch = ids.nextBatch(1000);
                assertEquals(1000, batch.length);
                assertEquals(999, batch[999] - batch[0]);
                assertEquals(ids.decode(batch[0]).timestampMs(), ids.decode(batch[999]).timestampMs());
            }
            for (int count : new int[] {0, -1, 1001, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
                LeaseflakeException thrown = refused(ErrorCode.INVALID_ARGUMENT, () -> ids.nextBatch(count));
                assertTrue(thrown.getMessage().contains("1..=1000"), thrown.getMessage());
                assertFalse(thrown.isRetryable());
                assertEquals(Optional.empty(), thrown.getRetryAfter());
            }
            assertThrows(NullPointerException.class, () -> ids.fill(null));
        }
    }

    @Test
    void aCallThatMayNotWaitSaysMinusOne() {
        try (IdGenerator ids = IdGenerator.open(on(registry(folder)).layout(NARROW).build())) {
            long made = 1;
            for (int call = 0; call < 1000 && made > 0; call++) {
                made = ids.tryNextId();
            }
            assertEquals(-1, made);
            assertTrue(ids.nextId() > 0);
        }
    }

    @Test
    void aFillGoesOnOverManyMilliseconds() {
        try (IdGenerator ids = IdGenerator.open(on(registry(folder)).layout(NARROW).build())) {
            long[] made = new long[101];
            ids.fill(made);
            assertTrue(rises(made));
            assertTrue(ids.decode(made[100]).timestampMs() - ids.decode(made[0]).timestampMs() >= 49);
            // More than one piece of a copy, from one millisecond.
            try (IdGenerator wide = IdGenerator.open(on("memory:wide").layout("41-1-1-20").build())) {
                long[] many = new long[100_001];
                wide.fill(many);
                assertTrue(rises(many));
            }
        }
    }

    @Test
    void aProcessHasOneWorkerIdForARegistryHoweverOftenItOpens() {
        String store = registry(folder);
        try (IdGenerator one = open(store);
                IdGenerator two = open(store);
                IdGenerator other = IdGenerator.open(on(store).slot(1).build())) {
            assertEquals(one.status().workerId(), two.status().workerId());
            assertFalse(other.status().workerId().equals(one.status().workerId())
                    && other.status().datacenterId().equals(one.status().datacenterId()));
            one.close();
            assertTrue(one.isClosed());
            assertFalse(two.isClosed());
            refused(ErrorCode.CLOSED, one::nextId);
            assertTrue(two.nextId() > 0);
        }
    }

    @Test
    void afterCloseEveryCallSaysClosedAndCloseMayBeCalledAgain() {
        IdGenerator ids = open(registry(folder));
        ids.close();
        ids.close();
        Map<String, Runnable> calls = new LinkedHashMap<>();
        calls.put("nextId", ids::nextId);
        calls.put("tryNextId", ids::tryNextId);
        calls.put("nextString", ids::nextString);
        calls.put("nextBatch", () -> ids.nextBatch(1));
        calls.put("fill", () -> ids.fill(new long[1]));
        calls.put("ids", () -> ids.ids().findFirst());
        calls.forEach((name, call) -> {
            LeaseflakeException thrown = refused(ErrorCode.CLOSED, call);
            assertInstanceOf(ClosedException.class, thrown, name);
            assertFalse(thrown.isRetryable());
            assertEquals(0, thrown.getWritten());
            // It says where in the program it happened.
            assertTrue(Arrays.stream(thrown.getStackTrace()).anyMatch(frame -> frame.getClassName().endsWith("IdsTest")));
        });
        assertEquals(LeaseState.CLOSED, ids.status().state());
        assertEquals(1, ids.decode(4194304L).timestampMs() - ids.layout().epochMs());
        assertTrue(ids.toString().contains("closed"), ids::toString);
    }

    @Test
    void aPanicIsAnExceptionAndTheProcessGoesOn() {
        // What panics on purpose is left out of releases.
        assumeFalse("release".equals(System.getProperty("profile")));
        LeaseflakeException thrown = refused(ErrorCode.INTERNAL, Native::panic);
        assertTrue(thrown.getMessage().contains("a test"), thrown.getMessage());
        assertEquals(-ErrorCode.INTERNAL.number(), Native.panicNext());
        try (IdGenerator ids = open("memory:after-a-panic")) {
            assertTrue(ids.nextId() > 0);
        }
    }

    /** As the README has it. */
    static final class Order {
        @JsonSerialize(using = ToStringSerializer.class)
        public long id;
    }

    @Test
    void idsGoThroughJsonAsStrings() throws JsonProcessingException {
        ObjectMapper json = new ObjectMapper();
        Order order = new Order();
        order.id = 120611766865588224L;
        String text = json.writeValueAsString(order);
        assertEquals("{\"id\":\"120611766865588224\"}", text);
        assertEquals(order.id, json.readValue(text, Order.class).id);
    }

    @Test
    void optionsThatCannotBeRightAreRefusedByNameWithWhatIsAllowed() {
        String store = registry(folder);
        Map<String, Options> wrong = new LinkedHashMap<>();
        wrong.put("store", on("nonsense").build());
        wrong.put("slot.*-1", on(store).slot(-1).build());
        wrong.put("layout", on(store).layout("1-2-3").build());
        wrong.put("40", on(store).datacenterId(40).build());
        wrong.put("lease_ttl_ms.*soon", on(store).option("lease_ttl_ms", "soon").build());
        wrong.put("lease_ttl_ms", on(store).leaseTtlMs(5).build());
        wrong.put("colour", on(store).option("colour", "red").build());
        wrong.put("leaseTtlMs.*lease_ttl_ms", on(store).option("leaseTtlMs", "5").build());
        wrong.forEach((what, options) -> {
            LeaseflakeException thrown = refused(ErrorCode.INVALID_ARGUMENT, () -> IdGenerator.open(options));
            assertTrue(thrown.getMessage().matches("(?s).*" + what + ".*"), thrown.getMessage());
        });
        assertThrows(NullPointerException.class, () -> IdGenerator.open(null));
        assertThrows(NullPointerException.class, () -> Options.builder().store(null));
        // More than ASCII comes through unharmed, and what no UTF-8 can say harms nothing.
        LeaseflakeException thrown =
                refused(ErrorCode.INVALID_ARGUMENT, () -> IdGenerator.open(on("\u00e4\ud83d\ude00").build()));
        assertTrue(thrown.getMessage().contains("\u00e4\ud83d\ude00"), thrown.getMessage());
        refused(ErrorCode.INVALID_ARGUMENT, () -> IdGenerator.open(on("\ud83d\u0000x").build()));
    }

    @Test
    void everyOptionIsPassedOnByItsName() {
        Options options = Options.builder()
                .store(registry(folder)).datacenterId("3-4").slot(7).instanceId("me").ipAddress("192.0.2.1")
                .leaseTtlMs(40_000).leaseTtlMaxMs(50_000).heartbeatIntervalMs(9_000).safetyMarginMs(4_000)
                .acquireTimeoutMs(20_000).closeTimeoutMs(1_000).maxWaitMs(20).epochMs(1_767_225_600_000L)
                .layout("41-5-5-12").sequenceJitter(3).build();
        try (IdGenerator ids = IdGenerator.open(options)) {
            Status status = ids.status();
            assertEquals("me", status.instanceId());
            assertEquals(3, status.datacenterId().getAsInt());
            assertEquals(Duration.ofSeconds(40), status.leaseLength());
            assertTrue(status.store().endsWith("ids.db"), status.store());
            assertEquals(LeaseState.ACTIVE, status.state());
            assertTrue(status.leaseExpiry().get().isAfter(Instant.now()));
            assertTrue(status.ceiling().get().isBefore(status.leaseExpiry().get()));
            assertEquals(1, status.fencingEpoch());
            assertEquals(1, status.leasesAcquired());
            assertEquals("active", status.fields().get("state"));
            assertEquals(Optional.empty(), status.lastError());
            assertEquals(LeaseState.ACTIVE, status.changes().get(status.changes().size() - 1).to());
        }
        assertEquals(15, options.pairs().length / 2);
    }
}
