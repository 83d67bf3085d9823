import os
import re
import subprocess
import sys
from functools import cache
from hashlib import sha256
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadgen.errors import UsageError
from loadgen.model.plan import ReplayRules, WorkloadPlan
from loadgen.model.session import Session
from loadgen.workload import WorkloadContext
from loadgen.workload.agentx import Agentx, marker

TRACES = Path(__file__).parents[3] / "workloads" / "agentx"
SMALL = TRACES / "trace_0504.json"
TREE = TRACES / "trace_0277.json"
MARK = re.compile(rb"\[rid:[0-9a-f]{12}\]")
SMOKE = ReplayRules(name="smoke", start_from_frac=0.0, start_until_frac=0.0, time_scale=0.01)


@cache
def opened(
    path: Path = SMALL,
    *,
    slots: int = 1,
    salt: str = "bench-1",
    rules: ReplayRules | None = SMOKE,
    history: Any = "recorded",
    endpoint: Any = "chat",
) -> Agentx:
    plan = WorkloadPlan(
        format="agentx",
        path=str(path),
        history=history,
        ignore_eos=True,
        limit_name="max_completion_tokens",
    )
    context = WorkloadContext(endpoint, salt=salt, slots={0: slots, 1: slots}, rules=rules)
    return Agentx(plan, context)


def session_of(workload: Agentx, index: int = 0, point: int = 0) -> Session:
    session = workload.session(point, index)
    assert session is not None
    return session


def bodies(workload: Agentx, index: int = 0, point: int = 0) -> list[bytes]:
    n_turns = len(session_of(workload, index, point).turns)
    return [workload.body(point, index, turn, None) for turn in range(n_turns)]


def wire(body: bytes) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(b"{" + body + b"}")
    return decoded


def messages(body: bytes) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in wire(body)["messages"]]


def words(body: bytes) -> list[str]:
    text = " ".join(content for _, content in messages(body))
    return re.sub(r"\[rid:[0-9a-f]+\]", "", text).split()


def phrases(workload: Agentx) -> set[tuple[str, ...]]:
    said = words(bodies(workload)[-1])
    return {tuple(said[at : at + 8]) for at in range(len(said) - 8)}


def hand_made(tmp_path: Path, *requests: dict[str, Any], **top: Any) -> Path:
    trace = {
        "id": "made",
        "models": ["m"],
        "block_size": 64,
        "hash_id_scope": "local",
        "requests": list(requests),
        **top,
    }
    path = tmp_path / "made.json"
    path.write_bytes(msgspec.json.encode(trace))
    return path


def request(t: float, ids: list[int], n_in: int, out: int = 10) -> dict[str, Any]:
    return {
        "t": t,
        "type": "s",
        "model": "m",
        "in": n_in,
        "out": out,
        "hash_ids": ids,
        "api_time": 1.0,
    }


def test_markers_are_those_of_the_check_vector() -> None:
    assert marker("bench-1", 0, 3, "trace_0504") == b"[rid:724e1d083080]"


@pytest.mark.parametrize("path", [SMALL, TREE])
def test_every_prompt_has_a_word_for_each_recorded_token(path: Path) -> None:
    turns = session_of(opened(path)).turns
    for turn, body in zip(turns, bodies(opened(path)), strict=True):
        assert len(words(body)) == turn.input_tok
        assert wire(body)["max_completion_tokens"] == turn.max_output_tok
        assert wire(body)["ignore_eos"] is True
        assert set(wire(body)) == {"messages", "max_completion_tokens", "ignore_eos"}


def test_only_the_first_users_message_is_marked() -> None:
    for body in bodies(opened(TREE)):
        assert len(MARK.findall(body)) == 1
        roles = messages(body)
        first = next(text for role, text in roles if role == "user")
        assert first.startswith("[rid:")
        assert first[18:20] == "\n\n"
        assert roles[0][0] == "system"
        assert roles[-1][0] == "user"


def grown(tmp_path: Path) -> Path:
    """Three turns, each of which adds an answer of two blocks and more."""
    ids = list(range(1, 13))
    return hand_made(
        tmp_path,
        request(0.0, ids[:4], 260, 100),
        request(5.0, ids[:8], 530, 100),
        request(9.0, ids, 780, 100),
    )


def test_a_longer_prompt_sends_earlier_messages_again_unchanged(tmp_path: Path) -> None:
    first, second, third = map(messages, bodies(opened(grown(tmp_path))))
    assert [role for role, _ in third] == ["user", "assistant"] * 2 + ["user"]
    # a tail goes when its turn is over: the text before it stays
    assert first[0][1].startswith(second[0][1])
    assert third[: len(second) - 1] == second[:-1]
    assert second[-1][1].startswith(third[len(second) - 1][1])


def test_two_processes_make_the_same_bytes() -> None:
    script = (
        "from hashlib import sha256\n"
        "from test_agentx import *\n"
        "print(sha256(b''.join(bodies(opened(TREE)))).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    told = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parent,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == sha256(b"".join(bodies(opened(TREE)))).hexdigest()


def test_another_salt_changes_the_marker_alone() -> None:
    ours, others = bodies(opened(SMALL)), bodies(opened(SMALL, salt="bench-2"))
    assert ours != others
    assert [MARK.sub(b"", body) for body in ours] == [MARK.sub(b"", body) for body in others]


def test_another_seed_shares_no_text() -> None:
    other = opened(SMALL, rules=msgspec.structs.replace(SMOKE, seed=43))
    assert phrases(opened(SMALL))
    assert not phrases(opened(SMALL)) & phrases(other)


@pytest.mark.parametrize(("slots", "index", "point"), [(1, 1, 0), (2, 1, 0), (1, 0, 1)])
def test_another_play_shares_at_most_the_system_message(slots: int, index: int, point: int) -> None:
    workload = opened(SMALL, slots=slots)
    for one, other in zip(bodies(workload), bodies(workload, index, point), strict=True):
        ours, theirs = messages(one), messages(other)
        assert ours[0] == theirs[0]
        assert ours[1][1][:18] != theirs[1][1][:18]
        assert ours[1][1][18:] == theirs[1][1][18:]


def test_lanes_are_dealt_traces_in_the_order_of_the_files() -> None:
    workload = opened(TRACES, slots=4)
    names = sorted(path.stem for path in TRACES.glob("*.json"))
    dealt = [session_of(workload, index) for index in range(2 * len(names))]
    assert [session.prompt_id for session in dealt] == names * 2
    assert [session.session_id for session in dealt[3:6]] == ["0-3-0", "0-0-1", "0-1-1"]


def test_first_plays_start_in_mid_recording_and_later_ones_at_the_beginning() -> None:
    workload = opened(TREE, slots=2, rules=ReplayRules())
    starts = [session_of(workload, index).from_ns for index in range(4)]
    at_ns = [turn.at_ns for turn in session_of(workload).turns if turn.at_ns is not None]
    span_ns = max(at_ns) - min(at_ns)
    assert starts[2:] == [None, None]
    assert starts[0] != starts[1]
    for start in starts[:2]:
        assert start is not None
        assert min(at_ns) + span_ns / 4 <= start <= min(at_ns) + span_ns * 3 / 4
    fast = opened(TREE, slots=2, rules=ReplayRules(time_scale=0.5))
    scaled = session_of(fast).from_ns
    assert scaled == pytest.approx((starts[0] or 0) / 2, abs=1)
    assert session_of(opened(TREE)).from_ns is None


def test_a_play_that_was_forgotten_is_made_again_alike() -> None:
    workload = opened(SMALL)
    first = bodies(workload)
    for index in range(1, 12):
        session_of(workload, index)
    assert bodies(workload) == first


def test_a_subagent_shares_the_text_of_the_blocks_that_it_shares(tmp_path: Path) -> None:
    inner = [request(0.0, [1, 2, 3, 9], 260)]
    entry = {
        "t": 3.0,
        "type": "subagent",
        "agent_id": "a1",
        "subagent_type": "Explore",
        "duration_ms": 9000,
        "status": "completed",
        "requests": inner,
        "models": ["m"],
    }
    path = hand_made(
        tmp_path, request(0.0, [1, 2, 3, 4], 260), entry, request(30.0, [1, 2, 3, 4, 5], 320)
    )
    workload = opened(path)
    turns = session_of(workload).turns
    of_stream = {turn.stream: words(workload.body(0, 0, n, 1)) for n, turn in enumerate(turns)}
    assert set(of_stream) == {"root", "a1"}
    assert of_stream["a1"][:192] == of_stream["root"][:192]
    assert of_stream["a1"][192:256] != of_stream["root"][192:256]


def prefix_share(keys: list[list[object]]) -> float:
    """Share of leading pieces that a cache of prefixes holds when prompts come in this order."""
    cached: set[int] = set()
    hits = 0
    for pieces in keys:
        chain = list(accumulate(pieces, lambda before, piece: hash((before, piece)), initial=0))
        hits += sum(1 for _ in takewhile(cached.__contains__, chain[1:]))
        cached.update(chain[1:])
    return hits / sum(map(len, keys))


@pytest.mark.parametrize("name", ["trace_0277", "trace_0331", "trace_0504"])
def test_a_prefix_cache_finds_what_the_recorded_blocks_promise(name: str) -> None:
    workload = opened(TRACES / f"{name}.json")
    turns = session_of(workload).turns
    order = sorted(range(len(turns)), key=lambda number: turns[number].at_ns or 0)
    designed: list[list[object]] = []
    served: list[list[object]] = []
    for number in order:
        pairs = zip(turns[number].blocks[::2], turns[number].blocks[1::2], strict=True)
        designed.append([one for first, n in pairs for one in range(first, first + n)])
        said = messages(workload.body(0, 0, number, None))
        tokens = [word for role, text in said for word in (f"<{role}>", *text.split(), "<end>")]
        starts = range(0, len(tokens) - 15, 16)
        served.append([tuple(tokens[at : at + 16]) for at in starts])
    assert prefix_share(served) == pytest.approx(prefix_share(designed), abs=0.01)


def test_an_empty_prompt_is_the_marker_alone(tmp_path: Path) -> None:
    path = hand_made(tmp_path, request(0.0, [], 0), request(5.0, [], 40))
    first, second = bodies(opened(path))
    assert messages(first)[0][1].startswith("[rid:")
    assert words(first) == []
    assert len(words(second)) == 40


def test_primers_ask_for_one_token_of_the_same_prompt() -> None:
    workload = opened(SMALL)
    whole, primer = workload.body(0, 0, 1, None), workload.body(0, 0, 1, 1)
    assert wire(primer)["max_completion_tokens"] == 1
    assert wire(primer)["messages"] == wire(whole)["messages"]


def test_live_answers_stand_in_their_places(tmp_path: Path) -> None:
    path = grown(tmp_path)
    live = opened(path, history="live")
    recorded = messages(bodies(opened(path))[2])
    body = live.body(0, 0, 2, None, (b'"first \\"answer\\""', b'"second"'))
    places = [text for role, text in messages(body) if role == "assistant"]
    assert places == ['first "answer"', "second"]
    assert [role for role, _ in messages(body)] == [role for role, _ in recorded]
    partly = live.body(0, 0, 2, None, (None, b'"second"'))
    first = next(text for role, text in recorded if role == "assistant")
    assert [text for role, text in messages(partly) if role == "assistant"] == [first, "second"]


def test_lengths_behind_a_live_answer_are_not_designed() -> None:
    session = session_of(opened(SMALL, history="live"))
    assert session.history == "live"
    assert session.turns[0].input_tok is not None
    assert [(turn.input_tok, turn.blocks) for turn in session.turns[1:]] == [(None, ())] * 2
    assert opened(SMALL).body(0, 0, 2, None, (b'"x"',)) == opened(SMALL).body(0, 0, 2, None)


def test_plain_prompts_hold_the_same_words_without_roles() -> None:
    plain = wire(opened(SMALL, endpoint="completions").body(0, 0, 2, None))
    assert set(plain) == {"prompt", "max_tokens", "ignore_eos"}
    assert (
        len(MARK.sub(b"", plain["prompt"].encode()).split())
        == session_of(opened()).turns[2].input_tok
    )
    with pytest.raises(UsageError, match="needs the chat endpoint"):
        opened(SMALL, endpoint="completions", history="live")


def test_traces_with_longer_requests_than_the_limit_are_left_out() -> None:
    names = {path.stem for path in TRACES.glob("*.json")}
    workload = opened(TRACES, rules=msgspec.structs.replace(SMOKE, max_context_tok=100_000))
    assert workload.n_rows is not None
    kept = {session_of(workload, index).prompt_id for index in range(workload.n_rows)}
    assert kept < names
    assert "trace_0504" in kept
    assert opened(TRACES).rows_over(100_000).over == len(names) - len(kept)
    assert opened(TRACES).rows_over(10**7).over == 0


def test_once_ends_behind_the_last_trace() -> None:
    plan = WorkloadPlan(format="agentx", path=str(SMALL), once=True)
    workload = Agentx(plan, WorkloadContext())
    assert workload.session(0, 0) is not None
    assert workload.session(0, 1) is None
