package com.example.orders;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Kafka's side of a test: a consumer that begins where the test begins, and reads until it has what was sent. */
public final class TicdcReader {
    private TicdcReader() {}

    /** Reads the topic from the offsets of a reset. */
    public static KafkaConsumer<byte[], String> open(String bootstrap, String topic, TicdcControl.Sent reset) {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "enable.auto.commit", false);
        var kafka = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new StringDeserializer());
        var begin = reset.partitions().stream().filter(each -> each.topic().equals(topic)).toList();
        kafka.assign(begin.stream().map(TicdcReader::partition).toList());
        begin.forEach(each -> kafka.seek(partition(each), each.endOffset()));
        return kafka;
    }

    /** Polls until the consumer has all messages of a call. */
    public static void read(KafkaConsumer<?, ?> kafka, List<TicdcControl.Partition> sent, Consumer<Duration> poll) {
        Instant deadline = Instant.now().plusSeconds(20);
        for (TicdcControl.Partition each : sent) {
            while (kafka.assignment().contains(partition(each)) && kafka.position(partition(each)) < each.endOffset()) {
                if (Instant.now().isAfter(deadline)) {
                    throw new AssertionError("not read after 20 s: " + each);
                }
                poll.accept(Duration.ofMillis(100));
            }
        }
    }

    private static TopicPartition partition(TicdcControl.Partition each) {
        return new TopicPartition(each.topic(), each.partition());
    }
}
