package io.leaseflake;

import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** What one call costs. The layout has 20 bits of sequence, so that its limit is out of the way. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 8, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Fork(1)
public class Calls {
    private final IdGenerator ids =
            IdGenerator.open(Options.builder().store("memory:wide").layout("41-1-1-20").build());

    /** Each of them has a fork of its own, and so the engine knows which function it calls. */
    @State(Scope.Benchmark)
    public static class Others {
        final LongSupplier cosid = Peers.cosid().next;
        final LongSupplier tsid = Peers.tsid().next;
        final LongSupplier hutool = Peers.hutool().next;
        final LongSupplier yitter = Peers.yitter().next;
    }

    @TearDown
    public void close() {
        ids.close();
    }

    @Benchmark
    public long nothing() {
        return Native.nothing();
    }

    @Benchmark
    public long readClock() {
        return Native.readClock();
    }

    @Benchmark
    public long nextId() {
        return ids.nextId();
    }

    @Benchmark
    public String nextString() {
        return ids.nextString();
    }

    @Benchmark
    public UUID randomUUID() {
        return UUID.randomUUID();
    }

    @Benchmark
    public long cosid(Others others) {
        return others.cosid.getAsLong();
    }

    @Benchmark
    public long tsid(Others others) {
        return others.tsid.getAsLong();
    }

    @Benchmark
    public long hutool(Others others) {
        return others.hutool.getAsLong();
    }

    @Benchmark
    public long yitter(Others others) {
        return others.yitter.getAsLong();
    }
}
