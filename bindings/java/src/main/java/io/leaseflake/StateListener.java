package io.leaseflake;

/** Is told of changes of state; see {@link IdGenerator#addStateListener}. */
@FunctionalInterface
public interface StateListener {
    /**
     * Called for each change, in order, on a daemon thread of the generator's own: a slow listener holds up
     * the other listeners, and never an ID.
     *
     * @param change what happened
     */
    void stateChanged(StateChange change);
}
