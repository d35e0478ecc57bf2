package org.acemq.amqp.api;

public final class AceHeaders {
    public static final String ID = "x-acemq-id";
}
