package com.example.orders;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.net.URI;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;
import org.testcontainers.utility.MountableFile;

/** ticdc-emit serve in a container. Kafka has the same port inside and outside, because it tells clients its address. */
public final class TicdcEmitContainer extends GenericContainer<TicdcEmitContainer> {
    private static final String TOKEN = "for-these-tests-only";
    private static final int CONTROL = 8300;

    private final int kafkaPort = freePort();

    public TicdcEmitContainer(DockerImageName image, MountableFile schema) {
        super(image);
        addFixedExposedPort(kafkaPort, kafkaPort);
        addExposedPort(CONTROL);
        withCopyFileToContainer(schema, "/data/schema.sql");
        withEnv("TICDC_EMIT_CONTROL_TOKEN", TOKEN);
        withCommand("serve", "--schema", "/data/schema.sql", "--enable-tidb-extension", "--host", "0.0.0.0",
            "--port", String.valueOf(kafkaPort), "--advertise", getHost() + ":" + kafkaPort,
            "--control", "0.0.0.0:" + CONTROL);
        waitingFor(Wait.forHttp("/ready").forPort(CONTROL));
    }

    public TicdcControl control() {
        return new TicdcControl(URI.create("http://" + getHost() + ":" + getMappedPort(CONTROL)), TOKEN);
    }

    public String kafka() {
        return getHost() + ":" + kafkaPort;
    }

    private static int freePort() {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
