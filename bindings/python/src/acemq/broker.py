"""A broker in memory that other programs can reach, for tests."""

from __future__ import annotations

from typing import Any

from acemq._library import ffi, lib
from acemq.errors import checked, made
from acemq.values import integer, text


class Broker:
    """AMQP 0-9-1 for tests, no kinder than RabbitMQ; nothing is kept. User ``guest``, password ``guest``."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """port: 0: any free one. Raises SystemFailure when it is taken."""
        self._handle = made("acemq_broker", lib.acemq_broker_free, lib.acemq_broker_start)
        bound = ffi.new("int *")
        checked(lib.acemq_broker_listen, self._handle, text(host, "host"), integer(port, "port", 0, 65535), bound)
        self.url = f"amqp://guest:guest@{host}:{int(bound[0])}/"

    def close(self) -> None:
        """Ends its connections. Again is fine."""
        handle, self._handle = self._handle, None
        if handle is not None:
            ffi.release(handle)

    def __enter__(self) -> "Broker":
        return self

    def __exit__(self, kind: Any, failure: Any, trace: Any) -> None:
        self.close()
