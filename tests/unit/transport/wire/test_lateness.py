"""Since when what a look finds may have lain: while the loop was awake, else since the look."""

from loadgen.transport.wire.lateness import LATE_NS, Lateness
from loadgen.units import NS_PER_MS

START = 1_000 * NS_PER_MS


class Thread:
    """A thread whose time awake the test sets."""

    def __init__(self) -> None:
        self.busy_ns = 7 * NS_PER_MS
        self.lateness = Lateness(lambda: self.busy_ns, START)

    def look(self, at_ns: int, awake_ns: int, gathered_ns: int = 0) -> Lateness:
        self.busy_ns += awake_ns
        self.lateness.look(at_ns, gathered_ns)
        return self.lateness


def test_what_woke_a_sleeping_loop_has_lain_only_while_it_was_awake() -> None:
    at_ns = START + 50 * NS_PER_MS
    assert Thread().look(at_ns, awake_ns=NS_PER_MS).since_ns(0) == at_ns - NS_PER_MS


def test_gathering_counts_as_time_awake() -> None:
    at_ns = START + 50 * NS_PER_MS
    assert Thread().look(at_ns, NS_PER_MS, gathered_ns=300).since_ns(0) == at_ns - NS_PER_MS - 300


def test_nothing_has_lain_since_before_the_last_look_that_reached_every_socket() -> None:
    thread = Thread()
    thread.look(START + NS_PER_MS, awake_ns=NS_PER_MS).reached_all(START + NS_PER_MS)
    later = thread.look(START + 2 * NS_PER_MS, awake_ns=50 * NS_PER_MS)
    assert later.since_ns(0) == START + NS_PER_MS


def test_a_look_that_left_sockets_unread_does_not_count_as_the_look_before() -> None:
    thread = Thread()
    thread.look(START + NS_PER_MS, awake_ns=NS_PER_MS)
    assert thread.look(START + 2 * NS_PER_MS, awake_ns=50 * NS_PER_MS).since_ns(0) == START


def test_where_bytes_lay_longer_than_the_thread_knows_of_the_look_before_counts() -> None:
    late = Thread().look(START + 50 * NS_PER_MS, awake_ns=10)
    assert late.since_ns(LATE_NS + 1) == START
    assert late.since_ns(LATE_NS) == START + 50 * NS_PER_MS - 10


def test_after_a_stop_what_the_next_look_finds_may_have_lain_since_the_look_before() -> None:
    thread = Thread()
    thread.lateness.stopped()
    assert thread.look(START + 50 * NS_PER_MS, awake_ns=10).since_ns(0) == START
    thread.lateness.reached_all(START + 50 * NS_PER_MS)
    later_ns = START + 90 * NS_PER_MS
    assert thread.look(later_ns, awake_ns=10).since_ns(0) == later_ns - 10
