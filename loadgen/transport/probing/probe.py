"""What an endpoint is: a few control calls and a few small requests, before any load.

The requests take the route and the body that the run will use. Nothing here is measured for the
report; what it finds only says how the run's numbers may be read.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import urlsplit

import msgspec

from loadgen import clock
from loadgen.errors import EndpointError
from loadgen.model.exchange import Exchange, Outcome, TurnKey
from loadgen.model.observed import Observed
from loadgen.model.plan import Deadlines, TargetPlan
from loadgen.model.session import Turn
from loadgen.transport.call import Sender
from loadgen.transport.control import ControlPlane, ModelCard
from loadgen.transport.decoding.arrivals import header
from loadgen.transport.probing.buffering import is_plainly_streamed, judge_buffering
from loadgen.transport.probing.cache_config import read_cache_config
from loadgen.transport.probing.fingerprint import Fingerprint, take_fingerprint
from loadgen.transport.probing.glimpse import Glimpse, look_at
from loadgen.transport.proxies import proxy_for, secrets_towards, show_proxy
from loadgen.transport.redact import redact_text
from loadgen.transport.request import RequestTemplate, origin_of
from loadgen.units import NS_PER_MS, NS_PER_S, ns_from_s

Send = Callable[[TargetPlan, bytes], Awaitable[Exchange]]
"""Sends these members of a body to this variant of the target."""

LONG_TOK = 64
QUICK_LONG_TOK = 256
QUICK_NS = 100 * NS_PER_MS
MAX_ROUNDS = 8
PAUSE_S = 0.02
SLOW_ROUNDS = 3
SLOW_NS = 3 * NS_PER_S
WAIT_S = 1.0
TICK_S = 0.001
STARVED_NS = 3 * NS_PER_MS
DEADLINES = Deadlines(
    connect_ns=5 * NS_PER_S, first_token_ns=120 * NS_PER_S, total_ns=300 * NS_PER_S
)

_FILLER = ", ".join(["apple, river, stone, cloud"] * 20)
# long enough to fill a block of the prefix caches that we know, so that a repeat can be a hit
COUNT = f"count from one to two hundred, please. Ignore the words that follow: {_FILLER}"
THINK = "think about it: what is seven times eight please"


async def probe(
    target: TargetPlan,
    secret_headers: Mapping[str, str],
    *,
    send: Send | None = None,
    ready_within_s: float = 60.0,
) -> Observed:
    """Everything that the endpoint shows of itself.

    Sends some ten GETs and three to nineteen short chats or completions. While the endpoint says
    503 it is asked again for `ready_within_s`: ready means that one real answer came.
    Raises: EndpointError when it can't be reached or refuses; UsageError, InputError.
    """
    secrets = secrets_towards(target.base_url, secret_headers)
    async with ControlPlane(target, secret_headers) as control:
        models = await control.models() or ()
        target = _with_model(target, models)
        metrics = await control.metrics()
        facts = _Facts(
            models=models,
            metrics=metrics,
            healthy=await control.health(),
            tokenizes=await control.tokenize("loadgen counts tokens") is not None,
            fingerprint=await take_fingerprint(control, models, metrics),
        )
        rtt_ns, rtt_note = await measure_rtt_ns(target)
        senders = _Senders(secret_headers)
        try:
            talk = _Talk(target, send or senders.send, secrets, rtt_ns)
            await talk.open(ready_within_s, secret_headers)
            await talk.go_on()
        finally:
            await senders.aclose()
        return _observed(target, control, facts, talk, rtt_note)


async def measure_rtt_ns(target: TargetPlan) -> tuple[int | None, str]:
    """(shortest of five TCP connects in ns, note): to the proxy where one is in force."""
    proxy = proxy_for(target.base_url) if target.use_proxy else None
    origin = origin_of(proxy or target.base_url)
    best: int | None = None
    for _ in range(5):
        before_ns = clock.now_ns()
        try:
            async with asyncio.timeout(5):
                _, writer = await asyncio.open_connection(origin.host, origin.port)
        except (OSError, TimeoutError):
            continue
        took_ns = clock.now_ns() - before_ns
        writer.close()
        best = took_ns if best is None else min(best, took_ns)
    return best, "the round trip is the one to the proxy" if proxy else ""


@dataclass(frozen=True, slots=True)
class _Facts:
    models: tuple[ModelCard, ...]
    metrics: str | None
    healthy: bool | None
    tokenizes: bool
    fingerprint: Fingerprint


class _Senders:
    """One sender for each variant of the target, so that connections are kept between calls."""

    def __init__(self, secret_headers: Mapping[str, str]) -> None:
        self._secret_headers = secret_headers
        self._open: list[tuple[TargetPlan, Sender]] = []
        self._count = 0

    async def send(self, target: TargetPlan, members: bytes) -> Exchange:
        """The exchange; never raises but for cancellation and unusable targets."""
        key = TurnKey(point=-1, share=0, seq=self._count, session_id="probe", turn_id="probe")
        self._count += 1
        turn = Turn(turn_id="probe", body=(members,))
        return await self._sender(target).send(key, turn, members, clock.now_ns())

    async def aclose(self) -> None:
        """Closes all connections."""
        for _, sender in self._open:
            await sender.aclose()

    def _sender(self, target: TargetPlan) -> Sender:
        for known, sender in self._open:
            if known == target:
                return sender
        sender = Sender(target, DEADLINES, self._secret_headers)
        self._open.append((target, sender))
        return sender


class _LoopWatch:
    """How long this event loop did not get to run, beyond what its timers are coarse, ns."""

    starved_ns = 0

    async def __aenter__(self) -> "_LoopWatch":
        self._last_at_ns = clock.now_ns()
        self._task = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        self._book()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            self._book()

    def _book(self) -> None:
        now_ns = clock.now_ns()
        gap_ns = now_ns - self._last_at_ns
        self.starved_ns += gap_ns if gap_ns > STARVED_NS else 0
        self._last_at_ns = now_ns


@dataclass(slots=True)
class _Talk:
    """The small requests of one probe and what they showed."""

    target: TargetPlan
    send: Send
    secrets: tuple[str, ...]
    rtt_ns: int | None
    longs: list[Glimpse] = field(default_factory=list)
    shorts: list[Glimpse] = field(default_factory=list)
    others: list[Glimpse] = field(default_factory=list)
    first: Exchange | None = None
    later: list[Exchange] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    buffered: bool | None = None
    usage_streamed: bool | None = None
    usage_running: bool | None = None
    stream_options_refused: bool | None = None
    token_ids: bool | None = None

    async def open(self, ready_within_s: float, secret_headers: Mapping[str, str]) -> None:
        """The first answer, as the run would ask for it. Raises: EndpointError."""
        give_up_at_ns = clock.now_ns() + ns_from_s(ready_within_s)
        members = self._members(COUNT, LONG_TOK)
        while True:
            exchange = await self.send(self.target, members)
            asked = self.target.stream and self.target.ask_usage
            if asked and exchange.http_status in (400, 422):
                exchange = await self._ask_without_usage(exchange, members)
            seen = look_at(exchange, self.secrets)
            if seen.record.outcome in (Outcome.OK, Outcome.EMPTY):
                break
            is_warming = exchange.http_status == HTTPStatus.SERVICE_UNAVAILABLE
            if not is_warming or clock.now_ns() >= give_up_at_ns:
                raise self._refusal(exchange, seen, members, secret_headers)
            await asyncio.sleep(WAIT_S)
        self.first = exchange
        self.longs.append(seen)
        if self.target.stream:
            self.usage_streamed = seen.usage_events > 0

    async def go_on(self) -> None:
        """The rest: repeats for cache and connection, more of them where buffering is in doubt."""
        await self._short()
        if self.target.stream:
            await self._settle_buffering()
        await self._extras()

    async def _ask_without_usage(self, refused: Exchange, members: bytes) -> Exchange:
        bare = msgspec.structs.replace(self.target, ask_usage=False, ask_running_usage=False)
        exchange = await self.send(bare, members)
        if exchange.http_status != HTTPStatus.OK:
            return refused
        self.target = bare
        self.stream_options_refused = True
        said = look_at(refused, self.secrets).record.detail
        self.notes.append(f"`stream_options` is refused: {said}")
        return exchange

    async def _short(self) -> Glimpse:
        seen = await self._again(self.target, self._members(COUNT, 1))
        self.shorts.append(seen)
        return seen

    async def _settle_buffering(self) -> None:
        first = self.longs[0]
        if is_plainly_streamed(first):
            self.buffered = False
            return
        if first.e2e_ns < QUICK_NS:
            self.longs.clear()
        tok = QUICK_LONG_TOK if first.e2e_ns < QUICK_NS else LONG_TOK
        why = ""
        for _ in range(SLOW_ROUNDS if first.e2e_ns > SLOW_NS else MAX_ROUNDS):
            await asyncio.sleep(PAUSE_S)  # lets a busy client's bad moment pass
            self.longs.append(await self._again(self.target, self._members(COUNT, tok)))
            await self._short()
            self.buffered, why = judge_buffering(self.longs, self.shorts, self.rtt_ns)
            if self.buffered is False:
                break
        if why:
            self.notes.append(f"buffering: {why}")

    async def _extras(self) -> None:
        """Reasoning, running usage and token ids, asked for in one request of its own."""
        asked = msgspec.structs.replace(
            self.target,
            ask_running_usage=self.target.ask_usage,
            extra_body={**self.target.extra_body, "return_token_ids": True},
        )
        seen = await self._again(asked, self._members(THINK, LONG_TOK))
        if seen.record.outcome is not Outcome.OK:
            self.notes.append(f"running usage and token ids are refused: {seen.record.detail}")
            await self._again(self.target, self._members(THINK, LONG_TOK))
            return
        self.token_ids = seen.token_ids
        if self.target.stream:
            self.usage_running = seen.running_usage

    async def _again(self, target: TargetPlan, members: bytes) -> Glimpse:
        async with _LoopWatch() as watch:
            exchange = await self.send(target, members)
        seen = look_at(exchange, self.secrets, watch.starved_ns)
        if target is self.target:
            self.later.append(exchange)
        self.others.append(seen)
        return seen

    def _members(self, prompt: str, max_tok: int) -> bytes:
        body: dict[str, object] = {"prompt": prompt}
        if self.target.endpoint_type == "chat":
            body = {"messages": [{"role": "user", "content": prompt}]}
        return msgspec.json.encode({**body, "max_tokens": max_tok})[1:-1]

    def _refusal(
        self, exchange: Exchange, seen: Glimpse, members: bytes, secret_headers: Mapping[str, str]
    ) -> EndpointError:
        template = RequestTemplate(self.target, secret_headers)
        shown = template.body(members).decode().replace(_FILLER, "...")
        status = "" if exchange.http_status is None else f"status {exchange.http_status}, "
        text = f"`POST {redact_text(template.url)}`: {status}{seen.record.outcome}"
        if seen.record.detail:
            text += f": {seen.record.detail}"
        text += f"\nsent: {redact_text(shown, self.secrets)}"
        return EndpointError(text, _hint(exchange.http_status, self.target))


def _hint(status: int | None, target: TargetPlan) -> str:
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return f"the key is read from `${target.api_key_env}`; `--api-key-env NAME` names another"
    if status == HTTPStatus.NOT_FOUND:
        return "check `-m MODEL` and `--endpoint-type chat|completions`"
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        return "the server says that it is not ready; wait until it has loaded its model"
    return "the body above is what a run would send; `--extra-body JSON` changes its members"


def _with_model(target: TargetPlan, models: tuple[ModelCard, ...]) -> TargetPlan:
    """The target with a model. Raises: EndpointError when neither side names one."""
    if target.model:
        return target
    if not models:
        raise EndpointError(
            f"`{redact_text(target.base_url)}` lists no models",
            "name the model: `-m MODEL`",
        )
    return msgspec.structs.replace(target, model=models[0].id)


def _keeps_alive(talk: _Talk) -> tuple[bool | None, str]:
    """(whether later requests found their connection open, note)."""
    if talk.target.fresh_connections or not talk.later or talk.first is None:
        return None, ""
    kept = [e.connection.reused and not e.connection.stale_reconnects for e in talk.later]
    if sum(kept) * 2 > len(kept):
        return True, ""
    promise = header(talk.first, "keep-alive")
    says_close = "close" in header(talk.first, "connection").lower()
    if promise and not says_close:
        return False, f"closes each connection after its answer, promising `keep-alive: {promise}`"
    return False, "" if says_close else "closes each connection after its answer"


def _observed(
    target: TargetPlan, control: ControlPlane, facts: _Facts, talk: _Talk, rtt_note: str
) -> Observed:
    first = talk.first
    assert first is not None  # `open` has raised otherwise
    seen = [*talk.longs, *talk.others]
    kept, kept_note = _keeps_alive(talk)
    proxy = proxy_for(target.base_url) if target.use_proxy else None
    card = next((card for card in facts.models if card.id == target.model), None)
    notes = [*control.notes, rtt_note, kept_note, *talk.notes]
    return Observed(
        engine=facts.fingerprint.engine,
        engine_version=facts.fingerprint.version,
        engine_evidence=facts.fingerprint.evidence,
        models=tuple(card.id for card in facts.models),
        max_model_len=card.max_model_len if card else None,
        reasoning_field=next((s.reasoning_field for s in seen if s.reasoning_field), None),
        usage_streamed=talk.usage_streamed,
        usage_running=talk.usage_running,
        stream_options_refused=talk.stream_options_refused,
        cached_tokens_reported=any(s.cached_tokens for s in seen),
        token_ids=talk.token_ids,
        tokenize_route="/tokenize" if facts.tokenizes else None,
        metrics_route="/metrics" if facts.metrics is not None else None,
        health_route="/health" if facts.healthy else None,
        buffered=talk.buffered,
        keep_alive=kept,
        http_version=control.http_version,
        server_header=header(first, "server") or control.server_header,
        rtt_ns=talk.rtt_ns,
        first_answer_e2e_ns=(first.done_at_ns or first.due_at_ns) - first.due_at_ns,
        peer=first.connection.peer or urlsplit(target.base_url).netloc.rpartition("@")[2],
        proxy=show_proxy(proxy) if proxy else None,
        role_event_first=next((s.role_event_first for s in seen), None),
        done_marker=next((s.done_marker for s in seen), None),
        notes=tuple(dict.fromkeys(filter(None, notes))),
        model_root=card.root if card else None,
        cache_config=read_cache_config(facts.metrics or ""),
        server_args=facts.fingerprint.server_args,
    )
