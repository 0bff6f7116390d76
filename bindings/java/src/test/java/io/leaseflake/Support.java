package io.leaseflake;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

/** What the tests share. */
final class Support {
    /** A generous deadline: whatever takes longer hangs. */
    static final long DEADLINE_S = 120;

    private Support() {}

    /** A fresh registry in a folder. */
    static String registry(Path folder) {
        return "sqlite:" + folder.resolve("ids.db");
    }

    static Options.Builder on(String store) {
        return Options.builder().store(store);
    }

    static IdGenerator open(String store) {
        return IdGenerator.open(on(store).build());
    }

    static LeaseflakeException refused(ErrorCode code, Runnable call) {
        LeaseflakeException thrown = assertThrows(LeaseflakeException.class, call::run);
        assertEquals(code, thrown.getCode(), thrown::toString);
        return thrown;
    }

    /** Whether each is greater than the one before. */
    static boolean rises(long[] ids) {
        for (int at = 1; at < ids.length; at++) {
            if (ids[at - 1] >= ids[at]) {
                return false;
            }
        }
        return ids.length == 0 || ids[0] > 0;
    }

    static void until(String what, BooleanSupplier holds) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(DEADLINE_S);
        while (!holds.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError("waited in vain until " + what);
            }
            pause();
        }
    }

    static void pause() {
        try {
            Thread.sleep(5);
        } catch (InterruptedException interrupted) {
            throw new AssertionError(interrupted);
        }
    }

    /** An ID as soon as there is one again. */
    static long eventually(LongSupplier call) {
        long[] made = new long[1];
        until("there is an ID", () -> {
            try {
                made[0] = call.getAsLong();
                return true;
            } catch (LeaseflakeException again) {
                if (!again.isRetryable()) {
                    throw again;
                }
                return false;
            }
        });
        return made[0];
    }

    static JsonNode vectors(String name) {
        try {
            return new ObjectMapper().readTree(new File(System.getProperty("vectors"), name));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** The address of a generator's native part. */
    static long handleOf(IdGenerator ids) {
        try {
            java.lang.reflect.Field handle = IdGenerator.class.getDeclaredField("handle");
            handle.setAccessible(true);
            return handle.getLong(ids);
        } catch (ReflectiveOperationException error) {
            throw new AssertionError(error);
        }
    }

    /** The JAR or the folder of classes that is tested. */
    static Path tested() {
        return Paths.get(System.getProperty("tested"));
    }

    /** A program of the folder {@code programs} in a virtual machine of its own. */
    static Program start(List<String> options, String name, String... arguments) {
        return startBy(List.of(), options, name, arguments);
    }

    /** The same, started by another command. */
    static Program startBy(List<String> by, List<String> options, String name, String... arguments) {
        List<String> command = new ArrayList<>(by);
        command.add(Paths.get(System.getProperty("java.home"), "bin", "java").toString());
        command.add("-Xmx256m");
        if (Runtime.version().feature() >= 22) {
            command.add("--enable-native-access=ALL-UNNAMED");
        }
        command.addAll(options);
        command.add("-cp");
        command.add(tested() + File.pathSeparator + System.getProperty("programs"));
        command.add("io.leaseflake.programs." + name);
        command.addAll(Arrays.asList(arguments));
        return new Program(new ProcessBuilder(command).redirectErrorStream(true));
    }

    static List<String> run(List<String> options, String name, String... arguments) {
        return start(options, name, arguments).lines(0);
    }

    /** A child process; it ends with the test at the latest. */
    static final class Program implements AutoCloseable {
        final Process process;
        private final BufferedReader output;
        private final List<String> lines = new ArrayList<>();

        Program(ProcessBuilder builder) {
            try {
                process = builder.start();
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
            output = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
            process.onExit().orTimeout(DEADLINE_S, TimeUnit.SECONDS).whenComplete((ended, late) -> {
                if (late != null) {
                    process.destroyForcibly();
                }
            });
        }

        /** The next line that it prints; {@code null} after the last one. */
        String line() {
            try {
                String line = output.readLine();
                if (line != null) {
                    lines.add(line);
                }
                return line;
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }

        void say(String line) {
            try {
                process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
                process.getOutputStream().flush();
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }

        /** Waits for its end: all lines that it printed. */
        List<String> lines(int code) {
            try {
                while (line() != null) {}
                assertEquals(code, process.waitFor(), () -> String.join("\n", lines));
                return lines;
            } catch (InterruptedException interrupted) {
                throw new AssertionError(interrupted);
            }
        }

        @Override
        public void close() {
            process.destroyForcibly();
        }
    }

    /** Holds the lock that all writes to a registry need, as a registry that does not answer. */
    static final class Outage implements AutoCloseable {
        private final Program holder;

        Outage(String store) {
            String lock = store.substring("sqlite:".length()) + ".lock";
            holder = new Program(new ProcessBuilder("flock", "--exclusive", lock, "sh", "-c", "echo held; exec cat"));
            assertEquals("held", holder.line());
        }

        @Override
        public void close() {
            try {
                holder.process.getOutputStream().close();
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
            holder.lines(0);
        }
    }
}
