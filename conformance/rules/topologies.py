"""Section 4: what a topology and a consumer declare."""


def queue(name, kind, arguments):
    return {"kind": "queue", "name": name, "type": kind, "arguments": {"$exactly": arguments}}


def exchange(name, kind="direct"):
    return {"kind": "exchange", "name": name, "type": kind}


def binding(source, name, key):
    return {"kind": "binding", "exchange": source, "name": name, "routingKey": key}


def failure_set(source):
    """What a topology and every consumer declare."""
    dead, parked = source + ".dlq", source + ".parked"
    return [exchange("acemq.dlx"), queue(dead, "classic", {}), queue(parked, "classic", {}),
            binding("acemq.dlx", dead, dead), binding("acemq.dlx", parked, parked)]


def ladder(source, policy):
    delays = policy.rung_delays(source) if policy else []
    if not delays:
        return []
    kind = "quorum" if policy.durable else "classic"
    rungs = [queue(policy.rung_name(source, delay), kind, policy.rung_arguments(source, delay)) for delay in delays]
    return [exchange("acemq.retry"), *rungs, binding("acemq.retry", source, source)]


def consumer(source, policy=None):
    return failure_set(source) + ladder(source, policy)


def source_queue(name, kind="quorum", dead_letter=False):
    arguments = {} if kind == "classic" else {"x-queue-type": kind}
    if dead_letter:
        arguments |= {"x-dead-letter-exchange": "acemq.dlx", "x-dead-letter-routing-key": name + ".dlq"}
    return queue(name, kind, arguments)


def partitioned(name, count):
    return [queue(f"{name}.{at}", "quorum", {"x-queue-type": "quorum", "x-single-active-consumer": True}) for at in range(count)]
