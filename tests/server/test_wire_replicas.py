"""Several base URLs of one deployment, and headers that keep a session where it is."""

from contextlib import AsyncExitStack

from loadgen.model.exchange import Outcome, TurnKey
from loadgen.model.plan import Deadlines, TargetPlan
from loadgen.model.session import Turn
from loadgen.transport.replicas import Replicas, sender_of
from tests.scripted_server import ScriptedServer, stream

ANSWER = stream(b'{"choices":[{"delta":{"content":"a"}}]}', b"[DONE]")
DYNAMO = ("X-Correlation-ID", "X-Session-ID", "X-Dynamo-Session-ID")


async def served(*keys: TurnKey) -> list[ScriptedServer]:
    """Two servers after these requests."""
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(ScriptedServer(ANSWER)) for _ in range(2)]
        target = TargetPlan(servers[0].url, "m", replicas=(servers[1].url,), affinity=DYNAMO)
        sender = sender_of(target, Deadlines(), {})
        assert isinstance(sender, Replicas)
        await sender.open_connections(2)
        for key in keys:
            exchange = await sender.send(key, Turn("0", ()), b'"messages":[]', 0)
            assert exchange.failure is None
        sender.stop(Outcome.CANCELLED)
        await sender.aclose()
        return servers


def key_of(session: str, stream_name: str, seq: int) -> TurnKey:
    return TurnKey(0, 0, seq, session, f"{stream_name}/0", stream=stream_name)


async def test_sessions_are_spread_over_replicas_and_each_stays_with_one() -> None:
    keys = [key_of(f"0-{lane}-0", "root", lane * 3 + n) for lane in range(12) for n in range(3)]
    servers = await served(*keys)
    seen = [{r.headers["x-session-id"] for r in server.requests} for server in servers]
    assert sum(map(len, seen)) == 12
    assert min(map(len, seen)) >= 2
    assert not seen[0] & seen[1]


async def test_headers_name_the_session_and_its_streams() -> None:
    servers = await served(key_of("0-0-0", "root", 0), key_of("0-0-0", "agent_001", 1))
    root, child = [request.headers for server in servers for request in server.requests]
    assert root["x-session-id"] == child["x-session-id"]
    assert root["x-correlation-id"] != child["x-correlation-id"]
    assert child["x-dynamo-parent-session-id"] == root["x-dynamo-session-id"]
    assert "x-dynamo-parent-session-id" not in root
