"""Where and with what a run was made. Apart from `table`, so that a run's start needs no numpy."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Calibration:
    """What `loadgen selftest` found of this host and version; see `measure/calibration.py`."""

    host: str
    tool_version: str
    made_wall_ns: int
    stamp_p50_ns: int
    stamp_p99_ns: int
    stamp_max_ns: int
    ttft_p99_ns: int
    ceiling_eps: float
    """Events a second that one worker took with a p99 stamp error of at most 1 ms."""
    is_client_limit: bool
    """False where the server or the ladder ended first: the true ceiling is higher."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where and with what a run was made: observed facts about the client's side."""

    tool_version: str = ""
    python: str = ""
    platform: str = ""
    host: str = ""
    cpu: str = ""
    cores: int = 0
    command_line: str = ""
    """The command to repeat the run, secrets redacted."""
    packages: dict[str, str] = field(default_factory=dict)
    git: str = ""
    calibration: Calibration | None = None
    """The host's cached selftest, None where there was none when the run was made."""
