"""The sentence that a run supports: a figure with all that must be said with it, or a refusal.

A figure alone is what this tool exists against: where one of REQUIRED isn't told, no sentence comes
out. What is declared is called so. Doubts of the run belong to the sentence.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from loadgen.errors import UsageError
from loadgen.model.disclosure import DisclosedField
from loadgen.model.measured import MeasuredRun, Qualifier, Refusal, RunClaim
from loadgen.model.summary import Measure, PointSummary
from loadgen.units import sized


class Said(NamedTuple):
    """A quantity that a sentence may be of: which figure, of which point, in which words."""

    key: str
    words: str
    single: bool = False
    """Of the point with one user, where there is one; else of the best aggregate."""
    per_gpu: bool = False


QUANTITIES: dict[str, Said] = {
    "aggregate_output": Said("out_tps", "tok/s of output, all users together, mean of the window"),
    "total": Said("total_tps", "tok/s of prompt and output, cached prompts too, all users"),
    "per_gpu_total": Said("total_tps", "tok/s of prompt and output per GPU", per_gpu=True),
    "per_gpu_output": Said("out_tps", "tok/s of output per GPU", per_gpu=True),
    "per_stream_decode": Said("intvty_tps.p50", "tok/s of one user's decoding, median", True),
    "per_stream_e2e": Said("e2e_tps.p50", "tok/s of one user, waiting included, median", True),
}
"""By the names that claim files use."""

SYSTEM = ("gpu", "GPUs counted", "weight precision", "engine version")
REQUIRED = (
    "model",
    *SYSTEM,
    "prompt length",
    "answer length",
    "cached share",
    "concurrency",
    "window",
    "window length",
    "requests",
    "errors",
)
ALSO = (
    "revision",
    "activation precision",
    "kv precision",
    "speculation",
    "topology",
    "power cap",
    "driver",
    "image digest",
    "data set",
    "sampling",
    "forced length",
    "arrivals",
    "client place",
)
"""Said where they are told; what isn't is named after the sentence."""
WORTH_NAMING = 1.0
"""Least weight of a missing field that is named."""


def claim_of(
    run: MeasuredRun, quantity: str = "aggregate_output", at: str = "", endpoint_only: bool = False
) -> RunClaim:
    """The sentence of one quantity, at the point that bears it or at `at` (`c=8`, `closed:8`).

    `endpoint_only`: about what a client saw of an endpoint whose hardware nobody tells.
    Raises: UsageError for a quantity or a point that there isn't.
    """
    if quantity not in QUANTITIES:
        known = ", ".join(QUANTITIES)
        raise UsageError(f"`--quantity {quantity}`: no such quantity", f"known: {known}")
    said = QUANTITIES[quantity]
    point = _point(run, said, at)
    spared = SYSTEM if endpoint_only or run.simulated else ()
    needed = [name for name in REQUIRED if name not in spared]
    measure = None if point is None else point.measures.get(said.key)
    refused = tuple(_refusals(run, said, measure, needed))
    told = tuple(_qualifiers(run, needed))
    open_fields = _not_told(run)
    doubts = tuple(finding.text for finding in run.summary.findings if finding.severity == "doubt")
    if refused or point is None or measure is None or measure.value is None:
        return RunClaim(
            run.name, quantity, "", not_told=open_fields, doubts=doubts, refused=refused
        )
    scale = 1.0 / (run.gpus or 1.0) if said.per_gpu else 1.0
    return RunClaim(
        run=run.name,
        quantity=quantity,
        sentence=_sentence(run, said, point, measure, scale, doubts),
        value=measure.value * scale,
        unit=measure.unit,
        low=None if measure.low is None else measure.low * scale,
        high=None if measure.high is None else measure.high * scale,
        interval=measure.interval,
        n=measure.n,
        load=_load(point),
        qualifiers=told,
        not_told=open_fields,
        doubts=doubts,
    )


def _point(run: MeasuredRun, said: Said, at: str) -> PointSummary | None:
    points, headline = run.summary.points, run.summary.headline
    if at:
        found = next((p for p in points if at in (p.load, _load(p))), None)
        if found is None:
            known = ", ".join(_load(p) for p in points) or "none"
            raise UsageError(f"`--at {at}`: no such point", f"the run has {known}")
        return found
    wanted = headline.best_aggregate
    if said.single and headline.single_stream is not None:
        wanted = headline.single_stream
    found = next((p for p in points if p.index == wanted), None)
    return found or (points[0] if len(points) == 1 else None)


def _refusals(
    run: MeasuredRun, said: Said, measure: Measure | None, needed: Sequence[str]
) -> Iterator[Refusal]:
    """Everything that stands against a sentence, the gravest first."""
    if run.summary.verdict == "invalid":
        reasons = "; ".join(run.summary.verdict_reasons)
        yield Refusal(f"the result is invalid: {reasons}", "measure again", invalid=True)
    if run.imported:
        yield Refusal(
            f"these are records of {run.imported}: nobody vouches for its clock and its host",
            "measure with loadgen",
        )
    if measure is None or measure.value is None:
        why = (measure.reason if measure else "") or "no point bears it"
        yield Refusal(f"`{said.key}` was not measured: {why}", "measure more, or another --at")
    for name in needed:
        field = run.fields.get(name)
        if field is None or field.status == "missing":
            hint = (field.hint if field else "") or "measure again with this version"
            yield Refusal(f"{name}: not told", hint)
    if said.per_gpu and run.gpus is None and "GPUs counted" not in needed:
        yield Refusal("a figure per GPU needs their number", "--gpus N")
    for name, field in run.fields.items():
        if field.status == "contradicted":
            both = f"declared `{field.declared}`, observed `{field.observed}`"
            yield Refusal(f"{name}: {both}", "correct the --system file")


def _qualifiers(run: MeasuredRun, needed: Sequence[str]) -> Iterator[Qualifier]:
    for name in (*needed, *ALSO):
        field = run.fields.get(name)
        if field is not None and field.status != "missing":
            yield Qualifier(name, _text(field), field.status)


def _not_told(run: MeasuredRun) -> tuple[str, ...]:
    absent = [f for f in run.fields.values() if f.status == "missing" and f.weight >= WORTH_NAMING]
    return tuple(f.field for f in sorted(absent, key=lambda f: -f.weight))


def _sentence(
    run: MeasuredRun,
    said: Said,
    point: PointSummary,
    measure: Measure,
    scale: float,
    doubts: Sequence[str],
) -> str:
    """The parts in the order of a reader's questions: how much, of what, under which load."""
    parts = [
        _figure(said, point, measure, scale),
        _subject(run),
        _work(run),
        _beside(point, said),
        _spent(run, point),
        _how(run, point),
    ]
    if doubts:
        parts.append(f"the run is {run.summary.verdict}: {'; '.join(doubts)}")
    return "; ".join(part for part in parts if part) + "."


def _figure(said: Said, point: PointSummary, measure: Measure, scale: float) -> str:
    assert measure.value is not None
    interval = "no interval"
    if measure.low is not None and measure.high is not None:
        ends = f"{sized(measure.low * scale)} to {sized(measure.high * scale)}"
        interval = f"{ends}, {measure.interval}"
    failed = sum(point.counts.errors_by_class.values())
    users = "1 user" if point.concurrency == 1 else f"{point.concurrency} requests at once"
    at = point.load if point.concurrency is None else f"{users} ({point.load})"
    spread = f"{interval}, n {measure.n:,}; {failed:,} of {point.counts.issued:,} requests failed"
    return f"{sized(measure.value * scale)} {said.words} ({spread}), at {at}"


def _subject(run: MeasuredRun) -> str:
    """The model and what serves it, declared facts called declared."""
    names = ("revision", "weight precision", "activation precision", "kv precision", "speculation")
    model = run.fields["model"]
    facts = [f"from {_text(model)}", *_told(run, names)]
    hardware = _told(run, ("gpu", "topology", "power cap", "driver", "image digest"))
    served = run.fields.get("engine version")
    if served is not None and served.status != "missing":
        facts.append(f"served by {_text(served)}")
    if run.simulated:
        return f"{', '.join(facts)}, a simulation: it tells of no real system"
    if not hardware:
        return f"{', '.join(facts)}, on hardware that isn't told, at {run.url}"
    return f"{', '.join(facts)}, on {', '.join(hardware)}"


def _work(run: MeasuredRun) -> str:
    prompts = f"prompts {_value(run, 'prompt length')}, answers {_value(run, 'answer length')}"
    more = [
        _value(run, "forced length"),
        f"cached {_value(run, 'cached share')}",
        f"data {_value(run, 'data set')}",
        f"sampling {_value(run, 'sampling')}",
        f"{_value(run, 'arrivals')} load",
    ]
    return f"{prompts}, {', '.join(more)}"


def _beside(point: PointSummary, said: Said) -> str:
    """What a user sees at this same point; never the best of another one."""
    speeds = []
    for key, words in (("intvty_tps.p50", "p50"), ("intvty_tps.p90", "p90 (slow tail)")):
        measure = point.measures.get(key)
        if measure is not None and measure.value is not None and key != said.key:
            speeds.append(f"{words} {sized(measure.value)}")
    times = []
    for key in ("ttft_s.p50", "ttft_s.p95", "e2e_s.p50", "e2e_s.p95"):
        measure = point.measures.get(key)
        if measure is not None and measure.value is not None:
            name = key.partition("_")[0].upper()
            times.append(f"{name} {measure.stat} {sized(measure.value * 1e3)} ms")
    user = f"a user decodes at {', '.join(speeds)} tok/s" if speeds else ""
    both = ", ".join(part for part in (user, *times) if part)
    return f"at this same load {both}" if both else ""


def _spent(run: MeasuredRun, point: PointSummary) -> str:
    """Energy and cost, which the six values have at the best aggregate; of other points nothing."""
    told = run.summary.disclosure
    if told is None or point.index != run.summary.headline.best_aggregate:
        return ""
    kept = [value for value in told.six if value.name in ("energy", "cost") and value.measured]
    return ", ".join(f"{value.name} {value.text}" for value in kept)


def _how(run: MeasuredRun, point: PointSummary) -> str:
    window = point.window
    length = "" if window is None else f", {sized((window.end_at_ns - window.start_at_ns) / 1e9)} s"
    rule = "" if window is None else f", window: {window.rule}{length}"
    place = _value(run, "client place")
    seen = f", client grade {run.summary.client_grade}" + (f", {place}" if place else "")
    on = f" on {run.measured_on}" if run.measured_on else ""
    once = "one run: the spread between runs is not measured"
    return f"measured{on} by {run.tool}{rule}{seen}; {once}"


def _told(run: MeasuredRun, names: Sequence[str]) -> list[str]:
    found = ((name, run.fields.get(name)) for name in names)
    return [
        f"{_text(field)}" if name == "gpu" else f"{_short(name)} {_text(field)}"
        for name, field in found
        if field is not None and field.status != "missing"
    ]


def _short(name: str) -> str:
    return {"weight precision": "weights", "kv precision": "cache", "topology": "as"}.get(
        name, name.removesuffix(" precision")
    )


def _value(run: MeasuredRun, name: str) -> str:
    field = run.fields.get(name)
    return "" if field is None or field.status == "missing" else _text(field)


def _text(field: DisclosedField) -> str:
    """What was seen, else what was declared, called so; both where they differ in words."""
    if not field.observed:
        return f"{field.declared} (declared)"
    if field.declared and field.declared != field.observed:
        return f"{field.observed} (declared: {field.declared})"
    return field.observed


def _load(point: PointSummary) -> str:
    return point.load if point.concurrency is None else f"c={point.concurrency}"
