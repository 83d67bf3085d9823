"""A corpus of Weka traces, checked as a whole: its dialect, what is left out, what repeats."""

from pathlib import Path

from loadgen.workload.weka import Trace


class Traces:
    """The usable traces of a corpus by number, in file order; each is read when asked for.

    `skip_bad` leaves bad traces out and names them in `notices`; `max_context_tok` leaves out
    traces with a longer request (prompt and answer).

    Raises:
        InputError: no trace, or a bad one.

    """

    notices: tuple[str, ...]
    longest_tok: int

    def __init__(
        self, path: Path, skip_bad: bool = False, max_context_tok: int | None = None
    ) -> None:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def __getitem__(self, number: int) -> Trace:
        raise NotImplementedError
