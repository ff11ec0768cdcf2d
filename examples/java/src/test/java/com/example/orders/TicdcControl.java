package com.example.orders;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import java.util.Map;

/** A client of the control API of ticdc-emit serve. */
public final class TicdcControl {
    public record Partition(String topic, int partition, long endOffset) {}
    public record Sent(Long commitTs, int rows, int messages, List<Partition> partitions) {}
    public record Tables(long commitTs, Map<String, List<Map<String, String>>> tables) {
        public List<Map<String, String>> rows(String table) { return tables.get(table); }
    }

    private static final JsonMapper JSON = JsonMapper.builder()
        .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
        .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES).build();

    private final HttpClient http = HttpClient.newHttpClient();
    private final URI url;
    private final String token;

    public TicdcControl(URI url, String token) {
        this.url = url;
        this.token = token;
    }

    public Tables tables() { return call("GET", "/tables", Map.of(), Tables.class); }
    public Sent sql(String script) { return call("POST", "/sql", Map.of("sql", script), Sent.class); }
    public Sent redeliver(int last) { return call("POST", "/redeliver", Map.of("last", last), Sent.class); }
    public Sent restart(int transactions) {
        return call("POST", "/restart", Map.of("transactions", transactions), Sent.class);
    }
    public void hold(String topic, int partition) {
        call("POST", "/hold", Map.of("topic", topic, "partition", partition), Map.class);
    }
    public Sent release() { return call("POST", "/release", Map.of(), Sent.class); }
    public Sent reset() { return call("POST", "/reset", Map.of(), Sent.class); }

    private <T> T call(String method, String path, Map<String, ?> body, Class<T> type) {
        try {
            HttpRequest.Builder request = HttpRequest.newBuilder(url.resolve(path))
                .method(method, BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body)));
            if (token != null) {
                request.header("Authorization", "Bearer " + token);
            }
            HttpResponse<String> answer = http.send(request.build(), BodyHandlers.ofString());
            if (answer.statusCode() != 200) {
                throw new IllegalStateException(path + ": " + answer.body());
            }
            return JSON.readValue(answer.body(), type);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(error);
        }
    }
}
