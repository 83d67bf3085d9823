"""Where a replay left the recording's pace: bodies that came late, idle time that was cut."""

from collections.abc import Sequence

from loadgen.model.observed import ClientHealth
from loadgen.model.summary import ReplayPace
from loadgen.units import NS_PER_S


def replay_pace(health: Sequence[ClientHealth]) -> ReplayPace | None:
    """Over all workers of a point; None where one of them did not tell.

    All workers move their timers alike when nothing is in flight anywhere: that counts once.
    """
    told = [one.replay for one in health if one.replay is not None]
    if not told or len(told) < len(health):
        return None
    return ReplayPace(
        late_bodies=sum(one.late_bodies for one in told),
        system_idle_cuts=max(one.system_shifts for one in told),
        system_idle_cut_s=max(one.system_shift_ns for one in told) / NS_PER_S,
        session_idle_cuts=sum(one.tree_shifts for one in told),
        session_idle_cut_s=sum(one.tree_shift_ns for one in told) / NS_PER_S,
    )
