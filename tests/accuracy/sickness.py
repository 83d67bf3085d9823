"""A run of the real command line that something is done to while it goes on, and its findings."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadgen.errors import InputError
from loadgen.measure.mockserver import running_mock
from loadgen.store.folder import PROGRESS_FILE
from loadgen.store.progress import Progress

SETTLE_S = 0.5
SICKNESSES = {
    "client_stalled",
    "gc_pauses",
    "cpu_throttled",
    "retransmits",
    "scribe_behind",
    "clock_stepped",
}
CROWDED = {
    "host_contended",
    "client_bound",
    "steadiness_unknown",
    "drifting",
    "anomaly",
    "in_flight_unbalanced",
    "rate_unbalanced",
}
"""What a healthy run on a crowded machine may doubt, where the crowd is confirmed from outside."""

Ailment = Callable[["Patient"], None]


@dataclass(frozen=True)
class Patient:
    """The processes of a run by what they do; `ail` is called once they all are at work."""

    run: "subprocess.Popen[str]"
    worker: int
    scribe: int


@dataclass(frozen=True)
class Diagnosis:
    """What the run's JSON says."""

    document: dict[str, Any]

    @property
    def findings(self) -> dict[str, str]:
        """Severity by code; the gravest where a code stands twice."""
        found: dict[str, str] = {}
        for finding in self.document["summary"]["findings"]:
            found.setdefault(finding["code"], finding["severity"])
        return found

    @property
    def doubts(self) -> set[str]:
        """Codes that are more than notes."""
        return {code for code, severity in self.findings.items() if severity != "note"}

    @property
    def is_sound(self) -> bool:
        """No doubt at all, but what a confirmed crowd explains."""
        allowed = CROWDED if "host_contended" in self.findings else set()
        return not self.doubts - allowed

    @property
    def health(self) -> dict[str, Any]:
        """The first worker's, at the first point."""
        first: dict[str, Any] = self.document["client_health"][0]
        return first

    @property
    def sicknesses(self) -> set[str]:
        """Findings that name what ails client or host, notes among them; a crowd is none."""
        return SICKNESSES & self.findings.keys()

    @property
    def told(self) -> str:
        """For an assertion's message."""
        return "\n".join(finding["text"] for finding in self.document["summary"]["findings"])


def diagnose(
    out: Path,
    *words: str,
    ail: Ailment | None = None,
    timetable: Mapping[str, float] | None = None,
    environment: Mapping[str, str] | None = None,
    serving: AbstractContextManager[str] | None = None,
) -> Diagnosis:
    """Runs `loadgen run` against a metronome, or `serving`; `ail` is done once it is under way."""
    with serving or running_mock(kind="metronome") as url:
        command = [sys.executable, "-m", "loadgen", "run", url, "-m", "metronome"]
        command += ["--no-preflight", "--warmup", "0", "--isl", "16", "--workers", "1", *words]
        command += ["--extra-body", json.dumps(timetable or {"ttft_ms": 30, "itl_ms": 10})]
        command += ["--out", str(out), "--format", "json", "--quiet"]
        run = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}
        )
        if ail is not None:
            patient = _patient(run)
            _wait_for_load(out)
            time.sleep(SETTLE_S)
            ail(patient)
        told, _ = run.communicate(timeout=90)
    return Diagnosis(json.loads(told))


def _patient(run: "subprocess.Popen[str]") -> Patient:
    for _ in range(300):
        roles = {word: pid for pid, word in _children(run.pid).items()}
        if {"loadgen.measure.worker", "loadgen.measure.scribe"} <= roles.keys():
            return Patient(run, roles["loadgen.measure.worker"], roles["loadgen.measure.scribe"])
        time.sleep(0.05)
    raise AssertionError("no worker was started")


def _wait_for_load(out: Path) -> None:
    for _ in range(300):
        for path in out.glob(f"*/{PROGRESS_FILE}"):
            with suppress(InputError):
                if Progress.open(path.parent, writable=False).worker(0).issued:
                    return
        time.sleep(0.05)
    raise AssertionError("no request was sent")


def _children(parent: int) -> dict[int, str]:
    """Last word of the command line of each child, by pid."""
    listed = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii")
    found = {}
    for pid in map(int, listed.split()):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        found[pid] = next((word for word in reversed(words) if word), "")
    return found
