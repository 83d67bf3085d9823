"""A run without a network: a measuring wing and a reading wing that give what they are told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from loadgen.measure.status import Status
from loadgen.model.observed import Observed
from loadgen.model.plan import Plan
from loadgen.model.summary import Summary
from loadgen.model.table import Recording
from tests.unit.report.examples import plan_of, recording_of, sweep_summary, table_of


@dataclass
class FakeRun:
    """What the command line asked for, and what it gets."""

    summary: Summary = field(default_factory=sweep_summary)
    recording: Recording = field(default_factory=lambda: good_recording())
    plan: Plan | None = None
    secrets: dict[str, str] = field(default_factory=dict)
    out: Path | None = None
    written: list[str] = field(default_factory=list)
    error: BaseException | None = None

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Puts the fakes at the seams between the command line and the two wings."""
        monkeypatch.setattr("loadgen.measure.preflight.prepare", self.prepare)
        monkeypatch.setattr("loadgen.measure.measure", self.measure)
        monkeypatch.setattr("loadgen.review.review", lambda folder: (self.summary, self.recording))
        monkeypatch.setattr("loadgen.review.write_reports", self.write_reports)
        monkeypatch.setattr("loadgen.review.with_request_metrics", lambda recording: recording)

    def prepare(self, plan: Plan, secrets: Mapping[str, str]) -> tuple[Plan, Observed]:
        if self.error is not None:
            raise self.error
        return plan, Observed()

    def measure(
        self,
        plan: Plan,
        out: Path,
        secrets: Mapping[str, str],
        observed: Observed,
        watch: Callable[[Status], None],
    ) -> Path:
        self.plan, self.out, self.secrets = plan, out, dict(secrets)
        watch(status_at())
        return out / "run"

    def write_reports(self, folder: Path, summary: Summary, recording: Recording) -> None:
        self.written.append(str(folder))


def good_recording() -> Recording:
    """A complete recording in which tokens came."""
    table = table_of(1, point=[0], outcome=["ok"], due_at_ns=[1], content_chars=[5])
    return recording_of(plan_of(["closed:1"]), table)


def status_at(point_no: int = 3, **changes: object) -> Status:
    """One look at a run in its third point."""
    fields: dict[str, object] = {
        "points": 6,
        "load": "closed:4",
        "phase": "window",
        "elapsed_s": 22.0,
        "planned_s": 60.0,
        "in_flight": 4,
        "issued": 50,
        "ok": 46,
        "failed": 0,
        "out_tps": 527.0,
        "ttft_p50_s": 0.069,
        "eta_s": 230.0,
        "client_ok": True,
    }
    return Status(point_no=point_no, **(fields | changes))  # type: ignore[arg-type]
