package io.leaseflake;

import static io.leaseflake.Support.on;
import static io.leaseflake.Support.registry;
import static io.leaseflake.Support.start;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How a process ends. */
class ProcessTest {
    @TempDir
    Path folder;

    /** The one worker ID of the registry was given back, for its lease is far from its end. */
    private static void isFree(String store) {
        IdGenerator.open(on(store).layout("51-0-0-12").acquireTimeoutMs(15_000).build()).close();
    }

    /**
     * A normal exit tries for 300 ms to give the worker ID back, which a busy machine may need for itself: one of three
     * runs has to succeed in it. Whatever else fails, fails.
     */
    private void givesBack(Consumer<String> run) {
        for (int left = 2;; left--) {
            String store = "sqlite:" + folder.resolve("ids-" + left + ".db");
            run.accept(store);
            try {
                isFree(store);
                return;
            } catch (LeaseflakeException taken) {
                if (left == 0) {
                    throw taken;
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"main ends,0", "with a listener,0", "daemons issue,0", "an exception,1", "System.exit,0", "SIGTERM,143"})
    void aProcessThatEndsGivesItsWorkerIdBackAndNothingKeepsItAlive(String how, int code) {
        givesBack(store -> {
            try (Support.Program program = start(List.of(), "Exit", how, store)) {
                assertEquals("made", program.line());
                if (how.equals("SIGTERM")) {
                    program.process.toHandle().destroy();
                }
                program.lines(code);
            }
        });
    }

    @Test
    void shutdownHooksCanStillMakeIds() {
        givesBack(store -> {
            try (Support.Program program = start(List.of(), "Exit", "a hook issues", store)) {
                assertEquals(List.of("made", "made in a hook"), program.lines(0));
            }
        });
    }

    @Test
    void aRegistryThatDoesNotAnswerHoldsUpNoExit() {
        String store = registry(folder);
        try (Support.Program program = start(List.of(), "Exit", "on a word", store)) {
            assertEquals("made", program.line());
            try (Support.Outage outage = new Support.Outage(store)) {
                long began = System.nanoTime();
                program.say("go");
                program.lines(0);
                // It tries for 300 ms; its own limit for close is a minute.
                assertTrue(System.nanoTime() - began < 30_000_000_000L);
            }
        }
    }
}
