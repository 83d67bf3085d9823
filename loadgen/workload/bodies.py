"""Members of request bodies as bytes: what stands between prompts and the wire."""

import msgspec

from loadgen.errors import UsageError
from loadgen.model.plan import EndpointType, WorkloadPlan


def json_text(text: str) -> bytes:
    """The text as the inside of a JSON string, UTF-8, without its quotes."""
    return msgspec.json.encode(text)[1:-1]


def message(role: str, content: bytes) -> bytes:
    """One chat message; `content` is the inside of a JSON string."""
    return b'{"role":"%b","content":"%b"}' % (role.encode(), content)


def limits(max_output_tok: int | None, *, ignore_eos: bool, given: bool = False) -> bytes:
    """`,"max_tokens":n` unless given already; to force it also `min_tokens` and `ignore_eos`.

    `max_tokens` serves both endpoints of every server we know; hosted reasoning models that want
    another name get it through `extra_body`.
    """
    limit = b',"max_tokens":%d' % max_output_tok if max_output_tok and not given else b""
    if not ignore_eos:
        return limit
    least = b',"min_tokens":%d' % max_output_tok if max_output_tok else b""
    return limit + least + b',"ignore_eos":true'


def refuse_live_completions(plan: WorkloadPlan, endpoint_type: EndpointType) -> None:
    """Raises UsageError where live answers would have to be spliced into a plain prompt."""
    if plan.history == "live" and endpoint_type == "completions":
        raise UsageError(
            "live history needs the chat endpoint: a plain prompt has no place for an answer",
            "use `--endpoint-type chat`, or recorded history",
        )
