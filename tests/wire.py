"""What the tests of the transport's wire share: a sender on a scripted server, an exchange read."""

from array import array
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from loadgen.clock import now_ns
from loadgen.model.exchange import Exchange, TurnKey
from loadgen.model.plan import Deadlines, TargetPlan
from loadgen.model.session import Turn
from loadgen.transport.call import Sender

MEMBERS = b'"messages":[{"role":"user","content":"hi"}],"max_tokens":4'


@asynccontextmanager
async def open_sender(
    base_url: str,
    deadlines: Deadlines | None = None,
    secret_headers: Mapping[str, str] | None = None,
    **target: object,
) -> AsyncIterator[Sender]:
    """A sender that is closed at the end; more members of the target plan as keywords."""
    settings: dict[str, object] = {"use_proxy": False, **target}
    plan = TargetPlan(base_url=base_url, model="m", **settings)  # type: ignore[arg-type]
    sender = Sender(plan, deadlines or Deadlines(), secret_headers or {})
    try:
        yield sender
    finally:
        await sender.aclose()


async def send(sender: Sender, seq: int = 0, members: bytes = MEMBERS) -> Exchange:
    """One turn sent now."""
    key = TurnKey(point=0, share=0, seq=seq, session_id=f"s{seq}", turn_id="t0")
    return await sender.send(key, Turn("t0", (members,)), members, now_ns())


def body_of(exchange: Exchange) -> bytes:
    """The whole body that came."""
    return b"".join(exchange.parts)


def ints(kind: str, packed: bytes) -> list[int]:
    """A packed column of an exchange."""
    column = array(kind)
    column.frombytes(packed)
    return list(column)


def part_stamps(exchange: Exchange) -> list[int]:
    """The arrival of each body part, ns."""
    stamps: list[int] = []
    for mark, at_ns in zip(
        ints("i", exchange.part_marks), ints("q", exchange.read_at_ns), strict=True
    ):
        stamps += [at_ns] * (mark - len(stamps))
    return stamps
