"""Records, plans and run folders that the tests of the run folder share."""

from array import array
from pathlib import Path

from hypothesis import strategies as st

from loadgen.model.exchange import ConnectionInfo, Outcome, Phase, StampKind, TurnKey
from loadgen.model.plan import Plan, PointPlan, TargetPlan, WorkloadPlan
from loadgen.model.record import FLAGS, Events, Record, Usage
from loadgen.store.folder import RunFile, create_run_folder, write_run_file
from loadgen.store.segments import SegmentWriter


def plan(model: str = "small", loads: tuple[str, ...] = ("closed:1",)) -> Plan:
    return Plan(
        run_id="r1",
        target=TargetPlan(base_url="http://127.0.0.1:1/v1", model=model),
        workload=WorkloadPlan(),
        points=tuple(PointPlan(index, load) for index, load in enumerate(loads)),
    )


def events(count: int, first_at_ns: int = 0) -> Events:
    return Events(
        at_ns=array("q", range(first_at_ns, first_at_ns + count)),
        read_no=array("i", range(count)),
        kind=array("B", [2]) * count,
        tok=array("i", [1]) * count,
        chars=array("i", [4]) * count,
    )


def record(
    seq: int, *, point: int = 0, share: int = 0, due_at_ns: int | None = None, n_events: int = 3
) -> Record:
    due = 1_000 * seq if due_at_ns is None else due_at_ns
    return Record(
        key=TurnKey(point, share, seq, session_id=f"s{seq}", turn_id="t0"),
        outcome=Outcome.OK,
        due_at_ns=due,
        sent_at_ns=due + 1,
        events=events(n_events, due + 10),
    )


def start_run(out: Path, run_plan: Plan | None = None) -> Path:
    folder = create_run_folder(out, "small")
    write_run_file(folder, RunFile(plan=run_plan or plan()))
    return folder


def write_segment(folder: Path, batches: list[list[Record]], share: int = 0) -> list[int]:
    """Writes a closed segment; the file's size in bytes after each batch comes out."""
    writer = SegmentWriter(folder, share)
    ends = []
    for batch in batches:
        for entry in batch:
            writer.append(entry)
        writer.flush()
        ends.append(writer.path.stat().st_size)
    writer.close()
    return ends


_instants = st.integers(0, 2**62)
_counts = st.integers(0, 2**40)
_maybe_instant = st.none() | _instants
_maybe_count = st.none() | _counts
_words = st.text(max_size=12)


@st.composite
def event_lists(draw: st.DrawFn) -> Events:
    rows = draw(
        st.lists(
            st.tuples(
                _instants,
                st.integers(0, 2**31 - 1),
                st.integers(0, 3),
                st.integers(-1, 2**31 - 1),
                st.integers(0, 2**31 - 1),
            ),
            max_size=5,
        )
    )
    columns = list(zip(*rows, strict=True)) or [()] * 5
    codes = ("q", "i", "B", "i", "i")
    return Events(*(array(code, column) for code, column in zip(codes, columns, strict=True)))


records = st.builds(
    Record,
    key=st.builds(
        TurnKey,
        point=st.integers(0, 3),
        share=st.integers(0, 3),
        seq=_counts,
        session_id=_words,
        turn_id=_words,
        turn_no=_counts,
        tenant=_words,
        prompt_id=_words,
        phase=st.sampled_from(Phase),
        stream=_words,
    ),
    outcome=st.sampled_from(Outcome),
    due_at_ns=_instants,
    sent_at_ns=_maybe_instant,
    written_at_ns=_maybe_instant,
    headers_at_ns=_maybe_instant,
    first_byte_at_ns=_maybe_instant,
    done_at_ns=_maybe_instant,
    connection=st.builds(
        ConnectionInfo,
        reused=st.booleans(),
        stale_reconnects=_counts,
        peer=_words,
        asked_at_ns=_maybe_instant,
        resolved_at_ns=_maybe_instant,
        connected_at_ns=_maybe_instant,
        tls_done_at_ns=_maybe_instant,
    ),
    base_url=_words,
    stream_asked=st.booleans(),
    http_status=st.none() | st.integers(100, 599),
    detail=_words,
    finish_reason=_words,
    flags=st.lists(st.sampled_from(FLAGS), unique=True, max_size=3).map(tuple),
    usage=st.builds(
        Usage,
        input_tok=_maybe_count,
        cached_tok=_maybe_count,
        output_tok=_maybe_count,
        reasoning_tok=_maybe_count,
    ),
    own_tok=_maybe_count,
    own_tok_source=st.sampled_from([None, "token_ids", "running_usage", "tokenizer", "events"]),
    input_tok=_maybe_count,
    max_output_tok=_maybe_count,
    sent_bytes=_counts,
    received_bytes=_counts,
    reads=_counts,
    multi_event_reads=_counts,
    seen_lag_max_ns=_counts,
    seen_lag_sum_ns=_counts,
    stamp_kind=st.sampled_from(StampKind),
    tool_calls=_counts,
    choices=_counts,
    reasoning_chars=_counts,
    content_chars=_counts,
    tool_chars=_counts,
    blocks=st.lists(st.tuples(_counts, _counts), max_size=2).map(lambda p: sum(p, ())),
    events=event_lists(),
    output_text=st.none() | _words,
)
"""Any record that the decoder could make, and then some."""
