from contextlib import nullcontext
from pathlib import Path

import pytest
from msgspec import structs

from loadgen.campaign import Leg, Made, order_of, renewed, repeated
from loadgen.model.observed import Observed
from loadgen.model.plan import Plan
from tests.unit.cli.fakes import FakeRun
from tests.unit.report.examples import plan_of


def test_one_target_is_measured_again_and_again_two_in_abba() -> None:
    assert order_of(1, 3) == (0, 0, 0)
    assert order_of(2, 4) == (0, 1, 1, 0, 0, 1, 1, 0)


@pytest.mark.parametrize("repeats", [2, 3, 4, 7])
def test_each_target_gets_as_many_runs_and_each_pair_is_one_of_both(repeats: int) -> None:
    order = order_of(2, repeats)
    assert order.count(0) == order.count(1) == repeats
    assert all({order[at], order[at + 1]} == {0, 1} for at in range(0, len(order), 2))


def test_a_renewed_plan_is_the_same_but_for_its_name_and_the_salt_that_was_its_own() -> None:
    plan = renewed(plan_of(["closed:1"]), "first")
    own = renewed(renewed(plan, "first"), "second")
    assert (own.run_id, own.points, own.seed) == ("second", plan.points, plan.seed)
    salted = renewed(_salted(plan.run_id), "second")
    assert salted.salt == "second"
    assert renewed(_salted("mine"), "second").salt == "mine"


def test_every_run_is_handed_on_with_its_reports_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeRun()
    fake.install(monkeypatch)
    ids = iter(["a", "b", "c", "d"])
    legs = [Leg(_salted("first"), Observed(), {}, tmp_path / side) for side in ("base", "new")]
    seen: list[tuple[Made, str]] = []
    for made in repeated(legs, 2, lambda: next(ids), lambda: nullcontext(lambda _: None)):
        assert fake.plan is not None
        seen.append((made, fake.plan.salt))
    assert [(made.number, made.leg, salt) for made, salt in seen] == [
        (1, 0, "a"), (2, 1, "b"), (3, 1, "c"), (4, 0, "d"),
    ]  # fmt: skip
    assert fake.written == [str(made.folder) for made, _ in seen]
    assert seen[1][0].folder.parent.name == "new"


def _salted(salt: str) -> Plan:
    return structs.replace(plan_of(["closed:1"]), run_id="first", salt=salt)
