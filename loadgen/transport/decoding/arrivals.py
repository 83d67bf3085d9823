"""Which read brought which byte: an `Exchange`'s parts and stamps as one body on one axis.

A content encoding is undone part by part, so that every plain byte keeps the read that brought it.
"""

import zlib
from array import array
from dataclasses import dataclass, field
from itertools import accumulate
from operator import sub

from loadgen.model.exchange import Exchange, StampKind

_ZLIB_AUTO = zlib.MAX_WBITS | 32
MAX_BODY_BYTES = 512 * 2**20
"""Longest body after decompression; a longer one is cut there and counts as unreadable."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The body and, by read: `ends` (plain bytes in all), stamps and lags in ns.

    `at_ns` and `lag_ns` have one entry a read; `lag_ns` is 0 with user stamps, never negative.
    `late` tells since when what a late read brought may have lain, by the read's number.
    `problem` says why the body could not be read in full, else it is empty.
    """

    body: bytes
    ends: list[int]
    at_ns: "array[int]"
    lag_ns: list[int]
    received_bytes: int
    first_byte_at_ns: int | None
    problem: str = ""
    late: dict[int, int] = field(default_factory=dict)


def take_arrivals(exchange: Exchange) -> Arrivals:
    """The exchange's body with its arrival axis. Never raises on any body bytes."""
    marks = _ints("i", exchange.part_marks)
    at_ns = _ints("q", exchange.read_at_ns)
    parts, problem = _plain_parts(exchange)
    wire_ends = _ends_by_read(exchange.parts, marks)
    return Arrivals(
        body=b"".join(parts),
        ends=wire_ends if parts is exchange.parts else _ends_by_read(parts, marks),
        at_ns=at_ns,
        lag_ns=_lags(exchange, at_ns),
        received_bytes=sum(map(len, exchange.parts)),
        first_byte_at_ns=next(
            (at for at, end in zip(at_ns, wire_ends, strict=False) if end > 0), None
        ),
        problem=problem,
        late=_pairs(exchange.late_reads),
    )


def _pairs(raw: bytes) -> dict[int, int]:
    flat = _ints("q", raw[: len(raw) - len(raw) % 16])
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _ints(typecode: str, raw: bytes) -> "array[int]":
    column: array[int] = array(typecode)
    column.frombytes(raw)
    return column


def _ends_by_read(parts: list[bytes], marks: "array[int]") -> list[int]:
    totals = list(accumulate(map(len, parts), initial=0))
    if not marks or max(marks) <= len(parts):
        return [totals[mark] for mark in marks]
    return [totals[min(mark, len(parts))] for mark in marks]


def _lags(exchange: Exchange, at_ns: "array[int]") -> list[int]:
    if exchange.stamp_kind is not StampKind.KERNEL:
        return [0] * len(at_ns)
    seen = _ints("q", exchange.seen_at_ns)
    lags = list(map(sub, seen, at_ns))
    return lags if min(lags, default=0) >= 0 else [max(0, lag) for lag in lags]


def _plain_parts(exchange: Exchange) -> tuple[list[bytes], str]:
    encoding = header(exchange, "content-encoding").strip().lower()
    if encoding in ("", "identity") or not exchange.parts:
        return exchange.parts, ""
    if encoding in ("gzip", "x-gzip", "deflate"):
        return _inflate(exchange.parts)
    return [b""] * len(exchange.parts), f"content encoding `{encoding}` is not one we read"


def _inflate(parts: list[bytes]) -> tuple[list[bytes], str]:
    inflater = zlib.decompressobj(_ZLIB_AUTO)
    plain: list[bytes] = []
    left = MAX_BODY_BYTES
    for part in parts:
        try:
            piece = inflater.decompress(part, left)
        except zlib.error as error:
            plain += [b""] * (len(parts) - len(plain))
            return plain, f"the body's compression is broken: {error}"
        plain.append(piece)
        left -= len(piece)
        if left <= 0:
            plain += [b""] * (len(parts) - len(plain))
            return plain, f"the body is longer than {MAX_BODY_BYTES} bytes"
    return plain, ""


def header(exchange: Exchange, name: str) -> str:
    """Value of a response header whatever the case of its name, or an empty string."""
    for key, value in exchange.headers.items():
        if key.lower() == name:
            return value
    return ""
