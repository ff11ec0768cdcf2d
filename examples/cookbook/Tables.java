import com.alibaba.fastjson2.JSON;
import com.alibaba.fastjson2.JSONWriter.Feature;
import com.alibaba.otter.canal.client.kafka.KafkaCanalConnector;
import com.alibaba.otter.canal.protocol.FlatMessage;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

public class Tables {
    public static void main(String[] arguments) {
        KafkaCanalConnector connector =
                new KafkaCanalConnector("127.0.0.1:9092", "shop_orders", null, "tables", 500, true) {
                    {
                        properties.put("auto.offset.reset", "earliest");
                    }
                };
        connector.connect();
        connector.subscribe();
        Map<List<String>, Map<String, String>> rows = new LinkedHashMap<>();
        List<FlatMessage> messages;
        do { // until nothing comes for ten seconds
            messages = connector.getFlatListWithoutAck(10L, TimeUnit.SECONDS);
            for (FlatMessage message : messages) {
                if (List.of("INSERT", "UPDATE", "DELETE").contains(message.getType())) {
                    apply(message, rows);
                }
            }
            connector.ack();
        } while (!messages.isEmpty());
        connector.disconnect();
        rows.forEach((key, row) -> System.out.println(key.get(0) + " " + JSON.toJSONString(row, Feature.WriteNulls)));
    }

    private static void apply(FlatMessage message, Map<List<String>, Map<String, String>> rows) {
        for (int place = 0; place < message.getData().size(); place++) {
            Map<String, String> row = message.getData().get(place);
            Map<String, String> before = new HashMap<>(row);
            if (message.getType().equals("UPDATE")) {
                before.putAll(message.getOld().get(place)); // the key may be another
            }
            rows.remove(key(message, before));
            if (!message.getType().equals("DELETE")) {
                rows.put(key(message, row), row);
            }
        }
    }

    private static List<String> key(FlatMessage message, Map<String, String> row) {
        List<String> key = new ArrayList<>(List.of(message.getTable()));
        message.getPkNames().forEach(name -> key.add(row.get(name)));
        return key;
    }
}
