"""Plain httpx as its documentation shows a stream: `aiter_lines` and `json.loads`."""

import asyncio
import json
import time

import httpx
from job import Answer, perform, read_job


async def main() -> None:
    """One client, no limit on connections, no timeout."""
    job = read_job()
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(timeout=None, limits=limits, trust_env=False) as client:

        async def ask(answer: Answer) -> None:
            answer.sent_ns = time.monotonic_ns()
            headers = {"x-request-id": answer.request_id}
            async with client.stream("POST", job.url, json=job.body, headers=headers) as response:
                async for line in response.aiter_lines():
                    if line.startswith("data: ") and line != "data: [DONE]":
                        at_ns = time.monotonic_ns()
                        answer.take(json.loads(line[6:]), at_ns)

        await perform(job, ask)


asyncio.run(main())
