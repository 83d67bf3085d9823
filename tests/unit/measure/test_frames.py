import os

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from loadgen.measure.frames import (
    Command,
    Failed,
    FrameSplitter,
    Go,
    Halt,
    Orders,
    Prepare,
    Ready,
    Report,
    pack,
    read_orders,
)
from loadgen.model.plan import Plan, PointPlan, Share, TargetPlan, WorkloadPlan

MESSAGES = (Prepare(1, 2), Halt("interrupted", at_once=True), Go(4))
PLAN = Plan(
    run_id="r",
    target=TargetPlan("http://localhost:1", "m"),
    workload=WorkloadPlan(),
    points=(PointPlan(0, "closed:1"),),
)


@given(st.lists(st.integers(1, 7), min_size=1, max_size=40))
def test_frames_come_out_whole_however_the_stream_is_cut(cuts: list[int]) -> None:
    stream = b"".join(map(pack, MESSAGES))
    splitter = FrameSplitter()
    bodies = []
    at = 0
    for length in (*cuts, len(stream)):
        bodies += splitter.feed(stream[at : at + length])
        at += length
    assert tuple(msgspec.msgpack.decode(body, type=Command) for body in bodies) == MESSAGES


def test_reports_keep_their_kind() -> None:
    for report in (Ready(), Failed("gone", "a hint", 4)):
        (body,) = FrameSplitter().feed(pack(report))
        assert msgspec.msgpack.decode(body, type=Report) == report


def test_orders_are_read_without_taking_what_follows_them() -> None:
    out, into = os.pipe()
    orders = Orders(PLAN, Share(0, 1), "folder", {"authorization": "Bearer k"}, 7)
    os.write(into, pack(orders) + pack(MESSAGES[0]))
    os.close(into)
    assert read_orders(out) == orders
    (body,) = FrameSplitter().feed(os.read(out, 4096))
    assert msgspec.msgpack.decode(body, type=Command) == MESSAGES[0]
    os.close(out)


def test_a_parent_that_is_gone_gives_no_orders() -> None:
    out, into = os.pipe()
    os.close(into)
    assert read_orders(out) is None
    os.close(out)
