"""The observer as scenarios see it: verbs with JSON, like a driver's."""

from .client import Client, Refused, body_bytes
from .stores import Broken


class Observer:
    def __init__(self, url):
        self.client, self.broken = Client(url), {}

    def close(self):
        self.client.close()

    def perform(self, verb, parameters):
        """The answer to a request, in the form of a driver's."""
        action = getattr(self, "do_" + verb, None)
        if action is None:
            return {"unsupported": f"the observer cannot {verb}"}
        try:
            return {"ok": action(**parameters) or {}}
        except Refused as refused:
            names = {404: "not_found", 406: "differs", 403: "access_refused", 405: "locked"}
            return {"error": {"name": names.get(refused.code, "channel_closed"), "message": str(refused)}}

    def do_break(self, store):
        self.broken[store] = Broken(store)

    def do_mend(self, store):
        self.broken.pop(store).mend()

    def do_declare(self, queue, arguments=None, durable=True):
        self.client.declare(queue, arguments, durable)

    def do_exchange(self, exchange, type="direct", durable=True):
        self.client.declare_exchange(exchange, type, durable)

    def do_bind(self, exchange, queue, key):
        self.client.bind(exchange, queue, key)

    def do_delete(self, queue=None, exchange=None):
        if queue is not None:
            self.client.delete(queue)
        if exchange is not None:
            self.client.delete_exchange(exchange)

    def do_purge(self, queue):
        self.client.purge(queue)

    def do_count(self, queue):
        """`ready` is null for a queue that does not exist."""
        try:
            ready, consumers = self.client.declare(queue, passive=True)
        except Refused as refused:
            if refused.code != 404:
                raise
            return {"ready": None, "consumers": 0}
        return {"ready": ready, "consumers": consumers}

    def do_publish(self, queue=None, exchange="", routingKey="", headers=None, properties=None, count=1, **message):
        wanted = dict(properties or {})
        if headers is not None:
            wanted["headers"] = headers
        return {"routed": self.client.publish(exchange, routingKey if queue is None else queue, wanted, body_bytes(message), count)}

    def do_take(self, queue, max=100):
        """Takes messages off a queue."""
        return self.messages(queue, max, self.client.acknowledge)

    def do_look(self, queue, max=100):
        """Messages as they lie there; they are put back, and marked redelivered."""
        return self.messages(queue, max, self.client.put_back)

    def messages(self, queue, most, settle):
        taken, tags = [], []
        while len(taken) < most and (found := self.client.get(queue)):
            tags.append(found[0])
            taken.append(found[1])
        for tag in reversed(tags):
            settle(tag)
        return {"messages": taken}
