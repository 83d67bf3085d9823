"""What a report of a long stored run takes: seconds and peak memory of `loadgen report`.

    python benchmarks/report.py [--short] [--requests N] [--events N] [--format F] [--keep DIR]

Makes a run folder out of records (a closed sweep of six points, answers of about 250 chunks),
then reports it in a process of its own. Limits: 200,000 requests with 50 million chunks within
60 s and 2 GB, 1,000 requests within 2 s.
"""

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from array import array
from pathlib import Path

from loadgen.model.exchange import Outcome, Phase, StampKind, TurnKey
from loadgen.model.observed import ClientHealth
from loadgen.model.plan import Plan, PointPlan, TargetPlan, WorkloadPlan
from loadgen.model.record import Events, Record, Usage
from loadgen.store.folder import RunFile, create_run_folder, write_run_file
from loadgen.store.requests import finish
from loadgen.store.segments import SegmentWriter

MS = 1_000_000
SLOTS = (1, 4, 16, 64, 256, 1024)
GAP_NS = 8 * MS
PAUSE_NS = 2_000 * MS


def make_run(out: Path, requests: int, events: int) -> Path:
    """The folder of a finished run with so many requests and chunks in all."""
    each = max(2, events // requests)
    points = tuple(PointPlan(index, f"closed:{slots}") for index, slots in enumerate(SLOTS))
    plan = Plan(
        run_id="benchmark",
        target=TargetPlan(base_url="http://127.0.0.1:1/v1", model="stored"),
        workload=WorkloadPlan(),
        points=points,
    )
    folder = create_run_folder(out, "stored")
    writer = SegmentWriter(folder, 0)
    rng = random.Random("report")
    start_ns, health = 10 * MS, []
    weights = [slots**0.5 for slots in SLOTS]
    for index, slots in enumerate(SLOTS):
        count = max(slots, round(requests * weights[index] / sum(weights)))
        end_ns = _write_point(writer, rng, index, slots, count, each, start_ns)
        health.append(_health(index, count, slots, start_ns, end_ns))
        start_ns = end_ns + PAUSE_NS
    writer.close()
    finish(folder)
    write_run_file(folder, RunFile(state="complete", plan=plan, health=tuple(health)))
    return folder


def _health(index: int, count: int, slots: int, start_ns: int, end_ns: int) -> ClientHealth:
    """A client that had nothing to suffer."""
    return ClientHealth(
        share=0,
        point=index,
        started_at_ns=start_ns,
        ended_at_ns=end_ns,
        issued=count,
        ended=count,
        in_flight_max=slots,
        loop_lag_p50_ns=50_000,
        loop_lag_p99_ns=400_000,
        loop_lag_max_ns=MS,
        stop_reason="requests",
    )


def _write_point(
    writer: SegmentWriter,
    rng: random.Random,
    point: int,
    slots: int,
    count: int,
    each: int,
    start_ns: int,
) -> int:
    """Appends one point's records; when its last answer ended."""
    free = [start_ns + rng.randrange(200 * MS) for _ in range(slots)]
    gap_ns = round(GAP_NS * (1 + slots / 256))
    for seq in range(count):
        slot = seq % slots
        due = free[slot]
        first = due + round(60 * MS * (1 + slots / 64) * rng.lognormvariate(0, 0.3))
        n = max(2, round(each * rng.lognormvariate(-0.045, 0.3)))
        step = round(gap_ns * rng.lognormvariate(0, 0.05))
        last = first + step * (n - 1)
        writer.append(_record(point, seq, due, array("q", range(first, last + 1, step))))
        free[slot] = last + MS
    return max(free)


def _record(point: int, seq: int, due: int, at_ns: "array[int]") -> Record:
    n = len(at_ns)
    return Record(
        key=TurnKey(
            point,
            0,
            seq,
            session_id=f"s{point}-{seq}",
            turn_id="t0",
            turn_no=0,
            prompt_id=f"p{seq}",
            phase=Phase.WINDOW,
        ),
        outcome=Outcome.OK,
        due_at_ns=due,
        sent_at_ns=due + 40_000,
        written_at_ns=due + 60_000,
        headers_at_ns=at_ns[0] - 10_000,
        first_byte_at_ns=at_ns[0],
        done_at_ns=at_ns[-1] + 100_000,
        http_status=200,
        finish_reason="stop",
        usage=Usage(input_tok=1021, cached_tok=0, output_tok=n),
        own_tok=n,
        own_tok_source="events",
        input_tok=1024,
        max_output_tok=n,
        reads=n,
        content_chars=4 * n,
        stamp_kind=StampKind.KERNEL,
        events=Events(
            at_ns=at_ns,
            read_no=array("i", range(n)),
            kind=array("B", [2]) * n,
            tok=array("i", [1]) * n,
            chars=array("i", [4]) * n,
        ),
    )


def report(folder: Path, output: str, out: Path) -> tuple[float, float, int]:
    """Seconds, peak MB and bytes of `loadgen report FOLDER --format OUTPUT`."""
    command = [sys.executable, "-m", "loadgen", "report", str(folder), "-f", output, "-o", str(out)]
    before = time.monotonic()
    subprocess.run(command, check=True)
    took_s = time.monotonic() - before
    peak_kb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return took_s, peak_kb * 1024 / 1e6, out.stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="2,000 requests")
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--events", type=int, default=50_000_000)
    parser.add_argument("--format", default="html")
    parser.add_argument("--keep", help="a folder that is kept; a run that it holds is taken")
    given = parser.parse_args()
    requests = 2_000 if given.short else given.requests
    events = 500_000 if given.short else given.events
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(given.keep or scratch)
        kept = sorted(place.glob("*/run.json"))
        folder = kept[0].parent if kept else make_run(place, requests, events)
        took_s, peak_mb, size = report(folder, given.format, Path(scratch) / "report")
        print(
            f"{given.format}: {requests:,} requests, {events:,} chunks: {took_s:.1f} s,"
            f" peak {peak_mb:,.0f} MB, {size / 1e6:.2f} MB"
        )


if __name__ == "__main__":
    main()
