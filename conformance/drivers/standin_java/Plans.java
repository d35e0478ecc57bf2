import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;

/** What the Java peer declares. */
final class Plans {

    private Plans() {}

    private static JsonObject step(String kind, String name) {
        JsonObject step = new JsonObject();
        step.addProperty("kind", kind);
        step.addProperty("name", name);
        return step;
    }

    static JsonObject exchange(String name, String type) {
        JsonObject step = step("exchange", name);
        step.addProperty("type", type);
        return step;
    }

    /** A queue without a type in its arguments is classic. */
    static JsonObject queue(String name, Map<String, Object> arguments) {
        JsonObject step = step("queue", name);
        step.addProperty("type", arguments.getOrDefault("x-queue-type", "classic").toString());
        step.add("arguments", Values.toWireForm(arguments));
        return step;
    }

    static JsonObject binding(String queue, String exchange, String key) {
        JsonObject step = step("binding", queue);
        step.addProperty("exchange", exchange);
        step.addProperty("routingKey", key);
        return step;
    }

    /** What a consumer declares, the retry exchange even without rungs (16.14). */
    static List<JsonObject> consumer(String queue, Policy policy) {
        List<JsonObject> plan = new ArrayList<>(List.of(exchange("acemq.retry", "direct"), exchange("acemq.dlx", "direct")));
        plan.addAll(ladder(queue, policy));
        plan.addAll(failures(queue));
        return plan;
    }

    private static List<JsonObject> ladder(String queue, Policy policy) {
        List<JsonObject> plan = new ArrayList<>();
        policy.rungs(queue).forEach((name, wait) -> plan.add(queue(name, Policy.rungArguments(queue, wait))));
        if (!plan.isEmpty()) {
            plan.add(binding(queue, "acemq.retry", queue));
        }
        return plan;
    }

    private static List<JsonObject> failures(String queue) {
        List<JsonObject> plan = new ArrayList<>();
        for (String name : List.of(queue + ".dlq", queue + ".parked")) {
            plan.add(queue(name, Map.of()));
            plan.add(binding(name, "acemq.dlx", name));
        }
        return plan;
    }

    /** What a topology declares: exchanges, then queues, then bindings. */
    static List<JsonObject> topology(JsonObject given) {
        Standin.only(given, "exchanges", "queues", "bindings");
        List<JsonObject> steps = new ArrayList<>();
        each(given, "exchanges").forEach(one -> steps.add(exchange(text(one, "name"), text(one, "type"))));
        each(given, "queues").forEach(one -> steps.addAll(withQueue(one)));
        each(given, "bindings").forEach(one -> steps.add(binding(text(one, "queue"), text(one, "exchange"), text(one, "key"))));
        List<JsonObject> ordered = new ArrayList<>();
        for (String kind : List.of("exchange", "queue", "binding")) {
            new LinkedHashSet<>(steps).stream().filter(step -> text(step, "kind").equals(kind)).forEach(ordered::add);
        }
        return ordered;
    }

    private static List<JsonObject> withQueue(JsonObject one) {
        Standin.only(one, "name", "type", "deadLetter", "retry", "arguments");
        String name = text(one, "name");
        Map<String, Object> arguments = new LinkedHashMap<>(Values.headersFrom(one.get("arguments")));
        String type = text(one, "type").isEmpty() ? "quorum" : text(one, "type");
        if (!type.equals("classic")) {
            arguments.put("x-queue-type", type);
        }
        Policy policy = Policy.parse(one.has("retry") ? text(one, "retry") : null);
        List<JsonObject> ladder = ladder(name, policy);
        List<JsonObject> plan = new ArrayList<>(ladder);
        if (!ladder.isEmpty()) {
            plan.add(exchange("acemq.retry", "direct"));
        }
        if (one.has("deadLetter") && one.get("deadLetter").getAsBoolean()) {
            arguments.put("x-dead-letter-exchange", "acemq.dlx");
            arguments.put("x-dead-letter-routing-key", name + ".dlq");
            plan.add(exchange("acemq.dlx", "direct"));
            plan.addAll(failures(name));
        }
        plan.add(0, queue(name, arguments));
        return plan;
    }

    /** An ordered queue: an exchange of its name, and a queue for each partition (16.6). */
    static List<JsonObject> ordered(String name, int partitions) {
        List<JsonObject> plan = new ArrayList<>(List.of(exchange(name, "direct")));
        for (int n = 0; n < partitions; n++) {
            plan.add(queue(name + ".p" + n, Map.of("x-queue-type", "quorum")));
            plan.add(binding(name + ".p" + n, name, "p" + n));
        }
        return plan;
    }

    private static List<JsonObject> each(JsonObject given, String member) {
        List<JsonObject> found = new ArrayList<>();
        if (given.has(member)) {
            for (JsonElement one : given.getAsJsonArray(member)) {
                found.add(one.getAsJsonObject());
            }
        }
        return found;
    }

    static String text(JsonObject from, String member) {
        JsonElement value = from.get(member);
        return value == null || value.isJsonNull() ? "" : value.getAsString();
    }
}
