package org.acemq.amqp.api;

import java.util.List;
import java.util.Map;

public final class Topology {
    public static native Builder define();

    public native List<QueueSpec> queues();

    public static final class QueueSpec {
        public native String name();
    }

    public static final class Builder {
        public native Builder exchange(String name, String type);

        public native Builder queue(String name);

        public native Builder queueWithDeadLetter(String name);

        public native Builder classicQueue(String name, Map<String, Object> arguments);

        public native Builder classicQueueWithDeadLetter(String name, Map<String, Object> arguments);

        public native Builder bind(String queue, String exchange, String routingKey);

        public native Topology build();
    }
}
