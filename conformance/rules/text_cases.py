"""Sections 1, 3 and 7: names, times and partitions."""

import base64

from . import partitions, times
from .writing import behaviour, case


def time(text):
    seconds, nanoseconds = times.parse(text)
    return case(text, "time.parse", {"text": text}, {"seconds": seconds, "nanoseconds": nanoseconds})


def refused(text):
    return case(text or "empty", "time.parse", {"text": text}, error="parse")


def reading_times():
    yield behaviour("time.read", "3", "RFC 3339 reads with Z and with offsets, as the floor of seconds and nanoseconds", [time(text) for text in (
        "1970-01-01T00:00:00Z", "2026-02-03T04:05:06Z", "1996-12-19T16:39:57-08:00", "2022-06-15T12:00:00-00:30",
        "1937-01-01T12:00:27.87+00:20", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "1969-12-31T23:59:59.5Z", "2000-01-01T00:00:00-00:00",
        "2026-01-01T00:00:00+23:59", "2026-01-01T00:00:00-23:59")])
    yield behaviour("time.read.leap", "3", "the calendar is the real one: leap years, and centuries that are none", [time(text) for text in (
        "2000-02-29T00:00:00Z", "2024-02-29T12:00:00Z", "1900-02-28T00:00:00Z", "2100-03-01T00:00:00Z", "0004-02-29T00:00:00Z")] + [
        refused(text) for text in ("1900-02-29T00:00:00Z", "2023-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2026-04-31T00:00:00Z",
                                   "2026-00-01T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-32T00:00:00Z")])
    yield behaviour("time.read.fraction", "3", "a fraction may have any number of digits: those past the ninth are cut, never rounded", [
        time(f"2026-02-03T04:05:06.{digits}Z") for digits in ("7", "789", "123456", "1234567", "123456789", "9999999999", "0000000009999")])
    yield behaviour("time.refused", "3", "anything else is refused: widths, letters, ranges, spaces, a comma, a missing zone", [refused(text) for text in (
        "", "2026-02-03", "2026-02-03T04:05:06", "2026-02-03t04:05:06Z", "2026-02-03T04:05:06z", "2026-02-03 04:05:06Z", " 2026-02-03T04:05:06Z",
        "2026-02-03T04:05:06Z ", "2026-2-03T04:05:06Z", "26-02-03T04:05:06Z", "2026-02-03T4:05:06Z", "2026-02-03T24:00:00Z",
        "2026-02-03T04:60:00Z", "2026-02-03T04:05:60Z", "2026-02-03T04:05:06.Z", "2026-02-03T04:05:06,7Z", "2026-02-03T04:05:06+24:00",
        "2026-02-03T04:05:06+01:60", "2026-02-03T04:05:06+0100", "2026-02-03T04:05:06+01", "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z",
        "2026-02-03T04:05:06Zx", "-2026-02-03T04:05:06Z")])


def writing_times():
    values = (0, 999, 1000, 1770091506789, -1, -1000, -1001, 253402300799999, 951782400000, 1709164800000, -62135596800000)
    yield behaviour("time.write", "3", "a stamp is written in UTC, in whole seconds cut to the floor, with Z", [
        case(str(value), "time.format", {"milliseconds": value}, {"text": times.format(value)}) for value in values])
    yield behaviour("time.write.refused", "3", "a time outside the years 1 to 9999 is not written", [
        case(str(value), "time.format", {"milliseconds": value}, error=["invalid_argument", "limit"])
        for value in (253402300800000, -62135596800001, 2**63 - 1, -2**63)])


def names():
    def of(queue, title=None):
        return case(title or queue, "names", {"queue": queue}, {"deadLetter": queue + ".dlq", "parked": queue + ".parked"})
    yield behaviour("names.failure", "1", "the failure queues are `{queue}.dlq` and `{queue}.parked`", [of("orders.new"), of("a"), of("größe")])
    yield behaviour("names.bytes", "1", "names have at most 255 bytes, not characters, the longest derived one included", [
        of("a" * 248, "248 bytes"), case("249 bytes", "names", {"queue": "a" * 249}, error=["limit", "invalid_argument"]),
        of("é" * 124, "124 é are 248 bytes"), case("125 é are 250 bytes", "names", {"queue": "é" * 125}, error=["limit", "invalid_argument"])])


def ordering():
    def of(key, count, rule=None):
        wanted = partitions.partition(key.encode(), count, rule or "unsigned")
        parameters = {"key": key, "partitions": count} | ({"rule": rule} if rule else {})
        return case(f"{key or 'the empty key'} over {count}", "partition", parameters, {"partition": wanted})
    keys = ("", "a", "foobar", "é", "customer-1", "customer-42", "a\u0000b", "x" * 300)
    yield behaviour("partition.unsigned", "7", "a key's partition is FNV-1a over its UTF-8 bytes, unsigned, modulo their number", [
        of(key, count) for key in keys for count in (1, 2, 7, 8, 16, 1000)])
    yield behaviour("partition.bytes", "7", "a key may be any bytes", [
        case(data.hex(), "partition", {"keyBase64": base64.b64encode(data).decode(), "partitions": 8}, {"partition": partitions.partition(data, 8)})
        for data in (b"\xff\x00", bytes(range(256)))])
    yield behaviour("partition.java", "16.6", "by Java's rule it is floorMod of the signed hash", [of(key, count, "java") for key in keys for count in (7, 8, 1000)])
    yield behaviour("partition.dotnet", "16.6", "by the rule of .NET the top bit is masked first", [of(key, count, "dotnet") for key in keys for count in (7, 8, 1000)])
    yield behaviour("partition.queue", "7", "the queue of a key is `{name}.{partition}`", [
        case(key, "ordered.queue", {"name": "orders", "key": key, "partitions": 8},
             {"queue": f"orders.{partitions.partition(key.encode(), 8)}"}) for key in ("foobar", "customer-1", "é")])


def behaviours():
    for group in (reading_times, writing_times, names, ordering):
        yield from group()
