"""The simulator's routes, and the gate before them: API key, missing and slow routes."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loadgen.mock.ask import error_body, message_text
from loadgen.mock.call import JSON, Receive, Scope, Send
from loadgen.mock.completions import Completions
from loadgen.mock.engine.meters import format_cache_config, format_metrics, format_power
from loadgen.mock.faults import Fault
from loadgen.mock.render import VERSION, models_body
from loadgen.mock.state import Mock, Settings

PROMETHEUS = "text/plain; version=1.0.0; charset=utf-8"


def _json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status_code=status, media_type=JSON)


class Routes:
    """The control routes of one mock."""

    def __init__(self, mock: Mock) -> None:
        self._mock = mock
        self._is_reset = False

    def models(self, _: Request) -> Response:
        """/v1/models."""
        mock = self._mock
        created = int(mock.started_at_s)
        body = models_body(mock.profile.model, mock.profile.context_tok, created)
        return Response(body, media_type=JSON)

    def health(self, _: Request) -> Response:
        """/health: an empty 200, as vLLM."""
        return Response(b"")

    def version(self, _: Request) -> Response:
        """/version: the vLLM version whose shapes these are."""
        return _json({"version": VERSION})

    async def tokenize(self, request: Request) -> Response:
        """/tokenize: a prompt, or messages with the chat template."""
        try:
            body = msgspec.json.decode(await request.body())
            ids = self._ids_of(body)
        except (msgspec.DecodeError, AttributeError, TypeError) as exc:
            return Response(error_body(400, str(exc), "Bad Request"), 400, media_type=JSON)
        answer: dict[str, Any] = {
            "count": len(ids),
            "max_model_len": self._mock.profile.context_tok,
            "tokens": ids,
            "token_strs": None,
        }
        if body.get("return_token_strs"):
            answer["token_strs"] = [self._mock.vocabulary.piece_of(number) for number in ids]
        return _json(answer)

    def _ids_of(self, body: dict[str, Any]) -> list[int]:
        vocabulary = self._mock.vocabulary
        if "messages" not in body:
            return vocabulary.encode(body.get("prompt", ""))
        ids: list[int] = []
        if body.get("tools"):
            ids += vocabulary.encode_turn("system", msgspec.json.encode(body["tools"]).decode())
        for message in body["messages"]:
            ids += vocabulary.encode_turn(str(message.get("role")), message_text(message))
        is_open = body.get("add_generation_prompt", True)
        return [*ids, *(vocabulary.open_turn("assistant") if is_open else [])]

    async def detokenize(self, request: Request) -> Response:
        """/detokenize: the text of ids that this server has met."""
        try:
            ids = msgspec.json.decode(await request.body(), type=dict[str, Any])["tokens"]
            return _json({"prompt": self._mock.vocabulary.text_of(ids)})
        except (msgspec.DecodeError, KeyError, TypeError) as exc:
            return Response(error_body(400, str(exc), "Bad Request"), 400, media_type=JSON)

    def metrics(self, _: Request) -> Response:
        """/metrics: vLLM's names."""
        mock = self._mock
        self._spoil_counters()
        named = self._switched("metrics_model")
        model = mock.profile.model if named is None else named.text("name")
        inflated = self._switched("counters_inflated")
        times = 1.0 if inflated is None else inflated.number("times")
        kv = mock.profile.kv
        text = format_metrics(mock.meters, model, mock.started_at_s, times)
        text += format_cache_config(kv.block_tok, kv.n_blocks, kv.prefix_cache)
        return Response(text, headers={"content-type": PROMETHEUS})

    def power(self, _: Request) -> Response:
        """/dcgm/metrics: watts and millijoules of each GPU."""
        mock = self._mock
        gap = self._switched("power_gap")
        if gap is not None and 0 <= self._age_s() - gap.number("at_s") < gap.number("lasts_s"):
            return Response("", headers={"content-type": PROMETHEUS})
        mock.driver.book_energy()
        power = mock.profile.power
        text = format_power(mock.meters, power.n_gpus, power.gpu_name)
        return Response(text, headers={"content-type": PROMETHEUS})

    def _spoil_counters(self) -> None:
        """Begins anew once, as a restarted engine does, where that is switched on."""
        fault = self._switched("counters_reset")
        if fault is not None and not self._is_reset and self._age_s() >= fault.number("at_s"):
            self._is_reset = True
            self._mock.meters.reset()

    def _age_s(self) -> float:
        return time.time() - self._mock.started_at_s

    def _switched(self, kind: str) -> Fault | None:
        return next((one for one in self._mock.settings.switches if one.kind == kind), None)

    def truth(self, _: Request) -> Response:
        """/truth: the log in memory."""
        mock = self._mock
        server = {
            "now_ns": time.monotonic_ns(),
            "now_realtime_ns": time.time_ns(),
            "profile": mock.profile.name,
            "seed": mock.settings.seed,
            "steps": mock.driver.n_steps,
            "slips": mock.driver.n_slips,
            "step_late_us": mock.driver.lateness_us(),
            "dropped": mock.truth.n_dropped,
        }
        return _json({"server": server, "requests": [e.as_json() for e in mock.truth.entries()]})

    def truth_reset(self, _: Request) -> Response:
        """/truth/reset: forgets the requests that have ended."""
        self._mock.truth.reset()
        return _json({"ok": True})


class Gate:
    """What is decided before any route: routes made missing or slow, and the API key."""

    def __init__(self, app: Starlette, settings: Settings) -> None:
        self._app = app
        self._switches = settings.switches
        self._key = settings.api_key
        self._born_s = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a request through, late or not, or answers it."""
        if scope["type"] == "http":
            for fault in self._switches:
                if fault.kind == "slow" and scope["path"] == fault.text("path"):
                    await asyncio.sleep(fault.number("ms") / 1000)
                if fault.kind == "missing" and self._is_gone(fault, scope["path"]):
                    await self._refuse(send, 404, b'{"detail":"Not Found"}')
                    return
            if not self._is_admitted(scope):
                await self._refuse(send, 401, b'{"error":"Unauthorized"}')
                return
        await self._app(scope, receive, send)  # type: ignore[arg-type]

    def _is_gone(self, fault: Fault, path: str) -> bool:
        age_s = time.monotonic() - self._born_s
        return path == fault.text("path") and age_s >= fault.number("after_s")

    def _is_admitted(self, scope: Scope) -> bool:
        if self._key is None or not scope["path"].startswith("/v1"):
            return True
        return (b"authorization", f"Bearer {self._key}".encode()) in scope["headers"]

    async def _refuse(self, send: Send, status: int, body: bytes) -> None:
        length = str(len(body)).encode()
        headers = [(b"content-type", JSON.encode()), (b"content-length", length)]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})


def make_app(settings: Settings, mocks: list[Mock]) -> Gate:
    """The ASGI application; the `Mock` made at start-up is appended to `mocks`."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        mock = Mock(settings)
        mocks.append(mock)
        app.router.routes.extend(_routes(mock))
        yield
        await mock.close()

    return Gate(Starlette(lifespan=lifespan), settings)


def _routes(mock: Mock) -> list[Route]:
    routes = Routes(mock)
    return [
        Route("/v1/chat/completions", Completions(mock, is_chat=True), methods=["POST"]),
        Route("/v1/completions", Completions(mock, is_chat=False), methods=["POST"]),
        Route("/v1/models", _plain(routes.models)),
        Route("/health", _plain(routes.health)),
        Route("/version", _plain(routes.version)),
        Route("/tokenize", routes.tokenize, methods=["POST"]),
        Route("/detokenize", routes.detokenize, methods=["POST"]),
        Route("/metrics", _plain(routes.metrics)),
        Route("/dcgm/metrics", _plain(routes.power)),
        Route("/truth", _plain(routes.truth)),
        Route("/truth/reset", _plain(routes.truth_reset), methods=["POST"]),
    ]


def _plain(answer: Any) -> Any:
    """A route of the loop's own thread; starlette would run a plain function in another."""

    async def route(request: Request) -> Response:
        response: Response = answer(request)
        return response

    return route
