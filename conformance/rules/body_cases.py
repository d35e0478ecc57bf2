"""Section 13: the claim check's frame, encryption, and which codec reads what."""

import base64

from . import bodies
from .writing import behaviour, case

KEYS = {"2026-01": bytes(range(32)), "2025-07": bytes(range(100, 116)), "k24": bytes(range(50, 74))}
NONCE = bytes(range(12))
VECTOR = bytes.fromhex("ae0107323032362d3031000102030405060708090a0b2f67ba77aa632797b83b1f88ef1394bb9ff6e85641")
assert bodies.encrypt(b"2026-01", KEYS["2026-01"], NONCE, b"hello") == VECTOR


def encoded(data):
    return base64.b64encode(data).decode()


def body(data):
    """As docs/conformance.md writes a body: text where it is UTF-8."""
    try:
        return {"body": data.decode()}
    except UnicodeDecodeError:
        return {"bodyBase64": encoded(data)}


def framing():
    def read(data):
        name = data.hex() if len(data) < 20 else f"{len(data)} bytes"
        try:
            frame, rest = bodies.read_claim(data)
        except ValueError:
            return case(name or "empty", "claim.read", {"bodyBase64": encoded(data)}, error="decode")
        return case(name or "empty", "claim.read", {"bodyBase64": encoded(data)}, {"frame": frame, **body(rest)})
    plain = [b"", b"\xac", b"\xac\x01", b"{}", b"\xac\x02\x00h", b"\xac\x01\x02h", b"\xac\x01\xffh"]
    yield behaviour("claim.frame.inline", "13", "`AC 01 00` carries the payload, `AC 01 01` a key", [
        read(b"\xac\x01\x00hello"), read(b"\xac\x01\x00"), read(b"\xac\x01\x01k-1"), read(b"\xac\x01\x01A.b_c-9")])
    yield behaviour("claim.frame.none", "13", "a body without the frame, or of an unknown kind, is the delegate's", [read(data) for data in plain])
    yield behaviour("claim.frame.key", "13", "a key has letters, digits, `.`, `_` and `-`, begins with one of the first two, and has at most 128", [
        read(b"\xac\x01\x01" + key) for key in (b"a", b"a" * 128, b"a" * 129, b"", b".a", b"-a", b"a/b", b"a ", "é".encode(), b"a\n")])
    yield behaviour("claim.frame.write", "13", "a frame is written as it is read", [
        case(f"{frame} {rest.decode()}", "claim.write", {"frame": frame, "body": rest.decode()}, body(bodies.write_claim(frame, rest)))
        for frame, rest in (("inline", b"hello"), ("inline", b""), ("stored", b"k-1"))])


def encrypting():
    keys = {name: encoded(key) for name, key in KEYS.items()}

    def opened(name, data):
        return case(name, "decrypt", {"keys": keys, "bodyBase64": encoded(data)}, body(bodies.decrypt(KEYS, data)))

    def damaged(name, data):
        return case(name, "decrypt", {"keys": keys, "bodyBase64": encoded(data)}, error={"name": "decode"})
    yield behaviour("encrypted.vector", "13", "the contract's own body decrypts to `hello`", [opened("hello", VECTOR)])
    yield behaviour("encrypted.sizes", "13", "keys of 128, 192 and 256 bits decrypt, by their ids", [
        opened(name, bodies.encrypt(name.encode(), key, NONCE, b"payload " + name.encode())) for name, key in KEYS.items()] + [
        opened("an empty payload", bodies.encrypt(b"2026-01", KEYS["2026-01"], NONCE, b""))])
    flips = {"version": 1, "key id": 4, "nonce": 12, "ciphertext": 23, "tag": 40}
    yield behaviour("encrypted.damaged", "13", "a body of which one bit was changed does not decode", [
        damaged(name, VECTOR[:at] + bytes([VECTOR[at] ^ 1]) + VECTOR[at + 1:]) for name, at in flips.items()] + [
        damaged("a byte less", VECTOR[:-1]), damaged("a byte more", VECTOR + b"\0")])
    yield behaviour("encrypted.unknown-key", "13", "a body of a key that is not there does not decode, and the reason names the key's id", [
        case("2024", "decrypt", {"keys": keys, "bodyBase64": encoded(bodies.encrypt(b"key-2024", bytes(32), NONCE, b"x"))},
             error={"name": "decode", "message": {"$matches": ".*key-2024.*"}})])
    head, authenticated, nonce, ciphertext, tag = bodies.read_encrypted(VECTOR)
    yield behaviour("encrypted.frame", "13", "the parts of an encrypted body are read without a key", [
        case("hello", "encrypted.read", {"bodyBase64": encoded(VECTOR)},
             {"keyId": head.decode(), "authenticatedBase64": encoded(authenticated), "nonceBase64": encoded(nonce),
              "ciphertextBase64": encoded(ciphertext), "tagBase64": encoded(tag)})] + [
        case(data.hex() or "empty", "encrypted.read", {"bodyBase64": encoded(data)}, error="decode")
        for data in (b"", b"\xae", b"\xae\x01", b"\xae\x01\x00" + bytes(28), b"\xae\x02" + VECTOR[2:], VECTOR[:37])])
    yield behaviour("encrypted.write", "13", "an encrypted body begins with its frame, and has 12 bytes of nonce and 16 of tag more", [
        case("hello", "encrypt", {"keyId": "2026-01", "keyBase64": keys["2026-01"], "body": "hello"},
             {"bodyBase64": {"$matches": encoded(VECTOR[:9])[:12] + ".{46}=="}})])


def media_types():
    types = [None, "", "application/json", "Application/JSON; charset=utf-8", "text/json", "application/vnd.x+json", "application/jsonx",
             "text/plain", "text/plain; charset=utf-8", "TEXT/HTML", "application/msgpack", "application/x-msgpack", "application/vnd.msgpack",
             "application/octet-stream", "application/vnd.acemq.encrypted", "image/png"]
    for codec in ("json", "text", "msgpack", "bytes"):
        yield behaviour(f"codec.reads.{codec}", "13", f"which content types the codec {codec} reads", [
            case(content_type or ("none" if content_type is None else "empty"), "codec.reads", {"codec": codec, "contentType": content_type},
                 {"reads": bodies.reads(codec, content_type)}) for content_type in types])
    good = {"json": [b"{}", b"[1,2]", b'"x"', b"1", b"null", b' {"a": [true]} '], "text": [b"", b"hello", "é".encode()],
            "msgpack": [b"\x81\xa1a\x01", b"\xc0", b"\x93\x01\x02\x03"], "bytes": [b"", b"\xff\x00"]}
    bad = {"json": [b"", b"{", b"{}x", b"nul", b"{'a':1}", b"\xff"], "text": [b"\xff", b"a\xc3"],
           "msgpack": [b"", b"\x81\xa1a", b"\xc0\xc0", bytes.fromhex("dd0fffffff"), b"\xc1"], "bytes": []}
    content = {"json": "application/json", "text": "text/plain", "msgpack": "application/msgpack", "bytes": "application/octet-stream"}
    for codec, accepted in good.items():
        def checked(data, codec=codec, **expected):
            return case(data.hex() or "empty", "codec.check", {"codec": codec, "contentType": content[codec], **body(data)}, **expected)
        yield behaviour(f"codec.decodes.{codec}", "13", f"which bodies the codec {codec} decodes", [
            checked(data, ok={}) for data in accepted] + [checked(data, error="decode") for data in bad[codec]])


def behaviours():
    for group in (framing, encrypting, media_types):
        yield from group()
