package org.acemq.amqp.core;

import java.util.function.Predicate;
import org.acemq.amqp.transport.InboundDelivery;

public final class Replay {
    public native Replay parked();

    public native Replay keepingAttempts();

    public native long pending();

    public native int replay(int max, Predicate<InboundDelivery> filter);
}
