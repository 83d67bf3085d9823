import gc
import json
import tracemalloc
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from loadgen.errors import InputError
from loadgen.workload import load_workload
from loadgen.workload.traces import Traces

SHIPPED = Path(__file__).parents[3] / "workloads" / "agentx"


def request(t: float, in_tok: int = 128, **more: object) -> dict[str, Any]:
    ids = list(range(in_tok // 64))
    return {"t": t, "type": "n", "model": "m", "in": in_tok, "out": 10, "hash_ids": ids} | more


def subagent(t: float, *inner: dict[str, Any]) -> dict[str, Any]:
    return {"t": t, "type": "subagent", "agent_id": f"a{t}", "requests": list(inner)}


def trace(name: str, *requests: dict[str, Any], **more: object) -> dict[str, Any]:
    head = {"id": name, "block_size": 64, "hash_id_scope": "local"}
    return head | {"requests": list(requests)} | more


def corpus(folder: Path, *traces: dict[str, Any]) -> Path:
    path = folder / "traces.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in traces), encoding="utf-8")
    return path


def test_the_shipped_traces_open_in_the_order_of_their_files() -> None:
    traces = Traces(SHIPPED)
    assert [one.trace_id for one in (traces[at] for at in range(len(traces)))] == [
        f"trace_0{number}" for number in ("011", "277", "279", "327", "331", "504")
    ]
    assert traces.relative
    assert traces.label == ""
    assert traces.longest_tok == max(traces[at].longest_tok for at in range(len(traces)))


def test_one_inner_time_before_its_entry_makes_all_times_of_the_corpus_relative(
    tmp_path: Path,
) -> None:
    early = trace("early", request(0), subagent(5.0, request(6.0)), request(100.0))
    shows = trace("shows", request(0), subagent(9.0, request(0.0)), request(100.0))
    alone = Traces(corpus(tmp_path, early))
    assert not alone.relative
    assert alone[0].streams[1].turns[0].at_s == 6.0
    assert alone.notices == ()
    both = Traces(corpus(tmp_path, early, shows))
    assert both[0].streams[1].turns[0].at_s == 11.0
    assert both[1].streams[1].turns[0].at_s == 9.0
    assert both.notices == (
        "times inside subagents count from their entry's: 1 of 2 entries show it",
    )


def test_the_dialect_is_one_for_the_requests_of_an_entry_too(tmp_path: Path) -> None:
    long = trace("long", request(0), subagent(5.0, request(0.0), request(600.0)), request(900.0))
    assert [turn.at_s for turn in Traces(corpus(tmp_path, long))[0].streams[1].turns] == [
        5.0,
        605.0,
    ]


def test_a_bad_trace_is_named_with_its_line_and_stops_all(tmp_path: Path) -> None:
    path = corpus(tmp_path, trace("a", request(0)), trace("b", request(0, out=-1)))
    with pytest.raises(InputError) as refused:
        Traces(path)
    assert str(refused.value).startswith(f"`{path}:2` at `$.requests[0].out`: ")
    assert "--skip-bad" in (refused.value.hint or "")


def test_skipping_leaves_bad_traces_out_and_names_them(tmp_path: Path) -> None:
    bad = trace("b", request(0) | {"t": None})
    path = corpus(tmp_path, trace("a", request(0)), bad, trace("c", request(0), request(1)))
    traces = Traces(path, skip_bad=True)
    assert [traces[at].trace_id for at in range(len(traces))] == ["a", "c"]
    assert len(traces.notices) == 1
    assert traces.notices[0].startswith(
        f"left out (`--skip-bad`): `{path}:2` at `$.requests[0].t`: "
    )


def test_of_many_bad_traces_all_are_counted_and_twenty_named(tmp_path: Path) -> None:
    bad = [trace(f"b{number}", request(0, out=-1)) for number in range(50)]
    traces = Traces(corpus(tmp_path, trace("a", request(0)), *bad), skip_bad=True)
    assert len(traces.notices) == 21
    assert traces.notices[-1] == "left out (`--skip-bad`): 50 traces in all"


def test_skipping_every_trace_is_refused(tmp_path: Path) -> None:
    path = corpus(tmp_path, trace("b", request(0, out=-1)))
    with pytest.raises(InputError, match="holds no usable trace"):
        Traces(path, skip_bad=True)


def test_a_damaged_file_of_a_folder_can_be_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(trace("a", request(0))), encoding="utf-8")
    (tmp_path / "b.json.gz").write_bytes(b"no gzip")
    with pytest.raises(InputError, match=r"b\.json\.gz"):
        Traces(tmp_path)
    assert len(Traces(tmp_path, skip_bad=True)) == 1


def test_copies_of_a_trace_are_played_and_told_of(tmp_path: Path) -> None:
    path = corpus(tmp_path, *(trace(name, request(0), request(9)) for name in ("a", "b", "b")))
    traces = Traces(path)
    assert len(traces) == 3
    assert traces.notices == (
        f"copies of other traces, played like the rest: 2 (`{path}:2` repeats `{path}:1`, ...)",
    )


def test_two_different_traces_of_one_name_are_refused(tmp_path: Path) -> None:
    path = corpus(tmp_path, trace("a", request(0)), trace("a", request(1)))
    with pytest.raises(InputError) as refused:
        Traces(path)
    assert f"`{path}:2` at `$.id`: " in str(refused.value)
    assert f"`{path}:1`" in str(refused.value)
    assert len(Traces(path, skip_bad=True)) == 1


def test_blocks_of_two_sizes_in_one_corpus_are_refused(tmp_path: Path) -> None:
    path = corpus(tmp_path, trace("a", request(0)), trace("b", request(0), block_size=128))
    with pytest.raises(InputError, match=r":2` at `\$.block_size`: 64 .* the value is 128"):
        Traces(path)


def test_traces_with_a_request_over_the_context_are_left_out_whole(tmp_path: Path) -> None:
    path = corpus(
        tmp_path,
        trace("long", request(0), request(1, 1000)),
        trace("agent", request(0), subagent(1, request(1, 1000)), request(9)),
        trace("fits", request(0, 990)),
    )
    traces = Traces(path, max_context_tok=1000)
    assert [traces[at].trace_id for at in range(len(traces))] == ["fits"]
    assert traces.longest_tok == 1000
    assert traces.notices == ("traces with a request of over 1000 tokens, left out: 2",)
    with pytest.raises(InputError, match="no usable trace of 999 tokens at most"):
        Traces(path, max_context_tok=999)


def test_a_corpus_that_changed_is_read_anew(tmp_path: Path) -> None:
    path = corpus(tmp_path, trace("a", request(0.0)))
    assert [Traces(path)[0].trace_id, Traces(path)[0].trace_id] == ["a", "a"]
    changed = corpus(tmp_path, trace("b", request(0.0)), trace("c", request(0.0, in_tok=6400)))
    assert changed == path
    traces = Traces(path)
    assert [traces[0].trace_id, traces[1].trace_id] == ["b", "c"]
    assert (traces.count_over(1000), traces.count_over(10_000)) == (1, 0)


def test_every_allowance_is_told_with_its_count(tmp_path: Path) -> None:
    odd = trace(
        "odd",
        request(5),
        request(3),
        request(6, hash_ids=[0, 1, 2]),
        request(7, hash_ids=[0]),
        request(8, api_time=-1.0),
        request(20, api_time=5.0),
        request(24),
        request(25),
        subagent(9),
        subagent(1, request(1)),
    )
    assert Traces(corpus(tmp_path, odd)).notices == (
        "subagents without a request or a spawner, not played: 2",
        "requests listed after a later one, sorted by time: 3",
        "requests with more block ids than full blocks, whose surplus is left out: 1",
        "requests with fewer block ids than full blocks, whose end is never shared: 1",
        "requests that took less than no time, whose answers count as instant: 1",
        "requests recorded while their agent awaited an answer, sent only after it: 1",
    )


def test_made_up_traces_keep_their_label(tmp_path: Path) -> None:
    path = corpus(tmp_path, trace("a", request(0), label="AgentX-like synthetic"))
    traces = Traces(path)
    assert (traces.label, traces[0].label) == ("AgentX-like synthetic",) * 2


def long_traces(n_traces: int, n_turns: int) -> Iterator[dict[str, Any]]:
    """Traces whose prompts grow by 4,000 tokens a turn, to 120,000."""
    for number in range(n_traces):
        requests = [request(10.0 * at, 4_000 * (at + 1)) for at in range(n_turns)]
        yield trace(f"t{number}", *requests)


def test_memory_is_that_of_one_trace_however_many_there_are(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for one in long_traces(24, 30):
            file.write(json.dumps(one) + "\n")
    one_bytes = path.stat().st_size // 24
    gc.collect()
    tracemalloc.start()
    try:
        traces = Traces(path)
        for at in range(len(traces)):
            assert len(traces[at].streams[0].turns) == 30
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert one_bytes > 100_000
    assert peak < 8 * one_bytes


def test_the_shipped_traces_are_as_their_sources_say() -> None:
    sources = (SHIPPED / "SOURCES.md").read_text(encoding="utf-8")
    for path in SHIPPED.glob("*.json"):
        assert f"| `{path.name}` |" in sources
        assert sha256(path.read_bytes()).hexdigest() in sources


def test_the_shipped_traces_are_a_bundled_workload() -> None:
    plan = load_workload("coding-sessions")
    assert (plan.format, Path(plan.path).resolve()) == ("agentx", SHIPPED.resolve())
