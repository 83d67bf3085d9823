"""Who is sent after whom, and when: chains, branches, joins, barriers, recycling."""

from msgspec.structs import replace

from loadgen.model.exchange import Outcome, TurnKey
from loadgen.model.session import Session
from tests.unit.engine.replays import RULES, Maker, Play, S, Wire, chain, done, issued, turn
from tests.unit.engine.virtual_time import in_virtual_time


def once(*sessions: Session, wire: Wire | None = None) -> Play:
    """Plays these, one after the other on one lane, and then ends."""
    return Play(wire or Wire(), Maker(sessions, again=False))


def test_a_turn_is_due_its_delay_after_the_end_of_the_one_before() -> None:
    async def work() -> None:
        play = once(Session("s", chain(3, gap_s=4.5)))
        await play.whole()
        first, second, third = play.wire.sent
        assert first.due_at_ns == play.start_at_ns
        assert second.due_at_ns == first.done_at_ns + 4.5 * S
        assert third.due_at_ns == second.done_at_ns + 4.5 * S
        assert play.replay.stop_reason == "no_more_sessions"
        assert play.replay.counts().sessions_finished == 1

    in_virtual_time(work)


def test_what_is_due_leaves_within_two_milliseconds() -> None:
    async def work() -> None:
        play = once(Session("s", chain(5, gap_s=7.3)))
        await play.whole()
        assert all(0 <= one.sent_at_ns - one.due_at_ns < 2_000_000 for one in play.wire.sent)

    in_virtual_time(work)


def test_children_start_with_their_spawner_or_after_it_each_after_its_offset() -> None:
    async def work() -> None:
        session = Session(
            "s",
            (
                turn("root/0"),
                turn("with/0", issued("root/0", 2.0)),
                turn("behind/0", done("root/0")),
                turn("later/0", done("root/0", 27.5)),
            ),
        )
        play = once(session, wire=Wire(10.0))
        await play.whole()
        root = play.wire.named("root/0")
        assert play.wire.named("with/0").due_at_ns == root.sent_at_ns + 2 * S
        assert play.wire.named("behind/0").due_at_ns == root.done_at_ns
        assert play.wire.named("later/0").due_at_ns == root.done_at_ns + 27.5 * S

    in_virtual_time(work)


def joined(delay_s: float) -> Session:
    """The root's second turn waits for its own delay and for a child of two turns."""
    return Session(
        "s",
        (
            turn("root/0"),
            turn("root/1", done("root/0", delay_s), done("child/1")),
            turn("child/0", done("root/0")),
            turn("child/1", done("child/0", 3.0)),
        ),
    )


def test_a_join_waits_for_the_child_where_that_ends_after_the_turns_own_delay() -> None:
    async def work() -> None:
        play = once(joined(delay_s=1.0))
        await play.whole()
        assert play.wire.named("root/1").due_at_ns == play.wire.named("child/1").done_at_ns

    in_virtual_time(work)


def test_a_join_keeps_its_own_delay_where_the_child_ends_before_it() -> None:
    async def work() -> None:
        play = once(joined(delay_s=60.0))
        await play.whole()
        assert play.wire.named("root/1").due_at_ns == play.wire.named("root/0").done_at_ns + 60 * S

    in_virtual_time(work)


def test_a_failed_child_counts_as_complete_and_its_stream_goes_on() -> None:
    async def work() -> None:
        wire = Wire()
        wire.failing = lambda key: 500 if key.stream == "child" else None
        play = Play(wire, Maker([joined(1.0)], again=False), replace(RULES, error_limit_frac=None))
        await play.whole()
        names = [one.name for one in wire.sent]
        assert names == ["root/0", "child/0", "child/1", "root/1"]

    in_virtual_time(work)


def test_nothing_is_sent_twice_after_a_failure() -> None:
    async def work() -> None:
        wire = Wire()
        wire.failing = lambda _: Outcome.DROPPED
        play = once(Session("s", chain(4)), wire=wire)
        await play.whole()
        assert [one.name for one in wire.sent] == [f"root/{n}" for n in range(4)]

    in_virtual_time(work)


def test_a_barrier_between_streams_holds_a_turn_whose_delay_is_over() -> None:
    def slow_other(key: TurnKey) -> float:
        return 50.0 if key.turn_id == "b/0" else 1.0

    async def work() -> None:
        session = Session(
            "s",
            (
                turn("root/0"),
                turn("a/0", done("root/0")),
                turn("a/1", done("a/0", 2.0), done("b/0")),
                turn("b/0", done("root/0")),
            ),
        )
        play = once(session, wire=Wire(slow_other))
        await play.whole()
        assert play.wire.named("a/1").due_at_ns == play.wire.named("b/0").done_at_ns

    in_virtual_time(work)


def test_a_lane_takes_the_next_session_when_root_and_background_children_are_done() -> None:
    def slow_child(key: TurnKey) -> float:
        return 90.0 if key.stream == "child" else 1.0

    async def work() -> None:
        tree = (turn("root/0"), turn("root/1", done("root/0")), turn("child/0", done("root/0")))
        play = once(Session("x", tree, prompt_id="t0"), Session("y", tree), wire=Wire(slow_child))
        await play.whole()
        again = play.wire.named("root/0", play=1)
        assert again.due_at_ns == play.wire.named("child/0").done_at_ns
        assert play.replay.counts().sessions_finished == 2
        assert play.replay.counts().sessions_recycled == 1

    in_virtual_time(work)


def test_a_session_that_is_made_slowly_keeps_its_due_instant() -> None:
    async def work() -> None:
        play = once(Session("x", chain(1)), Session("y", chain(1)))
        play.maker.session_s = 7.0
        await play.whole()
        first, second = play.wire.sent
        assert second.due_at_ns == first.done_at_ns
        assert 5.9 * S < second.sent_at_ns - second.due_at_ns < 6.1 * S

    in_virtual_time(work)


def test_lanes_play_sessions_dealt_by_lane_and_pass() -> None:
    async def work() -> None:
        sessions = [Session(f"s{n}", chain(1), prompt_id=f"trace{n}") for n in range(9)]
        play = Play(Wire(), Maker(sessions, again=False), lanes=(0, 2), n_lanes=3)
        await play.whole()
        dealt = {(one.key.session_id, one.key.prompt_id) for one in play.wire.sent}
        assert dealt == {
            (f"0-{lane}-{play_no}", f"trace{play_no * 3 + lane}")
            for lane in (0, 2)
            for play_no in range(3)
        }

    in_virtual_time(work)


def test_keys_tell_stream_and_number_within_it() -> None:
    async def work() -> None:
        play = once(joined(1.0))
        await play.whole()
        numbers = {(o.key.stream, o.key.turn_no, o.name) for o in play.wire.sent}
        assert numbers == {
            (n.split("/")[0], int(n[-1]), n) for n in ("root/0", "root/1", "child/0", "child/1")
        }
        assert [one.key.seq for one in play.wire.sent] == [0, 1, 2, 3]

    in_virtual_time(work)


def test_a_context_overflow_ends_the_session_and_the_lane_goes_on_with_the_next() -> None:
    async def work() -> None:
        wire = Wire(lambda key: 20.0 if key.stream == "child" else 1.0)
        wire.failing = lambda key: 400 if key.turn_id == "root/1" else None
        tree = (*chain(4), turn("child/0", done("root/0", 0.5)), turn("child/1", done("child/0")))
        play = Play(
            wire,
            Maker([Session("s", tree), Session("t", chain(1))], again=False),
            overflowed=lambda exchange: exchange.http_status == 400,
        )
        await play.whole()
        first = [one.name for one in wire.sent if one.key.session_id == "0-0-0"]
        assert first == ["root/0", "child/0", "root/1"]
        assert wire.named("root/0", play=1).due_at_ns == wire.named("child/0").done_at_ns
        assert play.replay.counts().overflows == 1
        assert play.replay.counts().sessions_finished == 1

    in_virtual_time(work)


def test_live_answers_of_the_stream_reach_the_maker_in_order() -> None:
    async def work() -> None:
        play = once(Session("s", chain(3), history="live"))
        await play.whole()
        answers = [asked[3] for asked in play.maker.asked]
        assert answers == [(), (b'"root/0"',), (b'"root/0"', b'"root/1"')]

    in_virtual_time(work)
