"""aiperf's `profile_export.jsonl`: one request a line, instants in ns, times with their units.

`profile_export_aiperf.json` beside it says which load it was and what aiperf printed.
"""

from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from loadgen.errors import InputError
from loadgen.foreign.documents import Count, Document, Nanoseconds, read_documents, typed
from loadgen.foreign.recording import Source, recording_of, untold
from loadgen.foreign.rows import Row, most_at_once
from loadgen.model.exchange import Outcome, Phase
from loadgen.model.imported import Imported
from loadgen.model.record import EventKind
from loadgen.model.table import Recording
from loadgen.units import NS_PER_MS, NS_PER_S, NS_PER_US

TOOL = "aiperf"
SUMMARY = "profile_export_aiperf.json"
LONGEST_NS = 10**18
NS_PER = {"ns": 1, "us": NS_PER_US, "ms": NS_PER_MS, "s": NS_PER_S, "sec": NS_PER_S}
NOTES = (
    (
        "stamps are its worker's at the socket read; TTFT from due counts from the instant "
        "that a credit was issued"
    ),
    "lengths are its own tokenizer's where it counted, the server's usage beside them",
)
GONE = ("done_s", "reasoning_frac")
TIMEOUTS = ("timeout",)
NO_CONNECTION = ("connect", "refused", "dns", "resolve")


class Value(Struct):
    """A figure with its unit."""

    value: Any = None
    unit: str = ""


class Fault(Struct):
    """Why a request failed."""

    type: str | None = None
    code: Count | None = None
    message: str = ""


class Metadata(Struct):
    """When and in which phase."""

    request_start_ns: Nanoseconds
    benchmark_phase: str = "profiling"
    credit_issued_ns: Nanoseconds | None = None
    request_ack_ns: Nanoseconds | None = None
    request_end_ns: Nanoseconds | None = None
    was_cancelled: bool = False
    turn_index: Count | None = None
    conversation_id: str | None = None


class Line(Struct):
    """One request."""

    metadata: Metadata
    metrics: dict[str, Value]
    error: Fault | None = None


def knows(document: Document) -> bool:
    """Whether the document is one such line, or the summary that stands beside such a file."""
    return document.has("metadata", "metrics") or document.has("aiperf_version")


def read(path: Path, documents: list[Document]) -> Recording:
    """The recording. Raises: InputError."""
    if documents[0].has("aiperf_version"):
        path, documents = _beside(path)
    lines = [(document, typed(path, document, Line)) for document in documents]
    zero_ns = min(line.metadata.request_start_ns for _, line in lines)
    rows = [_row(path, document, line, zero_ns) for document, line in lines]
    summary = _summary(path)
    config = _at(summary, "input_config")
    imported = Imported(
        tool=TOOL,
        version=str(_at(summary, "aiperf_version") or ""),
        lacks=untold(TOOL, *GONE, *_gone(lines)),
        notes=NOTES,
        spans_s=(_span_s(summary),),
        printed=(_printed(summary),),
        asked_by_client=True,
    )
    ends = [line.metadata.request_end_ns or 0 for _, line in lines]
    source = Source(
        model=str(_at(config, "models", "items", 0, "name") or ""),
        url=str(_at(config, "endpoint", "urls", 0) or ""),
        isl=_length(config, "isl"),
        osl=_length(config, "osl"),
        started_wall_ns=zero_ns,
        ended_wall_ns=max(ends),
        command_line=str(_at(summary, "run_info", "cli_command") or ""),
        stream=_at(config, "endpoint", "streaming") is not False,
        endpoint_type=str(_at(config, "endpoint", "type") or "chat"),
    )
    return recording_of(path, source, [_load(config, rows)], rows, imported)


def _row(path: Path, document: Document, line: Line, zero_ns: int) -> Row:
    told = line.metadata
    sent = told.request_start_ns - zero_ns
    row = Row(
        sent_at_ns=sent,
        due_at_ns=None if told.credit_issued_ns is None else told.credit_issued_ns - zero_ns,
        headers_at_ns=None if told.request_ack_ns is None else told.request_ack_ns - zero_ns,
        phase=Phase.WARMUP if told.benchmark_phase == "warmup" else Phase.WINDOW,
        turn_no=told.turn_index or 0,
        session=told.conversation_id or "",
        prompt_tok=_count(line, "usage_prompt_tokens"),
        cached_tok=_count(line, "usage_prompt_cache_read_tokens"),
        output_tok=_count(line, "usage_completion_tokens"),
        reasoning_tok=_count(line, "reasoning_token_count"),
        counted_prompt_tok=_count(line, "input_sequence_length"),
        counted_tok=_count(line, "output_sequence_length"),
    )
    if told.was_cancelled:
        row.outcome = Outcome.CANCELLED
    elif line.error is not None:
        row.outcome, row.http_status = _outcome(line.error)
        row.detail = f"{line.error.type or 'error'}: {line.error.message}"[:300]
        row.done_at_ns = None if told.request_end_ns is None else told.request_end_ns - zero_ns
    else:
        row.events = _events(path, document, line, sent)
    return row


def _events(
    path: Path, document: Document, line: Line, sent_at_ns: int
) -> list[tuple[int, EventKind]]:
    """Instants of the events with content: TTFT, then the gaps between chunks.

    Those before the first output token are reasoning. Without TTFT (no stream): one at the end.
    """
    first = _time_ns(path, document, line, "time_to_first_token")
    latency = _time_ns(path, document, line, "request_latency")
    if not first:
        return [] if not latency else [(sent_at_ns + latency[0], EventKind.CONTENT)]
    gaps = _time_ns(path, document, line, "inter_chunk_latency")
    if not gaps and latency and latency[0] > first[0]:
        gaps = [latency[0] - first[0]]
    answer = _time_ns(path, document, line, "time_to_first_output_token")
    answer_at_ns = sent_at_ns + answer[0] if answer else None
    at_ns, events = sent_at_ns + first[0], []
    for gap in (0, *gaps):
        at_ns += gap
        thinks = answer_at_ns is not None and at_ns < answer_at_ns - NS_PER_US
        events.append((at_ns, EventKind.REASONING if thinks else EventKind.CONTENT))
    return events


def _time_ns(path: Path, document: Document, line: Line, name: str) -> list[int]:
    """A time, or a list of them, in ns; empty where the line has none. Raises: InputError."""
    told = line.metrics.get(name)
    if told is None or told.value is None:
        return []
    if told.unit not in NS_PER:
        raise InputError(
            f"`{path}:{document.line}` at `$.metrics.{name}.unit`: one of "
            f"{', '.join(NS_PER)} was expected; the value is {told.unit!r}"
        )
    values = told.value if isinstance(told.value, list) else [told.value]
    for value in values:
        if not isinstance(value, int | float) or not 0 <= value * NS_PER[told.unit] <= LONGEST_NS:
            raise InputError(
                f"`{path}:{document.line}` at `$.metrics.{name}.value`: a time of 0 or more was "
                f"expected; the value is {str(value)[:80]}"
            )
    return [round(value * NS_PER[told.unit]) for value in values]


def _count(line: Line, name: str) -> int | None:
    """A number of tokens; None where the line tells none that could be one."""
    told = line.metrics.get(name)
    value = None if told is None else told.value
    return round(value) if isinstance(value, int | float) and 0 <= value <= 2**53 else None


def _outcome(fault: Fault) -> tuple[Outcome, int | None]:
    """Our word for its failure, and the HTTP status where it was one."""
    if fault.code is not None and 400 <= fault.code < 600:
        return Outcome.HTTP_ERROR, fault.code
    words = f"{fault.type} {fault.message}".lower()
    if any(word in words for word in TIMEOUTS):
        return Outcome.TIMEOUT_TOTAL, None
    if any(word in words for word in NO_CONNECTION):
        return Outcome.REFUSED, None
    return Outcome.BAD_STREAM, None


def _gone(lines: list[tuple[Document, Line]]) -> list[str]:
    """Metrics that need values which no line of this file has."""
    known = {name for _, line in lines for name in line.metrics}
    gone = [] if "inter_chunk_latency" in known else ["icl_s", "itl_s", "stall_s", "stall_frac"]
    gone += [] if "time_to_first_output_token" in known else ["ttfa_s", "ttfr_s"]
    cached = "usage_prompt_cache_read_tokens" in known
    return gone + ([] if cached else ["cached_frac", "in_tps_uncached"])


def _beside(path: Path) -> tuple[Path, list[Document]]:
    """The file of requests that a summary stands beside."""
    requests = path.with_name("profile_export.jsonl")
    if not requests.is_file():
        raise InputError(
            f"`{path}` is aiperf's summary: it holds no request",
            "give profile_export.jsonl of the same folder",
        )
    return requests, read_documents(requests)


def _summary(path: Path) -> dict[str, Any]:
    """The summary beside the file; empty without one."""
    summary = path.with_name(SUMMARY)
    if not summary.is_file():
        return {}
    value = read_documents(summary)[0].value
    return value if isinstance(value, dict) else {}


def _span_s(summary: dict[str, Any]) -> float | None:
    """Length of the profiling phase, which its rates are over."""
    start, end = _at(summary, "start_time"), _at(summary, "end_time")
    try:
        return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (TypeError, ValueError):
        return None


def _printed(summary: dict[str, Any]) -> dict[str, float]:
    """`tag.stat` of families, the tag alone of single figures."""
    found: dict[str, float] = {}
    for tag, told in summary.items():
        if not isinstance(told, dict) or "avg" not in told:
            continue
        numbers = {k: v for k, v in told.items() if isinstance(v, int | float)}
        single = set(numbers) == {"avg"}
        found |= {tag if single else f"{tag}.{k}": float(v) for k, v in numbers.items()}
    return found


def _load(config: object, rows: list[Row]) -> str:
    """The profiling phase's load in our words; without a summary what was seen at once."""
    phases = _at(config, "phases")
    for phase in phases if isinstance(phases, list) else []:
        if _at(phase, "kind") != "profiling" and _at(phase, "name") != "profiling":
            continue
        rate = _at(phase, "request_rate") or _at(phase, "rate")
        if isinstance(rate, int | float) and rate > 0:
            shape = "constant" if "constant" in str(_at(phase, "type")) else "poisson"
            return f"{shape}:rate={rate:g}/s"
        if isinstance(concurrency := _at(phase, "concurrency"), int):
            return f"closed:{concurrency}"
    measured = [row for row in rows if row.phase is not Phase.WARMUP]
    return f"closed:{max(most_at_once(measured), 1)}"


def _length(config: object, name: str) -> str:
    mean = _at(config, "datasets", 0, "prompts", name, "mean")
    return f"{mean:g}" if isinstance(mean, int | float) else "not told"


def _at(value: object, *steps: str | int) -> Any:
    """What stands at these steps; None where nothing does."""
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value
