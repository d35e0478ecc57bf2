"""Ctrl-C in calls that wait.

Python runs signal handlers on the main thread, and only between two of its own instructions: a call into the library
that waits would keep Ctrl-C waiting too. On the main thread such a call is therefore made by another thread, and the
main thread waits for it where Python lets it be interrupted. What the other thread is at goes on, unless `abandon`
ends it.
"""

from __future__ import annotations

import _thread
import threading
from typing import Any, Callable, List, Optional, Tuple

#: how long the library may be waited in at most, where a wait can be taken up again, in ms
SLICE = 100


def on_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident


def interruptible(call: Callable[[], Any], abandon: Optional[Callable[[], None]] = None) -> Any:
    """What `call` returns or raises; KeyboardInterrupt and whatever else a signal handler raises end the wait."""
    if not on_main_thread():
        return call()
    outcome: List[Tuple[Any, Optional[BaseException]]] = []
    done = threading.Lock()  # an Event, interrupted as it wakes, raises what is no interrupt
    done.acquire()

    def run() -> None:
        try:
            outcome.append((call(), None))
        except BaseException as failure:
            outcome.append((None, failure))
        done.release()

    try:
        _thread.start_new_thread(run, ())  # Thread.start() waits for an Event
        done.acquire()
    except BaseException:
        if abandon is not None:
            abandon()
        raise
    value, failure = outcome[0]
    if failure is not None:
        raise failure
    return value
