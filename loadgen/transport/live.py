"""The live answer of one turn, as later turns of its session hold it."""

import msgspec

from loadgen.model.exchange import Exchange, Outcome
from loadgen.transport.decoding.decode import decode


def live_answer(exchange: Exchange) -> bytes | None:
    """The answer's text as a JSON string with its quotes; None where there is no usable one.

    Reasoning is left out, as chat templates expect of a history.
    """
    record = decode(exchange, keep_text=True)
    if record.outcome is not Outcome.OK or record.output_text is None:
        return None
    said = msgspec.json.decode(record.output_text, type=dict[str, object])
    return msgspec.json.encode(said.get("content", ""))
