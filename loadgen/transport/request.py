"""The request's bytes: a head made once, a body that is joined and never serialised when due."""

import secrets
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

import msgspec

import loadgen
from loadgen.errors import UsageError
from loadgen.model.exchange import TurnKey
from loadgen.model.plan import TargetPlan
from loadgen.transport.proxies import secrets_towards
from loadgen.transport.redact import REDACTED, redact_url
from loadgen.transport.wire.origin import Origin
from loadgen.transport.wire.reply import Piece

SLICE_BYTES = 256 * 1024
_ROUTES = {"chat": "chat/completions", "completions": "completions"}
_OWN_HEADERS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "te",
        "transfer-encoding",
        "upgrade",
    }
)
"""What we must decide ourselves, or the bytes on the wire mean something else."""


ROOT = "root"
DYNAMO_SESSION, DYNAMO_PARENT = "x-dynamo-session-id", "x-dynamo-parent-session-id"
STREAM_NAMES = frozenset({"x-correlation-id", DYNAMO_SESSION})
"""Headers whose value is that of one conversation; all others carry the whole session's."""


class RequestTemplate:
    """All of a request that does not change from turn to turn.

    Raises: UsageError when the URL or a header can't be sent.
    """

    def __init__(self, target: TargetPlan, secret_headers: Mapping[str, str]) -> None:
        parts = _split_url(target.base_url)
        self.origin = origin_of(target.base_url)
        self.path = route(parts, target)
        self.url = f"{parts.scheme}://{_host_header(parts)}{self.path}"
        self.shown_base_url = redact_url(target.base_url)
        self.secrets = secrets_towards(target.base_url, secret_headers)
        members = _fixed_members(target)
        self.stream_asked = members["stream"] is True
        self._prefix = msgspec.json.encode(members)[:-1]
        self._overrides = override_names(target)
        self._nonce = secrets.token_hex(4)
        self._count = 0
        self.headers = self._fixed_headers(parts, target, secret_headers)
        self._affinity = tuple(target.affinity)
        self._has_own_id = any(name == b"x-request-id" for name, _ in self.headers)
        lines = [b"POST " + self.path.encode() + b" HTTP/1.1"]
        lines += [name + b": " + value for name, value in self.headers]
        self._head = b"\r\n".join(lines)

    def slices(self, key: TurnKey, members: Piece) -> list[Piece]:
        """Head and body as they go to the socket, at most 256 KB of body each.

        Members in a memoryview are a builder's, which has taken the overridden ones out.
        """
        body = self._body_pieces(members)
        length = sum(map(len, body))
        request_id = b"" if self._has_own_id else b"\r\nx-request-id: " + self._request_id(key)
        named = b"".join(b"\r\n" + name + b": " + value for name, value in self._names_of(key))
        head = b"%b%b%b\r\ncontent-length: %d\r\n\r\n" % (self._head, request_id, named, length)
        if length <= SLICE_BYTES:
            return [b"".join((head, *body))]
        prefix, middle, suffix = body
        view = memoryview(middle)
        cuts = range(SLICE_BYTES, len(middle), SLICE_BYTES)
        first = b"".join((head, prefix, view[:SLICE_BYTES]))
        rest: list[Piece] = [view[at : at + SLICE_BYTES] for at in cuts]
        return [first, *rest, suffix]

    def body(self, members: Piece) -> bytes:
        """The whole JSON body."""
        return b"".join(self._body_pieces(members))

    def headers_for(self, key: TurnKey, length: int) -> list[tuple[bytes, bytes]]:
        """All headers of a request with a body of `length` bytes."""
        headers = [*self.headers, *self._names_of(key), (b"content-length", b"%d" % length)]
        if not self._has_own_id:
            headers.append((b"x-request-id", self._request_id(key)))
        return headers

    def _names_of(self, key: TurnKey) -> list[tuple[bytes, bytes]]:
        """Headers that name the session, or its stream where the header is one of streams."""
        named = []
        for name in self._affinity:
            session = f"{self._nonce}-{key.session_id}"
            value = f"{session}-{key.stream}" if name.lower() in STREAM_NAMES else session
            named.append((name.encode(), value.encode()))
            if name.lower() == DYNAMO_SESSION and key.stream not in {"", ROOT}:
                named.append((DYNAMO_PARENT.encode(), f"{session}-{ROOT}".encode()))
        return named

    def _request_id(self, key: TurnKey) -> bytes:
        """Unique among all requests, and tells which one it was."""
        self._count += 1
        return b"lg-%b-%d-%d-%d-%d" % (
            self._nonce.encode(),
            key.point,
            key.share,
            key.seq,
            self._count,
        )

    def _body_pieces(self, members: Piece) -> tuple[bytes, Piece, bytes]:
        if isinstance(members, bytes):
            members = without_overridden(members, self._overrides)
        return (self._prefix + b"," if members else self._prefix, members, b"}")

    def _fixed_headers(
        self, parts: SplitResult, target: TargetPlan, secret_headers: Mapping[str, str]
    ) -> list[tuple[bytes, bytes]]:
        """Ours, then the target's, then the secret ones; a later name replaces an earlier."""
        headers = {
            "host": _host_header(parts),
            "user-agent": f"loadgen/{loadgen.__version__}",
            "accept": "text/event-stream" if self.stream_asked else "application/json",
            "content-type": "application/json",
        }
        if parts.username is not None:
            headers["authorization"] = _basic(parts)
        for name, value in (*target.headers.items(), *secret_headers.items()):
            _check_header(name, value)
            if value != REDACTED:
                headers[name.strip().lower()] = value.strip()
        headers["accept-encoding"] = "identity"
        if target.fresh_connections:
            headers["connection"] = "close"
        return [(name.encode("ascii"), value.encode()) for name, value in headers.items()]


def origin_of(url: str) -> Origin:
    """Where connections for this URL go. Raises: UsageError when that can't be told."""
    parts = _split_url(url)
    is_tls = parts.scheme == "https"
    host = parts.hostname or ""
    if not host.isascii():
        host = host.encode("idna").decode("ascii")
    return Origin(is_tls, host, parts.port or (443 if is_tls else 80))


def route(parts: SplitResult, target: TargetPlan) -> str:
    """Path and query of the measured call; a base URL may end with `/v1` or not."""
    base = parts.path.rstrip("/")
    query = f"?{parts.query}" if parts.query else ""
    if target.path:
        return f"{base}/{target.path.lstrip('/')}{query}"
    wanted = _ROUTES[target.endpoint_type]
    if base.endswith(f"/{wanted}"):
        return f"{base}{query}"
    version = "" if base.rpartition("/")[2] == "v1" else "/v1"
    return f"{base}{version}/{wanted}{query}"


def _split_url(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        is_whole = False
    if not is_whole or any(ord(character) <= ord(" ") for character in url):
        raise UsageError(
            f"`{redact_url(url)}` is no URL of an endpoint",
            hint="give it as in `http://localhost:8000`",
        )
    return parts


def _host_header(parts: SplitResult) -> str:
    host = parts.hostname or ""
    host = host if host.isascii() else host.encode("idna").decode("ascii")
    host = f"[{host}]" if ":" in host else host
    return host if parts.port is None else f"{host}:{parts.port}"


def _basic(parts: SplitResult) -> str:
    from base64 import b64encode  # rare, and start-up is counted
    from urllib.parse import unquote

    pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return "Basic " + b64encode(pair.encode()).decode("ascii")


def _check_header(name: str, value: str) -> None:
    """Raises: UsageError; its text never holds the value."""
    lowered = name.strip().lower()
    if lowered in _OWN_HEADERS:
        raise UsageError(f"header `{name}` is set by loadgen itself")
    if not lowered or not lowered.isascii() or any(c in lowered for c in ": \r\n\t"):
        raise UsageError(f"`{name!r}` is no header name")
    if any(c in value.strip() for c in "\r\n\0"):
        raise UsageError(
            f"the value of header `{name}` has a line break in it",
            hint="a key read from a file often ends with one; strip it",
        )


def _fixed_members(target: TargetPlan) -> dict[str, object]:
    """The body's members that come from the target: extra_body has the last word."""
    extra = dict(target.extra_body)
    stream = extra.pop("stream", target.stream)
    members: dict[str, object] = {"model": extra.pop("model", target.model), "stream": stream}
    options: dict[str, object] = {}
    if stream is True and (target.ask_usage or target.ask_running_usage):
        options["include_usage"] = True
    if stream is True and target.ask_running_usage:
        options["continuous_usage_stats"] = True
    asked_options = extra.pop("stream_options", options)
    if isinstance(asked_options, dict):
        options.update(asked_options)
        if options:
            members["stream_options"] = options
    members.update(extra)
    return members


def override_names(target: TargetPlan) -> tuple[bytes, ...]:
    """Members that the target sets itself, as JSON strings; a body's own are left out."""
    return tuple(msgspec.json.encode(name) for name in target.extra_body)


def without_overridden(members: bytes, names: tuple[bytes, ...]) -> bytes:
    """The members less those of the given names (as JSON strings); unread where it is no JSON."""
    if not any(name in members for name in names):
        return members
    try:
        parsed = msgspec.json.decode(b"{" + members + b"}", type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return members
    kept = {k: v for k, v in parsed.items() if msgspec.json.encode(k) not in names}
    return members if len(kept) == len(parsed) else msgspec.json.encode(kept)[1:-1]
