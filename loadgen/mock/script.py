"""Scripted bodies: a test says which bytes come when, and how it ends."""

import asyncio
import contextlib
import time

import msgspec

from loadgen.mock.ask import Directive, ScriptStep
from loadgen.mock.call import Call, client_leaves, first_of
from loadgen.mock.pacer import Pacer
from loadgen.mock.wire import Wire

NS_PER_MS = 1_000_000


async def play_script(call: Call, directive: Directive, pacer: Pacer) -> None:
    """Writes the script's steps, each in a write of its own, at their instants after the request.

    `script_end`: clean, eof (the body breaks off), reset, hang (nothing more until the client
    leaves). Each step is logged as `raw`.
    """
    wire = Wire(call.transport, call.entry, call.faults, pacer)
    leaving: asyncio.Future[None] = asyncio.ensure_future(client_leaves(call.receive))
    try:
        await call.start(directive.script_status, directive.script_type, [])
        for step in directive.script or []:
            at_ns = call.entry.received_at_ns + round(step.at_ms * NS_PER_MS)
            if at_ns > time.monotonic_ns():
                await pacer.until(at_ns)
            wire.frame(_bytes_of(step), "raw")
        if directive.script_end != "hang":
            wire.finish(directive.script_end)
        await first_of(wire.ended, leaving)
    finally:
        leaving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await leaving
    call.entry.end = wire.ended.result() if wire.ended.done() else "client_left"
    if call.entry.end == "clean":
        await call.send({"type": "http.response.body", "body": b"", "more_body": False})


def _bytes_of(step: ScriptStep) -> bytes:
    if step.raw is not None:
        return step.raw.encode()
    if step.base64 is not None:
        return step.base64
    return b"data: " + msgspec.json.encode(step.data) + b"\n\n"
