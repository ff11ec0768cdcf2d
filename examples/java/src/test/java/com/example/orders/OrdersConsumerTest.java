package com.example.orders;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class OrdersConsumerTest {
    @RegisterExtension
    static final TicdcEmit ticdc = new TicdcEmit("--schema", "src/test/resources/orders.sql", "--enable-tidb-extension");

    KafkaConsumer<byte[], String> kafka;
    OrdersConsumer orders;

    @BeforeEach
    void open() {
        kafka = TicdcReader.open(ticdc.kafka(), "shop_orders", ticdc.reset());
        orders = new OrdersConsumer(kafka);
    }

    @AfterEach
    void close() {
        kafka.close();
    }

    void read(TicdcControl.Sent sent) {
        TicdcReader.read(kafka, sent.partitions(), orders::poll);
    }

    /** The rows that TiDB has, by id. */
    Map<String, Map<String, String>> expected() {
        return ticdc.control().tables().rows("shop.orders").stream()
            .collect(Collectors.toMap(row -> row.get("id"), row -> row));
    }

    @Test
    void keepsUpWithKeyUpdatesDdlAndRedelivery() {
        read(ticdc.control().sql("""
            INSERT INTO shop.orders VALUES (1, 'new', 10.50), (2, 'new', 20);
            UPDATE shop.orders SET id = 3 WHERE id = 1;
            ALTER TABLE shop.orders ADD COLUMN note VARCHAR(20);
            INSERT INTO shop.orders VALUES (4, 'new', 7.25, 'gift');
            UPDATE shop.orders SET state = 'paid' WHERE id = 2;
            """));
        assertEquals(Set.of("2", "3", "4"), orders.rows().keySet());
        assertEquals(expected(), orders.rows());

        read(ticdc.control().redeliver(6)); // TiCDC delivers at least once
        assertEquals(expected(), orders.rows());
        read(ticdc.control().restart(3)); // as after a crash: the last three transactions again
        assertEquals(expected(), orders.rows());
    }

    @RepeatedTest(50)
    void eachTestBeginsWithEmptyTables(RepetitionInfo test) {
        String id = String.valueOf(test.getCurrentRepetition());
        read(ticdc.control().sql("INSERT INTO shop.orders VALUES (" + id + ", 'new', 1)"));
        assertEquals(Map.of(id, Map.of("id", id, "state", "new", "total", "1.00")), orders.rows());
    }
}
