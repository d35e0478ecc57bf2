"""AceMQ: messages on RabbitMQ that survive what happens to them.

``acemq.connect(url)`` makes a `Connection`, from which everything else comes: publishing, consuming with retries, dead
letters and replay. `Message` is what a handler gets, `Publisher` has the fields of what is published, and
`acemq.consumer.consumer_options` the options of whatever consumes. What fails raises a class below `Error`.
"""

from acemq import aio, errors
from acemq.broker import Broker
from acemq.codec import (
    BYTES,
    JSON,
    MSGPACK,
    TEXT,
    ClaimStore,
    Codec,
    Keyring,
    claim_check,
    encrypted,
)
from acemq.connecting import connect
from acemq.connection import Connection, Health
from acemq.consumer import Consumer, Group, Work
from acemq.errors import *  # noqa: F403
from acemq.errors import Error
from acemq.events import Event
from acemq.idempotency import Idempotency, schema_postgres
from acemq.interceptor import Arrival, Interceptor, Publication, Registration
from acemq.message import Message
from acemq.metrics import Metrics
from acemq.outbox import Outbox, Relay, Row, Statement
from acemq.outbox import statement as outbox_statement
from acemq.names import dead_letter_queue, format_duration, has, new_id, parked_queue, version, versions
from acemq.ordered import Gap, Ordered
from acemq.ordering import partition_queue, publish_ordered
from acemq.policy import Policy, exponential, fixed, none, parse
from acemq.publisher import BatchError, Publisher, Receipt, Window
from acemq.queues import Browser, Counted, Replayed
from acemq.topology import Plan, Planned, Topology
from acemq.worker import Failure, Park, PutBack, Reject

__all__ = [
    "BYTES",
    "JSON",
    "MSGPACK",
    "TEXT",
    "Arrival",
    "BatchError",
    "Broker",
    "Browser",
    "ClaimStore",
    "Codec",
    "Connection",
    "Consumer",
    "Counted",
    "Event",
    "Failure",
    "Gap",
    "Group",
    "Health",
    "Idempotency",
    "Interceptor",
    "Keyring",
    "Message",
    "Metrics",
    "Ordered",
    "Outbox",
    "Park",
    "Plan",
    "Planned",
    "Policy",
    "Publication",
    "Publisher",
    "PutBack",
    "Receipt",
    "Registration",
    "Reject",
    "Relay",
    "Replayed",
    "Row",
    "Statement",
    "Topology",
    "Window",
    "Work",
    "aio",
    "claim_check",
    "connect",
    "dead_letter_queue",
    "encrypted",
    "errors",
    "exponential",
    "fixed",
    "format_duration",
    "has",
    "new_id",
    "none",
    "outbox_statement",
    "parked_queue",
    "parse",
    "partition_queue",
    "publish_ordered",
    "schema_postgres",
    "version",
    "versions",
]
__all__ += errors.__all__
