"""How much of what a reader needs a claim tells, apart from whether it is true."""

from typing import NamedTuple

from loadgen.model.claim import Claim, Fact, Lacking, Status

SHARES: dict[Status, float] = {
    "stated": 1.0,
    "inferred": 0.6,
    "partial": 0.3,
    "assumed": 0.0,
    "missing": 0.0,
    "contradicted": 0.0,
}
GRADES = ((85.0, "A"), (70.0, "B"), (50.0, "C"), (25.0, "D"), (0.0, "E"))


class Group(NamedTuple):
    """A group of fields that share its weight evenly."""

    name: str
    weight: float
    fields: tuple[str, ...]


GROUPS: tuple[Group, ...] = (
    Group("semantics", 20, ("quantity", "statistic", "gpus_counted", "window", "token_kind")),
    Group("workload", 18, ("isl", "osl", "dataset", "cached_share", "sampling", "turns")),
    Group("load", 10, ("concurrency", "arrivals", "client_location")),
    Group(
        "model and precision", 10, ("model", "params", "precision", "kv_precision", "speculation")
    ),
    Group("system", 12, ("hw", "topology", "engine", "engine_version", "power_cap")),
    Group("latency", 8, ("ttft", "tpot", "latency_p95")),
    Group("duration and n", 6, ("duration", "warmup", "n", "errors")),
    Group("replication", 6, ("runs", "spread", "independent", "raw_data")),
    Group("energy", 4, ("power",)),
    Group("cost", 3, ("cost",)),
    Group("quality", 3, ("quality",)),
)
"""Weights sum to 100; what is left out of them is named by `lacking`."""

REQUIRED = ("quantity", "model", "hw")
"""Without any of these no claim gets a better grade than D."""


def disclosure(claim: Claim) -> tuple[float, str, tuple[Lacking, ...]]:
    """Points of 100, the grade, and what is lacking, the heaviest group first."""
    points = 0.0
    lacking = []
    for group in GROUPS:
        each = group.weight / len(group.fields)
        shares = {name: SHARES[_status(claim, name)] for name in group.fields}
        points += each * sum(shares.values())
        absent = [name for name, share in shares.items() if share < 1.0]
        if absent:
            lost = each * sum(1.0 - shares[name] for name in absent)
            words = ", ".join(name.replace("_", " ") for name in absent)
            lacking.append(Lacking(round(lost, 1), words))
    grade = next(letter for least, letter in GRADES if points >= least)
    if any(SHARES[_status(claim, name)] == 0.0 for name in REQUIRED):
        grade = max(grade, "D")
    order = sorted(lacking, key=lambda lack: -lack.points)
    return round(points, 1), grade, tuple(order)


def reproducibility(claim: Claim) -> int:
    """0 nothing, 1 the configuration, 2 and the workload, 3 and raw data, 4 an independent run."""
    levels = (
        ("engine", "engine_version", "topology"),
        ("isl", "osl", "dataset", "concurrency"),
        ("raw_data",),
        ("independent",),
    )
    reached = 0
    for names in levels:
        if any(SHARES[_status(claim, name)] < 0.6 for name in names):
            break
        reached += 1
    return reached


def _status(claim: Claim, name: str) -> Status:
    """A field's standing; the headline's own members count as stated unless `unknown`."""
    headline = {
        "quantity": claim.value.quantity,
        "statistic": claim.value.statistic,
        "token_kind": claim.value.token_kind,
    }
    if name in headline:
        return "missing" if headline[name] == "unknown" else "stated"
    if name == "params":
        name = "params_total_b"
    return claim.facts.get(name, Fact()).status
