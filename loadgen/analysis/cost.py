"""What tokens cost at each point: by price tier, utilisation and split method; the break-even.

A rate measured at full load is a limit and no capacity: each figure stands at 100, 60 and 30 % of
it being sold. Pure: prices come from `tiers`, rates from the summary's own measures.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec import structs

from loadgen import physics
from loadgen.analysis.tiers import Tier, apis_of, gpus_of, ratio_of, tiers_of
from loadgen.model.cost import BreakEven, CostRow, PhaseFit, SplitMethod
from loadgen.model.plan import Plan
from loadgen.model.summary import PointSummary, ReplaySummary, Summary
from loadgen.model.telemetry import ServerView

UTILISATIONS = (1.0, 0.6, 0.3)
METHODS: tuple[SplitMethod, ...] = ("all_in", "server_time", "regression", "api_ratio")
NO_SPLIT = "one price over all tokens or over output alone: no split"


@dataclass(frozen=True, slots=True)
class Rates:
    """Tokens a second of one point; None where unknown, `reason` then says why."""

    point: int
    output: float | None
    prompt: float | None
    uncached: float | None
    basis: str = ""
    """Who told the cached share: usage, server, design."""
    reason: str = ""

    @property
    def total(self) -> float | None:
        """Prompt and output tokens a second."""
        return None if self.output is None or self.prompt is None else self.output + self.prompt

    @property
    def cached(self) -> float | None:
        """Cached prompt tokens a second."""
        if self.prompt is None or self.uncached is None:
            return None
        return max(0.0, self.prompt - self.uncached)

    @property
    def in_out_ratio(self) -> float | None:
        """Prompt tokens per output token."""
        return self.prompt / self.output if self.prompt is not None and self.output else None

    @property
    def cached_frac(self) -> float | None:
        """Cached share of the prompt tokens."""
        cached = self.cached
        return cached / self.prompt if cached is not None and self.prompt else None

    @property
    def kinds(self) -> tuple[float, float, float] | None:
        """Uncached, cached and output tokens a second; None unless all are known."""
        uncached, cached, output = self.uncached, self.cached, self.output
        if uncached is None or cached is None or output is None:
            return None
        return uncached, cached, output


@dataclass(frozen=True, slots=True)
class Shares:
    """How a method splits the price: `input_frac` of it on the prompt, or the reason why not."""

    input_frac: float | None
    reason: str = ""


def with_costs(summary: Summary, plan: Plan, gpu_names: tuple[str, ...] = ()) -> Summary:
    """The summary with its costs and break-evens, from its own points, phases and server views."""
    gpus = gpus_of(plan)
    tiers = () if gpus is None else tiers_of(plan, gpu_names)
    if gpus is None or not tiers:
        return summary
    servers = {view.point: view for view in summary.server}
    replays = {replay.point: replay for replay in summary.replays}
    phases = {fit.point: fit for fit in summary.phases}
    costs: list[CostRow] = []
    bills: list[BreakEven] = []
    for point in summary.points:
        server = servers.get(point.index)
        rates = rates_of(point, plan, server, replays.get(point.index))
        shares = {
            "server_time": server_shares(server),
            "regression": fitted_shares(phases.get(point.index)),
        }
        for tier in tiers:
            costs += cost_rows(rates, tier, gpus, plan, shares)
            bills += break_evens(rates, tier, gpus, plan)
    return structs.replace(summary, costs=tuple(costs), break_even=tuple(bills))


def rates_of(
    point: PointSummary,
    plan: Plan,
    server: ServerView | None = None,
    replay: ReplaySummary | None = None,
) -> Rates:
    """Tokens a second of the point; the cached share by usage, else server, else design."""
    if replay is not None and replay.total_tps is not None and replay.output_tps is not None:
        served = replay.total_tps - replay.output_tps
        told = "" if replay.computed_tps is not None else "cached tokens not reported"
        basis = "" if told else "usage"
        return Rates(point.index, replay.output_tps, served, replay.computed_tps, basis, told)
    output, prompt = _value(point, "out_tps"), _value(point, "in_tps_total")
    uncached = _value(point, "in_tps_uncached")
    if uncached is not None:
        return Rates(point.index, output, prompt, uncached, "usage")
    counted = None if server is None else cached_share(server)
    if prompt is not None and counted is not None:
        return Rates(point.index, output, prompt, prompt * (1.0 - counted), "server")
    if prompt is not None and shares_nothing(plan):
        return Rates(point.index, output, prompt, prompt, "design")
    measure = point.measures.get("in_tps_uncached")
    reason = (measure.reason if measure else "") or "cached tokens not reported"
    return Rates(point.index, output, prompt, None, "", reason)


def cached_share(server: ServerView) -> float | None:
    """Cached share of the prompt tokens by the server's counters over the whole point."""
    if not server.input_tok or server.cached_tok is None:
        return None
    return min(1.0, max(0.0, server.cached_tok / server.input_tok))


def shares_nothing(plan: Plan) -> bool:
    """Whether by their design no two prompts have a beginning in common."""
    work = plan.workload
    alone = work.turns == "1" and not work.shared_prefix_tok and not work.system_text
    return work.format == "synthetic" and alone and work.salted is not False


def server_shares(server: ServerView | None) -> Shares:
    """The prompt's share by the seconds that the server says it spent on prefill and decode."""
    if server is None:
        return Shares(
            None, "not measured: the server's own prefill and decode seconds were not read"
        )
    prefill, decode = server.prefill_sum_s, server.decode_sum_s
    if prefill is None or decode is None:
        return Shares(None, "not measured: the server tells no prefill and decode seconds")
    if prefill + decode <= 0:
        return Shares(None, "the server's prefill and decode seconds did not move")
    return Shares(prefill / (prefill + decode))


def fitted_shares(fit: PhaseFit | None) -> Shares:
    """The prompt's share by the regression of the requests' times over their lengths."""
    if fit is None:
        return Shares(None, "not identifiable: no fit of this point")
    prefill, decode = fit.prefill_time_frac, fit.decode_time_frac
    if prefill is None or decode is None or prefill + decode <= 0:
        return Shares(None, fit.reason or "not identifiable")
    return Shares(prefill / (prefill + decode))


def cost_rows(
    rates: Rates, tier: Tier, gpus: float, plan: Plan, shares: dict[str, Shares]
) -> Iterator[CostRow]:
    """A row for each utilisation and method."""
    ratio = ratio_of(plan)
    for utilisation in UTILISATIONS:
        usd_per_s = physics.usd_per_second(tier.usd_per_gpu_h, gpus, utilisation)
        whole = CostRow(
            point=rates.point,
            tier=tier.name,
            usd_per_gpu_h=tier.usd_per_gpu_h,
            gpus=gpus,
            utilisation=utilisation,
            method="all_in",
            total=_over(usd_per_s, rates.total),
            output_all_in=_over(usd_per_s, rates.output),
            reason=NO_SPLIT,
            source=tier.source,
            dated=tier.dated,
            in_out_ratio=rates.in_out_ratio,
            cached_frac=rates.cached_frac,
            cached_basis=rates.basis,
        )
        yield whole
        for method in ("server_time", "regression"):
            yield _by_time(whole, method, usd_per_s, rates, shares[method])
        if ratio is None:
            reason = f"no API lists `{plan.target.model}`: give `api` or `api_ratio` in --prices"
            yield structs.replace(whole, method="api_ratio", reason=reason)
        else:
            yield _by_ratio(whole, usd_per_s, rates, (ratio[0].output, ratio[0].cached), ratio[1])


def _by_time(
    whole: CostRow, method: SplitMethod, usd_per_s: float, rates: Rates, shares: Shares
) -> CostRow:
    """The row of a method that shares the price by time."""
    if shares.input_frac is None or rates.output is None:
        reason = shares.reason or "no output rate"
        return structs.replace(whole, method=method, reason=reason)
    split = physics.split_by_time(usd_per_s, shares.input_frac, rates.uncached or 0.0, rates.output)
    why = "" if rates.uncached else rates.reason or "every prompt token was cached"
    if rates.cached:
        why = "cached tokens take no prefill: this method puts nothing on them"
    return structs.replace(
        whole,
        method=method,
        input=split.input,
        cached=split.cached,
        output=split.output,
        input_frac=shares.input_frac,
        reason=why,
    )


def _by_ratio(
    whole: CostRow,
    usd_per_s: float,
    rates: Rates,
    ratio: tuple[float, float],
    told_by: str,
) -> CostRow:
    """The row of the method that shares the price in an API's ratio."""
    kinds, (output, cached) = rates.kinds, ratio
    named = f"{whole.source}; output = {output:.4g} x input, cached = {cached:.4g} x: {told_by}"
    if kinds is None:
        reason = rates.reason or "no output rate"
        return structs.replace(whole, method="api_ratio", reason=reason, source=named)
    split = physics.split_by_ratio(usd_per_s, kinds, output, cached)
    on_input = None if split.input is None else split.input * kinds[0] / (usd_per_s * physics.MTOK)
    return structs.replace(
        whole,
        method="api_ratio",
        input=split.input,
        cached=split.cached if kinds[1] else None,
        output=split.output,
        input_frac=on_input,
        reason="",
        source=named,
    )


def break_evens(rates: Rates, tier: Tier, gpus: float, plan: Plan) -> Iterator[BreakEven]:
    """A row for each API that lists the model: from which use on owning beats its bill."""
    if rates.output is None or rates.prompt is None:
        return
    assumes = "the API's cache finds what this server's found"
    kinds = rates.kinds
    if kinds is None:
        kinds = (rates.prompt, 0.0, rates.output)
        assumes = "cached share unknown: every prompt token billed at the full price"
    own = physics.usd_per_second(tier.usd_per_gpu_h, gpus)
    for api in apis_of(plan):
        billed = physics.billed_usd_per_s(kinds, api.usd_per_mtok)
        needed = own / billed if billed > 0 else None
        yield BreakEven(
            point=rates.point,
            tier=tier.name,
            api=api.name,
            api_usd=billed,
            own_usd=own,
            utilisation=needed if needed is not None and needed <= 1.0 else None,
            source=api.source,
            dated=api.dated,
            assumes=assumes,
        )


def _value(point: PointSummary, name: str) -> float | None:
    measure = point.measures.get(name)
    return None if measure is None else measure.value


def _over(usd_per_s: float, tps: float | None) -> float | None:
    return None if tps is None else physics.per_mtok(usd_per_s, tps)


def rows_at(
    costs: Sequence[CostRow], point: int, tier: str, utilisation: float = 1.0
) -> dict[SplitMethod, CostRow]:
    """The rows of one point, tier and utilisation by method; empty where there are none."""
    return {
        row.method: row
        for row in costs
        if row.point == point and row.tier == tier and row.utilisation == utilisation
    }
