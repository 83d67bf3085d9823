"""Which part of a schedule belongs to worker i of n. The union of the shares is the whole."""

from collections.abc import Iterator
from itertools import islice
from typing import TypeVar

from loadgen.model.plan import Share

T = TypeVar("T")


def own_items(share: Share, items: Iterator[T]) -> Iterator[T]:
    """Items i, i + n, i + 2n ... of a sequence that every worker draws alike."""
    return islice(items, share.index, None, share.count)


def own_count(share: Share, total: int) -> int:
    """How many of `total` things fall to this share: quotient, one more for the first ones."""
    quotient, remainder = divmod(total, share.count)
    return quotient + (1 if share.index < remainder else 0)


def own_slots(share: Share, total: int) -> range:
    """The slot numbers of this share, contiguous, so that a stagger runs over all workers."""
    quotient, remainder = divmod(total, share.count)
    start = share.index * quotient + min(share.index, remainder)
    return range(start, start + own_count(share, total))
