"""Prompts that the model can't hold are told before the load."""

import pytest
from msgspec.structs import replace

from loadgen.cli.fits import require_fit
from loadgen.errors import UsageError
from loadgen.model.observed import Observed
from loadgen.model.plan import Plan, TokenFit, WorkloadPlan
from tests.unit.report.examples import plan_of


def asking(isl: str, osl: str, **more: object) -> Plan:
    plan = plan_of(["closed:1"], workload=WorkloadPlan(isl=isl, osl=osl))
    return replace(plan, **more)


def test_prompts_that_all_are_too_long_are_refused_with_figures_and_a_hint() -> None:
    with pytest.raises(UsageError) as caught:
        require_fit(asking("4k", "256"), Observed(max_model_len=4096))
    assert "up to 4,352 tokens, the model holds 4,096" in str(caught.value)
    assert "--isl" in (caught.value.hint or "")


def test_what_the_endpoint_adds_takes_its_room() -> None:
    plan = asking("1000", "24", token_fit=TokenFit(overhead_tok=8))
    assert require_fit(plan, Observed(max_model_len=1032)) is None
    with pytest.raises(UsageError, match="1,032 tokens"):
        require_fit(plan, Observed(max_model_len=1031))


def test_some_that_are_too_long_are_a_warning() -> None:
    told = require_fit(asking("uniform:64,2048", "16"), Observed(max_model_len=1024)) or ""
    assert told.startswith("warning: ")
    assert "of 200 prompts don't fit" in told


def test_nothing_is_told_where_the_context_is_unknown_or_nobody_asked() -> None:
    assert require_fit(asking("8k", "1"), Observed()) is None
    unasked = asking("8k", "1", preflight=False)
    assert require_fit(unasked, Observed(max_model_len=10)) is None
