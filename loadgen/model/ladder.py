"""The frontier and the ladder of one run or of several: what a GPU yields at a speed a user."""

from msgspec import Struct


class LadderRun(Struct, frozen=True):
    """One run among those laid together, by the letter that its points bear."""

    letter: str
    run: str
    model: str
    engine: str
    precision: str
    gpus: str
    """`4 x GB300`."""
    usd_per_gpu_h: float | None
    tier: str
    """Whose price it is: declared, or the row of a price table."""


class FrontierPoint(Struct, frozen=True):
    """One measured point; rates are a GPU's."""

    name: str
    """`A c=16`."""
    letter: str
    user_tps: float
    total_tps: float
    output_tps: float | None
    usd_per_1m: float | None
    """Of all tokens, at the run's price, 100 % busy."""
    beaten_by: str = ""
    """A point that is better in both; empty: it stands on the frontier."""
    user_low_tps: float | None = None
    user_high_tps: float | None = None
    total_low_tps: float | None = None
    total_high_tps: float | None = None
    """Ends of the intervals within the run; None where there is none."""
    tied: bool = False
    """Beaten, but not by more than the intervals in both: another run may turn it round."""


class LadderRow(Struct, frozen=True):
    """One target. What can't be given is None, and `reason` says why."""

    target_tps: float
    total_tps: float | None = None
    """Read off the monotone cubic through the frontier."""
    output_tps: float | None = None
    """Read off the one through the same points' output rates."""
    usd_per_1m: float | None = None
    between: tuple[str, ...] = ()
    measured: FrontierPoint | None = None
    """The point with the most throughput among those at least as fast."""
    reason: str = ""


class Ladder(Struct, frozen=True):
    """Frontier and ladder by one statistic of a user's speed."""

    statistic: str
    """p50, or p90: the slow tail, which nine in ten users exceed."""
    points: tuple[FrontierPoint, ...]
    rows: tuple[LadderRow, ...]

    @property
    def frontier(self) -> tuple[FrontierPoint, ...]:
        """The points that none beats in both, by rising speed a user."""
        kept = [point for point in self.points if not point.beaten_by]
        return tuple(sorted(kept, key=lambda point: point.user_tps))


class Ladders(Struct, frozen=True):
    """The ladders of all statistics, the runs they rest on, and what must be known of them."""

    runs: tuple[LadderRun, ...]
    ladders: tuple[Ladder, ...]
    left_out: tuple[str, ...] = ()
    """Runs and points that could not be used, with the reason."""
    unlike: tuple[str, ...] = ()
    """In what the runs differ, so that their points aren't of one thing."""
