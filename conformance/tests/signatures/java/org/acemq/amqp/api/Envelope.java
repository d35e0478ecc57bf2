package org.acemq.amqp.api;

import java.time.Instant;
import java.util.Optional;

public final class Envelope {
    public static native Builder of(String type);

    public native String id();

    public native String type();

    public native int version();

    public native String correlationId();

    public native Optional<String> causationId();

    public native int attempt();

    public native Instant firstSeen();

    public native Optional<String> origin();

    public native Optional<String> error();

    public native Optional<String> replayedFrom();

    public native Optional<Instant> replayedAt();

    public native int replayCount();

    public static final class Builder {
        public native Builder id(String id);

        public native Builder version(int version);

        public native Builder correlationId(String id);

        public native Builder causationId(String id);

        public native Builder origin(String origin);

        public native Builder header(String name, Object value);

        public native Envelope build();
    }
}
