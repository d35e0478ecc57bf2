package org.acemq.amqp.api;

public interface Codec {
    String contentType();

    byte[] encode(Object payload);

    <T> T decode(byte[] body, Class<T> target);

    boolean canDecode(String contentType);
}
