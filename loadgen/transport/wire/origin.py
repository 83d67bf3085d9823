"""Where connections go, and how to say that one did not come about."""

from typing import NamedTuple


class Origin(NamedTuple):
    """Scheme, host and port; connections are kept by it."""

    is_tls: bool
    host: str
    port: int


class ConnectError(Exception):
    """No connection came about. `kind` is dns, tcp or tls; `other_protocol`: no HTTP/1.1 there."""

    def __init__(self, kind: str, what: str, *, other_protocol: bool = False) -> None:
        super().__init__(f"{kind}: {what}")
        self.kind = kind
        self.other_protocol = other_protocol
