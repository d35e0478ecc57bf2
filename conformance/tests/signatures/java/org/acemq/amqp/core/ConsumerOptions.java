package org.acemq.amqp.core;

import org.acemq.amqp.api.RetryPolicy;

public final class ConsumerOptions {
    public static native ConsumerOptions defaults();

    public static native ConsumerOptions prefetch(int prefetch);

    public native ConsumerOptions withRetry(RetryPolicy policy);
}
