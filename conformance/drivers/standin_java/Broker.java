import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.GetResponse;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;

/** One connection to a broker, used as the Java peer uses its client. */
final class Broker implements AutoCloseable {

    private static final int CONFIRM_WITHIN = 30_000;

    /** A mandatory message that reached no queue. */
    static final class Unroutable extends IOException {
        Unroutable(String what) {
            super(what);
        }
    }

    /** How far a replay got. */
    record Replayed(int moved, int declined) {}

    final Connection connection;
    private final Channel publishing;
    private final ConcurrentLinkedQueue<String> returned = new ConcurrentLinkedQueue<>();

    Broker(String url, int timeout) throws Exception {
        ConnectionFactory factory = new ConnectionFactory();
        // To this client a path of / alone is the vhost without a name.
        factory.setUri(url.replaceFirst("(?<=[^/])/$", ""));
        factory.setConnectionTimeout(timeout);
        factory.setHandshakeTimeout(2 * timeout); // of which each answer has half
        factory.setAutomaticRecoveryEnabled(false);
        connection = factory.newConnection();
        publishing = connection.createChannel();
        publishing.confirmSelect();
        publishing.addReturnListener((code, text, exchange, key, properties, body) -> returned.add(text));
    }

    @Override
    public void close() throws IOException {
        connection.close();
    }

    /** Declares a plan, on a channel of its own since a refusal takes the channel with it. */
    void declare(List<JsonObject> plan) throws IOException, TimeoutException {
        Channel channel = connection.createChannel();
        for (JsonObject step : plan) {
            declare(channel, step);
        }
        channel.close();
    }

    private static void declare(Channel channel, JsonObject step) throws IOException {
        String name = step.get("name").getAsString();
        switch (step.get("kind").getAsString()) {
            case "exchange" -> channel.exchangeDeclare(name, step.get("type").getAsString(), true);
            case "queue" ->
                channel.queueDeclare(name, true, false, false, Values.headersFrom(step.get("arguments")));
            default ->
                channel.queueBind(name, step.get("exchange").getAsString(), step.get("routingKey").getAsString());
        }
    }

    /** Publishes, confirmed and mandatory (16.4). */
    void publish(String exchange, String key, byte[] body, AMQP.BasicProperties properties)
            throws IOException, InterruptedException, TimeoutException {
        returned.clear();
        publishing.basicPublish(exchange, key, true, properties, body);
        if (!publishing.waitForConfirms(CONFIRM_WITHIN)) {
            throw new Unroutable(key + ": not confirmed");
        }
        if (!returned.isEmpty()) {
            throw new Unroutable(key + ": " + returned.poll());
        }
    }

    /** Republishes by name with what this peer keeps: the content type and an id, and no other property (16.13). */
    void hop(AMQP.BasicProperties from, byte[] body, String queue, String id, Map<String, Object> headers)
            throws IOException, InterruptedException, TimeoutException {
        publish("", queue, body, new AMQP.BasicProperties.Builder()
                .contentType(from.getContentType()).messageId(id).headers(headers).deliveryMode(2).build());
    }

    int waiting(String queue) throws IOException, TimeoutException {
        Channel channel = connection.createChannel();
        int count = channel.queueDeclarePassive(queue).getMessageCount();
        channel.close();
        return count;
    }

    /** Looks at messages and leaves them. */
    List<GetResponse> peek(String queue, int most) throws IOException, TimeoutException {
        Channel channel = connection.createChannel();
        List<GetResponse> seen = new ArrayList<>();
        GetResponse got;
        while (seen.size() < most && (got = channel.basicGet(queue, false)) != null) {
            seen.add(got);
        }
        for (GetResponse each : seen) {
            channel.basicNack(each.getEnvelope().getDeliveryTag(), false, true);
        }
        channel.close();
        return seen;
    }

    /** Moves failed messages back, up to the first that is not wanted: there the peer's pass ends. */
    Replayed replay(String queue, String source, int most, Predicate<Envelope> wanted)
            throws IOException, InterruptedException, TimeoutException {
        Channel channel = connection.createChannel();
        int moved = 0;
        int declined = 0;
        GetResponse got;
        while (moved < most && declined == 0 && (got = channel.basicGet(source, false)) != null) {
            long tag = got.getEnvelope().getDeliveryTag();
            AMQP.BasicProperties from = got.getProps();
            if (!wanted.test(Envelope.read(from.getHeaders(), got.getEnvelope().getRoutingKey(), from.getMessageId()))) {
                channel.basicReject(tag, true);
                declined++;
                continue;
            }
            hop(from, got.getBody(), queue, from.getMessageId(), stamped(from.getHeaders(), source));
            channel.basicAck(tag, false);
            moved++;
        }
        channel.close();
        return new Replayed(moved, declined);
    }

    /** A replay's headers: all that were there, the error among them (16.5), and its stamps (16.11). */
    private static Map<String, Object> stamped(Map<String, Object> from, String source) {
        Map<String, Object> headers = new java.util.LinkedHashMap<>(from == null ? Map.of() : from);
        headers.put(Envelope.RESERVED + "attempt", 1);
        headers.put("acemq-replay-count", Envelope.number(headers.get("acemq-replay-count"), 0).intValue() + 1);
        headers.put("acemq-replayed-from", source);
        headers.put("acemq-replayed-at", Instant.now().toString());
        return headers;
    }
}
