"""Section 4: what is declared, with exactly which arguments."""

from . import topologies
from .policies import Policy
from .writing import behaviour, case

LONG = Policy.exponential(6, 10000, 300000)


def planned(name, topology, objects):
    return case(name, "topology.plan", {"topology": topology}, {"objects": {"$anyOrder": objects}})


def consumer(name, policy, queue="orders.new"):
    return case(name, "consumer.plan", {"queue": queue, "policy": policy.text() if policy else None},
                {"objects": {"$anyOrder": topologies.consumer(queue, policy)}})


def refused(name, topology):
    return case(name, "topology.plan", {"topology": topology}, error=["parse", "invalid_argument", "limit", "reserved_header"])


def queues():
    rules = topologies
    yield behaviour("topology.queue.default", "4", "a source queue is a durable quorum queue, and declares nothing beside it", [
        planned("quorum by default", {"queues": [{"name": "orders"}]}, [rules.source_queue("orders")]),
        planned("quorum", {"queues": [{"name": "orders", "type": "quorum"}]}, [rules.source_queue("orders")])])
    yield behaviour("topology.queue.classic", "4", "a classic queue says so by saying nothing", [
        planned("classic", {"queues": [{"name": "orders", "type": "classic"}]}, [rules.source_queue("orders", "classic")])])
    yield behaviour("topology.queue.stream", "14", "a stream is declared as one", [
        planned("stream", {"queues": [{"name": "orders", "type": "stream"}]}, [rules.source_queue("orders", "stream")])])
    yield behaviour("topology.dead-letter", "4", "with dead letters a queue names the exchange and the key, and its failure queues are declared", [
        planned(kind, {"queues": [{"name": "orders", "type": kind, "deadLetter": True}]},
                [rules.source_queue("orders", kind, True), *rules.failure_set("orders")]) for kind in ("quorum", "classic")])
    yield behaviour("topology.ladder", "4", "with a policy the rungs are declared, and the binding back", [
        planned("six attempts", {"exchanges": [{"name": "orders", "type": "topic"}],
                                 "queues": [{"name": "orders.new", "deadLetter": True, "retry": LONG.text()}],
                                 "bindings": [{"exchange": "orders", "queue": "orders.new", "key": "order.*"}]},
                [rules.exchange("orders", "topic"), rules.source_queue("orders.new", "quorum", True), *rules.failure_set("orders.new"),
                 *rules.ladder("orders.new", LONG), rules.binding("orders", "orders.new", "order.*")])])
    yield behaviour("topology.partitioned", "7", "partition queues are quorum queues with a single active consumer", [
        planned("three", {"partitioned": [{"name": "orders", "partitions": 3}]}, rules.partitioned("orders", 3))])


def consumers():
    yield behaviour("topology.consumer.bare", "4", "a consumer without a policy declares its failure queues and their bindings", [
        consumer("no policy", None), consumer("none", Policy.none())])
    yield behaviour("topology.consumer.no-rung", "4", "without a wait in the broker there is no retry exchange, no rung and no binding to it", [
        consumer("waits here", Policy.fixed(3, 1000)), consumer("a threshold of 0", Policy.fixed(3, 60000, threshold=0))])
    yield behaviour("topology.consumer.ladder", "4", "a consumer whose policy has rungs declares them, the exchange and the binding", [
        consumer("one rung", Policy.fixed(4, 30000)), consumer("three rungs", LONG),
        consumer("a lower threshold", Policy.fixed(3, 500, threshold=200))])
    yield behaviour("topology.consumer.durable", "4", "a consumer with durable rungs declares quorum queues of their own name", [
        consumer("durable", Policy.fixed(4, 30000, durable=True))])


def refusals():
    yield behaviour("topology.refused", "4", "what contradicts itself is refused before anything is declared", [
        refused("its own dead-letter argument beside the option",
                {"queues": [{"name": "a", "deadLetter": True, "arguments": {"x-dead-letter-exchange": "mine"}}]}),
        refused("its own key beside the option",
                {"queues": [{"name": "a", "deadLetter": True, "arguments": {"x-dead-letter-routing-key": "mine"}}]}),
        refused("an unknown type", {"queues": [{"name": "a", "type": "lazy"}]}),
        refused("a name over its limit", {"queues": [{"name": "a" * 256}]}),
        refused("a derived name over its limit", {"queues": [{"name": "a" * 250, "deadLetter": True}]}),
        refused("a wait the broker would refuse", {"queues": [{"name": "a", "retry": "fixed(2, 3651d)"}]})])
    yield behaviour("topology.longest-wait", "4", "a broker wait of 315 360 000 000 ms is taken, one millisecond more is refused", [
        case("the longest", "consumer.plan", {"queue": "a", "policy": "fixed(2, 315360000000ms)"},
             {"objects": {"$anyOrder": topologies.consumer("a", Policy.fixed(2, 315360000000))}}),
        case("one more", "consumer.plan", {"queue": "a", "policy": "fixed(2, 315360000001ms)"}, error=["limit", "invalid_argument"])])


def behaviours():
    for group in (queues, consumers, refusals):
        yield from group()
