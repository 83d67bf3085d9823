import ast
from pathlib import Path

import msgspec
import numpy as np
import pytest

from loadgen import analysis
from loadgen.analysis import METRICS, Metric, request_metrics, summarise
from loadgen.analysis.requests import Requests
from loadgen.model.summary import Summary
from loadgen.model.table import Floats
from tests.tables import closed_loop, recording, table


def answer_chars(requests: Requests) -> Floats:
    """Characters of the answer."""
    return np.bincount(requests.event_row, requests.table.event_chars).astype(np.float64)


CHARS = Metric("answer_chars", "chars", "neither", "request", "length", ("mean",), answer_chars)


def test_a_metric_of_one_function_and_one_row_is_in_the_summary_and_in_every_request() -> None:
    calls = closed_loop(1, 8)

    summary = summarise(recording(calls), (*METRICS, CHARS))
    columns = request_metrics(table(calls), (*METRICS, CHARS))

    assert summary.points[0].measures["answer_chars.mean"].value == 80
    assert columns["answer_chars"].tolist() == [80.0] * 8


def test_names_are_unique_and_end_in_their_unit() -> None:
    endings: dict[str, tuple[str, ...]] = {
        "s": ("_s",),
        "tok/s": ("_tps", "_tps_total", "_tps_uncached", "_tps_single"),
        "tok": ("_tok", "tok_per_event"),
        "frac": ("_frac",),
        "req/s": ("rps",),
        "req": ("in_flight",),
        "USD": ("usd_per_1m_out", "usd_per_1m_total"),
        "ratio": ("_ratio",),
        "J/tok": ("j_per_out_tok", "j_per_tok"),
        "J/req": ("j_per_req",),
        "tok/s/MW": ("_per_mw", "_per_mw_provisioned"),
    }

    assert len({metric.name for metric in METRICS}) == len(METRICS)
    for metric in METRICS:
        assert metric.name.endswith(endings[metric.unit])


@pytest.mark.parametrize("calls", [[], closed_loop(1, 1), closed_loop(3, 9, prompt=7)])
def test_a_summary_is_strict_json_with_a_reason_for_each_absent_figure(calls: list) -> None:  # type: ignore[type-arg]
    summary = summarise(recording(calls, "closed:3"))

    again = msgspec.json.decode(msgspec.json.encode(summary), type=Summary)
    assert again == summary
    for point in summary.points:
        for measure in [*point.measures.values(), *point.whole.values()]:
            assert (measure.value is None) == bool(measure.reason)


def test_the_same_recording_gives_the_same_summary() -> None:
    made = recording(closed_loop(2, 20), "closed:2")

    assert summarise(made) == summarise(made)


def test_the_room_reads_no_file_and_no_clock() -> None:
    folder = Path(analysis.__file__).parent
    imported = {
        alias.name
        for file in folder.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import)
        for alias in node.names
    }

    assert imported <= {"math", "numpy"}
