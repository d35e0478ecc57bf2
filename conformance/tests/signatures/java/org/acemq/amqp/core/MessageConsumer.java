package org.acemq.amqp.core;

public interface MessageConsumer extends AutoCloseable {
    long acknowledged();

    long rejected();

    long retried();

    long deadLettered();

    long duplicates();

    @Override
    void close();
}
