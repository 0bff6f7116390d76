package io.leaseflake;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * What a generator is opened with. Immutable; made by {@link #builder}.
 *
 * <p>An option that is left out comes from the environment ({@code LEASEFLAKE_STORE},
 * {@code LEASEFLAKE_LEASE_TTL_MS}, ...), else from its default; only {@code store} has none. Values are checked
 * when a generator is opened.
 */
public final class Options {
    private final Map<String, String> values;

    private Options(Map<String, String> values) {
        this.values = values;
    }

    /**
     * Begins with no options: everything comes from the environment and the defaults.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /** Names and values in turn. */
    String[] pairs() {
        String[] pairs = new String[2 * values.size()];
        int at = 0;
        for (Map.Entry<String, String> option : values.entrySet()) {
            pairs[at++] = option.getKey();
            pairs[at++] = option.getValue();
        }
        return pairs;
    }

    /** The options that were given. */
    @Override
    public String toString() {
        return "Options" + values;
    }

    /** Collects options. Not for several threads at once. */
    public static final class Builder {
        private final Map<String, String> values = new LinkedHashMap<>();

        private Builder() {}

        /**
         * The registry: {@code dynamodb://TABLE-or-ARN?region=..&endpoint=..}, {@code sqlite:PATH},
         * {@code sqlite:} (a file in the user's state directory) or {@code memory:} (tests). IDs are unique among
         * all who use the same registry.
         *
         * @param store the registry
         * @return this
         */
        public Builder store(String store) {
            return option("store", store);
        }

        /**
         * Where the worker ID is looked for. Default {@code auto}.
         *
         * @param datacenterId {@code auto}, a number, a list or a range ({@code 0,2,5-7}) searched in turn
         * @return this
         */
        public Builder datacenterId(String datacenterId) {
            return option("datacenter_id", datacenterId);
        }

        /**
         * Where the worker ID is looked for. Default {@code auto}.
         *
         * @param datacenterId a datacenter
         * @return this
         */
        public Builder datacenterId(int datacenterId) {
            return datacenterId(Integer.toString(datacenterId));
        }

        /**
         * Which of several worker IDs of this process. Default 0.
         *
         * @param slot a number from 0
         * @return this
         */
        public Builder slot(int slot) {
            return option("slot", Integer.toString(slot));
        }

        /**
         * Who we are in the registry. Default: discovered.
         *
         * @param instanceId a name
         * @return this
         */
        public Builder instanceId(String instanceId) {
            return option("instance_id", instanceId);
        }

        /**
         * Where we are, shown in the registry. Default: discovered.
         *
         * @param ipAddress an address
         * @return this
         */
        public Builder ipAddress(String ipAddress) {
            return option("ip_address", ipAddress);
        }

        /**
         * How long a new holder's lease lasts. Default 30000.
         *
         * @param leaseTtlMs milliseconds
         * @return this
         */
        public Builder leaseTtlMs(long leaseTtlMs) {
            return option("lease_ttl_ms", Long.toString(leaseTtlMs));
        }

        /**
         * How long a lease may grow, up to 24 h. Default: as {@code leaseTtlMs}.
         *
         * @param leaseTtlMaxMs milliseconds
         * @return this
         */
        public Builder leaseTtlMaxMs(long leaseTtlMaxMs) {
            return option("lease_ttl_max_ms", Long.toString(leaseTtlMaxMs));
        }

        /**
         * Between heartbeats. Default 10000.
         *
         * @param heartbeatIntervalMs milliseconds
         * @return this
         */
        public Builder heartbeatIntervalMs(long heartbeatIntervalMs) {
            return option("heartbeat_interval_ms", Long.toString(heartbeatIntervalMs));
        }

        /**
         * Between the last ID and the end of the lease. Default 5000.
         *
         * @param safetyMarginMs milliseconds
         * @return this
         */
        public Builder safetyMarginMs(long safetyMarginMs) {
            return option("safety_margin_ms", Long.toString(safetyMarginMs));
        }

        /**
         * How long {@code open} may try. Default 10000.
         *
         * @param acquireTimeoutMs milliseconds
         * @return this
         */
        public Builder acquireTimeoutMs(long acquireTimeoutMs) {
            return option("acquire_timeout_ms", Long.toString(acquireTimeoutMs));
        }

        /**
         * How long {@code close} tries to release before it lets the lease expire. Default 2000.
         *
         * @param closeTimeoutMs milliseconds
         * @return this
         */
        public Builder closeTimeoutMs(long closeTimeoutMs) {
            return option("close_timeout_ms", Long.toString(closeTimeoutMs));
        }

        /**
         * How far ahead of the clock a call may reserve, and so wait. Default 10.
         *
         * @param maxWaitMs milliseconds
         * @return this
         */
        public Builder maxWaitMs(long maxWaitMs) {
            return option("max_wait_ms", Long.toString(maxWaitMs));
        }

        /**
         * The epoch. Pinned in the registry. Default 1767225600000.
         *
         * @param epochMs milliseconds since the Unix epoch
         * @return this
         */
        public Builder epochMs(long epochMs) {
            return option("epoch_ms", Long.toString(epochMs));
        }

        /**
         * The widths. Pinned in the registry. Default {@code 41-5-5-12}.
         *
         * @param layout such as {@code "41-5-5-12"}
         * @return this
         */
        public Builder layout(String layout) {
            return option("layout", layout);
        }

        /**
         * The first sequence number of a fresh millisecond is drawn from {@code 0..=sequenceJitter}. Default 0.
         *
         * @param sequenceJitter the largest one that is drawn
         * @return this
         */
        public Builder sequenceJitter(int sequenceJitter) {
            return option("sequence_jitter", Integer.toString(sequenceJitter));
        }

        /**
         * Sets an option by the name that it has in every language, such as {@code lease_ttl_ms}: for options
         * that come from a configuration file.
         *
         * @param name the name
         * @param value the value; an empty one leaves the option to the environment
         * @return this
         */
        public Builder option(String name, String value) {
            values.put(Objects.requireNonNull(name, "name"), Objects.requireNonNull(value, name));
            return this;
        }

        /**
         * The options.
         *
         * @return them, as they are now
         */
        public Options build() {
            return new Options(new LinkedHashMap<>(values));
        }
    }
}
