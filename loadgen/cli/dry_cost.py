"""What a plan would cost before it is run: at the declared price, at each tier, at an API."""

from collections.abc import Iterator

from loadgen.model.plan import Plan
from loadgen.physics import billed_usd_per_s

MINUTES_PER_HOUR = 60.0
UNKNOWN = "unknown (--gpu-price USD and --gpus N tell)"


def cost_lines(
    plan: Plan, minutes: float | None, tokens: tuple[float, float] | None
) -> Iterator[str]:
    """Lines without indent; `minutes` of all points and (prompt, output) `tokens`, if known."""
    if not plan.prices and tokens is None:
        yield UNKNOWN
        return
    from loadgen.analysis.tiers import DECLARED, apis_of, gpus_of, tiers_of  # numpy is in that room

    gpus, tiers = gpus_of(plan), tiers_of(plan)
    if gpus is None or not tiers:
        yield UNKNOWN
    else:
        for tier in tiers:
            hourly = f"{gpus:g} × ${tier.usd_per_gpu_h:.3g} an hour"
            usd = tier.usd_per_gpu_h * gpus * (minutes or 0.0) / MINUTES_PER_HOUR
            text = hourly if minutes is None else f"${usd:,.2f} at {hourly}"
            yield text if tier.name == DECLARED else f"{text}: {tier.name}, {tier.dated}"
    for api in apis_of(plan) if tokens is not None else ():
        prompt, output = tokens or (0.0, 0.0)
        usd = billed_usd_per_s((prompt, 0.0, output), api.usd_per_mtok)
        yield f"${usd:,.2f} at most, if {api.name} served it (list price of {api.dated})"
