"""The KV cache as blocks: private ones, shared ones by hash, idle ones in LRU order.

Shared blocks keep a count of the sequences that use them. At zero a block stays as an idle copy
that a later equal prefix may take over, until its room is needed.
"""

from collections import OrderedDict
from collections.abc import Sequence


class BlockPool:
    """Room for `n_blocks` blocks; all amounts are whole blocks."""

    def __init__(self, n_blocks: int, *, prefix_cache: bool) -> None:
        self.n_blocks = n_blocks
        self._prefix_cache = prefix_cache
        self._private = 0
        self._refs: dict[int, int] = {}
        self._idle: OrderedDict[int, None] = OrderedDict()

    @property
    def n_used(self) -> int:
        """Blocks that a running sequence holds, shared ones once."""
        return self._private + len(self._refs)

    @property
    def n_free(self) -> int:
        """Blocks that can be had, idle copies counted as free."""
        return self.n_blocks - self.n_used

    def n_hits(self, hashes: Sequence[int]) -> int:
        """How many leading blocks of this prompt are in the cache."""
        if not self._prefix_cache:
            return 0
        for n, block in enumerate(hashes):
            if block not in self._refs and block not in self._idle:
                return n
        return len(hashes)

    def share(self, hashes: Sequence[int]) -> None:
        """Takes the cached blocks named, one reference each."""
        for block in hashes:
            self._idle.pop(block, None)
            self._refs[block] = self._refs.get(block, 0) + 1

    def n_newly_used(self, hashes: Sequence[int]) -> int:
        """How many blocks `share` would move from idle to used."""
        return sum(1 for block in hashes if block not in self._refs)

    def take(self, n: int) -> bool:
        """Takes `n` private blocks, evicting the oldest idle copies; False where full."""
        if n > self.n_free:
            return False
        self._private += n
        while self.n_used + len(self._idle) > self.n_blocks:
            self._idle.popitem(last=False)
        return True

    def publish(self, block: int) -> bool:
        """Makes one private block findable by its hash; False where the pool shares nothing."""
        if not self._prefix_cache:
            return False
        self._private -= 1
        self._idle.pop(block, None)
        self._refs[block] = self._refs.get(block, 0) + 1
        return True

    def release(self, shared: Sequence[int], n_private: int) -> None:
        """Gives everything back; of the shared ones the last block becomes the oldest idle copy."""
        self._private -= n_private
        for block in reversed(shared):
            left = self._refs[block] - 1
            if left:
                self._refs[block] = left
            else:
                del self._refs[block]
                self._idle[block] = None
