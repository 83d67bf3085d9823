"""Made traces: percentiles as fitted, the same by seed, and read by the loader as what they are."""

from itertools import repeat
from pathlib import Path
from random import Random

import msgspec
import numpy as np
import pytest

from loadgen.model.table import Floats
from loadgen.workload import made_traces
from loadgen.workload.made_traces import LABEL, PROFILES, Call, made_sessions, main_calls
from loadgen.workload.traces import Traces, first_label
from loadgen.workload.tree import turns_of


@pytest.fixture
def without_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lengths alone are looked at: ids of so many prompts would take minutes."""
    monkeypatch.setattr(made_traces._Stream, "fit", lambda *_: [])


def calls_of(profile: str, n: int, seed: int) -> list[list[Call]]:
    return [
        main_calls(PROFILES[profile], Random(f"{seed}/made/{number}"), repeat(0))
        for number in range(n)
    ]


def percentiles(values: list[int], *percents: int) -> Floats:
    return np.asarray(np.percentile(values, percents), dtype=np.float64)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.usefixtures("without_ids")
def test_kvt_sessions_have_the_fitted_percentiles(seed: int) -> None:
    """Simulated for the recipe: in 30/41/67/102/136, out 94/104/134/215/415/838/1,320."""
    sessions = calls_of("kvt", 700, seed)
    calls = [call for session in sessions for call in session]
    found = percentiles([call.in_tok for call in calls], 5, 10, 25, 50, 75)
    assert found == pytest.approx([30e3, 41e3, 67e3, 102e3, 136e3], rel=0.12)
    found = percentiles([call.out_tok for call in calls], 5, 10, 25, 50, 75, 90, 95)
    assert found == pytest.approx([94, 104, 134, 215, 415, 838, 1320], rel=0.05)
    assert 22e3 <= percentiles([s[0].in_tok for s in sessions], 50)[0] <= 28e3
    peaks = [max(call.in_tok for call in session) for session in sessions]
    assert percentiles(peaks, 50)[0] == pytest.approx(141e3, rel=0.08)
    assert percentiles([len(session) for session in sessions], 50)[0] == pytest.approx(39, rel=0.15)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.usefixtures("without_ids")
def test_agentx_like_sessions_have_the_published_shape(seed: int) -> None:
    """Published: 144.5 turns on average, 51 % of main requests over 256 k, median answer 444."""
    sessions = calls_of("agentx-like", 393, seed)
    calls = [call for session in sessions for call in session]
    assert np.mean([len(session) for session in sessions]) == pytest.approx(146, rel=0.12)
    over = np.mean([call.in_tok > 256_000 for call in calls])
    assert 0.42 <= over <= 0.55
    assert percentiles([call.out_tok for call in calls], 50)[0] == pytest.approx(444, rel=0.05)


def test_the_same_seed_makes_the_same_traces_and_another_makes_others() -> None:
    one, same, other = (
        msgspec.json.encode(list(made_sessions("kvt", 3, seed))) for seed in (5, 5, 6)
    )
    assert one == same != other


@pytest.mark.parametrize("profile", list(PROFILES))
def test_the_loader_takes_made_traces_and_knows_them_for_made(tmp_path: Path, profile: str) -> None:
    path = tmp_path / "made.jsonl"
    lines = [msgspec.json.encode(trace) for trace in made_sessions(profile, 4, 11)]
    path.write_bytes(b"\n".join(lines) + b"\n")
    traces = Traces(path, False, None)
    assert first_label(path) == traces.label == LABEL
    for number in range(len(traces)):
        turns = turns_of(traces[number])
        names = {turn.turn_id for turn in turns}
        assert all(wait.turn_id in names for turn in turns for wait in turn.after)
        assert all(sum(turn.blocks[1::2]) == (turn.input_tok or 0) // 64 for turn in turns)
