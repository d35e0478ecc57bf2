"""Section 13: frames, encryption (by python3-cryptography, another library than the one under test), media types."""

import re

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
NONCE, TAG = 12, 16


def read_claim(body):
    """(frame, rest); ValueError for a malformed key."""
    if body[:2] != b"\xac\x01" or len(body) < 3 or body[2] > 1:
        return "none", body
    if body[2] == 0:
        return "inline", body[3:]
    if not KEY.fullmatch(body[3:]):
        raise ValueError("key")
    return "stored", body[3:]


def write_claim(frame, rest):
    return rest if frame == "none" else b"\xac\x01" + bytes([frame == "stored"]) + rest


def encrypt(key_id, key, nonce, plain):
    head = b"\xae\x01" + bytes([len(key_id)]) + key_id
    return head + nonce + AESGCM(key).encrypt(nonce, plain, head)


def read_encrypted(body):
    """(key id, what is authenticated, nonce, ciphertext, tag)"""
    if body[:2] != b"\xae\x01" or len(body) < 3:
        raise ValueError("no such frame")
    ends = 3 + body[2]
    if body[2] == 0 or len(body) < ends + NONCE + TAG:
        raise ValueError("too short")
    return body[3:ends], body[:ends], body[ends:ends + NONCE], body[ends + NONCE:-TAG], body[-TAG:]


def decrypt(keys, body):
    key_id, head, nonce, ciphertext, tag = read_encrypted(body)
    return AESGCM(keys[key_id.decode()]).decrypt(nonce, ciphertext + tag, head)


def reads(codec, content_type):
    """Whether a codec reads bodies of this content type."""
    media = (content_type or "").split(";")[0].strip().lower()
    if codec == "bytes":
        return True
    if codec == "json":
        return media in ("", "application/json", "text/json") or re.fullmatch(r"[^/]+/.*\+json", media) is not None
    if codec == "text":
        return media.startswith("text/") and media != "text/"
    return media in ("application/msgpack", "application/x-msgpack", "application/vnd.msgpack")
