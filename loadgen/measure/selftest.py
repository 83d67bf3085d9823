"""A machine's measuring error: what was seen against what a server of ours logged as sent."""

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import msgspec
import numpy as np

import loadgen
from loadgen import clock
from loadgen.errors import RunFailedError
from loadgen.measure import measure
from loadgen.measure.calibration import keep_calibration
from loadgen.measure.mockserver import running_mock
from loadgen.mock.metronome.truthdump import SentRequest, read_truth
from loadgen.model.observed import Observed
from loadgen.model.plan import Plan, PointPlan, TargetPlan, WorkloadPlan
from loadgen.model.provenance import Calibration
from loadgen.model.record import EventKind
from loadgen.model.table import RunTable
from loadgen.store.recording import read_recording
from loadgen.units import MS_PER_S, NS_PER_S, NS_PER_US

TTFT_MS = 50.0
SERVER_LATE_MAX_US = 2000.0
CLEAN_US = 1000.0
"""A rate is clean while the p99 stamp error is at most this and the server kept time."""
STEPS = (2.0, 4.0)
"""Multiples of the asked rate that are tried next, until one is not clean."""
STEP_NS = 2 * NS_PER_S
Key = tuple[int, int, int]
"""(point, share, seq): which request of ours a logged one was."""


class Errors(msgspec.Struct, frozen=True):
    """Quantiles (p50, p99, max) of seen minus sent, microseconds, and what was counted."""

    streams: int
    tokens_sent: int
    tokens_seen: int
    stamp_us: tuple[float, float, float]
    ttft_us: tuple[float, float, float]
    multi_event_read_frac: float
    server_late_us: tuple[float, float, float]
    """The server's own lateness: where it is large, the errors are still true (they refer to
    what was really written), but the asked rate was not kept."""
    ceiling_eps: float | None = None
    """Events a second of one worker, the highest clean rate tried; None: not even the first."""
    is_client_limit: bool = False
    """The next rate was not clean though the server kept time; else the true ceiling is higher."""

    @property
    def is_clean(self) -> bool:
        """Whether stamps held and the server kept its timetable."""
        kept = self.server_late_us[1] <= SERVER_LATE_MAX_US
        return kept and self.stamp_us[1] <= CLEAN_US and self.tokens_seen == self.tokens_sent


def selftest(streams: int, rate_eps: float, duration_ns: int, output: str) -> Iterator[str]:
    """The report in pieces, as text or JSON, of a burst of streams against the metronome.

    `rate_eps` is events a second and stream. Raises `LoadgenError` where the servers don't start.
    """
    errors = with_ceiling(examine(streams, rate_eps, duration_ns), rate_eps)
    keep(errors)
    if output == "json":
        yield msgspec.json.format(msgspec.json.encode(errors), indent=2).decode() + "\n"
        return
    yield from _lines(errors, rate_eps)


def with_ceiling(errors: Errors, rate_eps: float) -> Errors:
    """The errors with the highest clean rate that was found by going on from `rate_eps`."""
    if not errors.is_clean:
        return errors
    best, is_client_limit = rate_eps, False
    for step in STEPS:
        tried = examine(errors.streams, rate_eps * step, STEP_NS)
        if not tried.is_clean:
            is_client_limit = tried.server_late_us[1] <= SERVER_LATE_MAX_US
            break
        best = rate_eps * step
    ceiling_eps = best * errors.streams
    return msgspec.structs.replace(errors, ceiling_eps=ceiling_eps, is_client_limit=is_client_limit)


def keep(errors: Errors) -> None:
    """Caches what later runs on this host are held against; nothing where no rate was clean."""
    if errors.ceiling_eps is None:
        return
    p50_ns, p99_ns, max_ns = (round(mark * NS_PER_US) for mark in errors.stamp_us)
    keep_calibration(
        Calibration(
            host=clock.host_name(),
            tool_version=loadgen.__version__,
            made_wall_ns=clock.wall_ns(),
            stamp_p50_ns=p50_ns,
            stamp_p99_ns=p99_ns,
            stamp_max_ns=max_ns,
            ttft_p99_ns=round(errors.ttft_us[1] * NS_PER_US),
            ceiling_eps=errors.ceiling_eps,
            is_client_limit=errors.is_client_limit,
        )
    )


def examine(streams: int, rate_eps: float, duration_ns: int) -> Errors:
    """One worker against the metronome, each on cores of its own where there are two or more."""
    server_cores, client_cores = _halves()
    with _on_cores(server_cores):
        server = running_mock(kind="metronome")
        url = server.__enter__()
    try:
        with _on_cores(client_cores), tempfile.TemporaryDirectory() as out:
            plan = burst_plan(url, streams, rate_eps, duration_ns)
            recording = read_recording(measure(plan, Path(out), {}, Observed(), lambda _: None))
        truth = read_truth(httpx.get(f"{url}/truth", timeout=60.0).content)
        return judge(recording.table, truth.requests)
    finally:
        server.__exit__(None, None, None)


def burst_plan(url: str, streams: int, rate_eps: float, duration_ns: int) -> Plan:
    """All streams launched at once; each brings `rate_eps` tokens a second for `duration_ns`."""
    tokens = max(2, round(duration_ns / NS_PER_S * rate_eps))
    timetable: dict[str, object] = {"ttft_ms": TTFT_MS, "itl_ms": MS_PER_S / rate_eps}
    return Plan(
        run_id="selftest",
        command="selftest",
        target=TargetPlan(url, "metronome", extra_body=timetable),
        workload=WorkloadPlan(isl="32", osl=str(tokens)),
        points=(PointPlan(0, f"closed:{streams}", requests=streams, stagger_ns=0),),
        preflight=False,
    )


def key_of(request_id: str) -> Key | None:
    """The request behind an id that our sender made; None for others."""
    words = request_id.split("-")
    if len(words) < 5 or words[0] != "lg":
        return None
    point, share, seq = words[2:5]
    return int(point), int(share), int(seq)


def judge(table: RunTable, requests: Iterable[SentRequest]) -> Errors:
    """Stamps and TTFT of a recording against a server's log, request by request.

    A stamp's error is its time less the instant just before the server's write. TTFT's error is
    the client's (first token less send) less the server's (first write less request received).
    """
    logged = {key: request for request in requests if (key := key_of(request.request_id))}
    stamps: list[int] = []
    ttfts: list[int] = []
    late: list[int] = []
    seen = total = 0
    for row in range(len(table)):
        request = logged[int(table.point[row]), int(table.share[row]), int(table.seq[row])]
        events = slice(int(table.event_start[row]), int(table.event_start[row + 1]))
        at_ns = table.event_at_ns[events][table.event_kind[events] != EventKind.OTHER].tolist()
        content = request.content
        seen += len(at_ns)
        total += len(content)
        late += [event.late_ns for event in content]
        if len(at_ns) == len(content) > 0:
            stamps += [at - event.before_ns for at, event in zip(at_ns, content, strict=True)]
            true_ns = content[0].before_ns - request.received_ns
            ttfts.append(at_ns[0] - int(table.sent_at_ns[row]) - true_ns)
    reads = int(table.reads.sum())
    return Errors(
        streams=len(table),
        tokens_sent=total,
        tokens_seen=seen,
        stamp_us=_quantiles_us(stamps),
        ttft_us=_quantiles_us(ttfts),
        server_late_us=_quantiles_us(late),
        multi_event_read_frac=int(table.multi_event_reads.sum()) / reads if reads else 0.0,
    )


def _quantiles_us(errors_ns: Sequence[int]) -> tuple[float, float, float]:
    """p50, p99 and maximum of the magnitudes."""
    if not errors_ns:
        raise RunFailedError("no stream came through whole, so no error can be told")
    marks = np.quantile(np.abs(errors_ns), (0.5, 0.99, 1.0), method="inverted_cdf") / NS_PER_US
    return float(marks[0]), float(marks[1]), float(marks[2])


def _lines(errors: Errors, rate_eps: float) -> Iterator[str]:
    kept = errors.server_late_us[1] <= SERVER_LATE_MAX_US
    yield f"{errors.streams} streams x {rate_eps:g} events/s, launched at once, one worker\n\n"
    yield f"  {'':24}{'p50':>10}{'p99':>10}{'max':>10}\n"
    for name, marks in (
        ("stamp error, ms", errors.stamp_us),
        ("TTFT error, ms", errors.ttft_us),
        ("the server's lateness, ms", errors.server_late_us),
    ):
        yield f"  {name:25}" + "".join(f"{mark / MS_PER_S:>10.3f}" for mark in marks)[1:] + "\n"
    yield f"\n  tokens        sent {errors.tokens_sent:,}, seen {errors.tokens_seen:,}\n"
    yield f"  reads         {errors.multi_event_read_frac:.1%} brought several tokens\n"
    yield f"  ceiling       {_ceiling(errors)}\n"
    if not kept:
        yield (
            "\n  note          the server was late itself, so this host is busy; the errors are\n"
            "                still true: they refer to what was really written\n"
        )


def _ceiling(errors: Errors) -> str:
    if errors.ceiling_eps is None:
        return "not told: this rate was not clean (p99 over 1 ms, or the server was late)"
    least = "" if errors.is_client_limit else "at least "
    return f"{least}{errors.ceiling_eps:,.0f} events/s a worker; kept for later runs"


def _halves() -> tuple[set[int], set[int]]:
    """One core for the server and the others for the client; all for both where there is one."""
    if not hasattr(os, "sched_getaffinity"):
        return set(), set()
    cores = sorted(os.sched_getaffinity(0))
    return ({cores[0]}, set(cores[1:])) if len(cores) > 1 else (set(cores), set(cores))


@contextmanager
def _on_cores(cores: set[int]) -> Iterator[None]:
    """Processes that are started inside stay on these cores."""
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
