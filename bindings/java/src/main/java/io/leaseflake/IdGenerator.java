package io.leaseflake;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.util.Objects;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.function.LongConsumer;
import java.util.stream.LongStream;
import java.util.stream.StreamSupport;

/**
 * Makes 64-bit, time-sorted IDs that never repeat among all who use the same registry.
 *
 * <p>A handle on the one generator that this process has for a registry, datacenter, layout and slot: opening it
 * again is cheap and takes no second worker ID. Open one when the program starts and keep it. All methods may be
 * called from any thread, virtual ones too.
 *
 * <pre>{@code
 * try (IdGenerator ids = IdGenerator.open(Options.builder().store("sqlite:./ids.db").build())) {
 *     long id = ids.nextId();
 * }
 * }</pre>
 *
 * <p>Closing gives the worker ID back at once. So does a normal end of the process ({@code System.exit}, SIGTERM,
 * the end of {@code main}), after all shutdown hooks and within 300 ms: hooks can still make IDs. A generator that nobody can
 * reach any more is closed by the garbage collector, some time.
 */
public final class IdGenerator implements AutoCloseable {
    private static final Cleaner CLEANER = Cleaner.create();

    private final long handle;
    private final Layout layout;
    private final Listening listening = new Listening();

    private IdGenerator(long handle) {
        this.handle = handle;
        try {
            // It must not hold this object, or nothing would ever be cleaned.
            CLEANER.register(this, () -> Native.free(handle));
        } catch (Throwable failed) {
            Native.free(handle);
            throw failed;
        }
        this.layout = new Layout(Native.layoutOf(handle));
    }

    /**
     * Opens a generator with the options of the environment ({@code LEASEFLAKE_STORE}, ...).
     *
     * @return the generator
     * @throws LeaseflakeException as {@link #open(Options)}
     */
    public static IdGenerator open() {
        return open(Options.builder().build());
    }

    /**
     * Opens a generator: waits until it has a worker ID, for at most {@code acquireTimeoutMs}.
     *
     * @param options the options; those left out come from the environment
     * @return the generator
     * @throws LeaseflakeException {@code INVALID_ARGUMENT} for options; {@code NO_WORKER_ID},
     *     {@code STORE_UNAVAILABLE}, {@code CLOCK_UNTRUSTED} after the timeout; {@code STORE_REJECTED},
     *     {@code LAYOUT_MISMATCH}, {@code TIMESTAMP_OUT_OF_RANGE} at once
     * @throws UnsatisfiedLinkError where there is no native library for this platform, or it cannot be loaded
     */
    public static IdGenerator open(Options options) {
        String[] pairs = options.pairs();
        NativeLibrary.require();
        return Threads.offCarrier(() -> new IdGenerator(Native.open(pairs)));
    }

    /**
     * The next ID: greater than all that this generator has given before. Where the IDs of the millisecond are
     * used up (4,096 of them by default) it waits for the rest of it; an interrupt does not end that.
     *
     * @return the ID, greater than zero
     * @throws LeaseflakeException {@code LEASE_SUSPENDED}, {@code LEASE_LOST}, {@code CLOCK_BACKWARDS},
     *     {@code CLOCK_UNTRUSTED}, {@code SEQUENCE_EXHAUSTED}: try again; {@code TIMESTAMP_OUT_OF_RANGE},
     *     {@code CLOSED}: final
     */
    public long nextId() {
        try {
            long id = Threads.isVirtual() ? waited(Native.reserve(handle)) : Native.next(handle);
            if (id > 0) {
                return id;
            }
            throw refusal(id);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * The next ID if there is one without waiting.
     *
     * @return the ID; -1 where {@link #nextId} would have to wait ({@code SEQUENCE_EXHAUSTED})
     * @throws LeaseflakeException as {@link #nextId}, for all other reasons
     */
    public long tryNextId() {
        try {
            long id = Native.tryNext(handle);
            if (id > 0) {
                return id;
            }
            if (-id == ErrorCode.SEQUENCE_EXHAUSTED.number()) {
                return -1;
            }
            throw refusal(id);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * The next ID as decimal digits, for JSON: JavaScript rounds numbers above 2^53.
     *
     * @return the digits
     * @throws LeaseflakeException as {@link #nextId}
     */
    public String nextString() {
        return Long.toString(nextId());
    }

    /**
     * So many IDs of one millisecond, one after the other: all or nothing.
     *
     * @param count 1 to 1000 (or all IDs of a millisecond, where the layout has fewer)
     * @return the IDs, rising
     * @throws LeaseflakeException {@code INVALID_ARGUMENT} for another count, else as {@link #nextId}
     */
    public long[] nextBatch(int count) {
        try {
            boolean isVirtual = Threads.isVirtual();
            long first = Native.batch(handle, count, !isVirtual);
            if (isVirtual) {
                first = waited(first);
            }
            if (first <= 0) {
                throw refusal(first);
            }
            long[] ids = new long[count];
            for (int place = 0; place < count; place++) {
                ids[place] = first + place;
            }
            return ids;
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Fills an array of any length, over as many milliseconds as it takes: a million IDs take a quarter of a
     * second by default. Not atomic: on a failure the first {@link LeaseflakeException#getWritten} IDs are valid.
     *
     * @param ids where the IDs go
     * @throws LeaseflakeException as {@link #nextId}
     */
    public void fill(long[] ids) {
        Objects.requireNonNull(ids, "ids");
        try {
            boolean isVirtual = Threads.isVirtual();
            int done = 0;
            while (done < ids.length) {
                long result = Native.fill(handle, ids, done, !isVirtual);
                if (result < 0) {
                    throw refusal(-(-result & 0xff)).written((int) (-result >>> 8));
                }
                done = (int) result;
                int ahead = (int) (result >>> 32);
                if (ahead > 0) {
                    long waited = Threads.await(handle, ids[done]);
                    if (waited < 0) {
                        throw refusal(waited).written(done);
                    }
                    done += ahead;
                }
            }
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * IDs without end, in order, each made when it is asked for.
     *
     * @return a sequential stream, whose elements {@link #nextId} gives
     */
    public LongStream ids() {
        int characteristics = Spliterator.ORDERED | Spliterator.DISTINCT | Spliterator.NONNULL | Spliterator.IMMUTABLE;
        Spliterator.OfLong each =
                new Spliterators.AbstractLongSpliterator(Long.MAX_VALUE, characteristics) {
                    @Override
                    public boolean tryAdvance(LongConsumer action) {
                        action.accept(nextId());
                        return true;
                    }
                };
        return StreamSupport.longStream(each, false);
    }

    /**
     * The fields of an ID, by the layout of this generator. Works when closed, too.
     *
     * @param id an ID
     * @return its fields
     * @throws LeaseflakeException as {@link Layout#decode(long)}
     */
    public IdParts decode(long id) {
        return layout.decode(id);
    }

    /**
     * The fields of an ID, by the layout of this generator. Works when closed, too.
     *
     * @param id decimal digits
     * @return its fields
     * @throws LeaseflakeException as {@link Layout#decode(String)}
     */
    public IdParts decode(String id) {
        return layout.decode(id);
    }

    /**
     * The layout of this generator.
     *
     * @return the layout
     */
    public Layout layout() {
        return layout;
    }

    /**
     * What state the generator is in, whose worker ID, until when, and its counters. Works when closed, too.
     *
     * @return a snapshot
     */
    public Status status() {
        try {
            return new Status(Native.status(handle));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Has a listener told of every change of state from here on, to the generator's end. It keeps neither the process alive nor
     * the generator open (unless the listener itself holds the generator). What a listener throws goes to the
     * thread's uncaught exception handler.
     *
     * @param listener is called on a daemon thread, one call after the other
     */
    public void addStateListener(StateListener listener) {
        Objects.requireNonNull(listener, "listener");
        try {
            listening.add(handle, listener);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Removes a listener; a call that is under way goes on.
     *
     * @param listener one that was added
     */
    public void removeStateListener(StateListener listener) {
        listening.remove(Objects.requireNonNull(listener, "listener"));
    }

    /**
     * Closes this handle; with the last one, ends issuing at once and releases the lease, for at most
     * {@code closeTimeoutMs} (after that the lease expires by itself). As often as you like; calls from here on
     * are a {@link ClosedException}, also those that run just now.
     */
    @Override
    public void close() {
        try {
            if (!Native.isClosed(handle)) {
                Threads.offCarrier(
                        () -> {
                            Native.close(handle);
                            return null;
                        });
            }
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Whether this handle is closed.
     *
     * @return whether it is
     */
    public boolean isClosed() {
        try {
            return Native.isClosed(handle);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** The registry, the state and the worker ID, for people. */
    @Override
    public String toString() {
        Status status = status();
        String worker =
                status.workerId().isPresent()
                        ? ", worker ID " + status.datacenterId().getAsInt() + "/" + status.workerId().getAsInt()
                        : "";
        return "IdGenerator[" + status.store() + ": " + status.state() + worker + "]";
    }

    /** What a call of {@link Native} gave, once its time has come: an ID or a refusal. */
    private long waited(long result) {
        if (result >= Native.LOWEST_CODE) {
            return result;
        }
        long id = Native.ahead(result);
        long refused = Threads.await(handle, id);
        return refused < 0 ? refused : id;
    }

    /** The exception that a refusal is. A call that failed with one of its own never gets here. */
    private LeaseflakeException refusal(long result) {
        try {
            Native.explain(handle, (int) -result);
        } catch (LeaseflakeException refused) {
            return refused;
        }
        throw new IllegalStateException("the result " + result + " is neither an ID nor a refusal");
    }
}
