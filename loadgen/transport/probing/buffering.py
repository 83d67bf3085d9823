"""Whether something between the engine and us holds a stream back. Pure judgement on glimpses.

A proxy that buffers makes tokens arrive late and in blocks, so that TTFT and token gaps say nothing
about the engine. A fast engine on a busy client looks alike in one stream: hence several streams,
two lengths, and an answer only where they agree. A stream during which our own loop stood still may
clear a server but never convict one.
"""

from collections.abc import Sequence

from loadgen.transport.probing.glimpse import Glimpse
from loadgen.units import NS_PER_MS

MIN_EVENTS = 4
MIN_BLOCK_EVENTS = 6
MIN_STREAMS = 3
STARVED_FRAC = 0.2
"""Share of a stream that our loop may miss before the stream proves nothing against anybody."""
TELLING_NS = 5 * NS_PER_MS
"""Shorter generations can't be told from one write."""
WHOLE_NS = 20 * NS_PER_MS
"""An answer that took longer and came in few reads was not streamed to us."""
ALONE_FRAC = 0.1
"""Share of text that must come event by event in one stream to clear whatever lies between."""


def is_plainly_streamed(seen: Glimpse) -> bool:
    """True when one stream alone shows that nothing is held back."""
    if seen.first_text_ns is None or seen.last_text_ns is None:
        return False
    span_ns = seen.last_text_ns - seen.first_text_ns
    is_spread = span_ns >= WHOLE_NS and span_ns >= 0.3 * seen.e2e_ns
    return seen.text_events >= MIN_EVENTS and seen.alone_frac >= 0.5 and is_spread


def judge_buffering(
    longs: Sequence[Glimpse], shorts: Sequence[Glimpse], rtt_ns: int | None
) -> tuple[bool | None, str]:
    """(held back?, why in words). None where these streams can't tell.

    `longs` are answers of many tokens, `shorts` of one token to the same prompt. What a stream
    withholds shows as its first text waiting for the length of the answer.
    """
    longs = [seen for seen in longs if seen.text_events >= MIN_EVENTS]
    if not longs:
        return None, f"no answer of {MIN_EVENTS} events or more came, so buffering can't be told"
    if any(map(is_plainly_streamed, longs)):
        return False, ""
    alone_frac = max(seen.alone_frac for seen in longs)
    sound = [seen for seen in longs if seen.starved_ns <= STARVED_FRAC * seen.e2e_ns]
    enough = len(sound) >= MIN_STREAMS
    decode_ns = _decode_ns(longs, shorts)
    if decode_ns is None:
        if enough and _comes_late_and_at_once(longs, rtt_ns):
            return True, _blocks(longs)
        return (
            (False, "") if alone_frac >= ALONE_FRAC else (None, "too few streams to tell buffering")
        )
    if decode_ns >= TELLING_NS and enough:
        at_once = all(_span_ns(seen) <= 0.3 * decode_ns for seen in longs)
        if at_once and _held_ns(longs, shorts) >= 0.7 * decode_ns:
            return True, f"the first text waits for the whole answer ({_ms(decode_ns)} ms)"
        if all(_is_gathered(seen) for seen in longs):
            return True, _blocks(longs)
    if alone_frac >= ALONE_FRAC:
        return False, ""
    if decode_ns < TELLING_NS:
        return None, f"answers are over {_ms(decode_ns)} ms after their first token: too fast"
    busy = "" if enough else ", and this client was kept from reading"
    return None, f"streams differ, as on a busy machine{busy}: buffering can't be told"


def _decode_ns(longs: Sequence[Glimpse], shorts: Sequence[Glimpse]) -> int | None:
    """What the longer answer took longer; None where the server does not obey the length."""
    obeyed = [seen for seen in shorts if seen.text_events * 2 <= longs[0].text_events]
    if not obeyed:
        return None
    return max(0, min(seen.e2e_ns for seen in longs) - min(seen.e2e_ns for seen in obeyed))


def _held_ns(longs: Sequence[Glimpse], shorts: Sequence[Glimpse]) -> int:
    first_long = min(seen.first_text_ns or 0 for seen in longs)
    return first_long - min(
        seen.e2e_ns if seen.first_text_ns is None else seen.first_text_ns for seen in shorts
    )


def _comes_late_and_at_once(longs: Sequence[Glimpse], rtt_ns: int | None) -> bool:
    quickest_ns = min(seen.e2e_ns for seen in longs) - (rtt_ns or 0)
    return quickest_ns >= WHOLE_NS and all(map(_is_gathered, longs))


def _is_gathered(seen: Glimpse) -> bool:
    """Whether every read but the outer ones brought many events."""
    return seen.alone_frac == 0 and _block_events(seen) >= MIN_BLOCK_EVENTS


def _span_ns(seen: Glimpse) -> int:
    return (seen.last_text_ns or 0) - (seen.first_text_ns or 0)


def _block_events(seen: Glimpse) -> int:
    return seen.text_events // max(1, len(seen.reads))


def _blocks(longs: Sequence[Glimpse]) -> str:
    return f"text arrives in blocks of about {max(map(_block_events, longs))} events"


def _ms(ns: int) -> str:
    return f"{ns / NS_PER_MS:.0f}"
