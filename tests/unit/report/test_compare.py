import json

from loadgen.analysis.comparison.compare import compare
from loadgen.analysis.comparison.noise import noise_of
from loadgen.report.compare import as_json, compare_md, compare_text, noise_md, noise_text
from tests.reviewed import Figure, run, runs

WIDTH = 100
FIGURES: dict[str, Figure] = {
    "out_tps": (100.0, 99.5, 100.5),
    "ttft_s.p50": (0.0612, 0.060, 0.062),
    "ttft_s.p90": None,
}
FASTER: dict[str, Figure] = {
    "out_tps": (120.0, 119.5, 120.5),
    "ttft_s.p50": (0.0612, 0.040, 0.092),
    "ttft_s.p90": None,
}


def sides() -> tuple[str, str]:
    base = run({"closed:1": FIGURES, "closed:8": FIGURES}, "results/before")
    new = run({"closed:1": FASTER, "closed:8": FASTER}, "results/after", plan={"seed": 2})
    comparison = compare([base], [new])
    return "".join(compare_text(comparison)), "".join(compare_md(comparison))


def test_the_screen_says_verdicts_reasons_and_what_would_decide() -> None:
    text, _ = sides()
    assert "faster in 3 (out_tps)" in text
    assert "one run a side" in text
    assert "+20.0 %" in text
    assert "61.2" in text  # ms
    assert "n/a         ttft_s.p90: base: n=100 < 299; new: n=100 < 299" in text
    assert "seed: `1` and `2`" in text
    assert "more runs a side" in text
    assert "results/before" in text
    assert max(map(len, text.splitlines())) <= WIDTH


def test_markdown_has_one_table_that_leads_with_the_verdict() -> None:
    _, md = sides()
    lines = md.splitlines()
    assert lines[0].startswith("**of 8 figures")
    rows = [line for line in lines if line.startswith("|")]
    assert len({line.count("|") for line in rows}) == 1


def test_what_is_no_speed_gets_better_or_worse() -> None:
    base = run({"c": {"usd_per_1m_out": (1.0, 0.99, 1.01)}})
    new = run({"c": {"usd_per_1m_out": (2.0, 1.99, 2.01)}})
    assert "worse" in "".join(compare_text(compare([base], [new], ["usd_per_1m_out"])))


def test_noise_says_what_so_many_runs_would_show() -> None:
    noise = noise_of(runs("out_tps", [100.0, 101.0, 99.0, 100.0]))
    text = "".join(noise_text(noise))
    assert "quiet" in text
    assert "run-to-run" in text
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "| closed:1 |" in "".join(noise_md(noise))
    loud = noise_of(runs("out_tps", [100.0, 110.0, 100.0, 110.0]))
    assert "differ from themselves" in "".join(noise_text(loud))


def test_json_is_strict_and_whole() -> None:
    comparison = compare([run({"c": FIGURES})], [run({"c": FASTER})])
    told = json.loads("".join(as_json(comparison)), parse_constant=lambda word: 1 / 0)
    assert told["figures"][0]["verdict"] == "faster"
    assert told["figures"][2]["base"] is None
