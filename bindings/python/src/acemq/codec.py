"""How payloads become bodies, and bodies payloads."""

from __future__ import annotations

import json
import threading
from typing import Any, Callable, Dict, Iterable, Optional, Tuple, Union

from acemq import msgpack
from acemq._library import ffi, lib
from acemq.errors import DecodeError, InvalidArgument, checked, made, to_text
from acemq.options import Options
from acemq.values import integer, text


class Codec:
    """A codec of the application's own: a subclass sets `content_type`, and overrides `encode` and `decode`.

    What `decode` raises parks the message, with the exception's text. It runs on the thread that takes the message.
    """

    #: what is written as the content type of a message
    content_type: str = "application/octet-stream"

    def encode(self, payload: Any) -> bytes:
        """The body for a payload."""
        raise NotImplementedError

    def decode(self, body: bytes, content_type: str) -> Any:
        """The payload of a body. Content types that it does not read it refuses by raising."""
        raise NotImplementedError

    #: the library's codec where that changes what encode() gives
    _wrapping: Any = None
    #: the library has had `decode` called already when a message comes
    _decodes_ahead: bool = True
    _kept: Any = None
    _user: Any = None

    def _native(self) -> Any:
        """The library's codec that a consumer is given."""
        if self._kept is None:
            self._user = ffi.new_handle(self)
            out = ffi.new("acemq_codec **")
            name = text(type(self).__name__, "codec")
            checked(lib.acemq_codec_new, name, lib.acemq_py_decode, self._user, ffi.NULL, out)
            self._kept = ffi.gc(out[0], lib.acemq_codec_free)
        return self._kept

    def _decoded(self, view: Any, content_type: Callable[[], str]) -> Any:
        """The payload of what the library hands over."""
        return self.decode(bytes(view), content_type())


class _Taken(threading.local):
    """What a codec of the application's made of the body that this thread looked at last."""

    address: Any = None
    payload: Any = None


taken = _Taken()


def write_reason(reason: Any, size: int, why: str) -> None:
    """As NUL-terminated UTF-8 in the room there is, cut where a character ends."""
    if size > 0:
        encoded = why.replace("\0", "").encode("utf-8", "replace")[: size - 1]
        encoded = encoded.decode("utf-8", "ignore").encode("utf-8")
        ffi.memmove(reason, encoded + b"\0", len(encoded) + 1)


@ffi.def_extern(error=1)
def acemq_py_decode(body: Any, content_type: Any, reason: Any, size: int, user: Any) -> int:
    codec = ffi.from_handle(user)
    data = ffi.buffer(body.data, body.length)[:] if body.length else b""
    try:
        taken.payload = codec.decode(data, to_text(content_type))
    except Exception as failure:
        write_reason(reason, size, str(failure) or type(failure).__name__)
        return 1
    taken.address = body.data
    return 0


class _Builtin(Codec):
    """A codec that the library checks bodies with, before they are decoded here."""

    _decodes_ahead = False

    def __init__(self, name: str) -> None:
        self._name = name
        self._handle = lib.acemq_codec_builtin(name.encode())
        self.content_type = to_text(lib.acemq_codec_content_type(self._handle))

    def _native(self) -> Any:
        return self._handle

    def decode(self, body: bytes, content_type: str) -> Any:
        return self._decoded(body, lambda: content_type)

    def __repr__(self) -> str:
        return f"acemq.{self._name.upper()}"


_json_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_json_decoder = json.JSONDecoder()


def _json_writer() -> Callable[[Any, int], Iterable[str]]:
    """JSONEncoder.encode() makes an encoder in C for each value; this keeps one, where Python has it."""
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return lambda payload, depth: (_json_encoder.encode(payload),)
    escape = json.encoder.encode_basestring  # type: ignore[attr-defined]
    writer: Callable[[Any, int], Iterable[str]] = make(
        None, _json_encoder.default, escape, None, ":", ",", False, False, False
    )
    return writer


_json_pieces = _json_writer()
_scan_json: Callable[[str, int], Tuple[Any, int]] = _json_decoder.scan_once  # type: ignore[attr-defined]


def _read_json(text: str) -> Any:
    """Blanks in front, and what is wrong, are for the decoder, which is slower."""
    try:
        payload, end = _scan_json(text, 0)
    except StopIteration:
        return _json_decoder.decode(text)
    return payload if end == len(text) else _json_decoder.decode(text)


class _Json(_Builtin):
    def encode(self, payload: Any) -> bytes:
        try:
            return "".join(_json_pieces(payload, 0)).encode()
        except (TypeError, ValueError, RecursionError):
            return self._encode_checked(payload)

    def _encode_checked(self, payload: Any) -> bytes:
        """The encoder that is kept does not look for payloads that hold themselves, and says so less well."""
        try:
            return _json_encoder.encode(payload).encode()
        except (TypeError, ValueError, RecursionError) as failure:
            raise DecodeError(f"the payload has no JSON form: {failure}") from None

    def _decoded(self, view: Any, content_type: Callable[[], str]) -> Any:
        return _read_json(str(view, "utf-8"))


class _Text(_Builtin):
    def encode(self, payload: Any) -> bytes:
        if not isinstance(payload, str):
            raise DecodeError(f"the payload must be a str, not {type(payload).__name__}")
        try:
            return payload.encode("utf-8")
        except UnicodeEncodeError:
            raise DecodeError("the payload is not UTF-8") from None

    def _decoded(self, view: Any, content_type: Callable[[], str]) -> Any:
        return str(view, "utf-8")


class _MessagePack(_Builtin):
    def encode(self, payload: Any) -> bytes:
        return msgpack.pack(payload)

    def _decoded(self, view: Any, content_type: Callable[[], str]) -> Any:
        return msgpack.unpack(bytes(view))


class _Bytes(_Builtin):
    def encode(self, payload: Any) -> bytes:
        if not isinstance(payload, (bytes, bytearray, memoryview)):
            raise DecodeError(f"the payload must be bytes, not {type(payload).__name__}")
        return bytes(payload)

    def _decoded(self, view: Any, content_type: Callable[[], str]) -> Any:
        return bytes(view)


#: ``application/json``; reads that, ``text/json``, ``+json`` and no content type. The default.
JSON: Codec = _Json("json")
#: ``text/plain; charset=utf-8``
TEXT: Codec = _Text("text")
#: ``application/msgpack``
MSGPACK: Codec = _MessagePack("msgpack")
#: ``application/octet-stream``; reads everything
BYTES: Codec = _Bytes("bytes")

_NAMED: Dict[str, Codec] = {"json": JSON, "text": TEXT, "msgpack": MSGPACK, "bytes": BYTES}


def codec_of(codec: Union[Codec, str, None], default: Codec = JSON) -> Codec:
    """One that was given, or named, or the default."""
    if codec is None:
        return default
    if isinstance(codec, str) and codec in _NAMED:
        return _NAMED[codec]
    if not isinstance(codec, Codec):
        raise InvalidArgument("codec must be a codec, or 'json', 'text', 'msgpack' or 'bytes'", field="codec")
    return codec


def codec_for(payload: Any, codec: Optional[Codec]) -> Codec:
    """Without a codec, bytes travel as they are, and everything else as JSON."""
    if codec is not None:
        return codec
    return BYTES if isinstance(payload, (bytes, bytearray, memoryview)) else JSON


class _Wrapped(Codec):
    """A codec of the library's around another: what comes out of it is the inner one's."""

    def __init__(self, inner: Codec, handle: Any) -> None:
        self._inner = inner
        self._wrapping = handle
        self._decodes_ahead = inner._decodes_ahead
        self.content_type = to_text(lib.acemq_codec_content_type(handle))

    def _native(self) -> Any:
        return self._wrapping

    def encode(self, payload: Any) -> bytes:
        """What the inner codec writes; the library wraps it on its way out."""
        return self._inner.encode(payload)

    def decode(self, body: bytes, content_type: str) -> Any:
        return self._inner.decode(body, content_type)

    def _decoded(self, view: Any, content_type: Callable[[], str]) -> Any:
        return self._inner._decoded(view, content_type)

    def __repr__(self) -> str:
        return f"<acemq codec {self.content_type} around {self._inner!r}>"


def _inner_native(codec: Codec) -> Any:
    """What is wrapped is wrapped again by the library, so that claim check and encryption nest."""
    return codec._wrapping if codec._wrapping is not None else codec._native()


class Keyring:
    """Keys by their ids: the first one writes, all of them read. Not thread-safe."""

    def __init__(self, keys: Optional[Dict[str, bytes]] = None, *, write_with: Optional[str] = None) -> None:
        """Keys have 16, 24 or 32 bytes, for AES-128, AES-192 or AES-256."""
        self._handle = made("acemq_keyring", lib.acemq_keyring_free, lib.acemq_keyring_new)
        for id, key in (keys or {}).items():
            self.add(id, key)
        if write_with is not None:
            self.write_with(write_with)

    def add(self, id: str, key: bytes) -> None:
        """No byte of a key is in any error."""
        held = ffi.from_buffer(key)
        checked(lib.acemq_keyring_add, self._handle, text(id, "id"), {"data": held, "length": len(key)})

    def write_with(self, id: str) -> None:
        """Which key is written with by codecs that are made from here on. Raises NotFound."""
        checked(lib.acemq_keyring_write_with, self._handle, text(id, "id"))

    def __repr__(self) -> str:
        return "<acemq keyring>"


def encrypted(keyring: Keyring, inner: Union[Codec, str, None] = None) -> Codec:
    """A codec that encrypts what the inner one (JSON unless given) writes, with a new nonce for each body. A body of
    an unknown key, or one that was changed, does not decode: it is parked. Keys added later do not count."""
    inside = codec_of(inner)
    handle = made(
        "acemq_codec", lib.acemq_codec_free, lib.acemq_codec_encrypted, keyring._handle, _inner_native(inside)
    )
    return _Wrapped(inside, handle)


class ClaimStore:
    """Where large bodies lie: a directory, or a subclass with `put`, `get` and `remove` of its own, which are called
    by several threads at once. Nothing is ever deleted unasked."""

    def __init__(self) -> None:
        self._user = ffi.new_handle(self)
        callbacks = ffi.new("acemq_claim_callbacks *")
        callbacks.size = ffi.sizeof("acemq_claim_callbacks")
        callbacks.put = lib.acemq_py_claim_put
        callbacks.get = lib.acemq_py_claim_get
        callbacks.remove = lib.acemq_py_claim_remove
        callbacks.user = self._user
        self._handle = made("acemq_claim_store", lib.acemq_claim_store_free, lib.acemq_claim_store_new, callbacks)

    @staticmethod
    def directory(path: str, *, largest: Optional[int] = None, mode: Optional[int] = None) -> "ClaimStore":
        """One file an object in a directory that exists; `largest` is a number of bytes (128 MiB unless given)."""
        return _Directory(path, largest, mode)

    def put(self, key: str, body: bytes) -> None:
        """What it raises fails the publish."""
        raise NotImplementedError

    def get(self, key: str) -> Optional[bytes]:
        """None for an object that does not exist, which parks the message; what it raises is tried again."""
        raise NotImplementedError

    def remove(self, key: str) -> None:
        """Deletes an object when the application knows that nobody needs it; none there is fine."""
        raise NotImplementedError

    @staticmethod
    def key_of(body: bytes) -> Optional[str]:
        """The key of a stored body, as it lies in the queue; None for a body that travels itself."""
        frame, rest = ffi.new("acemq_claim_frame *"), ffi.new("acemq_bytes *")
        held = ffi.from_buffer(body)
        checked(lib.acemq_claim_frame_read, {"data": held, "length": len(body)}, frame, rest)
        if frame[0] != lib.ACEMQ_CLAIM_STORED:
            return None
        return str(ffi.buffer(rest.data, rest.length)[:], "ascii")


class _Directory(ClaimStore):
    def __init__(self, path: str, largest: Optional[int], mode: Optional[int]) -> None:
        options = Options("acemq_claim_directory_options", lib.acemq_claim_directory_options_init)
        options.numbers({"largest": largest, "mode": mode})
        self._handle = made(
            "acemq_claim_store",
            lib.acemq_claim_store_free,
            lib.acemq_claim_store_directory,
            text(path, "path"),
            options.struct,
        )

    def remove(self, key: str) -> None:
        checked(lib.acemq_claim_store_remove, self._handle, text(key, "key"))


@ffi.def_extern(error=2)
def acemq_py_claim_put(key: Any, object: Any, reason: Any, size: int, user: Any) -> int:
    return _store_call(reason, size, lambda: _put(ffi.from_handle(user), key, object))


@ffi.def_extern(error=2)
def acemq_py_claim_get(key: Any, object: Any, reason: Any, size: int, user: Any) -> int:
    return _store_call(reason, size, lambda: _get(ffi.from_handle(user), key, object))


@ffi.def_extern(error=2)
def acemq_py_claim_remove(key: Any, reason: Any, size: int, user: Any) -> int:
    return _store_call(reason, size, lambda: ffi.from_handle(user).remove(to_text(key)) and 0)


def _put(store: ClaimStore, key: Any, object: Any) -> int:
    store.put(to_text(key), ffi.buffer(object.data, object.length)[:] if object.length else b"")
    return 0


def _get(store: ClaimStore, key: Any, object: Any) -> int:
    body = store.get(to_text(key))
    if body is None:
        return 1
    held = ffi.from_buffer(body)
    return int(lib.acemq_claim_object_append(object, held, len(body), ffi.NULL)) and 2


def _store_call(reason: Any, size: int, call: Callable[[], Any]) -> int:
    try:
        return int(call() or 0)
    except Exception as failure:
        write_reason(reason, size, str(failure) or type(failure).__name__)
        return 2


def claim_check(store: ClaimStore, inner: Union[Codec, str, None] = None, *, threshold: int = 65536) -> Codec:
    """A codec that stores what the inner one (JSON unless given) writes when that has `threshold` bytes or more, so
    that only its key travels."""
    inside = codec_of(inner)
    handle = made(
        "acemq_codec",
        lib.acemq_codec_free,
        lib.acemq_codec_claim_check,
        _inner_native(inside),
        store._handle,
        integer(threshold, "threshold", 0, 2**63 - 1),
    )
    wrapped = _Wrapped(inside, handle)
    wrapped._store = store  # type: ignore[attr-defined]
    return wrapped
