"""What is asked of an endpoint before the load: which model, how tokens count, how far it is.

Everything here is announced and small, and none of it counts in any figure. `--no-preflight`
leaves it out: then the server sees exactly the measured requests.
"""

import asyncio
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from loadgen import clock
from loadgen.errors import EndpointError, UsageError
from loadgen.model.exchange import Outcome, TurnKey
from loadgen.model.observed import Observed
from loadgen.model.plan import Deadlines, Plan, TokenFit
from loadgen.model.record import Record
from loadgen.model.session import Turn
from loadgen.tokens import (
    fit_by_counting,
    fit_by_usage,
    fit_overhead,
    fit_tokenizer,
    load_tokenizer,
)
from loadgen.transport.call import Sender
from loadgen.transport.decoding.decode import decode
from loadgen.transport.proxies import proxy_for, show_proxy
from loadgen.workload import FORMATS
from loadgen.workload.bodies import limits

SMALL = Deadlines(connect_ns=10_000_000_000, total_ns=120_000_000_000)
OVERHEAD_TEXT = "a"
FORCED_HINT = (
    "full-length answers are asked for by this workload; `--no-ignore-eos` leaves that out"
)


def prepare(plan: Plan, secrets: Mapping[str, str]) -> tuple[Plan, Observed]:
    """The plan with model, proxy and token fit filled in, and what the endpoint showed of itself.

    Raises `EndpointError` where no real answer came, `UsageError` where the plan asks for no
    preflight and names no model.
    """
    proxied = proxy_for(plan.target.base_url) if plan.target.use_proxy else None
    proxy = show_proxy(proxied) if proxied else ""
    plan = replace(plan, target=replace(plan.target, proxy=proxy))
    if not plan.preflight:
        if not plan.target.model:
            raise UsageError(
                "no model is named, and `--no-preflight` asks the server nothing",
                "name it: -m MODEL",
            )
        fit = plan.token_fit if plan.token_fit.words else _local_fit(plan)
        return replace(plan, token_fit=fit), Observed(proxy=proxy or None)
    return asyncio.run(_prepare(plan, secrets))


async def _prepare(plan: Plan, secrets: Mapping[str, str]) -> tuple[Plan, Observed]:
    from loadgen.transport.probing.probe import probe  # loads httpx

    observed = await probe(plan.target, secrets)
    if not plan.target.model:
        if not observed.models:
            raise EndpointError(
                f"`{plan.target.base_url}` lists no models, so none can be chosen",
                "name it: -m MODEL",
            )
        plan = replace(plan, target=replace(plan.target, model=observed.models[0]))
    if observed.stream_options_refused:
        bare = replace(plan.target, ask_usage=False, ask_running_usage=False)
        plan = replace(plan, target=bare)
    if plan.workload.ignore_eos:
        await _try_forcing(plan, secrets)
    if not plan.token_fit.words and FORMATS[plan.workload.format].makes_text:
        plan = replace(plan, token_fit=await _fit(plan, secrets))
    return plan, observed


async def _try_forcing(plan: Plan, secrets: Mapping[str, str]) -> None:
    """Raises `EndpointError` where the members that force full answers are refused."""
    asking = _Asking(plan, secrets)
    try:
        await asking.prompt_tok(OVERHEAD_TEXT)
    finally:
        await asking.aclose()


def _local_fit(plan: Plan) -> TokenFit:
    return fit_tokenizer(load_tokenizer(plan.tokenizer)) if plan.tokenizer else TokenFit()


async def _fit(plan: Plan, secrets: Mapping[str, str]) -> TokenFit:
    """The best way to count that there is: own tokenizer, the server's route, its usage."""
    from loadgen.transport.control import ControlPlane, tokenize_counter  # loads httpx

    asking = _Asking(plan, secrets)
    try:
        if plan.tokenizer:
            return await asking.with_overhead(_local_fit(plan))
        async with ControlPlane(plan.target, secrets) as control:
            count = await tokenize_counter(control)
            if count is not None:
                return await asking.with_overhead(await fit_by_counting(count), await count("a"))
        return await fit_by_usage(asking.prompt_tok)
    finally:
        await asking.aclose()


class _Asking:
    """Tiny requests on the run's own route, for the prompt tokens that the server counts."""

    def __init__(self, plan: Plan, secrets: Mapping[str, str]) -> None:
        self._plan = plan
        self._sender = Sender(plan.target, SMALL, secrets)
        self._asked = 0

    async def aclose(self) -> None:
        await self._sender.aclose()

    async def with_overhead(self, fit: TokenFit, content_tok: int = 1) -> TokenFit:
        """The fit with what the endpoint adds to a prompt; unchanged where it tells no usage."""
        wire_tok = await self.prompt_tok(OVERHEAD_TEXT)
        return fit if wire_tok is None else fit_overhead(fit, wire_tok, content_tok)

    async def prompt_tok(self, text: str) -> int | None:
        """`usage.prompt_tokens` of a request with this text; None where the server tells none."""
        record = await self._ask(text)
        return record.usage.input_tok

    async def _ask(self, text: str) -> Record:
        quoted = msgspec.json.encode(text)
        chat = self._plan.target.endpoint_type == "chat"
        opening = b'"messages":[{"role":"user","content":' + quoted + b"}]"
        forced = self._plan.workload.ignore_eos
        members = (opening if chat else b'"prompt":' + quoted) + limits(1, ignore_eos=forced)
        turn = Turn(f"preflight-{self._asked}", (members,))
        key = TurnKey(-1, 0, self._asked, "preflight", turn.turn_id)
        self._asked += 1
        record = decode(await self._sender.send(key, turn, members, clock.now_ns()))
        if record.outcome not in (Outcome.OK, Outcome.EMPTY):
            raise EndpointError(
                f"a one-token request ended as `{record.outcome}`: {record.detail}\n"
                f"its members: {{{members.decode()}}}",
                FORCED_HINT if forced else "see what the endpoint says: `loadgen probe`",
            )
        return record
