"""guidellm's JSON: benchmarks, each with its requests by how they ended.

A request has the stamps of its first and last token and how many events came; guidellm spaces
those between evenly, and so does this.
"""

from pathlib import Path
from typing import Any

from msgspec import Struct

from loadgen.errors import InputError
from loadgen.foreign.documents import Count, Document, WallSeconds, typed
from loadgen.foreign.recording import Source, recording_of, untold
from loadgen.foreign.rows import Row, ns
from loadgen.model.exchange import Outcome
from loadgen.model.imported import Imported
from loadgen.model.record import EventKind
from loadgen.model.table import Recording

TOOL = "guidellm"
PACED = {"constant": "constant", "async_constant": "constant", "poisson": "poisson"}
NOTES = (
    (
        "the file holds first and last token only: events between are spaced evenly, as guidellm "
        "does for its rates"
    ),
    "its clock starts when the headers are written: connecting is outside TTFT",
    "stamps are of the wall clock, per line as its loop saw them",
)
GONE = (
    "icl_s", "itl_s", "stall_s", "stall_frac", "tok_per_event", "out_peak_tps", "reasoning_frac",
)  # fmt: skip
STATS = ("mean", "median", "std_dev", "min", "max")


class Timings(Struct):
    """Wall-clock seconds."""

    resolve_start: WallSeconds | None = None
    request_start: WallSeconds | None = None
    request_end: WallSeconds | None = None
    resolve_end: WallSeconds | None = None
    targeted_start: WallSeconds | None = None
    first_token_iteration: WallSeconds | None = None
    first_output_token_iteration: WallSeconds | None = None
    last_token_iteration: WallSeconds | None = None
    token_iterations: Count = 0


class Info(Struct):
    """When, and why it failed."""

    timings: Timings
    error: str | None = None
    turn_index: Count | None = None
    conversation_id: str | None = None


class Usage(Struct):
    """Token counts of a prompt or an answer."""

    total_tokens: Count | None = None
    text_tokens: Count | None = None
    cached_tokens: Count | None = None


class Request(Struct):
    """One request."""

    info: Info
    input_metrics: Usage
    output_metrics: Usage


class Requests(Struct):
    """By how they ended."""

    successful: list[Request] | None = None
    errored: list[Request] | None = None
    incomplete: list[Request] | None = None


class Scheduler(Struct):
    """The span that rates are over, and how many requests there were."""

    measure_start_time: WallSeconds
    measure_end_time: WallSeconds
    requests_made: dict[str, Count]


class Strategy(Struct):
    """The load."""

    type_: str
    streams: Count | None = None
    max_concurrency: Count | None = None
    rate: float | None = None


class Config(Struct):
    """Of one benchmark."""

    strategy: Strategy


class Benchmark(Struct):
    """One load point."""

    config: Config
    scheduler_metrics: Scheduler
    metrics: dict[str, Any]
    requests: Requests


class Meta(Struct):
    """Who wrote the file."""

    guidellm_version: str
    platform: str = ""


class Report(Struct):
    """The whole file."""

    metadata: Meta
    benchmarks: list[Benchmark]
    config: dict[str, Any] = {}


def knows(document: Document) -> bool:
    """Whether the document is such a report."""
    return document.has("benchmarks", "metadata")


def read(path: Path, documents: list[Document]) -> Recording:
    """The recording, one point a benchmark. Raises: InputError."""
    report = typed(path, documents[0], Report)
    rows: list[Row] = []
    loads, spans, printed, short = [], [], [], []
    zero_s = min((b.scheduler_metrics.measure_start_time for b in report.benchmarks), default=0.0)
    for point, benchmark in enumerate(report.benchmarks):
        found = _rows(benchmark, point, zero_s)
        made = benchmark.scheduler_metrics.requests_made.get("total", len(found))
        if not found and made:
            raise InputError(
                f"`{path}` at `$.benchmarks[{point}].requests`: requests were expected; all "
                f"{made} were left out of the file",
                "write it without a sample size of 0: guidellm's --metrics sample_size",
            )
        if len(found) < made:
            short.append(f"point {point} holds a sample of {len(found)} of {made} requests")
        told = benchmark.scheduler_metrics
        loads.append(_load(benchmark.config.strategy))
        spans.append(told.measure_end_time - told.measure_start_time)
        printed.append(_printed(benchmark.metrics))
        rows += found
    source = _source(report, zero_s)
    paced = any(row.due_at_ns is not None for row in rows)
    imported = Imported(
        tool=TOOL,
        version=report.metadata.guidellm_version,
        lacks=untold(TOOL, *(GONE if paced else (*GONE, "send_lag_s"))),
        notes=(*NOTES, *short),
        spans_s=tuple(spans),
        printed=tuple(printed),
    )
    return recording_of(path, source, loads, rows, imported)


def _rows(benchmark: Benchmark, point: int, zero_s: float) -> list[Row]:
    requests = benchmark.requests
    paced = benchmark.config.strategy.type_ in PACED
    groups = [
        (Outcome.OK, requests.successful),
        (Outcome.BAD_STREAM, requests.errored),
        (Outcome.UNFINISHED, requests.incomplete),
    ]
    return [
        _row(request, outcome, point, zero_s, paced=paced)
        for outcome, group in groups
        for request in group or ()
        if _start_s(request) is not None
    ]


def _start_s(request: Request) -> float | None:
    told = request.info.timings
    return told.request_start if told.request_start is not None else told.resolve_start


def _row(request: Request, outcome: Outcome, point: int, zero_s: float, *, paced: bool) -> Row:
    told = request.info.timings
    end_s = told.request_end if told.request_end is not None else told.resolve_end
    due = ns(told.targeted_start, zero_s) if paced and told.targeted_start is not None else None
    row = Row(
        sent_at_ns=ns(_start_s(request) or 0.0, zero_s),
        due_at_ns=due,
        done_at_ns=None if end_s is None else ns(end_s, zero_s),
        events=_events(told, zero_s),
        point=point,
        outcome=outcome,
        detail=(request.info.error or "")[:300],
        prompt_tok=request.input_metrics.total_tokens,
        cached_tok=request.input_metrics.cached_tokens,
        output_tok=request.output_metrics.total_tokens,
        turn_no=request.info.turn_index or 0,
        session=f"p{point}:{request.info.conversation_id or ''}",
    )
    if outcome is Outcome.BAD_STREAM and "HTTPStatusError" in row.detail:
        row.outcome = Outcome.HTTP_ERROR
        row.http_status = next(
            (int(word.strip("'")) for word in row.detail.split() if word.strip("'").isdigit()), None
        )
    return row


def _events(told: Timings, zero_s: float) -> list[tuple[int, EventKind]]:
    """First token, last token, and as many between them, evenly, as events came."""
    first_s, last_s = told.first_token_iteration, told.last_token_iteration
    if first_s is None:
        return []
    first = ns(first_s, zero_s)
    if last_s is None or told.token_iterations < 2:
        return [(first, EventKind.CONTENT)]
    span, n = ns(last_s, zero_s) - first, told.token_iterations - 1
    answer_s = told.first_output_token_iteration
    answer = ns(answer_s, zero_s) if answer_s is not None else None
    at_ns = [first + round(span * step / n) for step in range(n + 1)]
    if answer is not None and answer > first:
        nearest = min(range(1, n + 1), key=lambda step: abs(at_ns[step] - answer))
        at_ns[nearest] = answer
    return [
        (at, EventKind.REASONING if answer is not None and at < answer else EventKind.CONTENT)
        for at in at_ns
    ]


def _load(strategy: Strategy) -> str:
    """The strategy in our words."""
    if strategy.type_ in PACED and strategy.rate:
        return f"{PACED[strategy.type_]}:rate={strategy.rate:g}/s"
    slots = strategy.streams or strategy.max_concurrency or 1
    return f"closed:{slots}"


def _printed(metrics: dict[str, Any]) -> dict[str, float]:
    """`name.stat` of the successful requests; totals by how requests ended."""
    found: dict[str, float] = {}
    for name, told in metrics.items():
        good = told.get("successful") if isinstance(told, dict) else None
        if name == "request_totals" and isinstance(told, dict):
            found |= {f"{name}.{how}": float(count) for how, count in told.items()}
        if not isinstance(good, dict) or not good.get("count"):
            continue
        numbers = {stat: good.get(stat) for stat in STATS}
        percentiles = good.get("percentiles")
        numbers |= percentiles if isinstance(percentiles, dict) else {}
        found |= {
            f"{name}.{stat}": float(value)
            for stat, value in numbers.items()
            if isinstance(value, int | float)
        }
    return found


def _source(report: Report, zero_s: float) -> Source:
    spec = report.config.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    backend = spec.get("backend")
    backend = backend if isinstance(backend, dict) else {}
    data = spec.get("data")
    first = data[0] if isinstance(data, list) and data and isinstance(data[0], dict) else {}
    ends = [b.scheduler_metrics.measure_end_time for b in report.benchmarks]
    return Source(
        model=str(backend.get("model") or ""),
        url=str(backend.get("target") or ""),
        isl=str(first.get("prompt_tokens") or "not told"),
        osl=str(first.get("output_tokens") or "not told"),
        started_wall_ns=ns(zero_s),
        ended_wall_ns=ns(max(ends, default=0.0)),
        platform=report.metadata.platform,
        stream=backend.get("stream") is not False,
        endpoint_type="chat" if "chat" in str(backend.get("request_format")) else "completions",
    )
