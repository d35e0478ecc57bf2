package org.acemq.amqp.api;

@FunctionalInterface
public interface MessageHandler<T> {
    void handle(Message<T> message) throws Exception;
}
