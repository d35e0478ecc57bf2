package org.acemq.amqp.api;

public class AceMqException extends RuntimeException {
    public AceMqException(String message) {
        super(message);
    }
}
