"""What a run tells of each field of the disclosure card (`card`), observed and declared apart."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from loadgen.analysis.cost import shares_nothing
from loadgen.analysis.disclosure.declared import Compared, compared
from loadgen.analysis.words import in_percent, sized
from loadgen.model.disclosure import Status
from loadgen.model.summary import Measure, PointSummary, Summary
from loadgen.model.system import DeclaredSystem
from loadgen.model.table import ABSENT, Ints, Recording
from loadgen.units import NS_PER_MS, NS_PER_S

SAMPLING = ("temperature", "top_p", "top_k", "min_p", "seed")


class Told(NamedTuple):
    """What either side says; `inferred` where the observed text follows from something else."""

    observed: str = ""
    declared: str = ""
    inferred: bool = False
    contradicted: bool = False

    @property
    def status(self) -> Status:
        """How the field stands."""
        if self.contradicted:
            return "contradicted"
        if self.observed and not self.inferred:
            return "observed"
        if self.declared:
            return "declared"
        return "inferred" if self.observed else "missing"


@dataclass(frozen=True)
class View:
    """What a field may look at."""

    summary: Summary
    recording: Recording

    @property
    def system(self) -> DeclaredSystem | None:
        """What the user declared."""
        return self.recording.plan.system

    @cached_property
    def both(self) -> dict[str, Compared]:
        """Declared beside observed, by field."""
        return {one.field: one for one in compared(self.recording)}

    @cached_property
    def best(self) -> PointSummary | None:
        """The point that the six values are of: the best aggregate, else the only one."""
        wanted = self.summary.headline.best_aggregate
        found = next((p for p in self.summary.points if p.index == wanted), None)
        return found or (self.summary.points[0] if len(self.summary.points) == 1 else None)

    @property
    def gpus(self) -> float | None:
        """GPUs that the user said serve."""
        said = self.recording.plan.prices.get("gpus")
        return said if said is not None else None if self.system is None else self.system.gpus

    def measure(self, key: str) -> Measure | None:
        """A figure of the best point that could be given."""
        found = None if self.best is None else self.best.measures.get(key)
        return found if found is not None and found.value is not None else None

    def beside(self, field: str, inferred: str = "") -> Told:
        """A field that both sides may tell; `inferred` stands where neither does."""
        one = self.both.get(field, Compared(field, "", "", "unknown"))
        if not one.declared and not one.observed and inferred:
            return Told(inferred, inferred=True)
        return Told(one.observed, one.declared, contradicted=one.relation == "contradicts")


Tell = Callable[[View], Told]


def quantity(view: View) -> Told:
    """Which rate: ours are named wherever they stand."""
    return Told("output tok/s of all users; decode tok/s of one" if view.best else "")


def statistic(view: View) -> Told:
    """Of what the figures are the mean or the percentile."""
    return Told("rates: mean of the window; speeds and times: percentiles" if view.best else "")


def gpus_counted(view: View) -> Told:
    """The denominator of every figure a GPU."""
    seen = len(view.recording.observed.gpu_names)
    return Told(f"{seen}" if seen else "", "" if view.gpus is None else f"{view.gpus:g}")


def window(view: View) -> Told:
    """Where the measuring window came from."""
    rules = sorted({p.window.rule for p in view.summary.points if p.window is not None})
    return Told(", ".join(rules))


def token_kind(view: View) -> Told:
    """Who counted the tokens."""
    table = view.recording.table
    if (table.usage_output_tok != ABSENT).any():
        return Told("the server's count (usage)")
    sources = sorted({str(source) for source in table.own_tok_source if source})
    return Told(f"our own count by {', '.join(sources)}" if sources else "", inferred=True)


def isl(view: View) -> Told:
    """Prompt lengths."""
    table = view.recording.table
    served = _median(table.usage_input_tok)
    asked = f"asked {view.recording.plan.workload.isl}"
    if view.recording.plan.replay is not None:
        asked = "as recorded"
    if served is not None:
        return Told(f"{served} tokens p50 ({asked})")
    designed = _median(table.input_tok)
    return Told(f"{designed} tokens p50 by design ({asked})" if designed else "", inferred=True)


def osl(view: View) -> Told:
    """Answer lengths."""
    table = view.recording.table
    served = _median(table.usage_output_tok)
    if served is not None:
        return Told(f"{served} tokens p50")
    own = _median(table.own_tok)
    return Told(f"{own} tokens p50 by our count" if own else "", inferred=True)


def dataset(view: View) -> Told:
    """Which prompts, with their hash."""
    work = view.recording.plan.workload
    digest = f", sha256 {work.sha256[:12]}" if work.sha256 else ""
    return Told(f"{work.name}{digest}")


def cached_share(view: View) -> Told:
    """How much of the prompts came from a cache."""
    table = view.recording.table
    known = (table.usage_cached_tok != ABSENT) & (table.usage_input_tok != ABSENT)
    prompt = int(table.usage_input_tok[known].sum())
    if prompt:
        share = float(table.usage_cached_tok[known].sum()) / prompt
        return Told(f"{in_percent(share)} of prompt tokens (usage)")
    server = [v for v in view.summary.server if v.cached_tok is not None and v.input_tok]
    if server:
        cached = sum(v.cached_tok or 0.0 for v in server)
        share = cached / sum(v.input_tok or 0.0 for v in server)
        return Told(f"{in_percent(share)} of prompt tokens (server's counters)")
    return Told("none by design" if shares_nothing(view.recording.plan) else "", inferred=True)


def sampling(view: View) -> Told:
    """How answers were drawn."""
    body = view.recording.plan.target.extra_body
    said = [f"{name} {body[name]}" for name in SAMPLING if name in body]
    return Told(", ".join(said)) if said else Told("the server's defaults", inferred=True)


def turns(view: View) -> Told:
    """One prompt a session, or conversations."""
    plan = view.recording.plan
    if plan.replay is not None:
        return Told("recorded sessions")
    return Told("one turn" if plan.workload.turns == "1" else f"{plan.workload.turns} turns")


def forced_length(view: View) -> Told:
    """Whether answers were held to a length."""
    forced = view.recording.plan.workload.ignore_eos
    return Told("forced (ignore_eos)" if forced else "answers end by themselves")


def concurrency(view: View) -> Told:
    """Requests at once, or the load's own words."""
    loads = [p.load if p.concurrency is None else f"{p.concurrency}" for p in view.summary.points]
    return Told(", ".join(loads))


def arrivals(view: View) -> Told:
    """Open or closed."""
    shapes = sorted({point.load.partition(":")[0] for point in view.recording.plan.points})
    return Told(" and ".join(shapes))


def client_place(view: View) -> Told:
    """Where the client stands: the round trip is seen, the place declared."""
    rtt_ns = view.recording.observed.rtt_ns
    seen = "" if rtt_ns is None else f"round trip {sized(rtt_ns / NS_PER_MS)} ms"
    return Told(seen, (view.system.client if view.system else None) or "")


def figure(key: str) -> Tell:
    """A field that is told where the best point has the measure."""

    def tell(view: View) -> Told:
        found = view.measure(key)
        if found is None or found.value is None:
            return Told()
        return Told(f"{sized(found.value * 1e3)} ms (n {found.n})")

    return tell


def warmup(view: View) -> Told:
    """What was left out at the start."""
    plans = view.recording.plan.points
    asked = max((plan.warmup_requests for plan in plans), default=0)
    return Told(f"{asked} requests a point before the window" if asked else "none asked for")


def seconds(view: View) -> Told:
    """Length of the windows."""
    spans = [
        (p.window.end_at_ns - p.window.start_at_ns) / NS_PER_S
        for p in view.summary.points
        if p.window is not None
    ]
    if not spans:
        return Told()
    low, high = sized(min(spans)), sized(max(spans))
    return Told(f"{low} s" if low == high else f"{low} to {high} s a point")


def requests(view: View) -> Told:
    """How many were issued."""
    issued = sum(point.counts.issued for point in view.summary.points)
    return Told(f"{issued:,}" if issued else "")


def errors(view: View) -> Told:
    """Failures, always told."""
    issued = sum(point.counts.issued for point in view.summary.points)
    bad = sum(sum(point.counts.errors_by_class.values()) for point in view.summary.points)
    return Told(f"{bad:,} of {issued:,} failed" if issued else "")


def runs(view: View) -> Told:
    """How often it was measured."""
    return Told("1 run" if view.summary.points else "")


def raw_data(view: View) -> Told:
    """Where every request is kept."""
    return Told(view.recording.path)


def energy(view: View) -> Told:
    """Boundary and source of the joules."""
    told = [one for one in view.summary.energy if one.joules is not None]
    return Told(f"{told[0].boundary}, {told[0].source} of {told[0].origin}" if told else "")


def cost(view: View) -> Told:
    """The price that dollars rest on."""
    prices = view.recording.plan.prices
    if "gpu_usd_per_h" in prices:
        return Told(declared=f"${prices['gpu_usd_per_h']:g} a GPU-hour, 100 % busy")
    row = next(iter(view.summary.costs), None)
    if row is None:
        return Told()
    dated = f" ({row.dated})" if row.dated else ""
    return Told(f"{row.tier} ${row.usd_per_gpu_h:g} a GPU-hour{dated}", inferred=True)


def nothing(_: View) -> Told:
    """A field that one run by itself can't tell."""
    return Told()


def _median(column: Ints) -> str | None:
    known = column[column != ABSENT]
    return f"{float(np.median(known)):,.0f}" if known.size else None
