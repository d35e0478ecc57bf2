package org.acemq.amqp.api;

import java.time.Duration;
import java.util.Optional;

public final class RetryPolicy {
    public static native RetryPolicy none();

    public static native RetryPolicy fixed(int maxAttempts, Duration delay);

    public static native RetryPolicy exponential(int maxAttempts, Duration initialDelay, Duration maxDelay);

    public native RetryPolicy giveUpAfter(Duration age);

    public native RetryPolicy withJitter(double factor);

    public native RetryPolicy waitInBrokerFrom(Duration threshold);

    public native Optional<Duration> nextDelay(int attempt, Duration age);
}
