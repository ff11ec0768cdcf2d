package com.example.orders;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** The consumer under test: keeps the rows of shop.orders, by id, as TiCDC's Canal-JSON messages describe them. */
public final class OrdersConsumer {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Consumer<?, String> kafka;
    private final Map<String, Map<String, String>> rows = new HashMap<>();
    private final Set<String> columns = new TreeSet<>();

    public OrdersConsumer(Consumer<?, String> kafka) {
        this.kafka = kafka;
    }

    public void poll(Duration timeout) {
        for (ConsumerRecord<?, String> record : kafka.poll(timeout)) {
            try {
                apply(JSON.readTree(record.value()));
            } catch (JsonProcessingException error) {
                throw new UncheckedIOException(error);
            }
        }
    }

    private void apply(JsonNode message) {
        switch (message.get("type").asText()) {
            case "INSERT", "UPDATE" -> message.get("data").forEach(this::put);
            case "DELETE" -> message.get("data").forEach(row -> rows.remove(row.get("id").asText()));
            case "TRUNCATE", "ERASE" -> rows.clear();
            default -> { } // a watermark, or DDL that changes no row: rows bring their columns
        }
    }

    private void put(JsonNode row) {
        Map<String, String> values = new TreeMap<>();
        row.fields().forEachRemaining(cell -> values.put(cell.getKey(), cell.getValue().asText(null)));
        columns.addAll(values.keySet());
        rows.put(values.get("id"), values);
    }

    /** The rows by id; a row from before an ADD COLUMN has null there. */
    public Map<String, Map<String, String>> rows() {
        rows.values().forEach(row -> columns.forEach(column -> row.putIfAbsent(column, null)));
        return Map.copyOf(rows);
    }
}
