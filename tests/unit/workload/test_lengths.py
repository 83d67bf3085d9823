from pathlib import Path
from random import Random

import pytest

from loadgen.errors import InputError, UsageError
from loadgen.workload.lengths import length_file, parse_gap, parse_length


def drawn(text: str, n: int = 2000) -> list[int]:
    length = parse_length(text, "isl")
    rng = Random(7)
    return [length.draw(rng) for _ in range(n)]


@pytest.mark.parametrize(("text", "n_tok"), [("1024", 1024), ("8k", 8192), ("fixed:7", 7)])
def test_a_bare_number_is_a_fixed_length(text: str, n_tok: int) -> None:
    assert set(drawn(text)) == {n_tok}


def test_uniform_lengths_reach_both_ends_and_nothing_beyond() -> None:
    lengths = drawn("uniform:10,12")
    assert set(lengths) == {10, 11, 12}


def test_normal_lengths_have_the_asked_mean_and_deviation() -> None:
    lengths = drawn("normal:1000,sd=100")
    mean = sum(lengths) / len(lengths)
    assert abs(mean - 1000) < 10
    deviation = (sum((x - mean) ** 2 for x in lengths) / len(lengths)) ** 0.5
    assert abs(deviation - 100) < 10


def test_lognormal_lengths_have_the_asked_mean_and_a_long_tail() -> None:
    lengths = sorted(drawn("lognormal:1000,sd=800", 4000))
    assert abs(sum(lengths) / len(lengths) - 1000) < 60
    assert lengths[2000] < 900
    assert lengths[-1] > 3000


@pytest.mark.parametrize("text", ["normal:100,sd=90,low=50,high=150", "lognormal:100,90,50,150"])
def test_limits_cut_the_distribution_by_drawing_again(text: str) -> None:
    lengths = drawn(text)
    assert 50 <= min(lengths) <= max(lengths) <= 150
    assert lengths.count(50) < 100


def test_a_length_of_no_deviation_at_all_still_ends() -> None:
    assert set(drawn("normal:5,sd=0")) == {5}


def test_empirical_lengths_come_from_the_file_as_often_as_they_stand_there(tmp_path: Path) -> None:
    path = tmp_path / "lengths.txt"
    path.write_text("10\n10 10\n\n400,\n")
    lengths = drawn(f"empirical:{path}")
    assert set(lengths) == {10, 400}
    assert abs(lengths.count(400) / len(lengths) - 0.25) < 0.05
    assert length_file(f"empirical:{path}") == path
    assert length_file("uniform:1,2") is None


@pytest.mark.parametrize(
    ("content", "says"), [("12\n0\n", ":2`: `0`"), ("a\n", ":1`: `a`"), ("\n", "holds no lengths")]
)
def test_a_file_without_usable_lengths_is_refused_by_line(
    tmp_path: Path, content: str, says: str
) -> None:
    path = tmp_path / "lengths.txt"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        parse_length(f"empirical:{path}", "isl")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "0", "-5", "unifrm:1,2", "uniform:5,2", "normal:5", "normal:5,sd=1,low=9", "x"]
)
def test_what_is_no_length_is_refused_naming_the_option(text: str) -> None:
    with pytest.raises(UsageError, match="osl: "):
        parse_length(text, "osl")


@pytest.mark.parametrize(
    ("text", "ns"), [("0", 0), ("2s", 2_000_000_000), ("fixed:5ms", 5_000_000)]
)
def test_fixed_gaps_are_durations(text: str, ns: int) -> None:
    assert parse_gap(text, "think").draw_ns(Random(1)) == ns


def test_gaps_are_drawn_uniformly_or_exponentially() -> None:
    rng = Random(3)
    uniform = [parse_gap("uniform:1s,2s", "think").draw_ns(rng) for _ in range(500)]
    assert 10**9 <= min(uniform) < max(uniform) <= 2 * 10**9
    exponential = [parse_gap("exponential:1s", "think").draw_ns(rng) for _ in range(4000)]
    assert abs(sum(exponential) / 4000 / 10**9 - 1) < 0.06
    assert min(exponential) >= 0


@pytest.mark.parametrize("text", ["soon", "uniform:2s,1s", "gamma:1s"])
def test_what_is_no_gap_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="think: "):
        parse_gap(text, "think")
