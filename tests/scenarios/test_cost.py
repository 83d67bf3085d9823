"""Prices and phases on a whole command line, beside a mock whose law is known."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.sweeps import finish, running

LAW = """
model: law
max_batch: 4
prefill: {tps: 100000, step_s: 0.002, chunk_tok: 100000}
decode: {a_s: 0.0008, b_s: 0.0002, c_s: 0}
"""
PREFILL_TPS, DECODE_TPS = 100_000.0, 1_000.0
"""One stream computes 100,000 prompt tokens a second, and decodes a token each 0.8 + 0.2 ms."""
PRICES = """
retrieved: 2026-11-30
source: a quote
gpus: {card: {tiers: {lease: {usd_per_gpu_h: 1.80}}}}
api: {someone: {input: 0.1, output: 0.5, serves: [law]}}
"""


def test_a_run_is_priced_and_its_phases_are_those_of_the_mocks_law(tmp_path: Path) -> None:
    profile, prices, out = tmp_path / "law.yaml", tmp_path / "prices.yaml", tmp_path / "out"
    profile.write_text(LAW, encoding="utf-8")
    prices.write_text(PRICES, encoding="utf-8")
    words = ["run", f"mock:{profile}", "--load", "closed:1", "--requests", 60, "--quiet"]
    lengths = ["--isl", "uniform:200,8000", "--osl", "uniform:2,60", "--ignore-eos"]
    money = ["--gpus", 2, "--gpu-price", 3.6, "--prices", prices]
    with running(*words, *lengths, *money, "--out", out) as process:
        done = finish(process, out)
    assert done.code == 0, done.stderr
    summary = json.loads((done.folder / "run.json").read_text("utf-8"))["summary"]

    assert "2 GPUs" in done.stdout
    assert "lease" in done.stdout
    assert "someone (2026-11-30) would bill" in done.stdout
    figures = {key: m["value"] for key, m in summary["points"][0]["measures"].items()}
    rows = {(r["tier"], r["method"], r["utilisation"]): r for r in summary["costs"]}
    assert len(rows) == 2 * 4 * 3
    whole = rows["declared", "all_in", 1.0]
    assert whole["total"] == pytest.approx(0.002 * 1e6 / figures["total_tps"])
    assert whole["output_all_in"] == pytest.approx(figures["usd_per_1m_out"])
    assert rows["lease", "all_in", 0.3]["total"] == pytest.approx(whole["total"] / 0.6)
    split = rows["declared", "api_ratio", 1.0]
    assert split["output"] == pytest.approx(5 * split["input"])
    with running("report", done.folder, "--gpu-price", 7.2) as process:
        repriced = finish(process, out)
    assert "$7.20/GPU-h × 2" in repriced.stdout
    assert json.loads((done.folder / "run.json").read_text("utf-8"))["summary"] == summary
    if summary["client_grade"] != "refuse":
        agrees_with_the_law(summary["phases"][0])


def agrees_with_the_law(fit: dict[str, Any]) -> None:
    """Its intervals, with 6 % for a shared host and the mock's own tokenising, hold the law."""
    assert fit["reason"] == ""
    assert fit["prefill_low_tps"] * 0.94 < PREFILL_TPS < fit["prefill_high_tps"] * 1.06
    assert fit["decode_low_tps"] * 0.94 < DECODE_TPS < fit["decode_high_tps"] * 1.06
