"""Held back or not, by streams whose reads are written down: read at ms, with n text events."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from loadgen.transport.probing.buffering import is_plainly_streamed, judge_buffering
from loadgen.transport.probing.glimpse import Glimpse, look_at
from tests.exchanges import DONE, MS, STOP, exchange_of, text_event

Reads = Sequence[tuple[float, int]]


def _glimpse(reads: Reads, end_ms: float) -> Glimpse:
    timed = [(at_ms, text_event("x") * n) for at_ms, n in reads]
    return look_at(exchange_of([*timed, (end_ms, STOP + DONE)]))


def _steady(n: int, every_ms: float, first_ms: float = 2.0) -> Glimpse:
    reads = [(first_ms + i * every_ms, 1) for i in range(n)]
    return _glimpse(reads, first_ms + n * every_ms)


ONE = _glimpse([(2, 1)], 2.1)


def test_a_stream_of_single_events_over_time_needs_no_second_one() -> None:
    assert is_plainly_streamed(_steady(64, 17))
    assert not is_plainly_streamed(_steady(64, 0.1))
    assert not is_plainly_streamed(_glimpse([(1000, 64)], 1001))


def test_a_fast_engine_is_no_buffer() -> None:
    assert judge_buffering([_steady(64, 0.1)] * 3, [ONE] * 3, 0) == (False, "")


def test_one_clean_stream_outweighs_those_that_a_busy_client_read_in_lumps() -> None:
    lumpy = _glimpse([(8, 34), (12, 30)], 12.5)
    assert judge_buffering([lumpy, lumpy, _steady(64, 0.2)], [ONE] * 3, 0)[0] is False


def test_a_proxy_that_waits_for_the_end_is_found() -> None:
    held = _glimpse([(1090, 64)], 1091)
    buffered, why = judge_buffering([held] * 3, [ONE] * 3, 0)
    assert buffered is True
    assert "waits for the whole answer" in why


def test_a_proxy_that_replays_single_events_after_the_end_is_found() -> None:
    replayed = _glimpse([(1090 + i * 0.01, 1) for i in range(64)], 1091)
    assert judge_buffering([replayed] * 3, [ONE] * 3, 0)[0] is True


def test_a_proxy_that_fills_blocks_is_found() -> None:
    blocks = _glimpse([(4, 17), (9, 18), (14, 18), (20, 11)], 21)
    buffered, why = judge_buffering([blocks] * 3, [ONE] * 3, 0)
    assert (buffered, why) == (True, "text arrives in blocks of about 16 events")


def test_two_lumpy_streams_prove_nothing() -> None:
    blocks = _glimpse([(4, 17), (9, 18), (14, 18), (20, 11)], 21)
    assert judge_buffering([blocks] * 2, [ONE] * 2, 0)[0] is None


def test_streams_that_a_starved_server_sent_in_small_lumps_are_not_blamed_on_a_proxy() -> None:
    lumps = _glimpse([(400, 1), (700, 3), (1100, 4)], 1200)
    late = _glimpse([(900, 3), (1150, 2)], 1200)
    assert judge_buffering([lumps, late, late, lumps], [ONE] * 4, 0)[0] is not True


def test_one_stream_that_contradicts_keeps_a_proxy_from_blame() -> None:
    held = _glimpse([(1090, 64)], 1091)
    spread = _glimpse([(900, 30), (1400, 34)], 1500)
    assert judge_buffering([held, held, spread], [ONE] * 3, 0)[0] is True
    early = _glimpse([(5, 2), (10, 2), (700, 20), (1090, 40)], 1091)
    assert judge_buffering([held, held, early], [ONE] * 3, 0)[0] is not True


def test_streams_that_our_own_loop_missed_convict_nobody_but_may_clear() -> None:
    blocks = _glimpse([(4, 17), (9, 18), (14, 18), (20, 11)], 21)
    missed = replace(blocks, starved_ns=10 * MS)
    assert judge_buffering([missed] * 8, [ONE] * 8, 0)[0] is None
    assert judge_buffering([missed] * 5 + [blocks] * 3, [ONE] * 8, 0)[0] is True
    assert judge_buffering([replace(_steady(64, 0.2), starved_ns=9 * MS)], [ONE], 0)[0] is False


def test_an_answer_over_at_once_can_not_tell() -> None:
    instant = _glimpse([(2, 64)], 2.5)
    buffered, why = judge_buffering([instant] * 5, [ONE] * 5, 0)
    assert buffered is None
    assert "too fast" in why


def test_a_server_that_ignores_the_length_is_judged_by_its_reads() -> None:
    held, free = _glimpse([(90, 16)], 91), _steady(16, 5)
    assert judge_buffering([held] * 3, [held] * 3, 0)[0] is True
    assert judge_buffering([free] * 3, [free] * 3, 0)[0] is False


def test_a_far_server_is_not_taken_for_a_slow_one() -> None:
    far = _glimpse([(90, 16)], 91)
    assert judge_buffering([far] * 3, [far] * 3, 80 * MS)[0] is None


@pytest.mark.parametrize("n", [0, 3])
def test_short_answers_can_not_tell(n: int) -> None:
    buffered, why = judge_buffering([_steady(n, 20)] * 3, [ONE] * 3, 0)
    assert buffered is None
    assert "no answer of" in why
