"""`vllm bench serve --save-result --save-detailed`: one JSON object a load point.

Its lists hold one entry a request: TTFT, gaps between events, start, lengths, error.
"""

from http import HTTPStatus
from pathlib import Path

from msgspec import Struct

from loadgen.errors import InputError
from loadgen.foreign.documents import (
    Count,
    Document,
    Seconds,
    WallSeconds,
    same_length,
    typed,
)
from loadgen.foreign.recording import Source, recording_of, untold
from loadgen.foreign.rows import Row, most_at_once, ns
from loadgen.model.exchange import Outcome
from loadgen.model.imported import Imported
from loadgen.model.record import EventKind
from loadgen.model.table import Recording

TOOL = "vllm"
STATUSES = {status.phrase.lower(): int(status) for status in HTTPStatus}
"""It keeps the phrase of a refusal, not its number."""
PER_REQUEST = ("ttfts", "itls", "start_times", "input_lens", "output_lens")
NOTES = (
    (
        "TTFT and gaps are between events as its one asyncio loop saw them, not between tokens; "
        "the last gap of a request may end at an event that holds the finish reason alone"
    ),
    "releases before 0.33 take the role event for the first token",
    "output tokens are the server's where it gave usage, else a tokenizer's: which isn't told",
)
GONE = (
    "ttfr_s",
    "ttfa_s",
    "reasoning_frac",
    "done_s",
    "cached_frac",
    "in_tps_uncached",
)


class VllmResult(Struct):
    """What is read of the object; the lists are missing without `--save-detailed`."""

    duration: Seconds
    completed: Count
    backend: str = ""
    model_id: str = ""
    request_rate: float | str | None = None
    burstiness: float = 1.0
    max_concurrency: Count | None = None
    ttfts: list[Seconds] | None = None
    itls: list[list[Seconds]] | None = None
    start_times: list[WallSeconds] | None = None
    input_lens: list[Count] | None = None
    output_lens: list[Count] | None = None
    errors: list[str] | None = None
    queue_times: list[Seconds] | None = None


def knows(document: Document) -> bool:
    """Whether the document is such a result."""
    return document.has("request_throughput", "model_id", "duration")


def read(path: Path, documents: list[Document]) -> Recording:
    """The recording; several lines (`--append-result`) are several points.

    Raises:
        InputError: a value is not what the format promises, or there is nothing by request.

    """
    rows: list[Row] = []
    loads, spans, printed, results = [], [], [], []
    for point, document in enumerate(documents):
        result = typed(path, document, VllmResult)
        found = _rows(path, document, result, point)
        loads.append(_load(result, found))
        spans.append(result.duration)
        printed.append(_printed(document))
        results.append(result)
        rows += found
    source = Source(
        model=results[0].model_id,
        endpoint_type="chat" if "chat" in results[0].backend else "completions",
    )
    queued = any(row.due_at_ns is not None for row in rows)
    gone = GONE if queued else (*GONE, "send_lag_s")
    imported = Imported(
        tool=TOOL,
        version="",
        lacks=untold(TOOL, *gone),
        notes=NOTES,
        spans_s=tuple(spans),
        printed=tuple(printed),
    )
    return recording_of(path, source, loads, rows, imported)


def _rows(path: Path, document: Document, result: VllmResult, point: int) -> list[Row]:
    lists = {name: getattr(result, name) for name in PER_REQUEST}
    missing = next((name for name, values in lists.items() if values is None), None)
    if missing is not None:
        raise InputError(
            f"`{path}:{document.line}` at `$.{missing}`: a list with one value a request was "
            "expected; there is none",
            "measure again with `vllm bench serve --save-result --save-detailed`",
        )
    n = same_length(path, document, lists)
    errors = result.errors or [""] * n
    queued = result.queue_times or [0.0] * n
    same_length(path, document, {"ttfts": lists["ttfts"], "errors": errors, "queue_times": queued})
    zero_s = min(lists["start_times"], default=0.0)
    paced = _rate(result) is not None
    found = []
    for number in range(n):
        sent = ns(lists["start_times"][number], zero_s)
        failed = bool(errors[number]) or not lists["output_lens"][number]
        row = Row(
            sent_at_ns=sent,
            point=point,
            prompt_tok=lists["input_lens"][number],
            session=f"p{point}r{number}",
        )
        if paced:
            row.due_at_ns = sent - ns(queued[number])
        if failed:
            row.detail = errors[number][:300] or "no reason given"
            row.http_status = STATUSES.get(row.detail.lower())
            row.outcome = Outcome.BAD_STREAM if row.http_status is None else Outcome.HTTP_ERROR
        else:
            row.output_tok = lists["output_lens"][number]
            row.events = _events(sent, lists["ttfts"][number], lists["itls"][number])
        found.append(row)
    return found


def _events(sent_at_ns: int, ttft_s: float, gaps_s: list[float]) -> list[tuple[int, EventKind]]:
    """Instants of the events: after TTFT, then after each gap."""
    at_s = ttft_s
    events = [(sent_at_ns + ns(at_s), EventKind.CONTENT)]
    for gap_s in gaps_s:
        at_s += gap_s
        events.append((sent_at_ns + ns(at_s), EventKind.CONTENT))
    return events


def _rate(result: VllmResult) -> float | None:
    """The asked request rate; None where all were sent as soon as slots allowed."""
    rate = result.request_rate
    return float(rate) if isinstance(rate, int | float) else None


def _load(result: VllmResult, rows: list[Row]) -> str:
    """Its load in our words."""
    rate = _rate(result)
    if rate is None:
        return f"closed:{result.max_concurrency or max(most_at_once(rows), 1)}"
    if result.burstiness == 1.0:
        return f"poisson:rate={rate:g}/s"
    return f"gamma:rate={rate:g}/s,shape={result.burstiness:g}"


def _printed(document: Document) -> dict[str, float]:
    """Every number that stands in the object by itself."""
    members = document.value if isinstance(document.value, dict) else {}
    return {
        name: float(value)
        for name, value in members.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
