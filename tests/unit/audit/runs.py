"""A measured run made by hand, for claims: figures and a card that agree with each other."""

from typing import Any

from msgspec import structs

from loadgen.model.disclosure import DisclosedField, Disclosure, Status
from loadgen.model.measured import MeasuredRun
from loadgen.model.summary import Counts, Headline, Measure, PointSummary, Summary, Window

CARD: dict[str, tuple[float, str, str]] = {
    "model": (2, "dsv4-flash", "DeepSeek V4.1 Flash"),
    "weight precision": (2, "", "fp4"),
    "gpu": (2.5, "", "4 x GB300"),
    "GPUs counted": (4, "", "4"),
    "engine version": (2, "vLLM 0.32.0", ""),
    "prompt length": (4, "1,021 tokens p50 (asked 1024)", ""),
    "answer length": (4, "256 tokens p50", ""),
    "cached share": (3, "0 % of prompt tokens (usage)", ""),
    "concurrency": (4, "1, 32", ""),
    "window": (4, "plateau", ""),
    "window length": (2, "60.0 s", ""),
    "requests": (2, "772", ""),
    "errors": (1, "0 of 772 failed", ""),
    "power cap": (1, "", ""),
}


def measure(key: str, value: float | None, **more: Any) -> Measure:
    name, _, stat = key.partition(".")
    return Measure(name, stat or "value", "tok/s", "higher", value, 740, **more)


def point(index: int, concurrency: int, figures: dict[str, float]) -> PointSummary:
    measures = {
        key: measure(key, value, low=value * 0.99, high=value * 1.01, interval="95 %, by blocks")
        for key, value in figures.items()
    }
    return PointSummary(
        index=index,
        load=f"closed:{concurrency}",
        concurrency=concurrency,
        counts=Counts(740, {"ok": 740}),
        window=Window(0, 60_000_000_000, "plateau"),
        measures=measures,
        whole={},
    )


def run_of(absent: tuple[str, ...] = (), contradicted: str = "", **changes: Any) -> MeasuredRun:
    """A sweep of two points on four GPUs: 142 and 107 tok/s a user, 3,156 of output at c=32."""
    fields = []
    for name, (weight, observed, declared) in CARD.items():
        status: Status = "observed" if observed else "declared" if declared else "missing"
        if name in absent:
            status, observed, declared = "missing", "", ""
        status = "contradicted" if name == contradicted else status
        fields.append(DisclosedField("any", name, weight, status, observed, declared, "a hint"))
    points = (
        point(0, 1, {"intvty_tps.p50": 142, "out_tps": 138, "total_tps": 690, "ttft_s.p50": 0.061}),
        point(
            1,
            32,
            {
                "intvty_tps.p50": 107,
                "intvty_tps.p90": 98,
                "out_tps": 3156,
                "total_tps": 15780,
                "ttft_s.p50": 0.212,
                "ttft_s.p95": 0.388,
                "tpot_s.p50": 1 / 107,
            },
        ),
    )
    summary = Summary(
        "r1",
        "valid",
        "A",
        (),
        points,
        Headline(0, 1),
        "complete",
        disclosure=Disclosure(60, (), tuple(fields)),
    )
    made = MeasuredRun(
        name="results/run",
        summary=structs.replace(summary, **changes.pop("summary", {})),
        measured_on="2026-12-01",
        tool="loadgen 0.1.0",
        url="http://node:8000/v1",
        models=("DeepSeek V4.1 Flash", "dsv4-flash"),
        gpu_names=("GB300",),
        gpus=4.0,
        precision="fp4",
        speculation="none",
        engine="vLLM",
        engine_version="0.32.0",
        input_tok=1021,
        output_tok=256,
        cached_frac=0.0,
    )
    return structs.replace(made, **changes)
