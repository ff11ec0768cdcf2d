package com.example.orders;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Set;
import org.junit.jupiter.api.Test;
import org.testcontainers.junit.jupiter.Container;
import org.testcontainers.junit.jupiter.Testcontainers;
import org.testcontainers.utility.DockerImageName;
import org.testcontainers.utility.MountableFile;

/** Runs where Docker runs; the image is built from the Dockerfile of ticdc-emit. */
@Testcontainers(disabledWithoutDocker = true)
class OrdersContainerTest {
    @Container
    static final TicdcEmitContainer ticdc = new TicdcEmitContainer(
        DockerImageName.parse("ticdc-emit"), MountableFile.forClasspathResource("orders.sql"));

    @Test
    void readsAnInsert() {
        TicdcControl control = ticdc.control();
        try (var kafka = TicdcReader.open(ticdc.kafka(), "shop_orders", control.reset())) {
            OrdersConsumer orders = new OrdersConsumer(kafka);
            TicdcControl.Sent sent = control.sql("INSERT INTO shop.orders VALUES (1, 'new', 10.50)");
            TicdcReader.read(kafka, sent.partitions(), orders::poll);
            assertEquals(Set.of("1"), orders.rows().keySet());
        }
    }
}
