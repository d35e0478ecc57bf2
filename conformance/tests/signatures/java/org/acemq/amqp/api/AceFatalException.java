package org.acemq.amqp.api;

public class AceFatalException extends AceMqException {
    public AceFatalException(String message) {
        super(message);
    }
}
