package org.acemq.amqp.api;

public class AceRetryableException extends AceMqException {
    public AceRetryableException(String message) {
        super(message);
    }
}
