"""A careful aiohttp loop: uvloop, `iter_any`, events split on bytes, orjson."""

import time

import aiohttp
import orjson
import uvloop
from job import Answer, perform, read_job


async def main() -> None:
    """One session, no limit on connections, no timeout."""
    job = read_job()
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:

        async def ask(answer: Answer) -> None:
            body = orjson.dumps(job.body)
            headers = {"x-request-id": answer.request_id, "content-type": "application/json"}
            rest = b""
            answer.sent_ns = time.monotonic_ns()
            async with session.post(job.url, data=body, headers=headers) as response:
                async for piece in response.content.iter_any():
                    at_ns = time.monotonic_ns()
                    *events, rest = (rest + piece).split(b"\n\n")
                    for event in events:
                        if not event.endswith(b"[DONE]"):
                            answer.take(orjson.loads(event[6:]), at_ns)

        await perform(job, ask)


uvloop.run(main())
