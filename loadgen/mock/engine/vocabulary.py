"""Text to tokens and back, by a rule of our own: no tokenizer to download, the same everywhere.

The rule: a token is a word piece of up to 8 ASCII letters or 3 digits, with one leading space
when there is one; or up to 4 white-space characters; or any other single character, with a
leading space when there is one. The pieces joined are the text. A piece's id is
16 + crc32(utf-8) mod 2**31, so it never changes; ids below 16 are reserved.
"""

import re
from collections.abc import Iterable, Sequence
from zlib import crc32

BOS = 1
EOS = 2
TURN_START = 3
TURN_END = 4
NEWLINE = 5
THINK_END = 6
TOOL_TAG = 7
ROLES = {"system": 8, "user": 9, "assistant": 10, "tool": 11, "developer": 12}
OTHER_ROLE = 13
_FIRST_FREE = 16
_SPECIAL_TEXT = {
    BOS: "",
    EOS: "",
    TURN_START: "<|turn|>",
    TURN_END: "<|end|>",
    NEWLINE: "\n",
    THINK_END: "",
    TOOL_TAG: "",
    OTHER_ROLE: "other",
} | {number: role for role, number in ROLES.items()}

_PIECE = re.compile(r" ?[A-Za-z]{1,8}| ?[0-9]{1,3}|\s{1,4}| ?[^\sA-Za-z0-9]")
_KNOWN_LIMIT = 500_000


class Vocabulary:
    """Pieces seen so far by id; that is what `text_of` can turn back."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._pieces: dict[int, str] = dict(_SPECIAL_TEXT)

    def pieces(self, text: str) -> list[str]:
        """The text cut into its tokens' texts; joined they are the text."""
        return _PIECE.findall(text)

    def id_of(self, piece: str) -> int:
        """The piece's token id, the same in every process."""
        known = self._ids.get(piece)
        if known is not None:
            return known
        number = _FIRST_FREE + (crc32(piece.encode("utf-8", "surrogatepass")) & 0x7FFF_FFFF)
        if len(self._ids) < _KNOWN_LIMIT:
            self._ids[piece] = number
            self._pieces.setdefault(number, piece)
        return number

    def encode(self, text: str) -> list[int]:
        """Token ids of a text, without any special token."""
        known = self._ids
        id_of = self.id_of
        return [known.get(piece) or id_of(piece) for piece in _PIECE.findall(text)]

    def piece_of(self, number: int) -> str:
        """The text of one id; `<id>` where this server never met it."""
        return self._pieces.get(number, f"<{number}>")

    def text_of(self, numbers: Iterable[int]) -> str:
        """The text of many ids."""
        return "".join(self.piece_of(number) for number in numbers)

    def encode_turn(self, role: str, text: str) -> list[int]:
        """One message in the chat template: start, role, newline, text, end, newline."""
        return [*self.open_turn(role), *self.encode(text), TURN_END, NEWLINE]

    def open_turn(self, role: str) -> list[int]:
        """The three ids that open a turn; after the last message they ask for the answer."""
        return [TURN_START, ROLES.get(role, OTHER_ROLE), NEWLINE]


def turn_overhead_tok(n_turns: int) -> int:
    """Tokens the chat template adds to `n_turns` messages: 5 each, 3 to open the answer."""
    return 5 * n_turns + 3


def block_hashes(numbers: Sequence[int], block_tok: int) -> list[int]:
    """One hash a full block, each over its own tokens and all before it."""
    hashes: list[int] = []
    extend_hashes(hashes, numbers, block_tok)
    return hashes


def extend_hashes(hashes: list[int], numbers: Sequence[int], block_tok: int) -> None:
    """Appends the hashes of the full blocks that `numbers` has beyond those already hashed."""
    parent = hashes[-1] if hashes else 0
    for start in range(len(hashes) * block_tok, len(numbers) - block_tok + 1, block_tok):
        parent = hash((parent, tuple(numbers[start : start + block_tok])))
        hashes.append(parent)
