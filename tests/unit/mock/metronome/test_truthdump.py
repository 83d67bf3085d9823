from array import array

import pytest

from loadgen.mock.metronome.truthdump import (
    CONTENT,
    EVENT,
    HEAD,
    IS_STREAM,
    MAGIC,
    REQUEST,
    meta_of,
    pack_events,
    read_truth,
)


def test_a_dump_reads_back() -> None:
    events = array("q", [1_000, 1_400, 900, meta_of(CONTENT, 3, 211) | 1 << 24])
    request = REQUEST.pack(1, 2, 3, 4, 1, 55, 6, IS_STREAM, b"abc")
    truth = read_truth(HEAD.pack(MAGIC, 1, 10, 20, 1) + request + pack_events(events))
    assert (truth.monotonic_ns, truth.realtime_ns) == (10, 20)
    (read,) = truth.requests
    assert (read.request_id, read.accepted_ns, read.first_byte_ns) == ("abc", 1, 2)
    (event,) = read.content
    assert (event.before_ns, event.after_ns, event.late_ns) == (1_000, 1_400, 100)
    assert (event.n_tok, event.n_bytes, event.was_full) == (3, 211, True)


def test_the_records_have_the_documented_sizes() -> None:
    assert (HEAD.size, REQUEST.size, EVENT.size) == (40, 112, 24)


def test_other_bytes_are_refused() -> None:
    with pytest.raises(ValueError, match="not a truth dump"):
        read_truth(b"{}")
