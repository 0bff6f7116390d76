package io.leaseflake;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Who is told of changes of state, and the daemon thread that tells them; there is none without listeners.
 * The thread keeps neither the generator open nor the process alive.
 */
final class Listening {
    /** How long it takes at most to notice that nobody listens any more. */
    private static final long LOOK_MS = 1000;
    private static final long CLOSED_LOOK_MS = 50;
    /** How long it waits for the end of a generator whose handle is closed. */
    private static final long END_NANOS = 3_000_000_000L;

    private static final class Entry {
        final StateListener listener;
        /** The number of the last change before it came. */
        final long seen;

        Entry(StateListener listener, long seen) {
            this.listener = listener;
            this.seen = seen;
        }
    }

    private final List<Entry> entries = new CopyOnWriteArrayList<>();
    private boolean follows;

    /** Called while something reaches the owner of the handle. */
    synchronized void add(long handle, StateListener listener) {
        List<StateChange> before = new Status(Native.status(handle)).changes();
        long seen = before.isEmpty() ? 0 : before.get(before.size() - 1).number();
        entries.add(new Entry(listener, seen));
        if (follows) {
            return;
        }
        long shared = Native.share(handle);
        try {
            Thread thread = new Thread(() -> follow(shared, seen), "leaseflake-state");
            thread.setDaemon(true);
            thread.start();
        } catch (Throwable failed) {
            Native.release(shared);
            throw failed;
        }
        follows = true;
    }

    /** Removes the one that was added last. */
    synchronized void remove(StateListener listener) {
        for (int at = entries.size() - 1; at >= 0; at--) {
            if (entries.get(at).listener == listener) {
                entries.remove(at);
                return;
            }
        }
    }

    private synchronized boolean goesOn() {
        follows = !entries.isEmpty();
        return follows;
    }

    private void follow(long shared, long since) {
        try {
            long seen = since;
            long closedAt = 0;
            boolean closed = false;
            while (goesOn() && !(closed && System.nanoTime() - closedAt > END_NANOS)) {
                if (!closed && Native.isClosed(shared)) {
                    // With the last handle the generator ends: that is told as well.
                    closed = true;
                    closedAt = System.nanoTime();
                }
                String[] changes = Native.nextChanges(shared, seen, closed ? CLOSED_LOOK_MS : LOOK_MS);
                for (StateChange change : StateChange.listOf(changes, 0)) {
                    seen = change.number();
                    tell(change);
                    if (change.to() == LeaseState.CLOSED) {
                        return;
                    }
                }
            }
        } finally {
            Native.release(shared);
        }
    }

    private void tell(StateChange change) {
        for (Entry entry : entries) {
            if (entry.seen >= change.number()) {
                continue;
            }
            try {
                entry.listener.stateChanged(change);
            } catch (Throwable thrown) {
                // Uncaught, and the others are told all the same.
                Thread thread = Thread.currentThread();
                thread.getUncaughtExceptionHandler().uncaughtException(thread, thrown);
            }
        }
    }
}
