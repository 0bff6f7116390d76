import io.leaseflake.ErrorCode;
import io.leaseflake.IdGenerator;
import io.leaseflake.LeaseflakeException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;

/** The threads of {@code run}: each issues at a pace, whatever the generator answers. */
final class Background {
    /** One step of the pace, and how long a sleep is made up for, in nanoseconds. */
    private static final long STEP = 5_000_000;
    private static final long MADE_UP = 100_000_000;
    private static final long LONGEST_RETRY_MS = 100;
    /** Single calls before the next write. */
    private static final int SINGLES = 64;
    private static final int BATCH = 1000;

    private final IdGenerator generator;
    private final AtomicLong issued = new AtomicLong();
    private final Map<ErrorCode, Long> errors = new TreeMap<>();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean stopped;

    Background(IdGenerator generator, long rate, int count) throws IOException {
        this.generator = generator;
        long each = (rate + count - 1) / count;
        List<Ids> streams = new ArrayList<>();
        for (int thread = 1; thread <= count; thread++) {
            streams.add(new Ids(thread));
        }
        for (Ids stream : streams) {
            Thread thread = new Thread(() -> work(new Paced(stream, each)));
            thread.setDaemon(true);
            threads.add(thread);
            thread.start();
        }
    }

    private void work(Paced paced) {
        try {
            while (!stopped) {
                try {
                    paced.step();
                } catch (LeaseflakeException refused) {
                    synchronized (errors) {
                        errors.merge(refused.getCode(), 1L, Long::sum);
                    }
                    if (!refused.isRetryable()) {
                        return;
                    }
                    Thread.sleep(refused.getRetryAfter().map(Duration::toMillis).filter(ms -> ms < LONGEST_RETRY_MS)
                            .orElse(LONGEST_RETRY_MS));
                }
            }
        } catch (Throwable fault) {
            // IDs that nobody can check, or a bug: neither must look like a pass.
            fault.printStackTrace();
            Runtime.getRuntime().halt(4);
        }
    }

    long stop() throws InterruptedException {
        stopped = true;
        for (Thread thread : threads) {
            thread.join();
        }
        return issued.get();
    }

    String progress() {
        StringBuilder line = new StringBuilder("issued=" + issued);
        synchronized (errors) {
            errors.forEach((code, count) -> line.append(' ').append(code).append('=').append(count));
        }
        return line.toString();
    }

    /** Single calls, a batch and a fill in turn, by a monotonic clock. */
    private final class Paced {
        private final Ids stream;
        private final long rate;
        private final long[] room = new long[Ids.BLOCK];
        private double credit;
        private long looked = System.nanoTime();
        private int turn;

        Paced(Ids stream, long rate) {
            this.stream = stream;
            this.rate = rate;
        }

        private int due() {
            if (rate == 0) {
                return Ids.BLOCK;
            }
            long now = System.nanoTime();
            credit = Math.min(credit + rate * (now - looked) / 1e9, Math.max(rate * (MADE_UP / 1e9), 1));
            looked = now;
            return (int) Math.min(credit, Ids.BLOCK);
        }

        void step() throws IOException, InterruptedException {
            int due = due();
            if (due == 0) {
                Thread.sleep(STEP / 1_000_000);
                return;
            }
            turn = (turn + 1) % 3;
            int made = 0;
            try {
                if (turn == 0) {
                    for (; made < Math.min(due, SINGLES); made++) {
                        room[made] = generator.nextId();
                    }
                } else if (turn == 1) {
                    long[] batch = generator.nextBatch(Math.min(due, BATCH));
                    System.arraycopy(batch, 0, room, 0, batch.length);
                    made = batch.length;
                } else {
                    made = fill(due);
                }
            } finally {
                stream.append(room, made);
                credit -= made;
                issued.addAndGet(made);
            }
        }

        private int fill(int due) throws IOException {
            long[] ids = due == room.length ? room : new long[due];
            try {
                generator.fill(ids);
            } catch (LeaseflakeException refused) {
                stream.append(ids, refused.getWritten());
                issued.addAndGet(refused.getWritten());
                throw refused;
            }
            System.arraycopy(ids, 0, room, 0, due);
            return due;
        }
    }
}
