import java.io.BufferedWriter;
import java.io.OutputStreamWriter;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/**
 * Flink SQL in one JVM.
 *
 * In: statements on stdin, each ended by a semicolon at the end of a line. Out: for each SELECT a line "=" and then a
 * line for each change of its result: the kind (+I, -U, +U, -D) and the values, each as "b" and base64 of its text, or
 * "-" for NULL. A SELECT ends when its sources do.
 */
public final class Query {
    private static final DateTimeFormatter CLOCK = DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.SSSSSS");

    private Query() {}

    public static void main(String[] arguments) throws Exception {
        Configuration configuration = new Configuration();
        configuration.setString("restart-strategy.type", "none");
        configuration.setString("parallelism.default", "1");
        TableEnvironment flink = TableEnvironment.create(
                EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(configuration).build());
        String statements = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
        try (BufferedWriter out = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.US_ASCII))) {
            for (String statement : statements.split(";[ \t]*(\n|$)")) {
                if (statement.isBlank()) {
                    continue;
                }
                TableResult result = flink.executeSql(statement);
                if (!statement.stripLeading().startsWith("SELECT")) {
                    continue;
                }
                out.write("=\n");
                try (CloseableIterator<Row> rows = result.collect()) {
                    while (rows.hasNext()) {
                        out.write(line(rows.next()));
                        out.flush(); // someone may watch a SELECT that does not end
                    }
                }
            }
        }
        System.exit(0); // the cluster's threads would live on
    }

    private static String line(Row row) {
        StringBuilder line = new StringBuilder(row.getKind().shortString());
        for (int place = 0; place < row.getArity(); place++) {
            Object value = row.getField(place);
            line.append(' ').append(value == null ? "-" : "b" + base64(shown(value).getBytes(StandardCharsets.UTF_8)));
        }
        return line.append('\n').toString();
    }

    private static String shown(Object value) {
        if (value instanceof byte[] bytes) {
            return base64(bytes);
        } else if (value instanceof BigDecimal number) {
            return number.toPlainString();
        } else if (value instanceof LocalDateTime moment) {
            return CLOCK.format(moment);
        }
        return value.toString();
    }

    private static String base64(byte[] content) {
        return Base64.getEncoder().encodeToString(content);
    }
}
