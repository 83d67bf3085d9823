"""How fast and how exact the client is beside a C client and the peers, as tables.

    python benchmarks/speed.py [--short] [--rounds N] [--only NAME,...] [--write FILE]

Server on one core, client on another, real-time priority where it is granted, loopback only. All
programs do the same job in turn, N rounds; figures are medians, ratios are taken within a round.
`benchmarks/install.sh` makes the environments of the peers; what is missing is named.
"""

import argparse
import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from parts import machine, programs, stamping
from parts.programs import (
    AIOHTTP,
    HTTPX,
    HTTPX_AIOHTTP,
    LIMIT,
    LOADGEN,
    SGLANG,
    TOOLS,
    VLLM,
    Job,
)
from parts.races import Outcome, Race, race

ROUNDS, ROUNDS_SHORT = 5, 1
RATES = {
    "5 k/s": Job(64, 256, 96, itl_ms=12.8),
    "10 k/s": Job(128, 512, 96, itl_ms=12.8),
    "25 k/s": Job(256, 1024, 96, itl_ms=10.2),
    "40 k/s": Job(256, 1024, 96, itl_ms=6.0),
}
FIREHOSE = {64: 1024, 512: 1024}
MARK = "<!-- speed.py -->"


def main() -> None:
    """Runs the chosen sections and prints each table as soon as it is there."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--short", action="store_true", help="one round, few sections")
    words.add_argument("--rounds", type=int)
    words.add_argument("--only", default="", help=f"of {', '.join(SECTIONS)}")
    words.add_argument("--write", type=Path, help="keep the tables in this file, behind its mark")
    chosen = words.parse_args()
    why_not = machine.build_reference()
    if why_not:
        print(f"speed.py: skipped, the reference server can't be built: {why_not}")
        return
    rounds = chosen.rounds or (ROUNDS_SHORT if chosen.short else ROUNDS)
    names = chosen.only.split(",") if chosen.only else (SHORT if chosen.short else SECTIONS)
    pieces = [heading(rounds)]
    print(pieces[0], flush=True)
    for name in names:
        for piece in SECTIONS[name](rounds):
            print(piece, flush=True)
            pieces.append(piece)
    if chosen.write:
        keep(chosen.write, "\n".join(pieces))


def heading(rounds: int) -> str:
    """Date, machine, priority, rounds."""
    priority = "SCHED_FIFO" if machine.may_have_priority() else "no real-time priority"
    today = datetime.datetime.now(tz=datetime.UTC).date()
    return f"{today}; {machine.describe()}; {priority}; {rounds} round(s).\n"


def keep(path: Path, tables: str) -> None:
    """Replaces what stands behind the file's mark."""
    head = path.read_text(encoding="utf-8").split(MARK)[0]
    path.write_text(f"{head}{MARK}\n\n{tables}\n", encoding="utf-8")


@dataclass(frozen=True)
class Ratio:
    """A column: each program's figure against that of `to`, or that of `of` against each's."""

    title: str
    figure: Callable[[Outcome], float]
    to: str = ""
    of: str = ""

    def cell(self, found: Race, program: str) -> str:
        """Median and range of the ratios within a round; empty where one of the two is missing."""
        one, other = self.of or program, self.to or program
        if not found.outcomes[one] or not found.outcomes[other]:
            return ""
        return found.ratio(one, other, self.figure).text()


def chunk_cpu(rounds: int) -> Iterator[str]:
    """CPU an event, each event in a segment of its own."""
    clients = (LIMIT, LOADGEN, AIOHTTP, VLLM, SGLANG)
    for rate, job in RATES.items():
        found = race(f"CPU per event, {rate}, {job.streams} streams", clients, job, rounds)
        yield table(
            found,
            ("us/event", lambda o: o.steady_us, 1),
            ("of it, busiest process", lambda o: o.busiest_us, 1),
            ("events/s", lambda o: o.rate, 0),
            ratios=(
                Ratio("x C", lambda o: o.steady_us, to=LIMIT.name),
                Ratio("busiest process x C", lambda o: o.busiest_us, to=LIMIT.name),
                Ratio("loadgen x this", lambda o: o.steady_us, of=LOADGEN.name),
            ),
        )


def firehose(rounds: int) -> Iterator[str]:
    """As many events as the client takes, 16 a write."""
    for streams, requests in FIREHOSE.items():
        clients = (LIMIT, LOADGEN, AIOHTTP, HTTPX_AIOHTTP, HTTPX)
        job = Job(streams, requests, 256, ttft_ms=0)
        found = race(f"Firehose, {streams} streams", clients, job, rounds, "--coalesce", "16")
        yield table(
            found,
            ("events/s read", lambda o: o.rate, 0),
            ("us/event, decoding and end included", lambda o: o.job_us, 2),
            ratios=(
                Ratio("rate, x aiohttp", lambda o: o.rate, to=AIOHTTP.name),
                Ratio("loadgen's rate x this", lambda o: o.rate, of=LOADGEN.name),
            ),
        )


def whole_tool(rounds: int) -> Iterator[str]:
    """Whole command lines: start, run, report."""
    for requests in (1000, 2000):
        job = Job(256, requests, 128, itl_ms=5.0)
        clients = (LIMIT, LOADGEN, AIOHTTP, VLLM, SGLANG)
        yield tool_table(
            race(f"Whole program, {requests} x 128, 256 streams", clients, job, rounds)
        )


def tools(_rounds: int) -> Iterator[str]:
    """The heavy tools, once each."""
    job = Job(256, 1000, 128, itl_ms=5.0)
    # not every tool passes members of the body on, so the server keeps the timetable by itself
    timetable = ("--ttft-ms", "50", "--itl-ms", "5")
    title = "Whole tools, 1000 x 128, 256 streams, one round"
    yield tool_table(race(title, (LOADGEN, *TOOLS), job, 1, *timetable))
    yield "\n".join(f"- {name}: not run, {why}." for name, why in programs.NOT_HERE) + "\n"


def tool_table(found: Race) -> str:
    """CPU, memory, start and duration of whole programs."""
    return table(
        found,
        ("CPU s", lambda o: o.cpu_s, 2),
        ("us/event in the second half", lambda o: o.steady_us, 1),
        ("peak MB", lambda o: o.peak_mb, 0),
        ("first request after s", lambda o: o.start_s, 2),
        ("wall s", lambda o: o.wall_s, 1),
        ratios=(Ratio("CPU, x loadgen", lambda o: o.cpu_s, to=LOADGEN.name),),
    )


def ttft(rounds: int) -> Iterator[str]:
    """What is reported against what was true."""
    for streams, itl_ms, requests in ((64, 20.0, 128), (256, 5.0, 768)):
        job = Job(streams, requests, 128, itl_ms=itl_ms)
        clients = (LIMIT, LOADGEN, AIOHTTP)
        title = f"TTFT p99 reported less true, {streams} streams x {1000 / itl_ms:.0f} tokens/s"
        yield table(race(title, clients, job, rounds), ("ms", lambda o: o.ttft_excess_ms, 2))


def table(
    found: Race,
    *columns: tuple[str, Callable[[Outcome], float], int],
    ratios: Sequence[Ratio] = (),
) -> str:
    """Markdown: a line a program, median (range)."""
    heads = [title for title, _, _ in columns] + [ratio.title for ratio in ratios]
    lines = [f"### {found.title}\n", "| program | " + " | ".join(heads) + " |"]
    lines.append("|---" * (len(heads) + 1) + "|")
    for program, outcomes in found.outcomes.items():
        if not outcomes:
            why = found.failed.get(program, "no run")
            lines.append(f"| {program} | not run: {why} |" + " |" * (len(heads) - 1))
            continue
        cells = [found.figure(program, what).text(digits) for _, what, digits in columns]
        cells += [ratio.cell(found, program) for ratio in ratios]
        lines.append(f"| {program} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def stamps(rounds: int) -> Iterator[str]:
    """Stamps of loadgen itself under several kinds of stress."""
    yield from stamping.tables(rounds)


SECTIONS: dict[str, Callable[[int], Iterator[str]]] = {
    "chunk_cpu": chunk_cpu,
    "firehose": firehose,
    "whole_tool": whole_tool,
    "ttft": ttft,
    "stamps": stamps,
    "tools": tools,
}
SHORT: Sequence[str] = ("chunk_cpu", "firehose", "ttft")


if __name__ == "__main__":
    main()
