"""Replaying a failure queue."""


async def replay(connection, source, *, routing_key, limit, restart, only):
    raise NotImplementedError
