import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import org.acemq.amqp.api.AceHeaders;
import org.acemq.amqp.api.ApplyMode;
import org.acemq.amqp.api.Envelope;
import org.acemq.amqp.api.RetryPolicy;
import org.acemq.amqp.api.Topology;
import org.acemq.amqp.core.AceMq;
import org.acemq.amqp.core.ConsumerOptions;
import org.acemq.amqp.core.DefaultPublisher;
import org.acemq.amqp.core.PublishOptions;
import org.acemq.amqp.core.Replay;
import org.acemq.amqp.transport.InboundDelivery;

/**
 * A driver for the Java peer itself, from its source: its public calls, and the conformance protocol before them.
 *
 * <p>Written against the API as its public repository shows it. What the protocol asks for and the API has no call for
 * is unsupported.
 */
final class Peer {

    /** What a verb answers, or whatever the peer throws. */
    private interface Call {
        JsonObject answer(JsonObject asked) throws Exception;
    }

    private record Verb(List<String> parameters, Call call) {
    }

    private static final Map<String, String> NOT_PUBLIC = Map.of(
            "schedule", "the names of the peer's rungs are not public", "place", "the names of the peer's rungs are not public");

    private final Map<String, Verb> verbs = new TreeMap<>();
    private AceMq mq;

    private Peer() {
        add("waits", "policy attempts", Peer::waits);
        add("decide", "policy attempt age", Peer::decide);
        add("names", "queue", Peer::names);
        add("connect", "url", this::connect);
        add("close", "", this::close);
        add("topology", "topology", this::topology);
        add("publish", "queue exchange routingKey message timeout", this::publish);
        add("consume", "queue retry codec script until members prefetch declare requeueOnFailure idempotency", this::consume);
        add("pending", "queue parked", asked -> one("pending", failures(asked).pending()));
        add("replay", "queue parked max keepAttempts id headers", this::replay);
    }

    private void add(String name, String parameters, Call call) {
        verbs.put(name, new Verb(List.of(parameters.split(" ")), call));
    }

    /** Refuses what neither the peer nor this driver has anything for. */
    private static void only(JsonObject asked, List<String> known) {
        asked.keySet().stream().filter(name -> !known.contains(name)).findFirst().ifPresent(name -> {
            throw new Policies.NotOffered("the peer's driver has nothing for " + name);
        });
    }

    private static void only(JsonObject asked, String... known) {
        only(asked, List.of(known));
    }

    private static JsonObject one(String name, Object value) {
        JsonObject answer = new JsonObject();
        answer.add(name, Values.JSON.toJsonTree(value));
        return answer;
    }

    private static JsonObject waits(JsonObject asked) {
        RetryPolicy policy = Policies.parse(Values.text(asked, "policy")).withJitter(0);
        JsonArray waits = new JsonArray();
        for (JsonElement attempt : asked.getAsJsonArray("attempts")) {
            waits.add(policy.nextDelay(attempt.getAsInt(), Duration.ZERO).map(Duration::toMillis).orElse(0L));
        }
        return one("waits", waits);
    }

    private static JsonObject decide(JsonObject asked) {
        if (!Values.has(asked, "age")) {
            throw new Policies.NotOffered("the peer decides with an age only");
        }
        Duration age = Duration.ofMillis(asked.get("age").getAsLong());
        RetryPolicy policy = Policies.parse(Values.text(asked, "policy"));
        return one("retries", policy.nextDelay(asked.get("attempt").getAsInt(), age).isPresent());
    }

    /** Its names stand in what it would declare: the queue, its dead letters, and what is parked. */
    private static JsonObject names(JsonObject asked) {
        List<Topology.QueueSpec> queues =
                Topology.define().queueWithDeadLetter(Values.text(asked, "queue")).build().queues();
        JsonObject answer = one("deadLetter", queues.get(1).name());
        answer.addProperty("parked", queues.get(2).name());
        return answer;
    }

    private AceMq connected() throws IOException {
        if (mq == null) {
            throw new IOException("not connected");
        }
        return mq;
    }

    private JsonObject connect(JsonObject asked) {
        close(asked);
        mq = AceMq.connect(Values.text(asked, "url"), new Bodies());
        return new JsonObject();
    }

    private JsonObject close(JsonObject asked) {
        if (mq != null) {
            mq.close();
        }
        mq = null;
        return new JsonObject();
    }

    private JsonObject topology(JsonObject asked) throws IOException {
        JsonObject given = Values.inner(asked, "topology");
        only(given, "exchanges", "queues", "bindings");
        Topology.Builder described = Topology.define();
        for (JsonObject each : objects(given, "exchanges")) {
            only(each, "name", "type");
            described.exchange(Values.text(each, "name"), Values.text(each, "type"));
        }
        for (JsonObject each : objects(given, "queues")) {
            addQueue(described, each);
        }
        for (JsonObject each : objects(given, "bindings")) {
            only(each, "queue", "exchange", "key");
            described.bind(Values.text(each, "queue"), Values.text(each, "exchange"), Values.text(each, "key"));
        }
        connected().topology().apply(described.build(), ApplyMode.CREATE_ONLY);
        return new JsonObject();
    }

    private static List<JsonObject> objects(JsonObject given, String name) {
        return given.has(name)
                ? given.getAsJsonArray(name).asList().stream().map(JsonElement::getAsJsonObject).toList()
                : List.of();
    }

    private static void addQueue(Topology.Builder described, JsonObject given) {
        only(given, "name", "type", "arguments", "deadLetter");
        String name = Values.text(given, "name");
        Map<String, Object> arguments = new TreeMap<>();
        Values.inner(given, "arguments").entrySet()
                .forEach(each -> arguments.put(each.getKey(), Values.fromWireForm(each.getValue())));
        boolean deadLetter = Values.isTrue(given, "deadLetter");
        boolean classic = "classic".equals(Values.text(given, "type"));
        if (classic && deadLetter) {
            described.classicQueueWithDeadLetter(name, arguments);
        } else if (classic) {
            described.classicQueue(name, arguments);
        } else if (given.has("type") && !"quorum".equals(Values.text(given, "type")) || !arguments.isEmpty()) {
            throw new Policies.NotOffered("the peer's topologies have such a queue classic only, or not at all");
        } else if (deadLetter) {
            described.queueWithDeadLetter(name);
        } else {
            described.queue(name);
        }
    }

    private static Envelope envelopeFrom(String key, JsonObject message) {
        Envelope.Builder envelope = Envelope.of(message.has("type") ? Values.text(message, "type") : key)
                .id(Values.text(message, "id"))
                .version(Values.whole(message, "version", 1))
                .correlationId(Values.text(message, "correlation"))
                .causationId(Values.text(message, "causation"))
                .origin(Values.text(message, "origin"));
        Values.inner(message, "headers").entrySet()
                .forEach(each -> envelope.header(each.getKey(), Values.fromWireForm(each.getValue())));
        return envelope.build();
    }

    private static PublishOptions optionsFrom(JsonObject message) {
        PublishOptions options =
                Values.isTrue(message, "transient") ? PublishOptions.transientDelivery() : PublishOptions.defaults();
        if (Values.has(message, "priority")) {
            options = options.withPriority(message.get("priority").getAsInt());
        }
        return Values.has(message, "expiration")
                ? options.expiringAfter(Duration.ofMillis(message.get("expiration").getAsLong()))
                : options;
    }

    private JsonObject publish(JsonObject asked) throws Exception {
        JsonObject message = Values.inner(asked, "message");
        only(message, "id", "type", "version", "correlation", "causation", "origin", "headers", "replyTo", "priority",
                "expiration", "transient", "body", "bodyBase64");
        String key = Values.text(asked, asked.has("queue") ? "queue" : "routingKey");
        String exchange = asked.has("exchange") ? Values.text(asked, "exchange") : "";
        Envelope envelope = envelopeFrom(key, message);
        DefaultPublisher<byte[]> publisher = connected().publisher(exchange, key, byte[].class, optionsFrom(message));
        if (Values.has(message, "replyTo")) {
            publisher = publisher.replyingTo(Values.text(message, "replyTo"));
        }
        try {
            return one("id", publisher.sendAsync(Values.bodyFrom(message), envelope)
                    .get(Values.whole(asked, "timeout", 10_000), TimeUnit.MILLISECONDS).messageId());
        } catch (ExecutionException failed) {
            throw failed.getCause() instanceof Exception cause ? cause : failed;
        }
    }

    private JsonObject consume(JsonObject asked) throws Exception {
        Map<String, String> usual = Map.of("members", "1", "declare", "\"yes\"", "requeueOnFailure", "false",
                "idempotency", "null", "codec", "\"bytes\"");
        usual.forEach((name, value) -> {
            if (asked.has(name) && !asked.get(name).toString().equals(value)) {
                throw new Policies.NotOffered("the peer's driver has " + name + " only as " + value);
            }
        });
        ConsumerOptions options = Values.has(asked, "prefetch")
                ? ConsumerOptions.prefetch(asked.get("prefetch").getAsInt())
                : ConsumerOptions.defaults();
        RetryPolicy policy = Policies.parse(Values.text(asked, "retry"));
        return new Run(asked).run(connected(), Values.text(asked, "queue"), options.withRetry(policy));
    }

    private Replay failures(JsonObject asked) throws IOException {
        Replay replay = connected().replay(Values.text(asked, "queue"));
        return Values.isTrue(asked, "parked") ? replay.parked() : replay;
    }

    /** The peer stops at the first message that is not wanted, and does not tell of it: the driver counts. */
    private JsonObject replay(JsonObject asked) throws IOException {
        Replay replay = Values.isTrue(asked, "keepAttempts") ? failures(asked).keepingAttempts() : failures(asked);
        int[] declined = {0};
        Predicate<InboundDelivery> wanted = delivery -> {
            Object id = delivery.headers().getOrDefault(AceHeaders.ID, delivery.messageId());
            boolean takes = (!Values.has(asked, "id") || Values.text(asked, "id").equals(String.valueOf(id)))
                    && Values.inner(asked, "headers").entrySet().stream().allMatch(each ->
                            each.getValue().getAsString().equals(delivery.headers().get(each.getKey())));
            declined[0] += takes ? 0 : 1;
            return takes;
        };
        JsonObject answer = one("replayed", replay.replay(Values.whole(asked, "max", Integer.MAX_VALUE), wanted));
        answer.addProperty("declined", declined[0]);
        answer.addProperty("left", replay.pending());
        return answer;
    }

    /** What acemq_error_name() calls a failure of the peer, or the nearest to it. */
    private static String named(Exception failure) {
        if (failure instanceof Policies.ParseFailed || failure instanceof NumberFormatException) {
            return "parse";
        }
        if (failure instanceof TimeoutException) {
            return "timeout";
        }
        String said = String.valueOf(failure.getMessage());
        Map<String, String> parts = new TreeMap<>(Map.of("could not be routed", "unroutable", "PRECONDITION_FAILED", "differs",
                "drift", "differs", "inequivalent", "differs", "owned by AceMQ", "reserved_header"));
        return parts.entrySet().stream().filter(each -> said.contains(each.getKey())).map(Map.Entry::getValue).findFirst()
                .orElse(failure instanceof IllegalArgumentException ? "invalid_argument" : "broker");
    }

    private JsonObject answer(JsonObject request) {
        String name = Values.text(request, "do");
        Verb verb = verbs.get(name);
        if (verb == null) {
            return one("unsupported", NOT_PUBLIC.getOrDefault(name, "the peer's driver has nothing for it"));
        }
        JsonObject asked = Values.inner(request, "with");
        try {
            only(asked, verb.parameters());
            return one("ok", verb.call().answer(asked));
        } catch (Policies.NotOffered missing) {
            return one("unsupported", missing.getMessage());
        } catch (Exception failure) {
            JsonObject error = one("name", named(failure));
            error.addProperty("message", String.valueOf(failure.getMessage()));
            return one("error", error);
        }
    }

    private static String version() {
        String built = AceMq.class.getPackage().getImplementationVersion();
        return built == null ? "source" : built;
    }

    public static void main(String[] arguments) throws IOException {
        Peer peer = new Peer();
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        out.println(Values.JSON.toJson(one("hello", Map.of(
                "protocol", 1, "name", "peer_java", "version", version(), "verbs", peer.verbs.keySet()))));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonObject request = JsonParser.parseString(line).getAsJsonObject();
            JsonObject reply = peer.answer(request);
            reply.add("id", request.get("id"));
            out.println(Values.JSON.toJson(reply));
        }
        peer.close(new JsonObject());
    }
}
