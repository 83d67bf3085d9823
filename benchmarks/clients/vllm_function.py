"""The request function of `vllm bench serve`, out of an installed vLLM, driven as there."""

import time

import aiohttp
import uvloop
from job import Answer, perform, read_job
from vllm.benchmarks.lib.endpoint_request_func import (
    RequestFuncInput,
    async_request_openai_chat_completions,
)


async def main() -> None:
    """One session with vLLM's own settings of the connector."""
    job = read_job()
    extra = {"ttft_ms": job.ttft_ms, "itl_ms": job.itl_ms}
    connector = aiohttp.TCPConnector(
        limit=job.streams, limit_per_host=job.streams, ttl_dns_cache=300, keepalive_timeout=60
    )
    async with aiohttp.ClientSession(connector=connector) as session:

        async def ask(answer: Answer) -> None:
            wanted = RequestFuncInput(
                prompt="hello",
                api_url=job.url,
                prompt_len=1,
                output_len=job.tokens,
                model="truth",
                request_id=answer.request_id,
                extra_body=extra,
            )
            # it tells durations on perf_counter, which is the same clock here
            answer.sent_ns = time.perf_counter_ns()
            output = await async_request_openai_chat_completions(wanted, session)
            if not output.success:
                raise RuntimeError(output.error)
            at_ns = answer.sent_ns = int(output.start_time * 1e9)
            for duration_s in (output.ttft, *output.itl):
                at_ns += int(duration_s * 1e9)
                answer.stamps_ns.append(at_ns)
            answer.text.append(output.generated_text)

        await perform(job, ask)


uvloop.run(main())
