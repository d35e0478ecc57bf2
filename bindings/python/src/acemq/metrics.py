"""Counting and timing, under the names that all AceMQ libraries share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from acemq._library import ffi, lib
from acemq.errors import checked, made, to_text
from acemq.options import Options

if TYPE_CHECKING:
    from acemq.connection import Connection


class Metrics:
    """A registry. Thread-safe. It counts and times what happens on the clients that it watches; those that nobody
    watches spend nothing on it. For an observer of each number, connect with ``metric_events`` and `on_event`."""

    def __init__(self, *connections: "Connection", series_limit: Optional[int] = None) -> None:
        """series_limit: combinations of labels of each metric; 1000 unless given, further ones count as ``_other``."""
        options = Options("acemq_metrics_options", lib.acemq_metrics_options_init)
        options.numbers({"series_limit": series_limit})
        self._handle = made("acemq_metrics", lib.acemq_metrics_free, lib.acemq_metrics_new, options.struct)
        for connection in connections:
            self.watch(connection)

    def watch(self, connection: "Connection") -> None:
        """From now on; best right after connecting. Raises StateError when it is watched already."""
        checked(lib.acemq_metrics_watch, self._handle, connection._handle)

    def prometheus(self) -> str:
        """Everything, as the answer to a scrape (text format 0.0.4)."""
        out = ffi.new("char **")
        checked(lib.acemq_metrics_prometheus, self._handle, out)
        try:
            return to_text(out[0])
        finally:
            lib.acemq_free(out[0])
