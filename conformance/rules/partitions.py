"""Sections 7 and 16.6: FNV-1a over the key's bytes, and three ways to a partition."""


def hashed(key):
    value = 2166136261
    for byte in key:
        value = (value ^ byte) * 16777619 % 2**32
    return value


def partition(key, partitions, rule="unsigned"):
    value = hashed(key)
    if rule == "java":
        signed = value - 2**32 if value >= 2**31 else value
        return signed % partitions
    return (value & 2**31 - 1 if rule == "dotnet" else value) % partitions
