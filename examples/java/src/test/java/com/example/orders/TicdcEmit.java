package com.example.orders;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Runs ticdc-emit serve as a child process, once for all test classes with the same options; each test has it reset. */
public final class TicdcEmit implements BeforeAllCallback, BeforeEachCallback {
    private static final ExtensionContext.Namespace PLACE = ExtensionContext.Namespace.create(TicdcEmit.class);

    private final List<String> options;
    private Server server;
    private TicdcControl.Sent reset;

    /** Options of ticdc-emit serve beside those of its addresses. The variable TICDC_EMIT names another command. */
    public TicdcEmit(String... options) {
        this.options = List.of(options);
    }

    public TicdcControl control() { return server.control(); }
    public String kafka() { return server.kafka(); }
    public TicdcControl.Sent reset() { return reset; }

    @Override
    public void beforeAll(ExtensionContext context) {
        server = context.getRoot().getStore(PLACE).getOrComputeIfAbsent(options, Server::start, Server.class);
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        reset = server.control().reset();
    }

    /** JUnit closes it at the end of the run. */
    private record Server(Process process, TicdcControl control, String kafka) implements AutoCloseable {
        static Server start(List<String> options) {
            List<String> command = new ArrayList<>(List.of(System.getenv().getOrDefault("TICDC_EMIT", "ticdc-emit")));
            command.addAll(List.of("serve", "--json", "--until-stdin-ends"));
            command.addAll(List.of("--port", "0", "--registry-port", "0", "--control", "127.0.0.1:0"));
            command.addAll(options);
            try {
                Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
                String settings = process.inputReader().readLine();
                if (settings == null) {
                    throw new IllegalStateException("ticdc-emit ended with " + process.waitFor() + ": " + command);
                }
                var read = new ObjectMapper().readTree(settings);
                URI control = URI.create(read.get("control").asText());
                return new Server(process, new TicdcControl(control, null), read.get("bootstrap").asText());
            } catch (IOException | InterruptedException error) {
                throw new IllegalStateException("cannot start " + command, error);
            }
        }

        @Override
        public void close() throws IOException, InterruptedException {
            process.getOutputStream().close(); // it also ends by itself when the tests are killed
            if (!process.waitFor(20, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        }
    }
}
