"""Unit slips: named where a bound or a sibling refuses the value, and only then."""

import pytest

from loadgen.physics import Band, unit_slips


def factors(*args: object, **given: object) -> list[float]:
    return [slip.factor for slip in unit_slips(*args, **given)]  # type: ignore[arg-type]


def test_seconds_printed_as_milliseconds_are_a_probable_slip_where_a_sibling_agrees() -> None:
    tpot_printed_s, intvty_tps = 5e-6, 200.0

    slips = unit_slips(tpot_printed_s, Band(low=0.001), siblings=[1 / intvty_tps])

    assert (slips[0].factor, slips[0].probable) == (1e3, True)
    assert "s printed as ms" in slips[0].name


def test_without_a_sibling_it_is_only_possible() -> None:
    slips = unit_slips(0.0003, Band(low=0.02, high=2.0))

    assert [slip.factor for slip in slips] == [1e3, 1024.0]
    assert not any(slip.probable for slip in slips)


def test_a_value_that_fits_is_never_questioned() -> None:
    assert unit_slips(0.005, Band(low=0.001), siblings=[0.005]) == ()
    assert unit_slips(0.005, Band(low=0.001)) == ()
    assert unit_slips(0.005) == ()


def test_a_sibling_that_disagrees_with_the_slipped_value_refuses_it() -> None:
    assert unit_slips(5e-6, Band(low=0.001), siblings=[0.0077]) == ()


def test_e2e_less_ttft_over_the_later_tokens_is_a_sibling_of_tpot() -> None:
    ttft_s, e2e_s, n = 0.3, 5.295, 1000

    assert factors(5.0, siblings=[(e2e_s - ttft_s) / (n - 1)]) == [1e-3, 1 / 1024]


def test_1024_is_told_from_1000_by_the_nearer_sibling() -> None:
    assert factors(1.0, siblings=[1024.0])[0] == 1024.0
    assert factors(1.0, siblings=[1000.0])[0] == 1000.0


@pytest.mark.parametrize(
    ("value", "right", "factor"),
    [(60.0, 1.0, 1 / 60), (1.0, 60.0, 60.0), (8.0, 1.0, 1 / 8), (1.0, 8.0, 8.0), (1e6, 1.0, 1e-6)],
)
def test_minutes_bits_and_millionths_are_tried(value: float, right: float, factor: float) -> None:
    assert factors(value, siblings=[right]) == [factor]


def test_one_gpu_taken_for_the_rack_is_named_with_its_size() -> None:
    slips = unit_slips(11.8, Band(low=500.0), siblings=[848.0], gpus=72)

    assert [slip.factor for slip in slips] == [72.0]
    assert "per GPU for the system of 72" in slips[0].name
    assert factors(848.0, siblings=[11.8], gpus=72) == [1 / 72]
    assert factors(848.0, siblings=[11.8], gpus=1) == []


def test_zero_explains_nothing() -> None:
    assert unit_slips(0.0, Band(low=1.0)) == ()
