"""What withheld percentiles need, and certified bounds: from what was computed, not by n."""

import csv
import io

from loadgen.model.summary import PointSummary, Steadiness, Summary
from loadgen.report import OUTPUTS
from loadgen.report.certainty import certified_line, still_needed
from loadgen.report.doubts import absences
from tests.unit.report.examples import (
    figures,
    measure,
    plan_of,
    point_of,
    recording_of,
    replace_point,
    sweep_summary,
)


def alike() -> PointSummary:
    """640 requests that are worth 40: a p95 is withheld although 59 would do."""
    withheld = measure(
        "ttft_s", "p95", None, 640, reason="effective n=40 of 640", needs_more=304, needs_more_s=190
    )
    known = measure("tpot_s", "p50", 0.01, 640)
    both = {"ttft_s.p95": withheld, "tpot_s.p50": known}
    return replace_point(point_of(0, 16, {}, 640), measures=both)


def summary_of(*points: PointSummary) -> Summary:
    whole = sweep_summary()
    fields = {name: getattr(whole, name) for name in whole.__struct_fields__}
    return Summary(**(fields | {"points": points, "findings": ()}))


def test_requests_that_are_alike_need_more_than_the_least_n() -> None:
    assert absences(summary_of(alike())) == [
        "n/a: a p95 needs 304 more requests (about 3 min, neighbours are alike); --requests 944"
    ]


def test_the_point_that_lacks_most_is_named() -> None:
    one = point_of(0, 1, figures(1, 100.0, 99.0, 50.0, 20), 20)
    two = point_of(1, 2, figures(2, 100.0, 99.0, 50.0, 200), 200)

    told = absences(summary_of(two, one))

    needs = "a p95 needs 39 more requests (c=1, about 2 min), a p99 279 (c=1, about 14 min)"
    assert told == [f"n/a: {needs}; --requests 299"]


def test_results_of_earlier_versions_need_what_the_least_n_says() -> None:
    short = measure("ttft_s", "p99", None, 100)
    told = still_needed([(point_of(0, 4, {}, 100), short)], several=False)
    assert told == ["n/a: a p99 needs 199 more requests; --requests 299"]


def test_nothing_is_said_where_nothing_is_withheld() -> None:
    assert still_needed([], several=True) == []
    assert certified_line(summary_of(point_of(0, 1, figures(1, 100.0, 99.0, 50.0, 20), 20))) == ""


def test_bounds_are_of_the_best_point_and_the_highest_percentile() -> None:
    assert certified_line(sweep_summary()) == (
        "TTFT p99 at most 490 ms, TPOT p99 at most 12.3 ms, E2E p95 at most 3.14 s at c=32"
    )


def test_csv_holds_bounds_needs_and_what_the_figures_rest_on() -> None:
    steady = Steadiness("steady", "", floors_missed=("60 s of 600 s",))
    summary = summary_of(
        replace_point(alike(), steady=steady, client_grade="A", client_error_s=0.0001),
        point_of(1, 32, figures(32, 100.0, 3156.0, 212.0, 740), 740),
    )
    text = "".join(OUTPUTS["csv"](summary, recording_of(plan_of(["closed:16", "closed:32"]))))
    first, second = csv.DictReader(io.StringIO(text))

    assert (first["ttft_s.p95.needs_more"], first["ttft_s.p95.needs_more_s"]) == ("304", "190")
    assert float(second["ttft_s.p99.certified"]) > float(second["ttft_s.p99"])
    assert first["floors_missed"] == "60 s of 600 s"
    assert (first["steady"], first["client_grade"], first["client_error_s"]) == (
        "steady", "A", "0.0001",
    )  # fmt: skip
    assert first["timing_uncertainty"] == second["timing_uncertainty"] != ""


def test_every_output_tells_the_timing_uncertainty_by_that_name() -> None:
    summary, recording = sweep_summary(), recording_of(plan_of(["closed:1"]))
    for name in ("text", "md"):
        assert "timing uncertainty: stamps" in "".join(OUTPUTS[name](summary, recording))
    for name in ("json", "csv"):
        assert "timing_uncertainty" in "".join(OUTPUTS[name](summary, recording))
