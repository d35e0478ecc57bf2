"""Handlers, and the threads that they run on."""

from __future__ import annotations

import inspect
import logging
import threading
from typing import TYPE_CHECKING, Any, Callable, List, Optional

from acemq._library import ffi, lib
from acemq.errors import Closed, Error, InvalidArgument, take_error
from acemq.message import Message
from acemq.values import FOREVER

if TYPE_CHECKING:
    from acemq.consumer import Source

_log = logging.getLogger("acemq")

Handler = Callable[[Message], Any]


class Failure(Exception):
    """Raised by a handler: the message failed for a reason that needs no traceback. It is tried again as the policy
    says."""


class Reject(Exception):
    """Raised by a handler: the message never will be handled. A dead letter at once."""


class Park(Exception):
    """Raised by a handler: the message is set aside in ``.parked``."""


class PutBack(Exception):
    """Raised by a handler: the message goes back to its queue, without spending an attempt."""


class _Handling(threading.local):
    """What the handler on this thread is at."""

    source: "Optional[Source]" = None


handling = _Handling()


def checked_handler(handler: Any) -> Any:
    """What could handle no message is refused before it gets any."""
    if not callable(handler):
        raise InvalidArgument(f"handler must be a function, not {type(handler).__name__}", field="handler")
    if inspect.iscoroutinefunction(handler) or inspect.isasyncgenfunction(handler):
        reason = "handler is a coroutine function, which nobody would await: see acemq.aio"
        raise InvalidArgument(reason, field="handler")
    return handler


def _refuse_unawaited(answer: Any) -> None:
    """Nothing was handled yet, and accepting the message would lose it."""
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise TypeError("the handler answered what is to be awaited, which nobody does")


def _text_of(failure: BaseException) -> str:
    try:
        return str(failure)
    except Exception:
        return ""


def _reason(failure: BaseException) -> str:
    """One line, as it stands in the header of a dead letter."""
    said = " ".join(_text_of(failure).split())
    if isinstance(failure, (Failure, Reject, Park)):
        return said or "no reason given"
    return f"{type(failure).__name__}: {said}" if said else type(failure).__name__


def settle_as_ended(message: Message, failure: Optional[BaseException]) -> bool:
    """Settles as a handler's end says, unless it was done; whether the failure is dealt with by that."""
    if message.settled:
        return isinstance(failure, (Failure, Reject, Park, PutBack))
    if failure is None:
        message.accept()
    elif isinstance(failure, Reject):
        message.reject(_reason(failure))
    elif isinstance(failure, Park):
        message.park(_reason(failure))
    elif isinstance(failure, PutBack) or not isinstance(failure, Exception):
        message.put_back()
    else:
        message.fail(_reason(failure))
    return isinstance(failure, Exception)


class Workers:
    """The threads of one source. Each takes a message, runs the handler, and settles as the handler ended."""

    def __init__(self, source: "Source", handler: Handler, ended: Callable[[Optional[BaseException]], None]) -> None:
        self._source = source
        self._handler = handler
        self._ended = ended
        self._stopping = False
        self._threads: List[threading.Thread] = []

    def grow_to(self, count: int) -> None:
        """Threads that are too many go by themselves: the library tells them."""
        while len(self._threads) < count:
            number = len(self._threads) + 1
            name = f"acemq-{self._source.queue}-{number}"
            thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Nothing new is begun."""
        self._stopping = True
        self._source._wake()

    def join(self, seconds: float) -> None:
        for thread in list(self._threads):
            if thread is not threading.current_thread():
                thread.join(seconds)

    @property
    def alive(self) -> bool:
        return bool(self._threads)

    def _run(self) -> None:
        handling.source = self._source
        try:
            self._loop()
        except BaseException as failure:
            self._ended(failure)
        finally:
            handling.source = None
            self._threads.remove(threading.current_thread())

    def _loop(self) -> None:
        """The settling of a message that was accepted goes together with taking the next one."""
        source = self._source
        turn = ffi.new("acemq_py_turn *")
        following, accept_and_following = lib.acemq_py_next, lib.acemq_py_accept_and_next
        handle, kind, codec = source._handle, source._kind, source._codec
        accepted = False
        message: Any = None
        handler = self._handler
        while not self._stopping or accepted:
            wait = 0 if self._stopping else FOREVER
            status = (accept_and_following if accepted else following)(turn, handle, kind, wait)
            if status != 0:
                if turn.settled != 0:
                    _settle_failed(message, take_error(turn.settle_error))
                if turn.delivery == ffi.NULL:
                    accepted, message = False, None
                    if self._ends(status, take_error(turn.error)):
                        return
                    continue
            accepted = False
            message = Message(turn.delivery, codec, turn.body, turn.length)
            try:
                answer = handler(message)
                if answer is not None:
                    _refuse_unawaited(answer)
            except BaseException as failure:
                self._failed(message, failure)
                if not isinstance(failure, Exception):
                    raise
                continue
            if not message._settled:
                message._settled = accepted = True

    def _ends(self, status: int, error: Error) -> bool:
        """Whether this thread has nothing more to do."""
        if status == lib.ACEMQ_E_CANCELLED:
            return bool(self._stopping or len(self._threads) > self._source._width())
        if status == lib.ACEMQ_E_WRONG_THREAD:
            return True
        if status != lib.ACEMQ_E_TIMEOUT and not self._stopping and not isinstance(error, Closed):
            self._ended(error)
        return bool(status != lib.ACEMQ_E_TIMEOUT)

    def _failed(self, message: Message, failure: BaseException) -> None:
        if not isinstance(failure, (Failure, Reject, Park, PutBack)) and isinstance(failure, Exception):
            _log.warning(
                "the handler of %s failed on %s, attempt %d",
                self._source.queue,
                message.id,
                message.attempt,
                exc_info=failure,
            )
        try:
            settle_as_ended(message, failure)
        except Error as error:
            _settle_failed(message, error)


def _settle_failed(message: Message, error: Error) -> None:
    """It is delivered again, or the consumer is closed already: nothing that the handler could do about it."""
    _log.warning("what became of %s of %s could not be carried out: %s", message.id, message.queue, error)
