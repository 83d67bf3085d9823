"""Samples as series: what was told at, before and after an instant."""

import numpy as np

from loadgen.analysis.looks import Key, looks_of
from loadgen.model.series import no_telemetry
from tests.telemetry import told


def test_series_are_told_apart_by_who_told_what() -> None:
    rows = [(0, "output_tok", "0", 1.0), (0, "output_tok", "1", 2.0), (9, "output_tok", "0", 5.0)]
    looks = looks_of(told(rows))

    found = {key.part: series.value.tolist() for key, series in looks.of("server", "output_tok")}
    assert found == {"0": [1.0, 5.0], "1": [2.0]}
    assert looks.origins("server") == ("http://s/metrics",)
    assert looks.instants("server", 0, 10**12) == 2


def test_values_round_an_instant() -> None:
    looks = looks_of(told([(10, "x", "", 1.0), (20, "x", "", 2.0), (30, "x", "", 3.0)]))
    series = looks.series[Key("server", "http://s/metrics", "x", "")]
    ms = 1_000_000

    assert (series.last_until(20 * ms), series.last_until(9 * ms)) == (2.0, None)
    assert (series.first_from(11 * ms), series.first_from(31 * ms)) == (2.0, None)
    assert series.first_from(11 * ms, until_ns=15 * ms) is None
    assert np.array_equal(series.within(15 * ms, 30 * ms).value, [2.0, 3.0])


def test_nobody_told_anything() -> None:
    looks = looks_of(no_telemetry())

    assert looks.origins("server") == ()
    assert looks.instants("server", 0, 1) == 0
