from collections.abc import Iterator

from loadgen.transport.wire.stamps import SAMPLE_EVERY_NS, StampClock
from loadgen.units import NS_PER_MS, NS_PER_S

OFFSET = 1_700_000_000 * NS_PER_S
AT = 50 * NS_PER_S


def clock(*offsets: int) -> StampClock:
    """A clock whose samples are these, the last one for ever."""
    left = list(offsets)
    return StampClock(lambda: left.pop(0) if len(left) > 1 else left[0])


def test_old_stamp_is_believed_while_the_clocks_stand_still() -> None:
    steady = clock(OFFSET)
    assert steady.settle(OFFSET + AT - 9 * NS_PER_MS, AT, AT + NS_PER_MS) == AT - 9 * NS_PER_MS
    assert steady.stepped_ns == 0


def test_stamp_a_hair_after_now_is_noise_and_becomes_now() -> None:
    assert clock(OFFSET).settle(OFFSET + AT + 1000, AT - NS_PER_MS, AT) == AT


def test_read_across_a_step_of_the_wall_clock_gets_the_users_stamp() -> None:
    for step_ns in (5 * NS_PER_MS, -5 * NS_PER_MS, 3600 * NS_PER_S):
        stepped = clock(OFFSET, OFFSET + step_ns)
        assert stepped.settle(OFFSET + step_ns + AT, AT - NS_PER_MS, AT) == AT
        assert stepped.stepped_ns == abs(step_ns)


def test_packet_stamped_before_the_step_and_read_after_it_gets_the_users_stamp() -> None:
    stepped = clock(OFFSET, OFFSET + 5 * NS_PER_MS)
    assert stepped.sample(AT)
    assert stepped.settle(OFFSET + AT, AT - NS_PER_MS, AT + 1000) == AT + 1000


def test_long_after_a_step_old_stamps_are_believed_again() -> None:
    stepped = clock(OFFSET, OFFSET + 5 * NS_PER_MS)
    stepped.sample(AT)
    later = AT + 2 * NS_PER_S
    wall = OFFSET + 5 * NS_PER_MS + later - 9 * NS_PER_MS
    assert stepped.settle(wall, later - NS_PER_MS, later) == later - 9 * NS_PER_MS


def test_jitter_of_the_sampling_is_no_step() -> None:
    def offsets() -> Iterator[int]:
        yield OFFSET
        while True:
            yield OFFSET + 20_000
            yield OFFSET - 20_000

    samples = offsets()
    steady = StampClock(lambda: next(samples))
    for number in range(10):
        assert not steady.sample(number * SAMPLE_EVERY_NS)
    assert steady.stepped_ns == 0
