package org.acemq.amqp.api;

public enum ApplyMode {
    DRY_RUN, CREATE_ONLY, VALIDATE
}
