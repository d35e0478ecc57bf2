package org.acemq.amqp.core;

import org.acemq.amqp.api.ApplyMode;
import org.acemq.amqp.api.Topology;
import org.acemq.amqp.api.TopologyPlan;

public final class TopologyPlanner {
    public native TopologyPlan apply(Topology topology, ApplyMode mode);
}
