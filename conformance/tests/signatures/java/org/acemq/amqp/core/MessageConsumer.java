package org.acemq.amqp.core;

import java.time.Duration;

public interface MessageConsumer extends AutoCloseable {
    long acknowledged();

    long rejected();

    long retried();

    long deadLettered();

    long duplicates();

    boolean drain(Duration timeout);

    @Override
    void close();
}
