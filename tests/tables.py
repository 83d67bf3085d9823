"""RunTables and recordings from short descriptions: requests in ms, events as letters.

`call(due=0, events=[(100, "r"), (120, "c", 3)])` is a good streamed answer whose first event is
reasoning at 100 ms, then one content event of 3 counted tokens. Letters: r reasoning, c content,
t tool call, o nothing (role, finish, usage).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np

from loadgen.model.observed import ClientHealth, Observed
from loadgen.model.plan import Plan, PointPlan, TargetPlan, WorkloadPlan
from loadgen.model.provenance import Provenance
from loadgen.model.record import EventKind
from loadgen.model.summary import Summary
from loadgen.model.table import ABSENT, Recording, RunTable
from loadgen.units import NS_PER_MS

KINDS = {
    "o": EventKind.OTHER,
    "r": EventKind.REASONING,
    "c": EventKind.CONTENT,
    "t": EventKind.TOOL,
}
Event = tuple[float, str] | tuple[float, str, int]


@dataclass(frozen=True)
class Call:
    """One request, times in ms. None: taken from its neighbours (sent = due, done = last event)."""

    due: float = 0.0
    events: Sequence[Event] = ()
    sent: float | None = None
    done: float | None = None
    first_byte: float | None = None
    headers: float | None = None
    outcome: str = "ok"
    phase: str = "window"
    point: int = 0
    usage: int | None = None
    prompt: int | None = None
    cached: int | None = None
    reasoning: int | None = None
    own: int | None = None
    own_source: str = ""
    asked_prompt: int | None = None
    asked_output: int | None = None
    status: int | None = 200
    flags: str = ""
    streamed: bool = True
    stamp: str = "kernel"
    reads: int | None = None
    multi_reads: int = 0
    seen_lag: float = 0.0
    prompt_id: str = ""
    detail: str = ""
    unsent: bool = False
    connect: tuple[float, float] | None = None
    tls_done: float | None = None
    columns: dict[str, object] = field(default_factory=dict)


def call(due: float = 0.0, events: Sequence[Event] = (), **given: object) -> Call:
    return replace(Call(due=due, events=events), **given)  # type: ignore[arg-type]


def stream(due: float, ttft: float, gap: float, tokens: int, **given: object) -> Call:
    """A good answer of one-token content events `gap` ms apart, the server counting `tokens`."""
    events: list[Event] = [(due + ttft + gap * i, "c") for i in range(tokens)]
    return call(due, events, **{"usage": tokens, **given})


def closed_loop(
    slots: int,
    per_slot: int,
    ttft: float = 50.0,
    gap: float = 10.0,
    tokens: int = 20,
    **given: object,
) -> list[Call]:
    """`per_slot` answers one after another on each slot, all alike, in step."""
    took = ttft + gap * (tokens - 1)
    return [
        stream(took * turn, ttft, gap, tokens, **given)
        for turn in range(per_slot)
        for _ in range(slots)
    ]


def table(calls: Iterable[Call]) -> RunTable:
    """Rows ordered by (point, due) as the store gives them."""
    rows = sorted(calls, key=lambda c: (c.point, c.due))
    columns: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]] = {}
    for name, kind in column_kinds().items():
        values = [_row(one, number).get(name) for number, one in enumerate(rows)]
        if kind is object:
            columns[name] = np.array([v or "" for v in values] or [], dtype=object)
        else:
            default = False if kind is np.bool_ else ABSENT
            columns[name] = np.array([default if v is None else v for v in values], dtype=kind)
    events = [(event, one) for one in rows for event in one.events]
    counts = [len(one.events) for one in rows]
    columns["event_start"] = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    columns["event_at_ns"] = np.array([ns(e[0]) for e, _ in events], dtype=np.int64)
    columns["event_read_no"] = np.arange(len(events), dtype=np.int32)
    columns["event_kind"] = np.array([KINDS[e[1]] for e, _ in events], dtype=np.uint8)
    tok = [e[2] if len(e) > 2 else -1 for e, _ in events]
    columns["event_tok"] = np.array(tok, dtype=np.int32)
    columns["event_chars"] = np.array([0 if e[1] == "o" else 4 for e, _ in events], dtype=np.int32)
    return RunTable(**columns)  # type: ignore[arg-type]


def ns(ms: float) -> int:
    return round(ms * NS_PER_MS)


def recording(
    calls: Iterable[Call],
    load: str | Sequence[str] = "closed:1",
    *,
    health: Sequence[ClientHealth] = (),
    observed: Observed | None = None,
    workload: WorkloadPlan | None = None,
    target: TargetPlan | None = None,
    point: dict[str, object] | None = None,
    plan: dict[str, object] | None = None,
    **given: object,
) -> Recording:
    """A complete run; `point` and `plan` set fields of every PointPlan and of the Plan."""
    loads = (load,) if isinstance(load, str) else tuple(load)
    made = Plan(
        run_id="run",
        target=target or TargetPlan(base_url="http://127.0.0.1:1", model="tiny"),
        workload=workload or WorkloadPlan(),
        points=tuple(
            PointPlan(index, text, **(point or {}))  # type: ignore[arg-type]
            for index, text in enumerate(loads)
        ),
        **(plan or {}),  # type: ignore[arg-type]
    )
    return Recording(
        path="run",
        plan=made,
        table=table(calls),
        observed=observed or Observed(),
        provenance=Provenance(),
        health=tuple(health),
        **given,  # type: ignore[arg-type]
    )


def codes(summary: Summary) -> dict[str, str]:
    """Finding code -> severity (the worst where several points have it)."""
    return {f.code: f.severity for f in reversed(summary.findings)}


def healthy(point: int = 0, issued: int = 0, **given: object) -> ClientHealth:
    """A client that had nothing to suffer."""
    quiet = ClientHealth(
        share=0, point=point, started_at_ns=0, ended_at_ns=ns(1000), issued=issued, ended=issued,
        loop_lag_p50_ns=ns(0.05), loop_lag_p99_ns=ns(0.4), loop_lag_max_ns=ns(1),
        stop_reason="requests",
    )  # fmt: skip
    return _changed(quiet, given)


def _changed(health: ClientHealth, given: dict[str, object]) -> ClientHealth:
    values = {name: getattr(health, name) for name in health.__struct_fields__}
    return ClientHealth(**{**values, **given})


def _row(one: Call, number: int) -> dict[str, object]:
    last = one.events[-1][0] if one.events else None
    sent = None if one.unsent else one.due if one.sent is None else one.sent
    done = one.done if one.done is not None else last
    texts = sum(e[1] != "o" for e in one.events)
    first_byte = one.first_byte if one.first_byte is not None else _first(one)
    told = any(len(e) > 2 for e in one.events)
    own = one.own if one.own is not None else _counted(one) if told else texts
    asked, connected = one.connect if one.connect else (None, None)
    return {
        "point": one.point, "share": 0, "seq": number, "session_id": f"s{number}",
        "turn_id": "t0", "turn_no": 0, "prompt_id": one.prompt_id, "phase": one.phase,
        "outcome": one.outcome, "due_at_ns": ns(one.due), "sent_at_ns": _ns(sent),
        "written_at_ns": _ns(sent), "headers_at_ns": _ns(one.headers),
        "first_byte_at_ns": _ns(first_byte), "done_at_ns": _ns(done),
        "conn_asked_at_ns": _ns(asked), "conn_connected_at_ns": _ns(connected),
        "conn_tls_done_at_ns": _ns(one.tls_done), "stale_reconnects": 0,
        "stream_asked": one.streamed, "http_status": one.status, "detail": one.detail,
        "finish_reason": "stop", "flags": one.flags, "usage_input_tok": one.prompt,
        "usage_cached_tok": one.cached, "usage_output_tok": one.usage,
        "usage_reasoning_tok": one.reasoning, "own_tok": own,
        "own_tok_source": one.own_source or ("running_usage" if told else "events"),
        "input_tok": one.asked_prompt, "max_output_tok": one.asked_output,
        "reads": len(one.events) if one.reads is None else one.reads,
        "multi_event_reads": one.multi_reads, "seen_lag_max_ns": ns(one.seen_lag),
        "seen_lag_sum_ns": ns(one.seen_lag), "stamp_kind": one.stamp, **one.columns,
    }  # fmt: skip


def _first(one: Call) -> float | None:
    return one.events[0][0] if one.events else None


def _counted(one: Call) -> int:
    return sum(max(e[2], 0) for e in one.events if len(e) > 2)


def _ns(ms: float | None) -> int | None:
    return None if ms is None else ns(ms)


def column_kinds() -> dict[str, type]:
    """Row columns of RunTable with their dtypes, told from the annotations."""
    kinds: dict[str, type] = {}
    for one in fields(RunTable):
        if one.name.startswith("event_") or one.name == "output_text":
            continue
        text = str(one.type)
        kinds[one.name] = object if "object" in text else np.bool_ if "bool" in text else np.int64
    return kinds
