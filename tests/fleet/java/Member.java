import io.leaseflake.IdGenerator;
import io.leaseflake.LeaseflakeException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.stream.Collectors;

/** The Java library as a member of the fleet: see ../PROTOCOL.md. */
public final class Member {
    /** An answer that is an error of the table's, without the library's doing. */
    private static final class Refusal extends Exception {
        private static final long serialVersionUID = 1L;

        Refusal(String text) {
            super(text);
        }
    }

    /** Makes some IDs. */
    private interface Call {
        long[] make();
    }

    private static final Map<String, Integer> PARAMETERS = Map.of("open", 0, "issue", 1, "batch", 2, "fill", 1, "run", 2,
            "stop", 0, "progress", 0, "status", 0, "close", 0);

    private IdGenerator ids;
    private Ids foreground;
    private Background background;

    private static Refusal invalid(String what) {
        return new Refusal("1 INVALID_ARGUMENT " + what);
    }

    private IdGenerator generator() throws Refusal {
        if (ids == null) {
            throw new Refusal("30 CLOSED no generator is open; say `open` first");
        }
        return ids;
    }

    /** What follows `ok`. */
    private String perform(String[] words) throws Refusal, IOException, InterruptedException {
        Integer parameters = PARAMETERS.get(words[0]);
        long[] given = new long[words.length - 1];
        for (int at = 0; at < given.length; at++) {
            if (!words[at + 1].matches("[0-9]{1,9}")) {
                parameters = null;
                break;
            }
            given[at] = Long.parseLong(words[at + 1]);
        }
        if (parameters == null || parameters != given.length) {
            throw invalid(String.join(" ", words) + " is no line of the fleet's protocol");
        }
        switch (words[0]) {
            case "open":
                if (ids == null) {
                    ids = IdGenerator.open();
                }
                return "";
            case "issue":
                return issue(given[0], () -> new long[] {ids.nextId()});
            case "batch":
                return issue(given[1], () -> ids.nextBatch((int) given[0]));
            case "fill":
                return fill(given[0]);
            case "run":
                if (background != null || given[1] < 1 || given[1] > 64) {
                    throw invalid("run: once in the life of a program, with 1 to 64 threads");
                }
                background = new Background(generator(), given[0], (int) given[1]);
                return "";
            case "stop":
                return Long.toString(background == null ? 0 : background.stop());
            case "progress":
                return background == null ? "issued=0" : background.progress();
            case "status":
                return generator().status().fields().entrySet().stream()
                        .map(field -> field.getKey() + "=" + String.valueOf(field.getValue()).replaceAll("\\s", "_"))
                        .collect(Collectors.joining(" "));
            default:
                close();
                return "";
        }
    }

    /** Calls so many times; what was issued before an error is written all the same. */
    private String issue(long times, Call call) throws Refusal, IOException {
        generator();
        long count = 0;
        long first = 0;
        long last = 0;
        for (long time = 0; time < times; time++) {
            long[] made = call.make();
            write(made, made.length);
            first = count == 0 ? made[0] : first;
            last = made[made.length - 1];
            count += made.length;
        }
        return count + " " + first + " " + last;
    }

    private String fill(long count) throws Refusal, IOException {
        generator();
        if (count < 1 || count > Ids.BLOCK) {
            throw invalid("fill: " + count + "; allowed: 1..=" + Ids.BLOCK);
        }
        long[] room = new long[(int) count];
        try {
            ids.fill(room);
        } catch (LeaseflakeException refused) {
            write(room, refused.getWritten());
            throw refused;
        }
        write(room, room.length);
        return count + " " + room[0] + " " + room[room.length - 1];
    }

    private void write(long[] made, int count) throws IOException {
        if (count > 0 && foreground == null) {
            foreground = new Ids(0);
        }
        if (count > 0) {
            foreground.append(made, count);
        }
    }

    private void close() {
        if (ids != null) {
            ids.close();
        }
        ids = null;
    }

    private static void end(long after) {
        try {
            Thread.sleep(after);
        } catch (InterruptedException never) {
            Thread.currentThread().interrupt();
        }
        // Whatever hangs: the driver is gone, and nobody waits for a clean end.
        Runtime.getRuntime().halt(3);
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        long life = (long) (1000 * Double.parseDouble(System.getenv("FLEET_SECONDS")));
        Thread watch = new Thread(() -> end(life));
        watch.setDaemon(true);
        watch.start();
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Member member = new Member();
        out.println("ready threads");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.trim().split("\\s+");
            if (words.length == 1 && words[0].equals("exit")) {
                out.println("ok");
                break;
            }
            String answer;
            try {
                answer = "ok " + member.perform(words);
            } catch (Refusal refusal) {
                answer = "error " + refusal.getMessage();
            } catch (LeaseflakeException refused) {
                answer = "error " + refused.getCode().number() + " " + refused.getCode() + " "
                        + String.valueOf(refused.getMessage()).replaceAll("\\s+", " ");
            }
            out.println(answer.trim());
        }
        member.close();
    }
}
