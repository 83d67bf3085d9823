"""Law: sessions are a function of (plan, point, index), whichever worker makes which."""

from pathlib import Path

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loadgen.model.plan import WorkloadPlan
from loadgen.model.session import Answer, Session
from loadgen.tokens import fit_tokenizer, load_tokenizer
from loadgen.workload import FORMATS, WorkloadContext
from loadgen.workload.synthetic import Synthetic

TINY = Path(__file__).parents[1] / "fixtures" / "tiny-model"
COUNT = load_tokenizer(TINY)
FIT = fit_tokenizer(COUNT)

PLANS = st.builds(
    WorkloadPlan,
    isl=st.sampled_from(["40", "uniform:33,600", "normal:300,sd=80", "lognormal:200,sd=300"]),
    osl=st.sampled_from(["1", "16", "uniform:1,40"]),
    shared_prefix_tok=st.sampled_from([0, 32]),
    turns=st.sampled_from(["1", "uniform:1,4"]),
    history=st.sampled_from(["recorded", "live"]),
    ignore_eos=st.booleans(),
)


@settings(max_examples=25, deadline=None)
@given(PLANS, st.integers(1, 4), st.integers(0, 3), st.integers(0, 99))
def test_shares_of_any_number_of_workers_make_up_the_whole(
    plan: WorkloadPlan, workers: int, point: int, seed: int
) -> None:
    context = WorkloadContext(token_fit=FIT, seed=seed, salt="s")
    alone = Synthetic(plan, context)
    whole = [alone.session(point, index) for index in range(8)]
    shared: dict[int, Session] = {}
    for worker in range(workers):
        own = Synthetic(plan, context)
        shared |= {index: own.session(point, index) for index in range(worker, 8, workers)}
    assert [shared[index] for index in range(8)] == whole


@settings(max_examples=25, deadline=None)
@given(PLANS, st.integers(0, 3), st.integers(0, 10**6))
def test_each_turn_is_valid_json_of_the_length_it_claims(
    plan: WorkloadPlan, point: int, index: int
) -> None:
    sessions = Synthetic(plan, WorkloadContext(token_fit=FIT, salt="s"))
    for turn in sessions.session(point, index).turns:
        parts = (b'"a"' if isinstance(part, Answer) else part for part in turn.body)
        body = msgspec.json.decode(b"{" + b"".join(parts) + b"}")
        counted = sum(COUNT(message["content"]) for message in body["messages"])
        assert turn.input_tok is None or counted == turn.input_tok
        assert body["max_tokens"] == turn.max_output_tok


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=5))
def test_text_of_any_script_survives_every_format_that_reads_files(
    tmp_path: Path, texts: list[str]
) -> None:
    path = tmp_path / "rows"
    for name in ("chat", "sharegpt"):
        rows: list[object] = [
            {"messages": [{"role": "user", "content": text}]}
            if name == "chat"
            else {"conversations": [{"from": "human", "value": text}]}
            for text in texts
        ]
        path.write_bytes(b"\n".join(map(msgspec.json.encode, rows)))
        plan = WorkloadPlan(format=name, path=str(path), salted=False)
        sessions = FORMATS[name].open(plan, WorkloadContext())
        for index, text in enumerate(texts):
            session = sessions.session(0, index)
            assert session is not None
            parts = [part for part in session.turns[0].body if isinstance(part, bytes)]
            body = msgspec.json.decode(b"{" + b"".join(parts) + b"}")
            assert body["messages"][0]["content"] == text
