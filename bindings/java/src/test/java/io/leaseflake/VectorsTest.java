package io.leaseflake;

import static io.leaseflake.Support.refused;
import static io.leaseflake.Support.vectors;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The vectors that all languages share. */
class VectorsTest {
    private static Layout layoutOf(JsonNode vector) {
        return new Layout(vector.get("layout").asText(), Long.parseLong(vector.get("epoch_ms").asText()));
    }

    private static IdParts partsOf(JsonNode vector) {
        return new IdParts(
                Long.parseLong(vector.get("timestamp_ms").asText()),
                vector.get("datacenter_id").asInt(),
                vector.get("worker_id").asInt(),
                vector.get("sequence").asInt());
    }

    @Test
    void everyIdHasTheFieldsThatItHasInEveryLanguage() {
        int seen = 0;
        for (JsonNode vector : vectors("ids.json").get("valid")) {
            String why = vector.get("why").asText();
            Layout layout = layoutOf(vector);
            String digits = vector.get("id").asText();
            long id = Long.parseLong(digits);
            IdParts parts = partsOf(vector);
            assertEquals(parts, layout.decode(id), why);
            assertEquals(parts, layout.decode(digits), why);
            assertEquals(parts.hashCode(), layout.decode(id).hashCode());
            assertEquals(id, layout.encode(parts), why);
            if (vector.hasNonNull("utc") && vector.get("utc").asText().length() == 24) {
                assertEquals(Instant.parse(vector.get("utc").asText()), layout.decode(id).timestamp(), why);
            }
            if (layout.equals(new Layout())) {
                assertEquals(parts, new Layout().decode(id), why);
            }
            seen++;
        }
        assertTrue(seen > 50, seen + " vectors");
    }

    @Test
    void everyLayoutHasTheLimitsThatItHasInEveryLanguage() {
        JsonNode layouts = vectors("layouts.json");
        for (JsonNode vector : layouts.get("valid")) {
            Layout layout = layoutOf(vector);
            assertArrayEquals(
                    new long[] {
                        vector.get("timestamp_bits").asInt(), vector.get("datacenter_bits").asInt(),
                        vector.get("worker_bits").asInt(), vector.get("sequence_bits").asInt(),
                        Long.parseLong(vector.get("epoch_ms").asText()), Long.parseLong(vector.get("max_timestamp").asText()),
                        Long.parseLong(vector.get("last_ms").asText()), vector.get("max_datacenter_id").asLong(),
                        vector.get("max_worker_id").asLong(), vector.get("max_sequence").asLong(),
                        vector.get("max_batch").asInt(), vector.get("ids_per_second").asLong(),
                    },
                    new long[] {
                        layout.timestampBits(), layout.datacenterBits(), layout.workerBits(), layout.sequenceBits(),
                        layout.epochMs(), layout.maxTimestamp(), layout.lastMs(), layout.maxDatacenterId(),
                        layout.maxWorkerId(), layout.maxSequence(), layout.maxBatch(), layout.idsPerSecond(),
                    },
                    vector.toString());
            assertEquals(vector.get("layout").asText(), layout.toString());
        }
        assertEquals(layoutOf(layouts.get("default")), new Layout());
        assertEquals(layoutOf(layouts.get("default")).hashCode(), new Layout("41-5-5-12").hashCode());
    }

    @Test
    void whatIsNoIdNoLayoutAndNoFieldIsRefusedAsInEveryLanguage() {
        JsonNode ids = vectors("ids.json");
        Layout byDefault = new Layout();
        for (JsonNode vector : ids.get("text_failures")) {
            refused(ErrorCode.INVALID_ARGUMENT, () -> byDefault.decode(vector.get("text").asText()));
        }
        for (JsonNode vector : ids.get("number_failures")) {
            refused(ErrorCode.INVALID_ARGUMENT, () -> byDefault.decode(Long.parseLong(vector.get("number").asText())));
        }
        for (JsonNode vector : ids.get("encode_failures")) {
            LeaseflakeException refused =
                    assertThrows(LeaseflakeException.class, () -> layoutOf(vector).encode(partsOf(vector)));
            assertEquals(vector.get("code").asInt(), refused.getCode().number(), vector.toString());
        }
        JsonNode layouts = vectors("layouts.json");
        for (JsonNode vector : layouts.get("text_failures")) {
            refused(ErrorCode.INVALID_ARGUMENT, () -> new Layout(vector.get("text").asText()));
        }
        for (JsonNode vector : layouts.get("width_failures")) {
            List<String> widths = new ArrayList<>();
            vector.get("widths").forEach(width -> widths.add(width.asText()));
            refused(ErrorCode.INVALID_ARGUMENT, () -> new Layout(String.join("-", widths)));
        }
        for (JsonNode vector : layouts.get("epoch_failures")) {
            refused(ErrorCode.INVALID_ARGUMENT, () -> new Layout("41-5-5-12", Long.parseLong(vector.get("epoch_ms").asText())));
        }
        assertThrows(NullPointerException.class, () -> byDefault.decode(null));
        assertThrows(NullPointerException.class, () -> new Layout((String) null));
        refused(ErrorCode.INVALID_ARGUMENT, () -> byDefault.encode(new IdParts(byDefault.epochMs(), -1, 0, 1)));
    }

    @Test
    void theErrorTableIsTheOneOfEveryLanguage() {
        List<String> expected = new ArrayList<>();
        for (JsonNode row : vectors("errors.json").get("errors")) {
            if (row.get("code").asInt() != 0) {
                expected.add(row.get("code") + " " + row.get("name").asText() + " " + row.get("retryable"));
            }
        }
        List<String> known = new ArrayList<>();
        for (ErrorCode code : ErrorCode.values()) {
            known.add(code.number() + " " + code + " " + code.isRetryable());
        }
        assertEquals(expected, known);
    }

    @Test
    void theClassesAndTheLibraryAreOfOneVersion() {
        assertEquals(Native.VERSION, Native.version());
    }
}
