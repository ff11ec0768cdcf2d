package com.example.ticdc;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.utility.DockerImageName;
import org.testcontainers.utility.MountableFile;

class TicdcEmitContainerTest {
    private static final String INSERT = "INSERT INTO shop.orders\nVALUES (1, 'new', 10.50)";

    @Test
    void takesSqlInAContainer() {
        assumeTrue(DockerClientFactory.instance().isDockerAvailable(), "Docker does not run");
        try (var ticdc = new TicdcEmitContainer(
                DockerImageName.parse("ticdc-emit"), MountableFile.forClasspathResource("orders.sql"))) {
            ticdc.start();
            assertTrue(ticdc.sql(INSERT).contains("\"rows\":1"));
        }
    }

    /** Without Docker: the command of the container, as a process. */
    @Test
    void itsCommandServes(@TempDir Path folder) throws IOException, InterruptedException {
        String name = System.getenv("TICDC_EMIT");
        assumeTrue(name != null, "TICDC_EMIT names no command");
        Path ready = folder.resolve("ready.json");
        List<String> words = new ArrayList<>(List.of(name));
        words.addAll(TicdcEmitContainer.command(TicdcEmitContainer.freePort(), "localhost",
            "src/test/resources/orders.sql", "--ready-file", ready.toString()));
        ProcessBuilder builder = new ProcessBuilder(words).redirectOutput(folder.resolve("log").toFile());
        builder.environment().put("TICDC_EMIT_CONTROL_TOKEN", "for-this-test-only");
        Process server = builder.start();
        try {
            for (int waited = 0; !Files.exists(ready); waited++) {
                assertTrue(server.isAlive() && waited < 600, "serve has ended, or is not ready after a minute");
                Thread.sleep(100);
            }
            String answer = TicdcEmitContainer.sql(URI.create("http://localhost:8300"), "for-this-test-only", INSERT);
            assertTrue(answer.contains("\"rows\":1"), answer);
        } finally {
            server.destroy();
            server.waitFor();
        }
    }
}
