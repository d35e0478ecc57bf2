package org.acemq.amqp.core;

import java.util.concurrent.CompletableFuture;
import org.acemq.amqp.api.Envelope;
import org.acemq.amqp.api.PublishResult;

public final class DefaultPublisher<T> {
    public native DefaultPublisher<T> replyingTo(String queue);

    public native CompletableFuture<PublishResult> sendAsync(T payload, Envelope envelope);
}
