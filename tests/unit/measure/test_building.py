"""Sessions by way of a builder are the worker's own, in order; a builder that dies is told."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path

import msgspec
import pytest

from loadgen.engine import OwnFeed
from loadgen.errors import LoadgenError
from loadgen.measure.builder import Builder, wants_builder
from loadgen.measure.building import BuilderClient, BuiltFeed
from loadgen.measure.point import own_sessions
from loadgen.model.plan import Plan, PointPlan, Share, TargetPlan, WorkloadPlan
from loadgen.model.session import Answer
from loadgen.transport.request import override_names
from loadgen.workload import open_workload


def plan_of(isl: str = "64", **workload: object) -> Plan:
    return Plan(
        run_id="r",
        target=TargetPlan(base_url="http://127.0.0.1:1", model="m", extra_body={"min_tokens": 3}),
        workload=msgspec.convert({"isl": isl, **workload}, WorkloadPlan),
        points=(PointPlan(index=0, load="closed:2"),),
        salt="s",
    )


@asynccontextmanager
async def building(plan: Plan) -> AsyncIterator[BuilderClient]:
    asking_end, builder_end = socket.socketpair()
    builder = Builder(open_workload(plan), builder_end, override_names(plan.target))
    thread = threading.Thread(target=builder.serve)
    thread.start()
    client = BuilderClient(asking_end)
    try:
        yield client
    finally:
        client.close()
        await asyncio.to_thread(thread.join)
        builder_end.close()


def body_of(parts: tuple[bytes | Answer, ...]) -> bytes:
    return b"".join(bytes(part) for part in parts if not isinstance(part, Answer))


@pytest.mark.parametrize("share", [Share(0, 1), Share(1, 3)])
async def test_a_built_feed_gives_the_workers_own_sessions(share: Share) -> None:
    plan = plan_of("uniform:40,4000")
    own = OwnFeed(own_sessions(open_workload(plan), 0, share))
    async with building(plan) as client:
        feed = BuiltFeed(client, 0, share)
        await feed.fill(8)
        for _ in range(100):
            expected, built = await own.take(), await feed.take()
            assert expected is not None
            assert built is not None
            assert built.session_id == expected.session_id
            assert body_of(built.turns[0].body) == body_of(expected.turns[0].body)


async def test_bodies_come_without_what_the_target_sets_itself() -> None:
    plan = plan_of(ignore_eos=True)
    (own,) = islice(own_sessions(open_workload(plan), 0, Share(0, 1)), 1)
    assert b'"min_tokens"' in body_of(own.turns[0].body)
    async with building(plan) as client:
        built = await client.session(0, 0)
    assert built is not None
    assert b'"min_tokens"' not in body_of(built.turns[0].body)


async def test_a_finite_workload_ends_for_the_feed_too(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"prompt": "p"}\n' * 5, encoding="ascii")
    plan = plan_of(format="chat", path=str(rows), once=True)
    async with building(plan) as client:
        feed = BuiltFeed(client, 0, Share(0, 2))
        await feed.fill(64)
        taken = [await feed.take() for _ in range(4)]
    assert [session is None for session in taken] == [False, False, False, True]


async def test_a_builder_that_dies_is_told_and_hangs_nobody() -> None:
    asking_end, builder_end = socket.socketpair()
    client = BuilderClient(asking_end)
    asked = asyncio.create_task(client.session(0, 0))
    await asyncio.sleep(0)
    builder_end.close()
    with pytest.raises(LoadgenError, match="builds prompts has died"):
        await asked
    with pytest.raises(LoadgenError, match="builds prompts has died"):
        await client.session(0, 1)
    client.close()


@pytest.mark.parametrize(
    ("isl", "wanted"),
    [("1024", False), ("900000", True), ("uniform:100,200000", True), ("x", False)],
)
def test_long_prompts_alone_are_built_elsewhere(isl: str, wanted: bool) -> None:
    assert wants_builder(plan_of(isl)) is wanted
