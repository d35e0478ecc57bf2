package org.acemq.amqp.api;

public final class PublishResult {
    public native String messageId();
}
