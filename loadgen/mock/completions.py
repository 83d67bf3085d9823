"""/v1/chat/completions and /v1/completions: one request from its bytes to its last byte."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable

import msgspec

from loadgen.mock.answer import Answer
from loadgen.mock.ask import Ask, AskError, bad_request, error_body, message_text, read_ask
from loadgen.mock.call import (
    SSE,
    Call,
    Receive,
    Scope,
    Send,
    answered_by_fault,
    client_leaves,
    first_of,
    read_body,
    request_id_of,
)
from loadgen.mock.engine.driver import Timetable
from loadgen.mock.engine.simulator import Job, QueueFullError
from loadgen.mock.faults import FaultError, Faults, parse_fault
from loadgen.mock.render import Renderer, Usage
from loadgen.mock.script import play_script
from loadgen.mock.state import Mock
from loadgen.mock.stream import Stream
from loadgen.mock.truth import Entry
from loadgen.mock.wire import Wire, reset

_BUSY = "The engine is currently busy and cannot accept new requests. Please try again later."
_LONG_TEXT = 20_000


class Completions:
    """The ASGI application behind one of the two routes."""

    def __init__(self, mock: Mock, *, is_chat: bool) -> None:
        self._mock = mock
        self._is_chat = is_chat

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request and logs it."""
        received_ns = scope.get("loadgen.received_ns") or time.monotonic_ns()
        number = self._mock.next_number()
        entry = Entry(request_id_of(scope), scope["path"], number, received_ns)
        self._mock.truth.open(entry)
        call = Call(scope, receive, send, entry, Faults(self._mock.draw_faults(number)))
        try:
            await self._answer(call, await read_body(receive))
        except AskError as exc:
            await call.answer(exc.status, exc.body)
        finally:
            entry.ended_at_ns = time.monotonic_ns()
            entry.faults = call.faults.kinds()
            entry.end = entry.end or "client_left"
            self._mock.truth.close(entry)

    async def _answer(self, call: Call, body: bytes) -> None:
        call.entry.body_read_at_ns = time.monotonic_ns()
        if await answered_by_fault(call):
            return
        model = self._mock.profile.model
        ask = read_ask(body, is_chat=self._is_chat, model=model, strict=call.faults.has("strict"))
        self._add_directed_faults(call, ask)
        if await answered_by_fault(call):
            return
        call.entry.stream = bool(ask.stream)
        if ask.loadgen_mock.script is not None:
            await play_script(call, ask.loadgen_mock, self._mock.pacer)
            return
        prompt = await self._prompt_ids(ask)
        self._check_length(ask, prompt)
        answer = self._mock.composer.compose(ask, prompt)
        call.entry.prompt_tokens = len(prompt)
        if ask.stream and not call.faults.has("whole"):
            await self._stream(call, ask, prompt, answer)
        else:
            await self._whole(call, ask, prompt, answer)

    def _add_directed_faults(self, call: Call, ask: Ask) -> None:
        try:
            wanted = [parse_fault(text) for text in ask.loadgen_mock.faults]
        except FaultError as exc:
            raise bad_request(str(exc), "loadgen_mock.faults") from exc
        if wanted:
            call.faults = Faults([*self._mock.draw_faults(call.entry.number), *wanted])

    async def _prompt_ids(self, ask: Ask) -> list[int]:
        """The prompt's token ids; a long conversation lets the loop breathe between messages."""
        vocabulary = self._mock.vocabulary
        if not self._is_chat:
            prompt = ask.prompt
            if isinstance(prompt, list) and isinstance(prompt[0], int):
                return [int(number) for number in prompt]
            return vocabulary.encode(prompt[0] if isinstance(prompt, list) else prompt or "")
        ids: list[int] = []
        if ask.tools:
            ids += vocabulary.encode_turn("system", msgspec.json.encode(ask.tools).decode())
        for message in ask.messages or []:
            text = message_text(message)
            ids += vocabulary.encode_turn(str(message.get("role")), text)
            if len(text) > _LONG_TEXT:
                await asyncio.sleep(0)
        return [*ids, *vocabulary.open_turn("assistant")]

    def _check_length(self, ask: Ask, prompt: list[int]) -> None:
        limit, n, asked = self._mock.profile.context_tok, len(prompt), ask.limit_tok
        if n >= limit:
            text = (
                f"This model's maximum context length is {limit} tokens. However, your prompt "
                f"contains at least {n} input tokens, which exceeds this limit even without any "
                f"output tokens. Please reduce the length of the input prompt. "
                f"(parameter=input_tokens, value={n})"
            )
            raise bad_request(text, "input_tokens")
        if asked is not None and n + asked > limit:
            text = (
                f"max_tokens={asked} cannot be greater than what is left of max_model_len={limit} "
                f"after a prompt of {n} tokens. Please request fewer output tokens. "
                f"(parameter=max_tokens, value={asked})"
            )
            raise bad_request(text, "max_tokens")
        if not prompt:
            raise bad_request("The decoder prompt cannot be empty.", "prompt")

    async def _stream(self, call: Call, ask: Ask, prompt: list[int], answer: Answer) -> None:
        renderer = self._renderer(call)
        wire = Wire(call.transport, call.entry, call.faults, self._mock.pacer)
        stream = Stream(ask, answer, renderer, wire)

        def on_tokens(n: int) -> None:
            stream.usage = self._usage(job, answer)
            stream.on_tokens(n)

        job = self._job(ask, prompt, answer, on_tokens)
        stop = self._feed(call, ask, job)
        await call.start(200, SSE, [])
        stream.open(call.entry, call.faults, self._usage(job, answer), prompt)
        if self._mock.profile.role_event == "at_once":
            stream.send_role()
        self._keep_commenting(call, wire)
        self._mock.aborts.add(stream.abort)
        try:
            await self._until_over(call, wire)
        finally:
            self._mock.aborts.discard(stream.abort)
            stop()
            self._book(call.entry, job, answer)

    async def _until_over(self, call: Call, wire: Wire) -> None:
        """Waits for the stream's end or the client's leaving, whichever comes first."""
        leaving: asyncio.Future[None] = asyncio.ensure_future(client_leaves(call.receive))
        try:
            await first_of(wire.ended, leaving)
        finally:
            leaving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await leaving
        if not wire.ended.done():
            return
        call.entry.end = wire.ended.result()
        if call.entry.end == "clean":
            await call.send({"type": "http.response.body", "body": b"", "more_body": False})
        if call.faults.has("close"):
            call.transport.close()

    async def _whole(self, call: Call, ask: Ask, prompt: list[int], answer: Answer) -> None:
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def on_tokens(_: int) -> None:
            if job.n_out >= len(answer.tokens) and not over.done():
                over.set_result(None)

        job = self._job(ask, prompt, answer, on_tokens)
        stop = self._feed(call, ask, job)
        leaving: asyncio.Future[None] = asyncio.ensure_future(client_leaves(call.receive))
        try:
            await first_of(over, leaving)
            if not over.done():
                return
            if call.faults.has("reset"):
                call.entry.end = "reset"
                reset(call.transport)
                return
            counts = self._usage(job, answer).members(job.n_out)
            ids = [t.number for t in answer.tokens] if ask.return_token_ids else None
            body = self._renderer(call).whole(answer, counts, ids)
            await call.answer(200, body, n_tok=job.n_out)
            if call.faults.has("close"):
                call.transport.close()
        finally:
            leaving.cancel()
            stop()
            self._book(call.entry, job, answer)

    def _renderer(self, call: Call) -> Renderer:
        prefix = "chatcmpl" if self._is_chat else "cmpl"
        answer_id = f"{prefix}-{secrets.token_hex(8)}"
        profile = self._mock.profile
        field = profile.output.reasoning_field
        return Renderer(answer_id, profile.model, field, is_chat=self._is_chat)

    def _job(
        self, ask: Ask, prompt: list[int], answer: Answer, on_tokens: Callable[[int], None]
    ) -> Job:
        rng = self._mock.composer.rng(prompt, ask, "speculation")
        output = [token.number for token in answer.tokens]
        return Job(prompt, output, rng, on_tokens, time.monotonic_ns())

    def _feed(self, call: Call, ask: Ask, job: Job) -> Callable[[], None]:
        """Lets the engine, or the timetable asked for, produce tokens; returns how to stop it."""
        engine, directive = self._mock.engine, ask.loadgen_mock
        if directive.ttft_ms is None and directive.itl_ms is None:
            try:
                self._mock.driver.submit(job)
            except QueueFullError as exc:
                raise AskError(503, error_body(503, _BUSY, "Service Unavailable")) from exc
            return lambda: engine.abort(job)
        start_ns, n = call.entry.received_at_ns, len(job.output)
        table = Timetable(self._mock.pacer, start_ns, n, directive.tokens_per_event)
        engine.add_timed(1)
        table.start(
            directive.ttft_ms or 0.0,
            directive.itl_ms or 0.0,
            lambda n: engine.count(job, n, time.monotonic_ns()),
        )

        def stop() -> None:
            table.is_stopped = True
            engine.add_timed(-1)

        return stop

    def _usage(self, job: Job, answer: Answer) -> Usage:
        cached = (job.cached_tok or 0) if self._mock.profile.report_cached_tokens else None
        return Usage(len(job.prompt), cached, answer.n_reasoning or None)

    def _keep_commenting(self, call: Call, wire: Wire) -> None:
        """Writes a comment each so often until the first event."""
        fault = call.faults.get("comments")
        if fault is None:
            return
        text = f":{fault.text('text')}\n\n".encode()
        pacer, gap_ns = self._mock.pacer, max(1, round(fault.number("ms") * 1e6))

        def comment(at_ns: int) -> None:
            if not call.entry.has_event_but("comment") and not call.transport.is_closing():
                wire.frame(text, "comment")
                pacer.call_at(at_ns + gap_ns, lambda: comment(at_ns + gap_ns))

        comment(time.monotonic_ns())

    def _book(self, entry: Entry, job: Job, answer: Answer) -> None:
        """Writes the counts of a request that has ended, for whatever reason."""
        entry.cached_tokens = job.cached_tok
        entry.completion_tokens = job.n_out
        entry.reasoning_tokens = answer.n_reasoning
        entry.preemptions = job.n_preempted
        is_whole = job.n_out >= len(job.output)
        if is_whole or answer.finish_reason == "abort":
            entry.finish_reason = answer.finish_reason
        if not is_whole or job.first_ns is None or job.last_ns is None:
            return
        reason = "length" if answer.finish_reason == "length" else "stop"
        meters = self._mock.meters
        meters.finished[reason] += 1
        scheduled_ns = job.scheduled_ns or job.arrived_ns
        meters.phases((job.arrived_ns, scheduled_ns, job.first_ns, job.last_ns), job.n_out)
