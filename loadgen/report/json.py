"""Everything that the summary rests on as one strict JSON document; no NaN, units in the names."""

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from loadgen.model.summary import Summary
from loadgen.model.table import Recording
from loadgen.units import NS_PER_S

REPORT_VERSION = 1


def format_json(summary: Summary, recording: Recording) -> Iterable[str]:
    """One indented document; what was absent is null, never left out and never 0."""
    document = {
        "report_version": REPORT_VERSION,
        "run": recording.path,
        "state": recording.state,
        "started_at": _instant(recording.started_wall_ns),
        "ended_at": _instant(recording.ended_wall_ns),
        "in_flight_at_end": recording.in_flight_at_end,
        "summary": summary,
        "plan": recording.plan,
        "declared": recording.plan.system,
        "observed": recording.observed,
        "client_health": recording.health,
        "provenance": recording.provenance,
        "imported": recording.imported,
    }
    yield msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _instant(wall_ns: int) -> str | None:
    """ISO 8601 in UTC; None for an instant that is not known."""
    if not wall_ns:
        return None
    return datetime.fromtimestamp(wall_ns / NS_PER_S, UTC).isoformat(timespec="milliseconds")
