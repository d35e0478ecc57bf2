"""What peer_python calls of its library, as declarations that do nothing."""

__version__ = "0"


class BytesCodec:
    """A codec of bodies as they are."""


class Envelope:
    """What travels with a body."""

    def __init__(self, *, headers, **fields):
        raise NotImplementedError


class FatalError(Exception):
    """A failure that no further attempt can help."""


class Topology:
    """Queues to declare."""

    def queue(self, name, *, quorum, dead_letter, retry):
        raise NotImplementedError


async def connect(url, *, codec):
    raise NotImplementedError


def accept():
    raise NotImplementedError


def retry(error=None):
    raise NotImplementedError


def park(error=None):
    raise NotImplementedError


def no_retry():
    raise NotImplementedError


def fixed_retry(attempts, delay):
    raise NotImplementedError


def exponential_retry(attempts, initial, longest):
    raise NotImplementedError


def dead_letter_queue(queue):
    raise NotImplementedError


def parked_queue(queue):
    raise NotImplementedError


def retry_queue(queue, delay):
    raise NotImplementedError


def rung_args(queue, delay):
    raise NotImplementedError
