package org.acemq.amqp.core;

import org.acemq.amqp.api.Codec;
import org.acemq.amqp.api.MessageHandler;

public final class AceMq implements AutoCloseable {
    public static native AceMq connect(String url, Codec codec);

    public native TopologyPlanner topology();

    public native <T> DefaultPublisher<T> publisher(
            String exchange, String routingKey, Class<T> payloadType, PublishOptions options);

    public native <T> MessageConsumer consume(
            String queue, Class<T> payloadType, ConsumerOptions options, MessageHandler<T> handler);

    public native Replay replay(String queue);

    @Override
    public native void close();
}
