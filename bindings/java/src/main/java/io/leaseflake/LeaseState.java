package io.leaseflake;

import java.util.Locale;

/** The state of a generator's lease. */
public enum LeaseState {
    /** No worker ID yet. */
    ACQUIRING,
    /** IDs are issued. */
    ACTIVE,
    /** The window is used up and no heartbeat got through: IDs are refused until one does. */
    SUSPENDED,
    /** Somebody else owns the worker ID now; another one is being acquired. */
    LOST,
    /** Closed. */
    CLOSED;

    static LeaseState of(String name) {
        return valueOf(name.toUpperCase(Locale.ROOT));
    }

    /** The name that all languages use: {@code active}. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
