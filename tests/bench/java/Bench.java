import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.ConfirmListener;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.DefaultConsumer;
import com.rabbitmq.client.Envelope;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;

/** The work of tests/bench/run with RabbitMQ's client for Java: publish or consume, with the options of the other programs. */
public final class Bench {
    private final Map<String, String> options = new HashMap<>();
    private long began;
    private long processor;

    public static void main(String[] arguments) throws Exception {
        if (arguments.length % 2 != 1) {
            throw new IllegalArgumentException("what to measure is missing, or an option has no value");
        }
        Bench bench = new Bench();
        for (int i = 1; i < arguments.length; i += 2) {
            bench.options.put(arguments[i], arguments[i + 1]);
        }
        ConnectionFactory factory = new ConnectionFactory();
        String url = bench.options.getOrDefault("--url", System.getenv("ACEMQ_TEST_URL"));
        // The client reads the path of amqp://host/ as a vhost without a name.
        factory.setUri(url.endsWith("/") ? url.substring(0, url.length() - 1) : url);
        try (Connection connection = factory.newConnection()) {
            if (arguments[0].equals("publish")) {
                bench.publish(connection);
            } else if (arguments[0].equals("consume")) {
                bench.consume(connection);
            } else {
                throw new IllegalArgumentException(arguments[0] + " is not known");
            }
        }
        System.exit(0);
    }

    private int number(String name, int otherwise) {
        return Integer.parseInt(options.getOrDefault(name, Integer.toString(otherwise)));
    }

    private String queue() {
        return options.getOrDefault("--queue", "acemq.bench");
    }

    private static long processorTime() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    private void begin() {
        processor = processorTime();
        began = System.nanoTime();
    }

    private void report(int count) {
        System.out.printf(Locale.ROOT, "{\"count\": %d, \"seconds\": %.6f, \"processor\": %.6f}%n", count,
                (System.nanoTime() - began) / 1e9, (processorTime() - processor) / 1e9);
    }

    private static AMQP.BasicProperties properties(int number) {
        String id = String.format("00000000-0000-4000-8000-%012x", number);
        Map<String, Object> headers = new HashMap<>();
        headers.put("x-acemq-id", id);
        headers.put("x-acemq-type", "bench.message");
        headers.put("x-acemq-correlation", id);
        headers.put("x-acemq-origin", "acemq@java");
        headers.put("x-acemq-version", 1);
        headers.put("x-acemq-attempt", 1);
        headers.put("x-acemq-first-seen", System.currentTimeMillis());
        return new AMQP.BasicProperties.Builder().contentType("application/octet-stream").deliveryMode(2).messageId(id)
                .headers(headers).build();
    }

    /** Gives the window back as confirms come. */
    private static final class Window implements ConfirmListener {
        private final Semaphore room;
        private final TreeSet<Long> outstanding = new TreeSet<>();

        Window(int size) {
            room = new Semaphore(size);
        }

        void send(Channel channel, String queue, AMQP.BasicProperties properties, byte[] body)
                throws IOException, InterruptedException {
            room.acquire();
            synchronized (outstanding) {
                outstanding.add(channel.getNextPublishSeqNo());
            }
            channel.basicPublish("", queue, true, properties, body);
        }

        @Override
        public void handleAck(long tag, boolean multiple) {
            synchronized (outstanding) {
                if (multiple) {
                    room.release(outstanding.headSet(tag, true).size());
                    outstanding.headSet(tag, true).clear();
                } else if (outstanding.remove(tag)) {
                    room.release();
                }
            }
        }

        @Override
        public void handleNack(long tag, boolean multiple) {
            System.err.println("nacked");
            System.exit(1);
        }
    }

    private void publish(Connection connection) throws Exception {
        int count = number("--count", 1000);
        int size = number("--window", 256);
        byte[] body = new byte[number("--size", 256)];
        for (int i = 0; i < body.length; i++) {
            body[i] = (byte) ('a' + i % 26);
        }
        Channel channel = connection.createChannel();
        channel.queueDeclare(queue(), true, false, false, null);
        channel.queuePurge(queue());
        channel.confirmSelect();
        Window window = new Window(size);
        channel.addConfirmListener(window);
        begin();
        for (int i = 1; i <= count; i++) {
            window.send(channel, queue(), properties(i), body);
        }
        window.room.acquire(size);
        report(count);
    }

    private void consume(Connection connection) throws Exception {
        int count = number("--count", 1000);
        Channel channel = connection.createChannel();
        channel.basicQos(number("--prefetch", 300));
        CountDownLatch left = new CountDownLatch(count);
        channel.basicConsume(queue(), false, new DefaultConsumer(channel) {
            @Override
            public void handleDelivery(String tag, Envelope envelope, AMQP.BasicProperties properties, byte[] body)
                    throws IOException {
                if (left.getCount() == count) {
                    begin();
                }
                if (new String(body, StandardCharsets.UTF_8).isEmpty()) {
                    throw new IOException("the message is empty");
                }
                getChannel().basicAck(envelope.getDeliveryTag(), false);
                left.countDown();
            }
        });
        left.await();
        connection.close();
        report(count);
        System.exit(0);
    }
}
