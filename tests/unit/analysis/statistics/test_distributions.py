"""scipy.special's tails against scipy.stats, the independent judge."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from loadgen.analysis.statistics import distributions

ROOT = Path(__file__).parents[4]


@given(q=st.floats(1e-4, 0.9999), n=st.integers(1, 20_000), p=st.floats(0.001, 0.999))
def test_binomial_quantile_is_scipys(q: float, n: int, p: float) -> None:
    found, expected = distributions.binomial_quantile(q, n, p), int(stats.binom.ppf(q, n, p))
    is_tie = abs(stats.binom.cdf(min(found, expected), n, p) - q) < 1e-9
    assert found == expected or (is_tie and abs(found - expected) == 1)


@given(k=st.integers(0, 300), n=st.integers(1, 300), p=st.floats(0.001, 0.999))
def test_binomial_cdf_is_scipys(k: int, n: int, p: float) -> None:
    assert distributions.binomial_cdf(k, n, p) == pytest.approx(stats.binom.cdf(k, n, p), abs=1e-12)


@given(q=st.floats(0.001, 0.999), degrees=st.floats(1.0, 500.0))
def test_student_quantile_is_scipys(q: float, degrees: float) -> None:
    expected = stats.t.ppf(q, degrees)
    assert distributions.student_quantile(q, degrees) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(z=st.floats(-30.0, 30.0))
def test_the_normals_two_tails_are_scipys(z: float) -> None:
    expected = 2.0 * stats.norm.sf(abs(z))
    assert distributions.normal_two_sided(z) == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.sampled_from([0.0, 1.0, 1.5, 2.0, 7.0, -3.0]), min_size=1, max_size=50))
def test_ranks_share_ties_as_scipys_do(values: list[float]) -> None:
    expected = stats.rankdata(values)
    assert distributions.ranks(np.array(values)).tolist() == expected.tolist()


@given(n=st.integers(1, 5_000), share=st.floats(0.0, 1.0))
def test_wilsons_interval_is_scipys(n: int, share: float) -> None:
    k = round(n * share)
    expected = stats.binomtest(k, n).proportion_ci(0.95, method="wilson")
    found = distributions.wilson(k, n, 0.95)
    assert found == pytest.approx((expected.low, expected.high), abs=1e-12)


@given(
    first=st.lists(st.floats(-100, 100), min_size=3, max_size=30, unique=True),
    second=st.lists(st.floats(-100, 100), min_size=3, max_size=30, unique=True),
)
def test_welchs_p_is_scipys(first: list[float], second: list[float]) -> None:
    one, two = np.array(first), np.array(second)
    if min(one.std(), two.std()) < 1e-3:
        return
    expected = stats.ttest_ind(one, two, equal_var=False).pvalue
    assert distributions.welch_p(one, two) == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_level_values_without_spread_are_surely_apart_or_surely_alike() -> None:
    assert distributions.welch_p(np.ones(4), np.full(4, 2.0)) == 0.0
    assert distributions.welch_p(np.ones(4), np.ones(4)) == 1.0


def test_the_reading_wing_starts_without_scipy_stats_or_optimize() -> None:
    told = "import sys, loadgen.review; print([m for m in sys.modules if m in {%r, %r}])"
    words = [sys.executable, "-c", told % ("scipy.stats", "scipy.optimize")]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip() == "[]"


WHOLE_REPORT = """
import sys
from loadgen.analysis import summarise
from loadgen.report import OUTPUTS
from tests.tables import call, closed_loop, healthy, recording
calls = closed_loop(4, 30)
for back in range(1, 31):
    one = calls[-back]
    calls[-back] = call(one.due, one.events[:3], outcome="unfinished", done=one.due + 1000)
run = recording(calls, "closed:4", health=[healthy(issued=len(calls))])
summary = summarise(run)
assert any("censored" in m.reason for m in summary.points[0].measures.values())
assert summary.points[0].measures["e2e_s.p50"].value
pages = {name: "".join(pieces(summary, run)) for name, pieces in OUTPUTS.items()}
assert all(pages.values())
print([m for m in sys.modules if m.split(".")[:2] == ["scipy", "stats"]])
"""


def test_a_whole_report_with_censored_requests_never_imports_scipy_stats() -> None:
    words = [sys.executable, "-c", WHOLE_REPORT]
    told = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT)
    assert told.stdout.strip() == "[]"
