package io.leaseflake.programs;

import io.leaseflake.IdGenerator;
import io.leaseflake.Options;
import java.io.IOException;

/** Ends in one of several ways: Exit HOW STORE. */
public final class Exit {
    private Exit() {}

    public static void main(String[] arguments) throws IOException, InterruptedException {
        String how = arguments[0];
        Options options = Options.builder().store(arguments[1]).layout("51-0-0-12").closeTimeoutMs(60_000).build();
        IdGenerator ids = IdGenerator.open(options);
        if (ids.nextId() > 0) {
            System.out.println("made");
        }
        switch (how) {
            case "main ends":
                return;
            case "with a listener":
                ids.addStateListener(change -> {});
                return;
            case "daemons issue":
                for (int number = 0; number < 4; number++) {
                    Thread thread = new Thread(() -> ids.ids().forEach(id -> {}));
                    thread.setDaemon(true);
                    thread.start();
                }
                while (ids.status().issued() < 10_000) {
                    Thread.sleep(1);
                }
                return;
            case "an exception":
                throw new IllegalStateException("on purpose");
            case "System.exit":
                System.exit(0);
                return;
            case "a hook issues":
                // As a server does that ends its last requests.
                Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                    try {
                        Thread.sleep(200);
                    } catch (InterruptedException goesOn) {
                        Thread.currentThread().interrupt();
                    }
                    if (ids.nextId() > 0) {
                        System.out.println("made in a hook");
                    }
                }));
                System.exit(0);
                return;
            case "SIGTERM":
                // Until it comes.
                Thread.sleep(600_000);
                return;
            case "on a word":
                if (System.in.read() > 0) {
                    System.exit(0);
                }
                return;
            default:
                throw new IllegalArgumentException(how);
        }
    }
}
