package org.acemq.amqp.core;

import java.time.Duration;

public final class PublishOptions {
    public static native PublishOptions defaults();

    public static native PublishOptions transientDelivery();

    public native PublishOptions withPriority(int priority);

    public native PublishOptions expiringAfter(Duration expiration);
}
