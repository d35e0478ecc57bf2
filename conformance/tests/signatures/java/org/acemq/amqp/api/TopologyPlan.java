package org.acemq.amqp.api;

public final class TopologyPlan {
}
