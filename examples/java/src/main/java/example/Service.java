package example;

import com.sun.net.httpserver.HttpServer;
import io.leaseflake.IdGenerator;
import io.leaseflake.LeaseflakeException;
import io.leaseflake.Options;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;

/** A small service that answers with a new ID, and gives its worker ID back when it is stopped. */
public final class Service {
    private Service() {}

    public static void main(String[] arguments) throws IOException {
        Options.Builder options = Options.builder();
        if (System.getenv("LEASEFLAKE_STORE") == null) {
            options.store("sqlite:./ids.db");
        }
        IdGenerator ids = IdGenerator.open(options.build());
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "8080"));
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        server.createContext("/id", exchange -> {
            int code = 200;
            String answer;
            try {
                long id = ids.nextId();
                // A string: JavaScript rounds numbers above 2^53.
                answer = "{\"id\":\"" + id + "\",\"madeAt\":\"" + ids.decode(id).timestamp() + "\"}";
            } catch (LeaseflakeException refused) {
                code = refused.isRetryable() ? 503 : 500;
                refused.getRetryAfter().ifPresent(after ->
                        exchange.getResponseHeaders().add("Retry-After", Long.toString(after.toSeconds() + 1)));
                answer = "{\"error\":\"" + refused.getCode() + "\"}";
            }
            byte[] bytes = answer.getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().add("Content-Type", "application/json");
            exchange.sendResponseHeaders(code, bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        });
        // SIGTERM and Ctrl-C: answer what has come in, then give the worker ID back.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            server.stop(1);
            ids.close();
        }));
        server.start();
        System.out.println("http://127.0.0.1:" + server.getAddress().getPort() + "/id");
    }
}
