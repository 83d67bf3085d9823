"""What every client of the comparison is asked to do, and what it says of it.

`--requests` streams of `--tokens` events, `--streams` at once, each event stamped when its text is
in hand, text and usage taken. The answer is one JSON line: `chunks`, `wall_s`, `cpu_s` of the job
alone. `--stamps FILE` gets a line a request: `id sent_ns first_ns last_ns events`.
"""

import argparse
import asyncio
import json
import resource
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Answer:
    """What a client has of one request: `stamps_ns` one an event with text."""

    request_id: str
    sent_ns: int = 0
    stamps_ns: list[int] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    usage: dict | None = None

    def take(self, event: dict, at_ns: int) -> None:
        """Takes the text or the usage of one event."""
        choices = event["choices"]
        if choices:
            content = choices[0]["delta"].get("content")
            if content:
                self.stamps_ns.append(at_ns)
                self.text.append(content)
        elif event.get("usage"):
            self.usage = event["usage"]


@dataclass(frozen=True)
class Job:
    """The words of the command line."""

    port: int
    streams: int
    requests: int
    tokens: int
    ttft_ms: float
    itl_ms: float
    stamps: str

    @property
    def url(self) -> str:
        """Where the requests go."""
        return f"http://127.0.0.1:{self.port}/v1/chat/completions"

    @property
    def body(self) -> dict:
        """The JSON of each request."""
        return {
            "model": "truth",
            "messages": [{"role": "user", "content": "hello"}],
            "max_tokens": self.tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
            "ttft_ms": self.ttft_ms,
            "itl_ms": self.itl_ms,
        }


def read_job() -> Job:
    """The job of this process."""
    words = argparse.ArgumentParser()
    words.add_argument("--port", type=int, required=True)
    words.add_argument("--streams", type=int, default=1)
    words.add_argument("--requests", type=int, default=1)
    words.add_argument("--tokens", type=int, default=128)
    words.add_argument("--ttft-ms", type=float, default=0)
    words.add_argument("--itl-ms", type=float, default=0)
    words.add_argument("--stamps", default="")
    return Job(**vars(words.parse_args()))


async def perform(job: Job, ask: Callable[[Answer], Awaitable[None]]) -> None:
    """Runs the job with `streams` slots and prints the figures; `ask` fills one answer."""
    answers = [Answer(f"client-{number}") for number in range(job.requests)]
    waiting = iter(answers)

    async def slot() -> None:
        for answer in waiting:
            await ask(answer)

    cpu_before_s, started = _cpu_s(), time.perf_counter()
    await asyncio.gather(*(slot() for _ in range(job.streams)))
    wall_s, cpu_s = time.perf_counter() - started, _cpu_s() - cpu_before_s
    chunks = sum(len(answer.stamps_ns) for answer in answers)
    print(json.dumps({"chunks": chunks, "wall_s": wall_s, "cpu_s": cpu_s}))
    if job.stamps:
        _write_stamps(answers, Path(job.stamps))


def _write_stamps(answers: list[Answer], path: Path) -> None:
    lines = (
        f"{a.request_id} {a.sent_ns} {a.stamps_ns[0]} {a.stamps_ns[-1]} {len(a.stamps_ns)}\n"
        for a in answers
        if a.stamps_ns
    )
    path.write_text("".join(lines), encoding="ascii")


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
