"""That records come from another tool's file, and what such a file can't tell."""

from msgspec import Struct


class Imported(Struct, frozen=True):
    """Where imported records come from: a client that nobody watched, so nothing vouches for it."""

    tool: str
    """vllm, aiperf, guidellm: the name of its rule set."""
    version: str
    """As the file says; empty where it doesn't."""
    lacks: dict[str, str] = {}
    """Metrics that the file can't give, and why. They are absent, never guessed."""
    notes: tuple[str, ...] = ()
    """How its records were taken, where that is not as ours are."""
    spans_s: tuple[float | None, ...] = ()
    """One a point: the duration that the tool divided by."""
    printed: tuple[dict[str, float], ...] = ()
    """One a point: what the tool itself printed, by its own names."""
    asked_by_client: bool = False
    """Whether the tool's prompt lengths are its own count (`input_tok`) and not the server's."""

    @property
    def name(self) -> str:
        """`aiperf 0.13.0`."""
        return f"{self.tool} {self.version}".strip()
