import pytest

from loadgen.errors import UsageError
from loadgen.specs.gates import Gate, Limit, parse_gate, with_limits

FIGURES = {"ttft_s.p50": "s", "ttft_s.p99": "s", "out_tps": "tok/s", "error_frac": "frac"}
FIGURES |= {"usd_per_1m_out": "USD", "in_out_ratio": "ratio", "rps": "req/s"}
METRICS = {"ttft_s": "s", "tpot_s": "s", "output_tok": "tok"}


def parsed(text: str) -> Gate:
    return parse_gate(text, FIGURES, METRICS)


@pytest.mark.parametrize(
    ("text", "key", "operator", "limit"),
    [
        ("ttft_s.p99<0.5", "ttft_s.p99", "<", 0.5),
        ("ttft.p99<500ms", "ttft_s.p99", "<", 0.5),
        (" ttft.p99 <= 500 ms ", "ttft_s.p99", "<=", 0.5),
        ("ttft.p50<1min", "ttft_s.p50", "<", 60.0),
        ("error_frac<1%", "error_frac", "<", 0.01),
        ("error<0.01", "error_frac", "<", 0.01),
        ("out>=3e3", "out_tps", ">=", 3000.0),
        ("out_tps>3000tok/s", "out_tps", ">", 3000.0),
        ("rps>=4/s", "rps", ">=", 4.0),
        ("usd_per_1m_out<$0.2", "usd_per_1m_out", "<", 0.2),
        ("in_out_ratio>4", "in_out_ratio", ">", 4.0),
        ("goodput_rps>=3", "goodput_rps", ">=", 3.0),
        ("attainment>=99%", "attainment_frac", ">=", 0.99),
    ],
)
def test_figure_comparison_and_unit_are_read(
    text: str, key: str, operator: str, limit: float
) -> None:
    gate = parsed(text)
    assert (gate.key, gate.operator) == (key, operator)
    assert gate.limit == pytest.approx(limit)
    assert gate.text == text.strip()


def test_a_gate_may_ask_of_one_load() -> None:
    assert parsed("ttft.p99<1 @c=8").load == "closed:8"
    assert parsed("ttft.p99<1 @ poisson:rate=4/s").load == "poisson:rate=4/s"
    assert parsed("ttft.p99<1").load == ""


def test_goodput_has_limits_of_its_own() -> None:
    gate = parsed("goodput_rps(ttft<500ms,tpot<=0.05) >= 3 @c=8")
    assert gate.limits == (Limit("ttft_s", "<", 0.5, "s"), Limit("tpot_s", "<=", 0.05, "s"))
    assert (gate.limit, gate.load) == (3.0, "closed:8")


def test_goodput_without_limits_takes_those_of_the_other_times() -> None:
    others = (parsed("ttft.p99<500ms"), parsed("out_tps>100"))
    gate = with_limits(parsed("goodput_rps>=3"), others)
    assert gate.limits == (Limit("ttft_s", "<", 0.5, "s"),)
    assert with_limits(others[0], others) is others[0]
    with pytest.raises(UsageError, match="what must a request meet"):
        with_limits(parsed("goodput_rps>=3"), ())


@pytest.mark.parametrize(
    ("operator", "value", "met"),
    [("<", 3.0, False), ("<=", 3.0, True), (">", 3.0, False), (">=", 3.0, True), ("<", 2.9, True)],
)
def test_a_value_at_the_limit_meets_only_what_includes_it(
    operator: str, value: float, met: bool
) -> None:
    assert parsed(f"rps{operator}3").met_by(value) is met


@pytest.mark.parametrize(
    ("text", "marked", "words"),
    [
        ("ttft.p9<1", "ttft.p9", "ttft_s.p50, ttft_s.p99"),
        ("ttft<1", "ttft", "which statistic"),
        ("tttps>1", "tttps", "unknown figure"),
        ("ttft.p99", "ttft.p99", "a comparison was expected"),
        ("ttft.p99<500MB", "500MB", "`ms`"),
        ("ttft.p99<", None, "a number is missing"),
        ("ttft.p99=1", "=", "one exact value"),
        ("error<1ms", "1ms", "`%`"),
        ("rps<1e999", "1e999", "no number"),
        ("goodput_rps(ttft<1>=3", "(ttft<1>=3", "never closed"),
        ("goodput_rps(tftf<1)>=3", "tftf", "did you mean `ttft_s`"),
        ("goodput_rps(ttft)>=3", "ttft", "a limit was expected"),
        ("rps(ttft<1)>=3", "(ttft<1)", "takes no limits"),
    ],
)
def test_what_can_not_be_is_pointed_at(text: str, marked: str | None, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parsed(text)
    said = f"{caught.value}\n{caught.value.hint or ''}"
    assert words in said
    _, shown, carets = str(caught.value).rsplit("\n", 2)
    if marked is not None:
        start = carets.index("^")
        assert shown[start : start + carets.count("^")].strip() == marked
