package com.example.ticdc;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;
import org.testcontainers.utility.MountableFile;

/** ticdc-emit serve in a container: a Kafka with the messages of TiCDC, a schema registry, and SQL from tests. */
public class TicdcEmitContainer extends GenericContainer<TicdcEmitContainer> {
    private static final int REGISTRY = 8081;
    private static final int CONTROL = 8300;
    private static final String SCHEMA = "/data/schema.sql";

    private final int kafkaPort = freePort();
    private final String token = UUID.randomUUID().toString();

    /** schema: a file of DDL; options: more options of serve. */
    public TicdcEmitContainer(DockerImageName image, MountableFile schema, String... options) {
        super(image);
        // the same port inside and outside, because a broker tells clients its address
        addFixedExposedPort(kafkaPort, kafkaPort);
        addExposedPorts(REGISTRY, CONTROL);
        withCopyFileToContainer(schema, SCHEMA);
        withEnv("TICDC_EMIT_CONTROL_TOKEN", token);
        withCommand(command(kafkaPort, getHost(), SCHEMA, options).toArray(String[]::new));
        waitingFor(Wait.forHttp("/ready").forPort(CONTROL));
    }

    public String getBootstrapServers() {
        return getHost() + ":" + kafkaPort;
    }

    public URI getRegistryUrl() {
        return URI.create("http://" + getHost() + ":" + getMappedPort(REGISTRY));
    }

    public URI getControlUrl() {
        return URI.create("http://" + getHost() + ":" + getMappedPort(CONTROL));
    }

    public String getToken() {
        return token;
    }

    /** Runs statements; returns the server's answer, JSON with the end offsets of the topic-partitions. */
    public String sql(String script) {
        return sql(getControlUrl(), token, script);
    }

    static String sql(URI control, String token, String script) {
        HttpRequest request = HttpRequest.newBuilder(control.resolve("/sql"))
            .header("Authorization", "Bearer " + token)
            .POST(BodyPublishers.ofString("{\"sql\": " + quoted(script) + "}")).build();
        try {
            HttpResponse<String> answer = HttpClient.newHttpClient().send(request, BodyHandlers.ofString());
            if (answer.statusCode() != 200) {
                throw new IllegalStateException("/sql: " + answer.body());
            }
            return answer.body();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(error);
        }
    }

    static List<String> command(int port, String host, String schema, String... options) {
        List<String> words = new ArrayList<>(List.of("serve", "--schema", schema, "--host", "0.0.0.0",
            "--port", String.valueOf(port), "--advertise", host + ":" + port,
            "--registry-port", String.valueOf(REGISTRY), "--control", "0.0.0.0:" + CONTROL));
        words.addAll(List.of(options));
        return words;
    }

    static int freePort() {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static String quoted(String text) {
        StringBuilder json = new StringBuilder("\"");
        for (char each : text.toCharArray()) {
            json.append(each < ' ' || each == '"' || each == '\\' ? String.format("\\u%04x", (int) each) : each);
        }
        return json.append('"').toString();
    }
}
