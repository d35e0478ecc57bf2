import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.GetResponse;
import com.rabbitmq.client.ShutdownSignalException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;

/**
 * A stand-in for the Java peer: what it writes and how it reads, on the client that it is built on.
 *
 * <p>It knows nothing of libacemq and shares no code with it or with the peer. The rules are in Policy, Envelope and Run;
 * this file speaks the conformance protocol.
 */
final class Standin {

    /** Answers one request. */
    private interface Verb {
        JsonElement answer(JsonObject asked) throws Exception;
    }

    private final Map<String, Verb> verbs = new TreeMap<>();
    private Broker broker;

    private Standin() {
        verbs.put("envelope", Standin::envelope);
        verbs.put("schedule", Standin::schedule);
        verbs.put("waits", Standin::waits);
        // An unknown age is that of a message first seen now.
        verbs.put("decide", asked -> one("retries", !policy(asked).givesUp(
                asked.get("attempt").getAsInt(), asked.get("age").isJsonNull() ? 0 : asked.get("age").getAsLong())));
        verbs.put("place", asked -> placed(policy(asked), Plans.text(asked, "queue"), asked.get("delay").getAsLong()));
        verbs.put("jitter", asked -> one("delay",
                policy(asked).jittered(asked.get("delay").getAsLong(), asked.get("unit").getAsDouble())));
        verbs.put("names", asked -> Values.JSON.toJsonTree(Map.of(
                "deadLetter", Plans.text(asked, "queue") + ".dlq", "parked", Plans.text(asked, "queue") + ".parked")));
        verbs.put("partition", asked -> one("partition", partition(asked)));
        verbs.put("ordered.queue", asked -> one("queue", Plans.text(asked, "name") + ".p" + partition(asked)));
        verbs.put("topology.plan", asked -> one("objects", Plans.topology(asked.getAsJsonObject("topology"))));
        verbs.put("consumer.plan", asked -> one("objects", Plans.consumer(Plans.text(asked, "queue"), policy(asked))));
        verbs.put("connect", this::connect);
        verbs.put("close", this::close);
        verbs.put("topology", this::topology);
        verbs.put("publish", asked -> send(Plans.text(asked, "exchange"),
                asked.has("queue") ? Plans.text(asked, "queue") : Plans.text(asked, "routingKey"), message(asked)));
        verbs.put("consume", this::consume);
        verbs.put("pending", asked -> one("pending", connected().waiting(failures(asked))));
        verbs.put("peek", this::peek);
        verbs.put("replay", this::replay);
        verbs.put("ordered.publish", this::orderedPublish);
    }

    /** Refuses what the peer has nothing for. */
    static void only(JsonObject asked, String... known) {
        for (String name : asked.keySet()) {
            if (!List.of(known).contains(name)) {
                throw new Policy.NotOffered("the peer has no " + name);
            }
        }
    }

    private static JsonObject one(String name, Object value) {
        JsonObject answer = new JsonObject();
        answer.add(name, Values.JSON.toJsonTree(value));
        return answer;
    }

    private static Policy policy(JsonObject asked) {
        return Policy.parse(Plans.text(asked, "policy").isEmpty() ? null : Plans.text(asked, "policy"));
    }

    private static JsonObject envelope(JsonObject asked) {
        String messageId = Plans.text(asked, "messageId");
        Envelope read = Envelope.read(Values.headersFrom(asked.get("headers")), Plans.text(asked, "routingKey"),
                messageId.isEmpty() ? null : messageId);
        JsonObject written = new JsonObject();
        read.written().forEach((name, value) -> written.add(name, Values.typed(value)));
        JsonObject answer = one("written", written);
        answer.add("envelope", Values.envelopeFor(read, null));
        answer.add("headers", Values.toWireForm(read.headers));
        return answer;
    }

    private static JsonObject placed(Policy policy, String queue, long wait) {
        String rung = policy.rungFor(queue, wait);
        JsonObject answer = one("rung", rung);
        answer.addProperty("where", rung == null ? "consumer" : "broker");
        return answer;
    }

    private static JsonObject schedule(JsonObject asked) {
        Policy policy = policy(asked);
        String queue = Plans.text(asked, "queue");
        JsonArray waits = new JsonArray();
        for (int attempt = 1; attempt < policy.attempts(); attempt++) {
            JsonObject each = placed(policy, queue, policy.waitAfter(attempt));
            each.addProperty("afterAttempt", attempt);
            each.addProperty("delayMs", policy.waitAfter(attempt));
            waits.add(each);
        }
        JsonArray rungs = new JsonArray();
        policy.rungs(queue).forEach((name, wait) -> {
            JsonObject each = one("queue", name);
            each.add("arguments", Values.toWireForm(Policy.rungArguments(queue, wait)));
            rungs.add(each);
        });
        JsonObject answer = one("waits", waits);
        answer.add("rungs", rungs);
        return answer;
    }

    private static JsonObject waits(JsonObject asked) {
        JsonArray waits = new JsonArray();
        Policy policy = policy(asked);
        for (JsonElement attempt : asked.getAsJsonArray("attempts")) {
            int given = attempt.getAsInt();
            waits.add(policy.givesUp(given, 0) ? 0 : policy.waitAfter(given));
        }
        return one("waits", waits);
    }

    /** The peer has one rule, and takes it where none is asked for. */
    private static int partition(JsonObject asked) {
        if (asked.has("rule") && !Plans.text(asked, "rule").matches("java|unsigned")) {
            throw new Policy.NotOffered("the peer has only its own rule");
        }
        int count = asked.get("partitions").getAsInt();
        return asked.has("keyBase64")
                ? Policy.partition(Base64.getDecoder().decode(Plans.text(asked, "keyBase64")), count)
                : Policy.partition(Plans.text(asked, "key"), count);
    }

    private Broker connected() throws IOException {
        if (broker == null) {
            throw new IOException("not connected");
        }
        return broker;
    }

    private JsonObject connect(JsonObject asked) throws Exception {
        close(asked);
        broker = new Broker(Plans.text(asked, "url"), asked.has("timeout") ? asked.get("timeout").getAsInt() : 10_000);
        return new JsonObject();
    }

    private JsonObject close(JsonObject asked) throws IOException {
        if (broker != null) {
            broker.close();
        }
        broker = null;
        return new JsonObject();
    }

    private JsonObject topology(JsonObject asked) throws Exception {
        connected().declare(Plans.topology(asked.getAsJsonObject("topology")));
        return new JsonObject();
    }

    private static JsonObject message(JsonObject asked) {
        return asked.getAsJsonObject("message");
    }

    /** Publishes with a fresh envelope and what the request says over it. */
    private JsonObject send(String exchange, String key, JsonObject message) throws Exception {
        only(message, "id", "type", "version", "correlation", "causation", "origin", "contentType", "headers", "replyTo",
                "priority", "expiration", "transient", "body", "bodyBase64");
        Envelope going = Envelope.fresh(key);
        going.id = message.has("id") ? Plans.text(message, "id") : going.id;
        going.type = message.has("type") ? Plans.text(message, "type") : going.type;
        going.version = message.has("version") ? message.get("version").getAsInt() : 1;
        going.correlation = Envelope.text(Plans.text(message, "correlation"));
        going.causation = Envelope.text(Plans.text(message, "causation"));
        going.origin = message.has("origin") ? Plans.text(message, "origin") : going.origin;
        going.headers = Values.headersFrom(message.get("headers"));
        going.headers.keySet().stream().filter(name -> name.startsWith(Envelope.RESERVED)).findFirst().ifPresent(name -> {
            throw new IllegalArgumentException("reserved header: " + name);
        });
        boolean passing = message.has("transient") && message.get("transient").getAsBoolean();
        AMQP.BasicProperties.Builder properties = new AMQP.BasicProperties.Builder()
                .messageId(going.id).headers(going.written()).deliveryMode(passing ? 1 : 2)
                .contentType(message.has("contentType") ? Plans.text(message, "contentType") : "application/json")
                .replyTo(Envelope.text(Plans.text(message, "replyTo")));
        if (message.has("priority")) {
            properties.priority(message.get("priority").getAsInt());
        }
        if (message.has("expiration")) {
            properties.expiration(Plans.text(message, "expiration"));
        }
        connected().publish(exchange, key, Values.bodyOf(message), properties.build());
        return one("id", going.id);
    }

    private JsonObject orderedPublish(JsonObject asked) throws Exception {
        String name = Plans.text(asked, "name");
        connected().declare(Plans.ordered(name, asked.get("partitions").getAsInt()));
        return send(name, "p" + partition(asked), message(asked));
    }

    private JsonObject consume(JsonObject asked) throws Exception {
        Map<String, String> usual =
                Map.of("members", "1", "declare", "\"yes\"", "requeueOnFailure", "false", "idempotency", "null");
        usual.forEach((name, value) -> {
            if (asked.has(name) && !asked.get(name).toString().equals(value)) {
                throw new Policy.NotOffered("the stand-in has no " + name);
            }
        });
        only(asked, "queue", "retry", "codec", "script", "until", "prefetch", "members", "declare", "requeueOnFailure",
                "idempotency");
        if (asked.has("codec") && !Run.CODECS.contains(Plans.text(asked, "codec"))) {
            throw new Policy.NotOffered("the peer has no such codec");
        }
        return new Run(connected(), asked).run();
    }

    private static String failures(JsonObject asked) {
        boolean parked = asked.has("parked") && asked.get("parked").getAsBoolean();
        return Plans.text(asked, "queue") + (parked ? ".parked" : ".dlq");
    }

    private JsonObject peek(JsonObject asked) throws Exception {
        JsonArray messages = new JsonArray();
        int most = asked.has("max") ? asked.get("max").getAsInt() : 10;
        for (GetResponse each : connected().peek(Plans.text(asked, "queue"), most)) {
            messages.add(Values.messageFor(each.getEnvelope().getRoutingKey(), each.getProps(), each.getBody()));
        }
        return one("messages", messages);
    }

    private JsonObject replay(JsonObject asked) throws Exception {
        if (asked.has("keepAttempts") && asked.get("keepAttempts").getAsBoolean()) {
            throw new Policy.NotOffered("the peer's replay always restarts the count");
        }
        only(asked, "queue", "parked", "max", "keepAttempts", "id", "headers");
        Map<String, Object> headers = Values.headersFrom(asked.get("headers"));
        Predicate<Envelope> wanted = envelope ->
                (!asked.has("id") || asked.get("id").isJsonNull() || Plans.text(asked, "id").equals(envelope.id))
                        && headers.entrySet().stream().allMatch(each -> each.getValue().toString()
                                .equals(String.valueOf(envelope.headers.get(each.getKey()))));
        int most = asked.has("max") && !asked.get("max").isJsonNull() ? asked.get("max").getAsInt() : Integer.MAX_VALUE;
        Broker.Replayed done = connected().replay(Plans.text(asked, "queue"), failures(asked), most, wanted);
        JsonObject answer = one("replayed", done.moved());
        answer.addProperty("declined", done.declined());
        answer.addProperty("left", connected().waiting(failures(asked)));
        return answer;
    }

    private static JsonObject error(String name, Throwable failure) {
        String message = failure.getMessage();
        JsonObject error = one("message", message == null ? failure.toString() : message); // a timeout has none
        error.addProperty("name", name);
        return one("error", error);
    }

    private JsonObject answer(JsonObject request) {
        Verb verb = verbs.get(Plans.text(request, "do"));
        if (verb == null) {
            return one("unsupported", "the peer, or its stand-in, has nothing for it");
        }
        try {
            return one("ok", verb.answer(request.has("with") ? request.getAsJsonObject("with") : new JsonObject()));
        } catch (Policy.NotOffered missing) {
            return one("unsupported", missing.getMessage());
        } catch (Broker.Unroutable failure) {
            return error("unroutable", failure);
        } catch (IOException | ShutdownSignalException failure) {
            Throwable cause = failure.getCause() instanceof ShutdownSignalException shut ? shut : failure;
            String said = String.valueOf(cause.getMessage());
            return error(said.contains("reply-code=406") ? "differs" : said.contains("reply-code=404") ? "not_found" : "broker", cause);
        } catch (Exception failure) {
            boolean reserved = String.valueOf(failure.getMessage()).startsWith("reserved");
            return error(reserved ? "reserved_header" : "invalid_argument", failure);
        }
    }

    public static void main(String[] arguments) throws IOException {
        Standin standin = new Standin();
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        out.println(Values.JSON.toJson(one("hello", Map.of(
                "protocol", 1, "name", "standin_java", "version", "1", "verbs", standin.verbs.keySet()))));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonObject request = JsonParser.parseString(line).getAsJsonObject();
            JsonObject reply = standin.answer(request);
            reply.add("id", request.get("id"));
            out.println(Values.JSON.toJson(reply));
        }
        standin.close(new JsonObject());
    }
}
