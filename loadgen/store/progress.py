"""How far each share is: int64 slots in a file that all processes of a run map.

Survives any kill. Every slot has one writer, and a slot is written in one machine store, so
readers see whole numbers, though not all of one moment. 0 stands for "nothing yet".
"""

import mmap
from pathlib import Path

from loadgen.errors import InputError
from loadgen.store.folder import FORMAT_VERSION, PROGRESS_FILE, require_known_version

SLOT_BYTES = 8
HEADER_SLOTS = 8
BLOCK_SLOTS = 32
"""Four cache lines: the worker and the scribe of a share never write to the same one."""

MAGIC = int.from_bytes(b"loadgenp", "little")


class Slot:
    """One int64 of a row, read and written as an attribute."""

    def __init__(self, index: int) -> None:
        self._index = index

    def __get__(self, row: "WorkerRow | ScribeRow", owner: type) -> int:
        return row.slots[self._index]

    def __set__(self, row: "WorkerRow | ScribeRow", value: int) -> None:
        row.slots[self._index] = value


class WorkerRow:
    """What the worker of one share says. Counts are of the point that `point` names."""

    __slots__ = ("slots",)

    point = Slot(0)
    phase = Slot(1)
    issued = Slot(2)
    ended = Slot(3)
    in_flight = Slot(4)
    connections_opened = Slot(5)
    loop_lag_max_ns = Slot(6)
    heartbeat_ns = Slot(7)
    dropped = Slot(8)
    skipped = Slot(9)
    next_due_ns = Slot(10)
    """Replay: the earliest instant at which this worker will send by itself; 0: none planned."""
    last_active_ns = Slot(11)
    """Replay: when this worker last had a request in flight; 0: never."""
    primers_left = Slot(12)
    warmup_left = Slot(13)
    lanes = Slot(14)
    sessions_finished = Slot(15)
    subagents_live = Slot(16)
    judged = Slot(17)
    """Replay: requests of the profiling that ended, of which `failed`."""
    failed = Slot(18)

    def __init__(self, slots: "memoryview[int]") -> None:
        self.slots = slots

    def count(self, issued: int, ended: int) -> None:
        """Both counts of the point, as they stand."""
        self.issued = issued
        self.ended = ended


class ScribeRow:
    """What the scribe of one share says. Counts are of the whole run."""

    __slots__ = ("slots",)

    records = Slot(0)
    ok = Slot(1)
    failed = Slot(2)
    tokens = Slot(3)
    ttft_p50_ns = Slot(4)
    """Over the latest requests."""
    bytes_behind = Slot(5)
    heartbeat_ns = Slot(6)
    e2e_sum_ns = Slot(7)
    e2e_count = Slot(8)
    window_records = Slot(9)

    def __init__(self, slots: "memoryview[int]") -> None:
        self.slots = slots


class Progress:
    """The mapped file of one run. Rows stay valid as long as somebody holds them."""

    def __init__(self, slots: "memoryview[int]", shares: int) -> None:
        self._slots = slots
        self.shares = shares

    @classmethod
    def create(cls, folder: Path, shares: int) -> "Progress":
        """A new file of zeros for `shares` shares, mapped."""
        slot_count = HEADER_SLOTS + shares * 2 * BLOCK_SLOTS
        header = b"".join(
            value.to_bytes(SLOT_BYTES, "little") for value in (MAGIC, FORMAT_VERSION, shares)
        )
        path = folder / PROGRESS_FILE
        path.write_bytes(header.ljust(slot_count * SLOT_BYTES, b"\0"))
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path, *, writable: bool = True) -> "Progress":
        """The file of a run, mapped.

        Raises `InputError` where there is none, or none that this tool reads.
        """
        path = folder / PROGRESS_FILE
        try:
            with path.open("r+b" if writable else "rb") as file:
                access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
                slots = memoryview(mmap.mmap(file.fileno(), 0, access=access)).cast("q")
        except (OSError, ValueError, TypeError) as exc:
            raise InputError(f"`{path}` can't be mapped: {exc}") from exc
        if len(slots) < HEADER_SLOTS or slots[0] != MAGIC:
            raise InputError(f"`{path}` is no progress file")
        require_known_version(path, slots[1])
        shares = slots[2]
        if len(slots) != HEADER_SLOTS + shares * 2 * BLOCK_SLOTS:
            raise InputError(f"`{path}` is cut: {len(slots)} slots for {shares} shares")
        return cls(slots, shares)

    def worker(self, share: int) -> WorkerRow:
        """The row that only the worker of `share` writes."""
        return WorkerRow(self._block(2 * share))

    def scribe(self, share: int) -> ScribeRow:
        """The row that only the scribe of `share` writes."""
        return ScribeRow(self._block(2 * share + 1))

    def _block(self, number: int) -> "memoryview[int]":
        if not 0 <= number < 2 * self.shares:
            raise IndexError(f"share {number // 2} of {self.shares}")
        first = HEADER_SLOTS + number * BLOCK_SLOTS
        return self._slots[first : first + BLOCK_SLOTS]
