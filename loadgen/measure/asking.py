"""How witnesses with a URL are asked: plain httpx, keys only to those that get the requests."""

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from loadgen.model.observed import Observed
from loadgen.model.plan import Plan, TargetPlan
from loadgen.telemetry.sampling import TelemetryError
from loadgen.transport.redact import is_secret_header, redact_text

if TYPE_CHECKING:
    import httpx

TIMEOUT_S = 5.0
CONNECT_TIMEOUT_S = 2.0


def metrics_urls(plan: Plan, observed: Observed) -> tuple[str, ...]:
    """Where the server's metrics are read: those named, else the endpoint's own and its replicas'.

    Empty where neither the user names one nor the preflight has found any.
    """
    if plan.metrics_urls:
        return plan.metrics_urls
    if not plan.ask_metrics or not observed.metrics_route:
        return ()
    from loadgen.transport.control import root_of  # loads httpx, as the preflight did

    bases = (plan.target.base_url, *plan.target.replicas)
    return tuple(dict.fromkeys(root_of(base) + observed.metrics_route for base in bases))


class Asker:
    """Gets texts; one client for all. Loads httpx with the first question."""

    def __init__(self, target: TargetPlan, secret_headers: Mapping[str, str]) -> None:
        self._target = target
        self._secret_headers = dict(secret_headers)
        self._clients: dict[bool, httpx.AsyncClient] = {}
        self._own = {_place(base) for base in (target.base_url, *target.replicas)}

    async def __call__(self, url: str) -> str:
        """The text at `url`. Raises: TelemetryError."""
        import httpx

        try:
            answer = await self._client(_place(url) in self._own).get(url)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            why = redact_text(str(error), self._secret_headers.values())
            raise TelemetryError(why or type(error).__name__) from error
        if answer.status_code != httpx.codes.OK:
            raise TelemetryError(f"status {answer.status_code}")
        return redact_text(answer.text, self._secret_headers.values())

    async def aclose(self) -> None:
        """Closes the connections."""
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()

    def _client(self, is_own: bool) -> "httpx.AsyncClient":
        """The client for the target's own servers, or the one that carries no header of theirs."""
        import httpx

        from loadgen.transport.wire.tls import open_context

        if is_own not in self._clients:
            target = self._target
            plain = {k: v for k, v in target.headers.items() if not is_secret_header(k)}
            self._clients[is_own] = httpx.AsyncClient(
                headers={**plain, **self._secret_headers} if is_own else {},
                verify=open_context(target.insecure, target.ca_file),
                trust_env=target.use_proxy,
                timeout=httpx.Timeout(TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
            )
        return self._clients[is_own]


def _place(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port."""
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or default
