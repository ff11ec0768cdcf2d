import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * Kafka Connect's JsonConverter with schemas.enable=true over many messages.
 *
 * In: a line per message, key and value in base64 with a space between. Out: a line of JSON for each, with "key" and
 * "value" as Connect has them, or "error". A struct is an object, a list an array, any other value [type of its schema,
 * value], where bytes are base64 and null stays null.
 */
public final class Convert {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

    public static void main(String[] arguments) throws Exception {
        JsonConverter keys = new JsonConverter();
        JsonConverter values = new JsonConverter();
        keys.configure(Map.of("schemas.enable", "true", "schemas.cache.size", "100"), true);
        values.configure(Map.of("schemas.enable", "true", "schemas.cache.size", "100"), false);
        ObjectMapper mapper = new ObjectMapper();
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
                BufferedWriter out =
                        new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] parts = line.split(" ");
                ObjectNode found = JSON.objectNode();
                try {
                    found.set("key", converted(keys, parts[0]));
                    found.set("value", converted(values, parts[1]));
                } catch (RuntimeException fault) {
                    Throwable cause = fault.getCause() == null ? fault : fault.getCause();
                    found = JSON.objectNode().put("error", cause.toString());
                }
                out.write(mapper.writeValueAsString(found));
                out.newLine();
            }
        }
    }

    private static JsonNode converted(JsonConverter converter, String text) {
        SchemaAndValue made = converter.toConnectData("topic", Base64.getDecoder().decode(text));
        return shown(made.schema(), made.value());
    }

    private static JsonNode shown(Schema schema, Object value) {
        if (value == null) {
            return JSON.nullNode();
        }
        if (value instanceof Struct struct) {
            struct.validate();
            ObjectNode members = JSON.objectNode();
            for (Field field : struct.schema().fields()) {
                members.set(field.name(), shown(field.schema(), struct.get(field)));
            }
            return members;
        }
        ArrayNode found = JSON.arrayNode();
        if (value instanceof List<?> list) {
            for (Object item : list) {
                found.add(shown(schema.valueSchema(), item));
            }
            return found;
        }
        found.add(schema.type().getName());
        if (value instanceof Boolean truth) {
            return found.add(truth);
        } else if (value instanceof Short number) {
            return found.add(number);
        } else if (value instanceof Integer number) {
            return found.add(number);
        } else if (value instanceof Long number) {
            return found.add(number);
        } else if (value instanceof Float number) {
            return found.add(number);
        } else if (value instanceof Double number) {
            return found.add(number);
        } else if (value instanceof String content) {
            return found.add(content);
        } else if (value instanceof byte[] bytes) {
            return found.add(Base64.getEncoder().encodeToString(bytes));
        }
        throw new IllegalStateException("no JSON for a " + value.getClass());
    }
}
