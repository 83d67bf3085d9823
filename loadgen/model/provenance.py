"""Where and with what a run was made. Apart from `table`, so that a run's start needs no numpy."""

from dataclasses import dataclass, field


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
