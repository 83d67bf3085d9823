"""Rules A9 to A11: peaks, ladders and lists beside what is said of them."""

from collections.abc import Sequence
from itertools import pairwise

from loadgen.audit.arithmetic import unit_costs
from loadgen.audit.printed import read_number
from loadgen.model.claim import Ladder, Listed, Peak, Ruling, Rung, UnitCost


def peaks(said: Peak) -> list[Ruling]:
    """A9: a peak is no sustained rate, and a word like `sustains` is none for a best point."""
    peak = read_number(said.peak)
    if said.at is None:
        text = f"{peak.text} is a peak; what is sustained for how long isn't said"
        return [Ruling("A9", "warn", text, said.src)]
    at = read_number(said.at)
    if at.value > peak.high:
        text = f"{at.text} lies above the measured peak of {peak.text}"
        return [Ruling("A9", "contradiction", text, said.src)]
    text = f"{at.text} is {100 * at.value / peak.value:.1f} % of the measured peak of {peak.text}"
    if said.says:
        text += f'; "{said.says}" asks for a duration, and none is given'
        return [Ruling("A9", "warn", text, said.src)]
    return [Ruling("A9", "ok", text, said.src)]


def ladders(said: Ladder) -> list[Ruling]:
    """A10 and A3: throughput falls as speed a user rises, each row's cost follows, blanks told."""
    rulings = [_falling(said)]
    for row in said.rows:
        if row.tps_per_gpu is not None and row.usd_per_mtok is not None:
            cost = UnitCost(row.tps_per_gpu, row.usd_per_mtok, said.usd_per_gpu_h, said.src)
            rulings += unit_costs(cost)
    blank = [row.per_user_tps for row in said.rows if row.tps_per_gpu is None]
    if blank:
        rulings.append(_blank(said, blank))
    return rulings


def listed(said: Listed) -> list[Ruling]:
    """A11: a count in words is the length of its list."""
    found = len(said.listed)
    text = f"{said.says} are announced, {found} are listed: {', '.join(said.listed)}"
    return [Ruling("A11", "ok" if found == said.says else "warn", text, said.src)]


def _falling(said: Ladder) -> Ruling:
    rows = sorted(_filled(said.rows))
    for (slow, more), (fast, less) in pairwise(rows):
        if less > more:
            text = (
                f"{less:,.10g} tok/s a GPU at {fast:g} tok/s a user, but {more:,.10g} at {slow:g}"
            )
            return Ruling("A10", "contradiction", text, said.src)
    return Ruling("A10", "ok", "throughput a GPU falls as speed a user rises", said.src)


def _blank(said: Ladder, blank: Sequence[float]) -> Ruling:
    """Why a target has no value: it lies outside the measured range, on one side or the other."""
    filled = [target for target, _ in _filled(said.rows)]
    names = ", ".join(f"{target:g}" for target in blank)
    slower = bool(filled) and max(blank) < min(filled)
    faster = bool(filled) and min(blank) > max(filled)
    text = f"no value at {names} tok/s a user"
    if slower:
        text += (
            f": no point was measured that slow, and a value below {min(filled):g} would be made up"
        )
        most = max(tps for _, tps in _filled(said.rows))
        if (
            said.measured_peak is not None
            and (peak := read_number(said.measured_peak)).value > most
        ):
            text += (
                f" (the measured peak of {peak.text} a GPU lies between {names} and"
                f" {min(filled):g} tok/s a user)"
            )
    elif faster:
        text += f": no point reaches it, the fastest row has {max(filled):g}"
    else:
        return Ruling("A10", "warn", text + ", inside the measured range: unexplained", said.src)
    return Ruling("A10", "note", text, said.src)


def _filled(rows: Sequence[Rung]) -> list[tuple[float, float]]:
    return [
        (row.per_user_tps, read_number(row.tps_per_gpu).value)
        for row in rows
        if row.tps_per_gpu is not None
    ]
