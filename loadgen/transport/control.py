"""What is asked of an endpoint beside the load: models, health, version, tokenize, metrics.

Plain httpx, short timeouts, the same key, certificates and proxy switch as the measured calls.
A route that is not there is a note, never an error; an endpoint that can't be reached at all is.
"""

import os
import ssl
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec

from loadgen.errors import EndpointError
from loadgen.model.plan import TargetPlan
from loadgen.transport.decoding.error_text import clean_detail, describe_body
from loadgen.transport.proxies import proxy_for, secrets_towards, show_proxy
from loadgen.transport.redact import is_secret_header, redact_url
from loadgen.transport.wire.tls import describe_tls_error, open_context

TIMEOUT = httpx.Timeout(10.0, connect=5.0)
MAX_DETAIL_CHARS = 200
Counter = Callable[[str], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class Reply:
    """One control-plane answer; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    text: str

    def json(self) -> Any:
        """The body as JSON, or None where it is none."""
        try:
            return msgspec.json.decode(self.text)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class ModelCard:
    """One entry of the model list; None where the server does not say."""

    id: str
    owned_by: str = ""
    max_model_len: int | None = None
    root: str | None = None


class ControlPlane:
    """The routes of one endpoint. `notes` gathers, in words, what was not there."""

    def __init__(self, target: TargetPlan, secret_headers: Mapping[str, str]) -> None:
        """Raises: InputError when the CA file can't be read."""
        self.root = root_of(target.base_url)
        self.notes: list[str] = []
        self.tokenize_member: str | None = None
        self.http_version: str | None = None
        self.server_header: str | None = None
        self._model = target.model
        self._secrets = secrets_towards(target.base_url, secret_headers)
        self._proxied = target.use_proxy
        plain = {k: v for k, v in target.headers.items() if not is_secret_header(k)}
        self._client = httpx.AsyncClient(
            headers={**plain, **secret_headers},
            verify=open_context(target.insecure, target.ca_file),
            trust_env=target.use_proxy,
            timeout=TIMEOUT,
        )

    async def __aenter__(self) -> "ControlPlane":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._client.aclose()

    async def get(self, route: str) -> Reply | None:
        """The answer with status 200, else None and a note. Raises: EndpointError."""
        return await self._ask("GET", self._url(route), route)

    async def post(self, route: str, body: Mapping[str, object]) -> Reply | None:
        """The answer with status 200, else None and a note. Raises: EndpointError."""
        return await self._ask("POST", self._url(route), route, body)

    async def models(self) -> tuple[ModelCard, ...] | None:
        """The model list in the server's order; None where the route is not there."""
        reply = await self.get("/v1/models")
        return None if reply is None else read_models(reply.json())

    async def health(self) -> bool | None:
        """True when the health route says 200; None where there is none."""
        return True if await self.get("/health") is not None else None

    async def version(self) -> str | None:
        """What `/version` says, as vLLM and others have it."""
        reply = await self.get("/version")
        return None if reply is None else _word(reply.json(), "version")

    async def metrics(self, url: str = "") -> str | None:
        """Prometheus text of the endpoint's own `/metrics`, or of `url`."""
        reply = await (self._ask("GET", url, url) if url else self.get("/metrics"))
        return None if reply is None else reply.text

    async def tokenize(self, text: str) -> int | None:
        """Tokens of the bare text, no special tokens; None where no tokenize route answers.

        vLLM and SGLang read `prompt`, llama.cpp reads `content`; the first that counts is kept.
        """
        members = (self.tokenize_member,) if self.tokenize_member else ("prompt", "content")
        for member in members:
            count = await self._count({member: text, "add_special_tokens": False})
            if count or (count == 0 and not text):
                self.tokenize_member = member
                return count
            if count is None:
                return None
        return None

    async def tokenize_chat(self, messages: list[dict[str, str]]) -> int | None:
        """Prompt tokens of a chat with the server's template round it; None where not told."""
        count = await self._count({"messages": messages})
        if count:
            return count
        reply = await self.post("/apply-template", {"messages": messages})
        prompt = None if reply is None else _word(reply.json(), "prompt")
        return None if prompt is None else await self._count({"content": prompt})

    async def _count(self, members: Mapping[str, object]) -> int | None:
        reply = await self.post("/tokenize", {"model": self._model, **members})
        return None if reply is None else read_token_count(reply.json())

    def _url(self, route: str) -> str:
        return self.root + route

    async def _ask(
        self, method: str, url: str, route: str, body: Mapping[str, object] | None = None
    ) -> Reply | None:
        try:
            answer = await self._client.request(method, url, json=body)
        except httpx.InvalidURL as error:
            raise EndpointError(f"`{url}` is not a URL: {error}") from error
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            raise self._unreachable(url, error) from error
        except httpx.UnsupportedProtocol as error:
            raise EndpointError(f"`{url}` is not a URL of http or https: {error}") from error
        except httpx.HTTPError as error:
            self.notes.append(f"{route}: {type(error).__name__} {error}".strip())
            return None
        self.http_version = answer.http_version
        self.server_header = answer.headers.get("server", self.server_header)
        if answer.status_code == httpx.codes.OK:
            return Reply(answer.status_code, dict(answer.headers), answer.text)
        said = clean_detail(describe_body(answer.content), self._secrets, MAX_DETAIL_CHARS)
        self.notes.append(f"{route}: status {answer.status_code}" + (f" `{said}`" if said else ""))
        return None

    def _unreachable(self, url: str, error: httpx.HTTPError) -> EndpointError:
        where = redact_url(url)
        proxy = proxy_for(url) if self._proxied else None
        via = f" through the proxy `{show_proxy(proxy)}`" if proxy else ""
        bad_tls = next((e for e in _causes(error) if isinstance(e, ssl.SSLError)), None)
        if bad_tls is not None:
            host = urlsplit(url).hostname or ""
            why = describe_tls_error(bad_tls, host)
            if isinstance(bad_tls, ssl.SSLWantReadError):  # what it waited for when time was up
                why = f"handshake with `{host}` got no answer: {_reason(error)}"
            return EndpointError(f"cannot reach `{where}`{via}: {why}", _tls_hint(bad_tls))
        hint = "start a server there, or measure the built-in one: `loadgen sweep mock:`"
        if proxy:
            hint = "`--no-proxy` ignores HTTP_PROXY and its kin"
        return EndpointError(f"cannot reach `{where}`{via}: {_reason(error)}", hint)


def _tls_hint(error: ssl.SSLError) -> str:
    """One thing to do about a handshake: trust the authority, or speak plain HTTP."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return "`--ca FILE` trusts your own authority; `--insecure` skips the check and says so"
    return "does the server speak TLS at all? a plain one wants `http://`"


async def tokenize_counter(control: ControlPlane) -> Counter | None:
    """A function that has the server count tokens of a text, or None where it has no such route.

    The function raises EndpointError when the route stops answering.
    """
    if await control.tokenize("loadgen counts tokens") is None:
        return None

    async def count(text: str) -> int:
        found = await control.tokenize(text)
        if found is None:
            raise EndpointError(f"`{control.root}/tokenize` stopped counting: {control.notes[-1]}")
        return found

    return count


def root_of(base_url: str) -> str:
    """The URL without `/v1`, call, query and trailing slashes: where /health and its kin live."""
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/").removesuffix("/completions").removesuffix("/chat")
    path = path.removesuffix("/v1").rstrip("/")
    return parts._replace(path=path, query="", fragment="").geturl()


def read_models(value: Any) -> tuple[ModelCard, ...]:
    """The entries of an OpenAI model list; what can't be read is left out."""
    entries = value.get("data") if isinstance(value, dict) else None
    return tuple(
        ModelCard(
            entry["id"],
            str(entry.get("owned_by") or ""),
            _context_tok(entry),
            _word(entry, "root"),
        )
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict) and isinstance(entry.get("id"), str)
    )


def read_token_count(value: Any) -> int | None:
    """The count of a tokenize answer: `count`, or the length of `tokens`."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("count"), int):
        return int(value["count"])
    tokens = value.get("tokens")
    return len(tokens) if isinstance(tokens, list) else None


def _word(value: Any, name: str) -> str | None:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def _context_tok(entry: dict[str, Any]) -> int | None:
    meta = entry.get("meta")
    places = (entry, meta if isinstance(meta, dict) else {})
    for place in places:
        for name in ("max_model_len", "context_length", "context_window", "n_ctx"):
            if isinstance(place.get(name), int):
                return int(place[name])
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and all that stands behind it, groups opened, outermost first."""
    waiting: list[BaseException | None] = [error]
    seen: list[BaseException] = []
    while waiting:
        cause = waiting.pop(0)
        if cause is None or cause in seen:
            continue
        yield cause
        seen.append(cause)
        waiting += [cause.__cause__ or cause.__context__, *getattr(cause, "exceptions", ())]


def _reason(error: httpx.HTTPError) -> str:
    if isinstance(error, httpx.ConnectTimeout):
        return f"no connection within {TIMEOUT.connect:g} s"
    for cause in _causes(error):
        if isinstance(cause, OSError) and cause.errno:
            # names that don't resolve have numbers below 0 and their own words
            words = os.strerror(cause.errno) if cause.errno > 0 else str(cause.strerror)
            return words.lower()
    return str(error) or type(error).__name__
