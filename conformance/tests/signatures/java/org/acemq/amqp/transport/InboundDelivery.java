package org.acemq.amqp.transport;

import java.util.Map;

public final class InboundDelivery {
    public native Map<String, Object> headers();

    public native String messageId();
}
