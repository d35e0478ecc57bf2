import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import org.acemq.amqp.api.AceFatalException;
import org.acemq.amqp.api.AceRetryableException;
import org.acemq.amqp.api.Message;
import org.acemq.amqp.core.AceMq;
import org.acemq.amqp.core.ConsumerOptions;
import org.acemq.amqp.core.MessageConsumer;

/** One run of a consumer of the peer, with a handler that does what the script says. */
final class Run {

    private final JsonObject script;
    private final JsonObject until;
    private final int wanted;
    private final Map<String, Integer> turns = new HashMap<>();
    private final JsonArray deliveries = new JsonArray();
    private final CountDownLatch closing = new CountDownLatch(1);
    private long heard = System.nanoTime();

    Run(JsonObject asked) {
        script = Values.inner(asked, "script");
        until = Values.inner(asked, "until");
        wanted = Values.whole(until, "deliveries", -1);
        if (script.toString().contains("\"park")) {
            throw new Policies.NotOffered("the peer's handlers cannot park");
        }
    }

    JsonObject run(AceMq mq, String queue, ConsumerOptions options) throws InterruptedException {
        MessageConsumer consumer = mq.consume(queue, byte[].class, options, message -> {
            handle(message);
        });
        try {
            await();
        } finally {
            closing.countDown();
            consumer.drain(Duration.ofSeconds(20));
            consumer.close();
        }
        return answer(consumer);
    }

    /** Until the handler has run often enough, nothing came for so long, or the time is over. */
    private synchronized void await() throws InterruptedException {
        heard = System.nanoTime();
        long ends = heard + 1_000_000L * Values.whole(until, "timeout", 10_000);
        while (deliveries.size() != wanted) {
            long quiet = Values.has(until, "idle") ? heard + 1_000_000L * Values.whole(until, "idle", 0) : ends;
            long left = Math.min(ends, quiet) - System.nanoTime();
            if (left <= 0) {
                return;
            }
            wait(left / 1_000_000 + 1);
        }
    }

    /** The last delivery that is wanted waits until the consumer is being closed, so that the peer begins no other. */
    private void handle(Message<byte[]> message) throws InterruptedException {
        String entry;
        boolean last;
        synchronized (this) {
            entry = entryFor(message.envelope().id());
            deliveries.add(deliveryFor(message, entry));
            last = deliveries.size() == wanted;
            heard = System.nanoTime();
            notifyAll();
        }
        if (last) {
            closing.await();
        }
        String[] parts = entry.split(": ", 2);
        String why = parts.length == 2 ? parts[1] : null;
        if (parts[0].equals("fail")) {
            throw new AceRetryableException(why);
        }
        if (parts[0].equals("reject")) {
            throw new AceFatalException(why);
        }
    }

    /** What the script says for the next delivery of an id: the last of its list repeats. */
    private String entryFor(String id) {
        JsonElement named = script.has(id) ? script.get(id) : script.get("*");
        int turn = turns.merge(id, 1, Integer::sum) - 1;
        if (named == null || named.getAsJsonArray().isEmpty()) {
            return "accept";
        }
        JsonArray entries = named.getAsJsonArray();
        return entries.get(Math.min(turn, entries.size() - 1)).getAsString();
    }

    private static JsonObject deliveryFor(Message<byte[]> message, String entry) {
        JsonObject delivery = new JsonObject();
        delivery.add("envelope", Values.envelopeFor(message.envelope()));
        delivery.add("headers", Values.toWireForm(message.headers()));
        delivery.addProperty("outcome", entry);
        delivery.addProperty("routingKey", message.routingKey().orElse(null));
        Values.addBody(delivery, message.payload());
        return delivery;
    }

    private synchronized JsonObject answer(MessageConsumer consumer) {
        JsonObject counters = new JsonObject();
        counters.addProperty("acknowledged", consumer.acknowledged());
        counters.addProperty("rejected", consumer.rejected());
        counters.addProperty("retried", consumer.retried());
        counters.addProperty("deadLettered", consumer.deadLettered());
        counters.addProperty("duplicates", consumer.duplicates());
        JsonObject answer = new JsonObject();
        answer.add("deliveries", deliveries);
        answer.add("counters", counters);
        return answer;
    }
}
