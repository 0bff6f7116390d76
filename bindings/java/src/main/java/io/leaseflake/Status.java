package io.leaseflake;

import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/** What a generator tells about itself. A snapshot: it may be old by the time it is read. Immutable. */
public final class Status {
    private final Map<String, String> fields = new LinkedHashMap<>();
    private final List<StateChange> changes;

    /** Of names and values in turn, and the changes after the name {@code changes}. */
    Status(String[] texts) {
        int at = 0;
        for (; !texts[at].equals("changes"); at += 2) {
            fields.put(texts[at], texts[at + 1]);
        }
        changes = StateChange.listOf(texts, at + 2);
    }

    /**
     * The state of the lease; {@code CLOSED} on a closed generator.
     *
     * @return the state
     */
    public LeaseState state() {
        return LeaseState.of(text("state"));
    }

    /**
     * Since when.
     *
     * @return the time
     */
    public Instant since() {
        return Instant.ofEpochMilli(number("since_ms"));
    }

    /**
     * The datacenter of the worker ID.
     *
     * @return its number, where there is a worker ID
     */
    public OptionalInt datacenterId() {
        return optional(fields.get("datacenter_id"));
    }

    /**
     * The worker within the datacenter.
     *
     * @return its number, where there is a worker ID
     */
    public OptionalInt workerId() {
        return optional(fields.get("worker_id"));
    }

    /**
     * Which owner of the worker ID we are.
     *
     * @return the number; 0 without a worker ID
     */
    public long fencingEpoch() {
        return number("fencing_epoch");
    }

    /**
     * When the lease ends.
     *
     * @return the time, where there is a lease
     */
    public Optional<Instant> leaseExpiry() {
        return time("lease_expiry_ts");
    }

    /**
     * How long a renewal makes the lease.
     *
     * @return the length
     */
    public Duration leaseLength() {
        return Duration.ofMillis(number("lease_length_ms"));
    }

    /**
     * The first timestamp that is refused just now.
     *
     * @return the time, where there is a lease
     */
    public Optional<Instant> ceiling() {
        return time("ceiling_ms");
    }

    /**
     * Who we are in the registry.
     *
     * @return the name
     */
    public String instanceId() {
        return text("instance_id");
    }

    /**
     * The registry.
     *
     * @return its name
     */
    public String store() {
        return text("store");
    }

    /**
     * Why the clock is not trusted, where it is not.
     *
     * @return the reason, for people
     */
    public Optional<String> clockSuspect() {
        return Optional.ofNullable(fields.get("clock_suspect"));
    }

    /**
     * The last error of the keeper.
     *
     * @return its name and message
     */
    public Optional<String> lastError() {
        return Optional.ofNullable(fields.get("last_error"));
    }

    /**
     * When the last error was.
     *
     * @return the time
     */
    public Optional<Instant> lastErrorAt() {
        return time("last_error_ms");
    }

    /**
     * IDs issued by the whole process.
     *
     * @return the count
     */
    public long issued() {
        return number("issued");
    }

    /**
     * Calls that had to wait for the clock, but for those of virtual threads.
     *
     * @return the count
     */
    public long waits() {
        return number("waits");
    }

    /**
     * Steps of the clock that were noticed.
     *
     * @return the count
     */
    public long clockSteps() {
        return number("clock_steps");
    }

    /**
     * Heartbeats sent.
     *
     * @return the count
     */
    public long heartbeatsSent() {
        return number("heartbeats_sent");
    }

    /**
     * Heartbeats that failed.
     *
     * @return the count
     */
    public long heartbeatsFailed() {
        return number("heartbeats_failed");
    }

    /**
     * Leases acquired.
     *
     * @return the count
     */
    public long leasesAcquired() {
        return number("leases_acquired");
    }

    /**
     * Leases lost to others.
     *
     * @return the count
     */
    public long leasesLost() {
        return number("leases_lost");
    }

    /**
     * Worker IDs that others claimed first.
     *
     * @return the count
     */
    public long claimsLost() {
        return number("claims_lost");
    }

    /**
     * Requests sent to the registry.
     *
     * @return the count
     */
    public long requests() {
        return number("requests");
    }

    /**
     * The last 64 changes of state, oldest first.
     *
     * @return them
     */
    public List<StateChange> changes() {
        return changes;
    }

    /**
     * All fields but the changes, by the names that every language uses ({@code lease_expiry_ts}): for metrics
     * and health checks.
     *
     * @return names and values; {@code null} for what is not known
     */
    public Map<String, String> fields() {
        return Collections.unmodifiableMap(fields);
    }

    /** All fields but the changes. */
    @Override
    public String toString() {
        return "Status" + fields;
    }

    static OptionalInt optional(String text) {
        return text == null ? OptionalInt.empty() : OptionalInt.of(Integer.parseInt(text));
    }

    private String text(String name) {
        String text = fields.get(name);
        return text == null ? "" : text;
    }

    private long number(String name) {
        return Long.parseLong(fields.get(name));
    }

    private Optional<Instant> time(String name) {
        String text = fields.get(name);
        return text == null || text.equals("0") ? Optional.empty() : Optional.of(Instant.ofEpochMilli(number(name)));
    }
}
