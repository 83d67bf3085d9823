"""Whether a replay is to end because too much failed: judged over all workers, by the parent."""

from loadgen.model.plan import LEAST_JUDGED, ReplayRules
from loadgen.store.progress import Progress


def failed_too_often(rules: ReplayRules, progress: Progress, point: int) -> bool:
    """Whether over `error_limit_frac` of the profiling's ended requests failed, of 20 at least.

    Rows of workers that have not yet begun the point hold another one's counts and are left out.
    """
    rows = [progress.worker(share) for share in range(progress.shares)]
    rows = [row for row in rows if row.point == point]
    judged, failed = sum(row.judged for row in rows), sum(row.failed for row in rows)
    limit = rules.error_limit_frac
    return limit is not None and judged >= LEAST_JUDGED and failed > limit * judged
