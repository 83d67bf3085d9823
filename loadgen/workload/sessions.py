"""What every workload format gives and is given."""

from collections.abc import Callable
from hashlib import sha256
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from msgspec import Struct

from loadgen.model.plan import EndpointType, Plan, ReplayRules, TokenFit, WorkloadPlan
from loadgen.model.session import Session

History = Literal["recorded", "live"]
"""What later turns quote: the file's or made-up answers, or those that the server gave."""


class WorkloadContext(Struct, frozen=True):
    """The rest of a plan that prompts depend on."""

    endpoint_type: EndpointType = "chat"
    token_fit: TokenFit = TokenFit()
    seed: int = 1
    salt: str = ""
    run_id: str = ""
    slots: dict[int, int] = {}
    """Lanes or slots by point; a point whose load has no bound is not in it."""
    rules: ReplayRules | None = None
    workers: int = 1
    by_time: bool = False
    """Sessions are sent at their recorded times: in that order, once, and each must have one."""


class Overlong(Struct, frozen=True):
    """How many of `of` prompts can't fit; lengths are estimates unless a counter was given."""

    over: int
    of: int
    longest_tok: int
    estimated: bool


class Sessions(Protocol):
    """A workload. Every method is a pure function: any worker can make any session."""

    @property
    def n_rows(self) -> int | None:
        """Distinct data rows; None where prompts are made, not read."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user has to be told before the run: rows left out, members not sent."""

    def session(self, point: int, index: int) -> Session | None:
        """Session `index` of a point; None: the workload has no more."""

    def rows_over(self, limit_tok: int, count: Callable[[str], int] | None = None) -> Overlong:
        """How many prompts don't fit into `limit_tok` together with the answer they ask for."""


@runtime_checkable
class BuiltSessions(Sessions, Protocol):
    """A workload whose turns hold no body until it is asked for: too long to be kept."""

    def body(
        self,
        point: int,
        index: int,
        turn_no: int,
        max_output_tok: int | None,
        answers: tuple[bytes | None, ...] = (),
    ) -> bytes:
        """The body's members of `session(point, index).turns[turn_no]`.

        `max_output_tok` overrides the turn's own limit; `answers` are the live answers (JSON
        strings) to the earlier turns of its stream, None where there is none.
        """


class Format(NamedTuple):
    """One way to come to sessions: what a user may say of it, and what opens it."""

    options: type[Struct]
    open: Callable[[WorkloadPlan, WorkloadContext], Sessions]
    on_demand: bool = False
    """Its sessions are `BuiltSessions`, made in a process of their own."""
    makes_text: bool = False
    """Its prompts are made of words: a fit of words to the endpoint's tokens is wanted."""
    has_times: bool = False
    """Its sessions may know when they arrived."""


def context_of(plan: Plan) -> WorkloadContext:
    """The part of a plan that sessions depend on."""
    return WorkloadContext(
        plan.target.endpoint_type,
        plan.token_fit,
        plan.seed,
        plan.salt,
        plan.run_id,
        {point.index: point.slots for point in plan.points if point.slots is not None},
        plan.replay,
        plan.workers,
        any(point.load.split(":")[0] == "trace" for point in plan.points),
    )


def salt_mark(context: WorkloadContext, point: int, index: int) -> bytes:
    """A JSON-safe opening for a row's text that no other run, point or index has."""
    key = f"{context.salt}/{context.seed}/{point}/{index}"
    return b"[" + sha256(key.encode()).hexdigest()[:16].encode() + b"] "
