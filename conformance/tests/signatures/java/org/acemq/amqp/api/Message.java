package org.acemq.amqp.api;

import java.util.Map;
import java.util.Optional;

public interface Message<T> {
    T payload();

    Envelope envelope();

    Map<String, Object> headers();

    Optional<String> routingKey();
}
