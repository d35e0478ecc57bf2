"""AceMQ: messages on RabbitMQ that survive what happens to them."""

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
