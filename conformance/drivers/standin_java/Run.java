import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Delivery;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** One run of a consumer, deciding and settling as the Java peer does: section 6, 16.3, 16.7, 16.13 and 16.15. */
final class Run {

    /** What the handler throws when the script says that it fails. */
    private static final class HandlerFailed extends Exception {
        HandlerFailed(String why) {
            super(why);
        }
    }

    /** What it throws when no further attempt can help. */
    private static final class AceFatalException extends Exception {
        AceFatalException(String why) {
            super(why);
        }
    }

    static final List<String> CODECS = List.of("bytes", "json", "text");

    private final Broker broker;
    private final String queue;
    private final Policy policy;
    private final String codec;
    private final JsonObject script;
    private final JsonObject until;
    private final int prefetch;
    private final long endsAt;
    private final Map<String, Integer> seen = new HashMap<>();
    private final Map<String, Integer> counters = new LinkedHashMap<>();
    private final JsonArray deliveries = new JsonArray();
    private final BlockingQueue<Delivery> arrived = new LinkedBlockingQueue<>();
    private Channel channel;

    /** What arrives last when the channel is lost. */
    private static final Delivery LOST = new Delivery(null, null, null);

    Run(Broker broker, JsonObject asked) {
        this.broker = broker;
        queue = asked.get("queue").getAsString();
        policy = Policy.parse(Plans.text(asked, "retry").isEmpty() ? null : Plans.text(asked, "retry"));
        codec = asked.has("codec") ? Plans.text(asked, "codec") : "bytes";
        script = asked.has("script") ? asked.getAsJsonObject("script") : new JsonObject();
        until = asked.has("until") ? asked.getAsJsonObject("until") : new JsonObject();
        prefetch = asked.has("prefetch") ? asked.get("prefetch").getAsInt() : 50;
        endsAt = now() + number(until, "timeout", 10_000);
        for (String name : List.of("acknowledged", "rejected", "retried", "deadLettered", "parked", "duplicates")) {
            counters.put(name, 0);
        }
    }

    private static long now() {
        return System.nanoTime() / 1_000_000;
    }

    private static long number(JsonObject from, String member, long otherwise) {
        return from.has(member) && !from.get(member).isJsonNull() ? from.get(member).getAsLong() : otherwise;
    }

    /** Declares, subscribes, handles as told, and closes. */
    JsonObject run() throws IOException, InterruptedException, TimeoutException {
        broker.declare(Plans.consumer(queue, policy));
        channel = broker.connection.createChannel();
        channel.basicQos(prefetch);
        String tag = channel.basicConsume(queue, false, (consumer, delivery) -> arrived.add(delivery), consumer -> {},
                (consumer, signal) -> arrived.add(LOST));
        work();
        channel.basicCancel(tag);
        for (Delivery left = arrived.poll(); left != null; left = arrived.poll()) {
            channel.basicNack(tag(left), false, true);
        }
        channel.close();
        JsonObject answer = new JsonObject();
        answer.add("deliveries", deliveries);
        answer.add("counters", Values.JSON.toJsonTree(counters));
        return answer;
    }

    /** Takes one message after the other, as one worker does, until the end is reached. */
    private void work() throws IOException, InterruptedException, TimeoutException {
        long wanted = number(until, "deliveries", Long.MAX_VALUE);
        long idle = number(until, "idle", Long.MAX_VALUE);
        while (deliveries.size() < wanted) {
            Delivery next = arrived.poll(Math.min(idle, endsAt - now()), TimeUnit.MILLISECONDS);
            if (next == null) {
                return;
            }
            if (next == LOST) {
                throw channel.getCloseReason();
            }
            handle(next);
        }
    }

    private static long tag(Delivery delivery) {
        return delivery.getEnvelope().getDeliveryTag();
    }

    private void handle(Delivery delivery) throws IOException, InterruptedException, TimeoutException {
        String key = delivery.getEnvelope().getRoutingKey();
        Envelope envelope =
                Envelope.read(delivery.getProperties().getHeaders(), key, delivery.getProperties().getMessageId());
        try {
            decode(delivery.getBody());
        } catch (JsonParseException | CharacterCodingException failure) {
            count("rejected");
            park(delivery, "could not be decoded: " + described(failure));
            return;
        }
        String entry = entryFor(envelope.id);
        JsonObject seenSo = Values.messageFor(key, delivery.getProperties(), delivery.getBody());
        seenSo.addProperty("outcome", entry);
        seenSo.addProperty("routingKey", key);
        seenSo.addProperty("redelivered", delivery.getEnvelope().isRedeliver());
        deliveries.add(seenSo);
        String[] parts = entry.split(": ", 2);
        settle(delivery, envelope, parts[0], parts.length > 1 ? parts[1] : null);
    }

    private void decode(byte[] body) throws CharacterCodingException {
        if (codec.equals("bytes")) {
            return;
        }
        String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString();
        if (codec.equals("json")) {
            Values.JSON.getAdapter(JsonElement.class).fromJsonTree(JsonParser.parseString(text));
            if (!text.stripLeading().matches("(?s)[\\[{\"\\d-].*|true|false|null")) {
                throw new JsonParseException("this message is not JSON");
            }
        }
    }

    /** What the script says about this delivery. */
    private String entryFor(String id) {
        JsonElement entries = script.has(id) ? script.get(id) : script.get("*");
        if (entries == null || entries.getAsJsonArray().isEmpty()) {
            return "accept";
        }
        int turn = seen.merge(id, 1, Integer::sum) - 1;
        JsonArray list = entries.getAsJsonArray();
        return list.get(Math.min(turn, list.size() - 1)).getAsString();
    }

    private void settle(Delivery delivery, Envelope envelope, String verb, String why)
            throws IOException, InterruptedException, TimeoutException {
        if (verb.equals("accept")) {
            count("acknowledged");
            channel.basicAck(tag(delivery), false);
            return;
        }
        count("rejected");
        if (verb.equals("park")) {
            count("parked");
            setAside(delivery, envelope, ".parked", "the handler parked it: " + (why == null ? "no reason given" : why));
        } else if (verb.equals("reject")) {
            count("deadLettered");
            setAside(delivery, envelope, ".dlq",
                    "the handler reported an unprocessable message: " + described(new AceFatalException(why)));
        } else if (policy.givesUp(envelope.attempt, Math.max(0, System.currentTimeMillis() - envelope.firstSeen))) {
            count("deadLettered");
            setAside(delivery, envelope, ".dlq", exhausted(envelope) + ": " + described(new HandlerFailed(why)));
        } else {
            again(delivery, envelope);
        }
    }

    /** Which limit was reached. */
    private String exhausted(Envelope envelope) {
        return envelope.attempt >= policy.attempts()
                ? "exhausted " + policy.attempts() + " attempts"
                : "exceeded the maximum message age of " + Duration.ofMillis(policy.age());
    }

    /** A failure as the peer writes it: its class, then its text. */
    private static String described(Exception failure) {
        String text = failure.getMessage();
        return failure.getClass().getSimpleName() + (text == null ? "" : ": " + text);
    }

    /** To its rung, or waits here and puts it back. */
    private void again(Delivery delivery, Envelope envelope) throws IOException, InterruptedException, TimeoutException {
        long wait = policy.waitAfter(envelope.attempt);
        String rung = policy.rungFor(queue, wait);
        envelope.attempt++;
        count("retried");
        if (rung == null) {
            long here = policy.jittered(wait, ThreadLocalRandom.current().nextDouble(-1, 1));
            boolean ending = deliveries.size() == number(until, "deliveries", -1);
            Thread.sleep(ending ? 0 : Math.max(0, Math.min(here, endsAt - now())));
        }
        move(delivery, rung == null ? queue : rung, envelope.id, envelope.onHop());
    }

    private void setAside(Delivery delivery, Envelope envelope, String suffix, String why)
            throws IOException, InterruptedException, TimeoutException {
        envelope.error = why;
        move(delivery, queue + suffix, envelope.id, envelope.onHop());
    }

    /** What could not be read goes as it came, with the reason added and without an envelope. */
    private void park(Delivery delivery, String why) throws IOException, InterruptedException, TimeoutException {
        count("parked");
        Map<String, Object> from = delivery.getProperties().getHeaders();
        Map<String, Object> headers = new LinkedHashMap<>(from == null ? Map.of() : from);
        headers.put(Envelope.RESERVED + "error", why);
        move(delivery, queue + ".parked", delivery.getProperties().getMessageId(), headers);
    }

    /** Publishes, and only then lets go; what cannot be moved stays (16.7). */
    private void move(Delivery delivery, String target, String id, Map<String, Object> headers)
            throws IOException, InterruptedException, TimeoutException {
        try {
            broker.hop(delivery.getProperties(), delivery.getBody(), target, id, headers);
            channel.basicAck(tag(delivery), false);
        } catch (Broker.Unroutable nowhere) {
            channel.basicNack(tag(delivery), false, true);
        }
    }

    private void count(String what) {
        counters.merge(what, 1, Integer::sum);
    }
}
