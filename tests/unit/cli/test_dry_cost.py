"""What `--dry-run` says a plan would cost."""

from typing import Any

import pytest

from loadgen.cli.dry_cost import cost_lines
from loadgen.model.plan import Plan, PointPlan, TargetPlan, WorkloadPlan
from loadgen.model.system import DeclaredGpu, DeclaredModel, DeclaredSystem

H200 = DeclaredSystem(DeclaredModel(8, 2), DeclaredGpu("H200", 141, 4.8, {"bf16": 989}))


def plan_of(model: str = "tiny", **changes: Any) -> Plan:
    target = TargetPlan("http://h/v1", model)
    return Plan("r", target, WorkloadPlan(), (PointPlan(0, "closed:1"),), **changes)


def test_the_declared_price_of_half_an_hour() -> None:
    plan = plan_of(prices={"gpus": 8.0, "gpu_usd_per_h": 2.5})

    assert list(cost_lines(plan, 30.0, None)) == ["$10.00 at 8 × $2.5 an hour"]


def test_an_open_end_costs_by_the_hour() -> None:
    plan = plan_of(prices={"gpus": 8.0, "gpu_usd_per_h": 2.5})

    assert list(cost_lines(plan, None, None)) == ["8 × $2.5 an hour"]


def test_each_tier_of_the_gpu_follows_with_its_date() -> None:
    lines = list(cost_lines(plan_of(prices={"gpus": 2.0}, system=H200), 60.0, None))

    assert lines[0] == "$2.44 at 2 × $1.22 an hour: own-at-hyperscale, 2026-09-30"
    assert lines[-1] == "$7.98 at 2 × $3.99 an hour: on-demand, 2026-08-26"


def test_nothing_said_is_unknown_and_says_what_tells() -> None:
    assert list(cost_lines(plan_of(), 60.0, None)) == [
        "unknown (--gpu-price USD and --gpus N tell)"
    ]


@pytest.mark.parametrize(("tokens", "n"), [(None, 1), ((2_000_000.0, 1_000_000.0), 2)])
def test_an_api_that_serves_the_model_would_bill_the_tokens(
    tokens: tuple[float, float] | None, n: int
) -> None:
    lines = list(cost_lines(plan_of("openai/gpt-oss-120b"), None, tokens))

    # 2 x $0.15 + 1 x $0.60
    assert len(lines) == n
    if tokens:
        assert lines[1].startswith("$0.90 at most, if fireworks gpt-oss-120b served it")
