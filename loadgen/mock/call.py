"""One request on its way: how it is read and how a whole answer is sent."""

import asyncio
import secrets
import time
from asyncio import Transport
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from loadgen.mock.ask import error_body
from loadgen.mock.faults import Fault, Faults
from loadgen.mock.truth import Entry

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

SSE = "text/event-stream; charset=utf-8"
JSON = "application/json"


@dataclass(slots=True)
class Call:
    """One request on its way: its channels, its log entry, the faults that hit it."""

    scope: Scope
    receive: Receive
    send: Send
    entry: Entry
    faults: Faults

    @property
    def transport(self) -> Transport:
        """The connection's transport."""
        transport: Transport = self.scope["loadgen.transport"]
        return transport

    async def start(self, status: int, content_type: str, extra: list[tuple[str, str]]) -> None:
        """Sends status and headers; a length makes the body plain, else it is chunked."""
        headers = [("content-type", content_type), ("x-request-id", self.entry.request_id), *extra]
        encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers]
        self.entry.status = status
        self.entry.headers_at_ns = time.monotonic_ns()
        await self.send({"type": "http.response.start", "status": status, "headers": encoded})

    async def answer(
        self, status: int, body: bytes, extra: list[tuple[str, str]] | None = None, n_tok: int = 0
    ) -> None:
        """Sends a whole JSON answer and logs it as one event."""
        await self.start(status, JSON, [("content-length", str(len(body))), *(extra or [])])
        before_ns = time.monotonic_ns()
        await self.send({"type": "http.response.body", "body": body, "more_body": False})
        self.entry.wrote((before_ns, time.monotonic_ns()), "body", n_tok, len(body))
        self.entry.end = "clean"


def request_id_of(scope: Scope) -> str:
    """The header `x-request-id`, else a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            return str(value.decode("latin-1"))
    return secrets.token_hex(16)


async def read_body(receive: Receive) -> bytes:
    """The request's whole body."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def client_leaves(receive: Receive) -> None:
    """Returns when the client has hung up, or the answer is complete."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def first_of(*futures: "asyncio.Future[Any]") -> None:
    """Returns when one of them is done."""
    await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)


async def answered_by_fault(call: Call) -> bool:
    """Answers with a status fault where one hits."""
    faults = call.faults
    if fault := faults.get("status") or faults.get("echo_auth"):
        await call.answer(fault.count("code"), _fault_body(call, fault), _retry_after(fault))
        return True
    if fault := faults.get("json_error"):
        error = {"message": fault.text("message"), "type": "server_error"}
        await call.answer(200, msgspec.json.encode({"error": error}))
        return True
    return False


def _fault_body(call: Call, fault: Fault) -> bytes:
    code = fault.count("code")
    if code == 401 and fault.kind == "status" and not fault.count("echo_auth"):
        return b'{"error":"Unauthorized"}'
    message = f"fault asked for: {code}"
    if fault.kind == "echo_auth" or fault.count("echo_auth"):
        sent = dict(call.scope["headers"])
        message = f"invalid credentials: {sent.get(b'authorization', b'').decode('latin-1')}"
    return error_body(code, message, "InternalServerError" if code >= 500 else "BadRequestError")


def _retry_after(fault: Fault) -> list[tuple[str, str]]:
    value = fault.members.get("retry_after")
    return [("retry-after", str(value))] if value not in (None, "") else []
