"""Settings that an engine tells of itself: SGLang's `/get_server_info`, out of a fixed list.

The route also holds the server's key and paths of its machine, so nothing but what is listed here
is taken.
"""

from typing import Any

TAKEN = (
    "dtype",
    "quantization",
    "kv_cache_dtype",
    "revision",
    "tp_size",
    "pp_size",
    "dp_size",
    "ep_size",
    "disaggregation_mode",
    "speculative_algorithm",
    "speculative_num_draft_tokens",
    "attention_backend",
    "mem_fraction_static",
    "max_running_requests",
    "chunked_prefill_size",
    "schedule_policy",
    "disable_radix_cache",
    "enable_dp_attention",
)
"""Names as SGLang's ServerArgs has them, in the order in which they are shown."""
MOST_CHARS = 80


def read_server_args(answer: Any) -> dict[str, str]:
    """The listed members that say something; empty where the answer is no such object."""
    if not isinstance(answer, dict):
        return {}
    found = {name: answer.get(name) for name in TAKEN}
    plain = {n: v for n, v in found.items() if isinstance(v, str | int | float) and v != ""}
    return {name: str(value)[:MOST_CHARS] for name, value in plain.items()}
