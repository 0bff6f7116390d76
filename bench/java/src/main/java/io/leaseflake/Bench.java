package io.leaseflake;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;

/** The Java library by itself and beside others, of one run: Bench RESULT, the JSON to write. */
public final class Bench {
    private static final long LIMIT = 4_096_000;
    private static final int MILLION = 1_000_000;

    private final List<String> json = new ArrayList<>();

    private void row(String name, double value, String unit) {
        row(name, value, unit, "", true);
    }

    private void row(String name, double value, String unit, String budget, boolean holds) {
        String verdict = budget.isEmpty() ? "" : (holds ? "holds: " : "MISSED: ") + budget;
        System.out.printf(Locale.ROOT, "  %-66s %,16.2f %-8s %s%n", name, value, unit, verdict);
        json.add(String.format(Locale.ROOT, "{\"name\": \"%s\", \"value\": %.4f, \"unit\": \"%s\"%s}", name, value, unit,
                budget.isEmpty() ? "" : ", \"budget\": \"" + budget + "\", \"holds\": " + holds));
    }

    private void costs() throws RunnerException {
        System.out.println("one call, where the limit is out of the way: JMH, the best of 8 rounds, and their mean");
        Collection<RunResult> results = new Runner(new OptionsBuilder().include(Calls.class.getName() + "\\..*").build()).run();
        Map<String, Double> best = new HashMap<>();
        Map<String, Double> mean = new HashMap<>();
        for (RunResult result : results) {
            String name = result.getParams().getBenchmark().replaceAll(".*\\.", "");
            double least = result.getBenchmarkResults().stream()
                    .flatMap(fork -> fork.getIterationResults().stream())
                    .mapToDouble(round -> round.getPrimaryResult().getScore()).min().orElseThrow();
            best.put(name, least);
            mean.put(name, result.getPrimaryResult().getScore());
        }
        for (String name : List.of("nothing", "readClock", "nextId", "nextString", "randomUUID", "cosid", "tsid", "hutool", "yitter")) {
            row(name + "()", best.get(name), "ns");
            row("... mean", mean.get(name), "ns");
        }
    }

    /** The ratio of the budget: of short rounds in turn, so that what else the machine does touches both sides. */
    private void inTurn() {
        System.out.println("the same in turn: the best of 400 short rounds");
        try (IdGenerator ids = IdGenerator.open(Options.builder().store("memory:turn").layout("41-1-1-20").build())) {
            double nothing = Double.MAX_VALUE;
            double clock = Double.MAX_VALUE;
            double id = Double.MAX_VALUE;
            for (int round = 0; round < 400; round++) {
                nothing = Math.min(nothing, nothings());
                clock = Math.min(clock, clocks());
                id = Math.min(id, ids(ids));
            }
            row("an empty call through the binding", nothing, "ns");
            row("a call that reads the wall clock", clock, "ns");
            row("nextId()", id, "ns");
            row("nextId() / (empty call + reading the wall clock)", id / clock, "x", "<= 1.5 x", id / clock <= 1.5);
        }
    }

    private static final int ROUND = 10_000;

    /** What keeps results alive. */
    private static volatile long sink;

    // A loop of its own for each, as a program has it.
    private static double nothings() {
        long began = System.nanoTime();
        long sum = 0;
        for (int turn = 0; turn < ROUND; turn++) {
            sum += Native.nothing();
        }
        sink = sum;
        return (System.nanoTime() - began) / (double) ROUND;
    }

    private static double clocks() {
        long began = System.nanoTime();
        long sum = 0;
        for (int turn = 0; turn < ROUND; turn++) {
            sum += Native.readClock();
        }
        sink = sum;
        return (System.nanoTime() - began) / (double) ROUND;
    }

    private static double ids(IdGenerator ids) {
        long began = System.nanoTime();
        long sum = 0;
        for (int turn = 0; turn < ROUND; turn++) {
            sum += ids.nextId();
        }
        sink = sum;
        return (System.nanoTime() - began) / (double) ROUND;
    }

    /** Calls a second, over about a second. The clock is looked at every 4096 calls. */
    private static double rate(LongSupplier call) {
        long began = System.nanoTime();
        long calls = 0;
        long passed = 0;
        while (passed < 1_000_000_000L) {
            for (int turn = 0; turn < 4096; turn++) {
                call.getAsLong();
            }
            calls += 4096;
            passed = System.nanoTime() - began;
        }
        return calls * 1e9 / passed;
    }

    /** The same of several threads on one generator, and the share of one core that they burn. */
    private static double[] rate(IdGenerator ids, int threads, AtomicLong refused) throws InterruptedException {
        LongAdder calls = new LongAdder();
        long began = System.nanoTime();
        long burned = burned();
        Thread[] all = new Thread[threads];
        for (int number = 0; number < threads; number++) {
            all[number] = new Thread(() -> {
                while (System.nanoTime() - began < 1_000_000_000L) {
                    for (int turn = 0; turn < 512; turn++) {
                        try {
                            ids.nextId();
                            calls.increment();
                        } catch (LeaseflakeException failed) {
                            refused.incrementAndGet();
                        }
                    }
                }
            });
            all[number].start();
        }
        for (Thread thread : all) {
            thread.join();
        }
        double passed = System.nanoTime() - began;
        return new double[] {calls.sum() * 1e9 / passed, (burned() - burned) / passed};
    }

    private static long burned() {
        return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    private void limits() throws InterruptedException {
        System.out.println("one worker ID at its limit");
        try (IdGenerator ids = IdGenerator.open(Options.builder().store("memory:limit").build())) {
            double best = 0;
            double least = Double.MAX_VALUE;
            rate(ids::nextId);
            long began = System.nanoTime();
            long before = burned();
            for (int window = 0; window < 5; window++) {
                double rate = rate(ids::nextId);
                best = Math.max(best, rate);
                least = Math.min(least, rate);
            }
            double share = 100.0 * (burned() - before) / (System.nanoTime() - began);
            row("nextId() in a plain loop, best of five 1 s windows", best, "/s");
            row("... of the limit of the layout", 100 * best / LIMIT, "%", ">= 99.5 %", best >= 0.995 * LIMIT);
            row("... worst of the five", 100 * least / LIMIT, "%");
            row("CPU burned at the limit, of one core", share, "%", "<= 25 %", share <= 25);

            AtomicLong refused = new AtomicLong();
            best = 0;
            double cores = Double.MAX_VALUE;
            for (int window = 0; window < 5; window++) {
                double[] window8 = rate(ids, 8, refused);
                best = Math.max(best, window8[0]);
                cores = Math.min(cores, 100 * window8[1]);
            }
            row("8 threads on one generator, best of five", 100 * best / LIMIT, "%", ">= 99 %", best >= 0.99 * LIMIT);
            row("... calls refused", refused.get(), "calls", "none", refused.get() == 0);
            row("... CPU burned, of one core", cores, "%", "<= 50 %", cores <= 50);
        }
    }

    private void bulk() {
        System.out.println("many at once, on 20 bits of sequence");
        try (IdGenerator ids = IdGenerator.open(Options.builder().store("memory:bulk").layout("41-1-1-20").build())) {
            long[] room = new long[MILLION];
            double best = 0;
            for (int round = 0; round < 30; round++) {
                long began = System.nanoTime();
                ids.fill(room);
                best = Math.max(best, MILLION * 1e9 / (System.nanoTime() - began));
            }
            row("fill() of 1,000,000", best, "/s", ">= 100 M/s", best >= 1e8);
            row("nextBatch(1000)", 1000 * rate(() -> ids.nextBatch(1000)[0]), "/s");
        }
    }

    private void peers() {
        System.out.println("beside others: one second at full speed, then two million IDs looked at");
        try (IdGenerator ids = IdGenerator.open(Options.builder().store("memory:peer").build())) {
            peer("leaseflake nextId()", new Peers.Peer(ids::nextId, id -> ids.decode(id).timestampMs()));
            Peers.all().forEach(this::peer);
        }
        row("UUID.randomUUID() (122 random bits, no order)", rate(() -> java.util.UUID.randomUUID().getLeastSignificantBits()), "/s");
    }

    private void peer(String name, Peers.Peer peer) {
        row(name, Math.max(rate(peer.next), rate(peer.next)), "/s");
        long[] made = new long[2 * MILLION];
        for (int at = 0; at < made.length; at++) {
            made[at] = peer.next.getAsLong();
        }
        long ahead = peer.timestampMs.applyAsLong(made[made.length - 1]) - System.currentTimeMillis();
        row("  ahead of the clock after that", Math.max(ahead, 0), "ms");
        Arrays.sort(made);
        int repeated = 0;
        for (int at = 1; at < made.length; at++) {
            if (made[at] == made[at - 1]) {
                repeated++;
            }
        }
        row("  repeated among two million", repeated, "IDs");
    }

    public static void main(String[] arguments) throws Exception {
        Bench bench = new Bench();
        System.out.printf("Java %s, %s-%s%n", Runtime.version(), System.getProperty("os.name"), System.getProperty("os.arch"));
        bench.costs();
        bench.inTurn();
        bench.limits();
        bench.bulk();
        bench.peers();
        write(Paths.get(arguments[0]), bench.json);
    }

    private static void write(Path file, List<String> rows) throws IOException {
        Files.createDirectories(file.toAbsolutePath().getParent());
        Files.writeString(file, "{\"java\": \"" + Runtime.version() + "\", \"at\": \"" + Instant.now() + "\", \"rows\": [\n  "
                + String.join(",\n  ", rows) + "\n]}\n");
    }
}
