"""A run's own sentence as a claim file stands up to the audit that others' claims get."""

from typing import Any

import pytest

from loadgen.audit import audit
from loadgen.audit.against import against
from loadgen.audit.printed import read_number
from loadgen.audit.publish import claim_file, printed
from loadgen.audit.sentence import QUANTITIES, claim_of
from loadgen.model.claim import Claim
from loadgen.model.measured import MeasuredRun
from tests.unit.audit.runs import run_of


def file_of(quantity: str = "aggregate_output", **changes: Any) -> tuple[Claim, MeasuredRun]:
    run = run_of(params_total_b=552.0, params_active_b=16.0, **changes)
    return claim_file(claim_of(run, quantity), run), run


@pytest.mark.parametrize("quantity", [name for name in QUANTITIES if name != "per_stream_e2e"])
def test_it_contradicts_neither_itself_nor_its_run(quantity: str) -> None:
    claim, run = file_of(quantity)
    result = audit(claim)
    assert result.consistency != "contradiction"
    assert result.grade in ("B", "C", "D")
    headline = against(claim, run).figures[0]
    known = quantity != "per_gpu_output"  # no quantity of claim files
    assert headline.verdict == ("supports" if known else "does not bear")


def test_figures_facts_and_statements_are_those_of_the_point() -> None:
    claim, _ = file_of("per_gpu_total")
    assert (claim.value.num, claim.value.unit) == (3945, "tok/s/GPU")
    facts = {name: fact.v for name, fact in claim.facts.items()}
    assert facts["hw"] == {"gpu": "GB300", "gpus_used": 4}
    assert (facts["concurrency"], facts["isl"], facts["cached_share"]) == (32, 1021, 0)
    assert facts["ttft"] == "p50 212 ms, p95 388 ms"
    assert claim.facts["raw_data"].status == "partial"
    rulings = {ruling.rule: ruling.verdict for ruling in audit(claim).rulings}
    assert (rulings["A4"], rulings["A5"]) == ("ok", "ok")


def test_a_simulation_names_no_hardware() -> None:
    assert "hw" not in file_of(simulated=True)[0].facts


def test_what_is_not_told_is_no_fact() -> None:
    assert "power_cap" not in file_of()[0].facts


@pytest.mark.parametrize(
    "value", [3001.26, 3000.6, 12_345.6, 999.96, 999.4, 150.04, 10.001, 0.0066361, 1.5e6 + 0.4]
)
def test_a_figure_is_printed_no_finer_than_it_was_rounded(value: float) -> None:
    read = read_number(printed(value))
    assert abs(read.value - value) <= read.half
