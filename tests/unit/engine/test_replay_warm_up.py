"""Primers, one-token warm-up, quiet, and how profiling goes on from there."""

from msgspec.structs import replace

from loadgen.model.exchange import Outcome, Phase
from loadgen.model.session import Session
from tests.unit.engine.replays import MS, RULES, Maker, Play, S, Wire, chain, done, turn
from tests.unit.engine.virtual_time import in_virtual_time


def under_way() -> Session:
    """Starts at 100 s: the root lies before its third turn, one child is over, one is not."""
    return Session(
        "s",
        (
            turn("root/0", at_s=0.0),
            turn("root/1", done("root/0", 30.0), at_s=97.0),
            turn("root/2", done("root/1", 40.0), done("live/1"), at_s=150.0),
            turn("over/0", done("root/0"), at_s=10.0),
            turn("live/0", done("root/0"), at_s=20.0),
            turn("live/1", done("live/0", 60.0), at_s=120.0),
            turn("later/0", done("root/1", 5.0), at_s=110.0),
        ),
        from_ns=100 * S,
    )


def test_each_stream_under_way_gets_one_primer_spread_as_in_the_recording() -> None:
    async def work() -> None:
        play = Play(Wire(), Maker([under_way()]))
        await play.warm_up()
        primers = {one.name: one for one in play.wire.sent}
        assert set(primers) == {"root/1", "live/0"}
        # live/0 lay 80 s before the start, which counts as 10; root/1 lay 3 s before it.
        assert primers["root/1"].due_at_ns - primers["live/0"].due_at_ns == 7 * S
        assert {one.key.phase for one in primers.values()} == {Phase.WARMUP}
        assert {one.turn.max_output_tok for one in primers.values()} == {1}
        assert {one.body for one in primers.values()} == {b"0/1/1", b"0/4/1"}

    in_virtual_time(work)


def test_the_first_primer_goes_at_once_over_all_lanes_of_a_worker() -> None:
    async def work() -> None:
        near = Session("n", chain(9, gap_s=0.0), from_ns=round(2.5 * S))
        far = Session("f", chain(9, gap_s=3.0), from_ns=round(7.5 * S))
        play = Play(Wire(), Maker([near, far]), lanes=(0, 1), n_lanes=2)
        await play.warm_up()
        by_lane = {one.key.session_id: one for one in play.wire.sent}
        early, late = by_lane["0-1-0"], by_lane["0-0-0"]
        assert late.due_at_ns - early.due_at_ns == 3 * S
        assert early.sent_at_ns - early.due_at_ns < 2 * MS

    in_virtual_time(work)


def test_streams_go_on_where_the_start_point_left_them_each_turn_once() -> None:
    async def work() -> None:
        play = Play(Wire(), Maker([under_way()], again=False))
        await play.whole()
        assert [one.name for one in play.wire.of(Phase.WINDOW)] == ["later/0", "live/1", "root/2"]

    in_virtual_time(work)


def test_full_next_delays_count_from_a_start_that_the_least_of_them_reaches_at_once() -> None:
    async def work() -> None:
        play = Play(Wire(), Maker([under_way()], again=False))
        await play.warm_up()
        assert play.replay.first_gap_ns() == 5 * S
        await play.profile()
        assert play.wire.named("later/0").due_at_ns == play.start_at_ns
        assert play.at_s(play.wire.named("live/1").due_at_ns) == 55.0
        # 35 s of the root's own delay were over long before its child ended
        assert play.wire.named("root/2").due_at_ns == play.wire.named("live/1").done_at_ns

    in_virtual_time(work)


def test_another_workers_shorter_delay_holds_everything_back() -> None:
    async def work() -> None:
        play = Play(Wire(), Maker([under_way()], again=False))
        await play.warm_up()
        await play.profile(least_gap_ns=2 * S)
        assert play.at_s(play.wire.named("later/0").due_at_ns) == 3.0

    in_virtual_time(work)


def test_warm_up_sends_so_many_one_token_requests_a_lane_without_delays() -> None:
    async def work() -> None:
        rules = replace(RULES, warmup_turns=3)
        play = Play(Wire(), Maker([Session("s", chain(9, gap_s=50.0))]), rules, (0, 1), 2)
        await play.warm_up()
        for lane in (0, 1):
            sent = [one for one in play.wire.sent if one.key.session_id == f"0-{lane}-0"]
            assert [one.name for one in sent] == ["root/0", "root/1", "root/2"]
            assert sent[1].due_at_ns == sent[0].done_at_ns
            assert {one.turn.max_output_tok for one in sent} == {1}
            assert all(one.body.endswith(b"/1") for one in sent)
        assert play.replay.counts().warmup_left == 0
        assert play.replay.first_gap_ns() == 50 * S

    in_virtual_time(work)


def test_profiling_bodies_have_the_turns_own_limit_though_warm_up_asked_for_one_token() -> None:
    async def work() -> None:
        rules = replace(RULES, warmup_turns=2)
        play = Play(Wire(), Maker([Session("s", chain(5, gap_s=0.0))], again=False), rules)
        await play.whole()
        assert [one.body for one in play.wire.of(Phase.WINDOW)] == [
            b"0/2/None",
            b"0/3/None",
            b"0/4/None",
        ]
        assert {one.turn.max_output_tok for one in play.wire.of(Phase.WINDOW)} == {50}

    in_virtual_time(work)


def test_a_body_made_for_the_warm_up_and_not_sent_there_is_made_anew() -> None:
    async def work() -> None:
        tree = (
            turn("root/0"),
            turn("x/0", done("root/0")),
            turn("x/1", done("x/0")),
            turn("y/0", done("root/0")),
            turn("y/1", done("y/0")),
        )
        wire = Wire(lambda key: 9.0 if key.stream == "x" else 1.0)
        rules = replace(RULES, warmup_turns=4)
        play = Play(wire, Maker([Session("s", tree)], again=False), rules)
        await play.whole()
        assert (0, 2, 1) in [asked[:3] for asked in play.maker.asked]
        assert wire.named("x/1").body == b"0/2/None"

    in_virtual_time(work)


def test_warm_up_keeps_joins_and_recycles_lanes_that_end() -> None:
    async def work() -> None:
        tree = (
            turn("root/0"),
            turn("root/1", done("root/0", 9.0), done("child/0")),
            turn("child/0", done("root/0", 20.0)),
        )
        play = Play(Wire(), Maker([Session("s", tree)]), replace(RULES, warmup_turns=4))
        await play.warm_up()
        names = [(one.key.session_id, one.name) for one in play.wire.sent]
        assert names == [
            ("0-0-0", "root/0"),
            ("0-0-0", "child/0"),
            ("0-0-0", "root/1"),
            ("0-0-1", "root/0"),
        ]
        assert play.wire.named("root/1").due_at_ns == play.wire.named("child/0").done_at_ns
        assert play.replay.counts().sessions_recycled == 1
        assert play.replay.counts().sessions_finished == 0
        assert play.replay.first_gap_ns() == 20 * S

    in_virtual_time(work)


def test_a_lanes_warm_up_waits_for_its_primers() -> None:
    async def work() -> None:
        wire = Wire(lambda key: 70.0 if key.turn_id == "root/1" else 1.0)
        play = Play(wire, Maker([under_way()]), replace(RULES, warmup_turns=1))
        await play.warm_up()
        assert len(wire.sent) == 3
        assert wire.sent[2].sent_at_ns >= wire.named("root/1").done_at_ns

    in_virtual_time(work)


def test_warm_up_ends_when_nothing_is_in_flight() -> None:
    async def work() -> None:
        wire = Wire(500.0)
        play = Play(wire, Maker([Session("s", chain(5))]), replace(RULES, warmup_turns=1))
        await play.warm_up()
        assert play.tally.in_flight == 0
        assert [exchange.failure for exchange in wire.exchanges] == [None]

    in_virtual_time(work)


def test_what_outlasts_the_warm_ups_grace_is_stopped_and_its_stream_goes_on() -> None:
    async def work() -> None:
        wire = Wire(lambda key: 99_999.0 if key.phase is Phase.WARMUP else 1.0)
        rules = replace(RULES, warmup_turns=2, warmup_grace_s=1800.0)
        play = Play(wire, Maker([Session("s", chain(3))], again=False), rules)
        await play.whole()
        (stopped,) = wire.of(Phase.WARMUP)
        assert wire.exchanges[0].failure is Outcome.UNFINISHED
        assert 1800 <= (stopped.done_at_ns - stopped.sent_at_ns) / S < 1801
        assert [one.name for one in wire.of(Phase.WINDOW)] == ["root/1", "root/2"]

    in_virtual_time(work)


def test_a_failed_root_primer_ends_all_but_a_childs_does_not() -> None:
    async def work(failing: str) -> Play:
        wire = Wire()
        wire.failing = lambda key: 503 if key.turn_id == failing else None
        play = Play(wire, Maker([under_way()], again=False))
        await play.whole()
        return play

    async def root() -> None:
        play = await work("root/1")
        assert play.replay.stop_reason == "primer_failed"
        assert play.wire.of(Phase.WINDOW) == []

    async def child() -> None:
        play = await work("live/0")
        assert play.replay.stop_reason == "no_more_sessions"
        assert len(play.wire.of(Phase.WINDOW)) == 3

    in_virtual_time(root)
    in_virtual_time(child)


def test_a_session_over_before_its_start_but_for_the_background_keeps_its_lane() -> None:
    async def work() -> None:
        tree = (
            turn("root/0", at_s=0.0),
            turn("child/0", done("root/0"), at_s=5.0),
            turn("child/1", done("child/0", 30.0), at_s=90.0),
        )
        play = Play(Wire(), Maker([Session("s", tree, from_ns=50 * S)], again=False))
        await play.whole()
        assert [one.name for one in play.wire.of(Phase.WARMUP)] == ["child/0"]
        assert [one.name for one in play.wire.of(Phase.WINDOW)] == ["child/1"]

    in_virtual_time(work)
