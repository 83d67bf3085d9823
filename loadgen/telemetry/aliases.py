"""What servers call the things that we sample: the names of several engines and releases.

A row is tried name by name; the first that a text has counts, with or without `_total`. Sources:
each engine's documentation of its metrics, and captured texts in `tests/fixtures/captures`.
"""

from typing import Literal, NamedTuple

Kind = Literal["gauge", "counter", "histogram"]


class Alias(NamedTuple):
    """Our name, and what others call it, the exact or newer name first.

    `with_labels` admits only series with one of these values; `plus` names a counter that is
    added where it is there, since the first leaves those out.
    """

    name: str
    kind: Kind
    theirs: tuple[str, ...]
    with_labels: tuple[str, tuple[str, ...]] | None = None
    plus: str = ""


FINISHED = ("stop", "length", "repetition", "eos", "tool_calls")
"""Words for answers that ended by themselves."""

ALIASES: tuple[Alias, ...] = (
    Alias(
        "running_requests",
        "gauge",
        (
            "vllm:num_requests_running",
            "sglang:num_running_reqs",
            "trtllm_num_requests_running",
            "dynamo_frontend_inflight_requests",
            "llamacpp:requests_processing",
        ),
    ),
    Alias(
        "waiting_requests",
        "gauge",
        (
            "vllm:num_requests_waiting",
            "sglang:num_queue_reqs",
            "trtllm_num_requests_waiting",
            "llamacpp:requests_deferred",
        ),
    ),
    Alias(
        "kv_used_frac",
        "gauge",
        (
            "vllm:kv_cache_usage_perc",
            "vllm:gpu_cache_usage_perc",
            "sglang:token_usage",
            "trtllm_kv_cache_utilization",
            "dynamo_component_gpu_cache_usage_percent",
            "llamacpp:kv_cache_usage_ratio",
        ),
    ),
    Alias(
        "input_tok",
        "counter",
        (
            "vllm:prompt_tokens",
            "sglang:prompt_tokens",
            "trtllm_prompt_tokens",
            "dynamo_frontend_input_sequence_tokens_sum",
        ),
    ),
    Alias(
        "input_tok",
        "counter",
        ("llamacpp:prompt_tokens",),
        plus="llamacpp:prompt_tokens_cached",
    ),
    Alias(
        "output_tok",
        "counter",
        (
            "vllm:generation_tokens",
            "sglang:generation_tokens",
            "trtllm_generation_tokens",
            "dynamo_frontend_output_tokens",
            "dynamo_frontend_output_sequence_tokens_sum",
            "llamacpp:tokens_predicted",
        ),
    ),
    Alias(
        "cached_tok",
        "counter",
        ("vllm:prompt_tokens_by_source",),
        with_labels=("source", ("local_cache_hit", "external_kv_transfer")),
    ),
    Alias(
        "cached_tok",
        "counter",
        (
            "vllm:prompt_tokens_cached",
            "sglang:cached_tokens",
            "trtllm_prompt_cached_tokens",
            "dynamo_frontend_cached_tokens_sum",
            "llamacpp:prompt_tokens_cached",
            "vllm:prefix_cache_hits",
            "vllm:gpu_prefix_cache_hits",
        ),
    ),
    Alias(
        "ended_ok",
        "counter",
        ("vllm:request_success",),
        with_labels=("finished_reason", FINISHED),
    ),
    Alias("ended_ok", "counter", ("trtllm_request_success", "sglang:num_requests")),
    Alias(
        "ended_ok",
        "counter",
        ("dynamo_frontend_requests",),
        with_labels=("status", ("success",)),
    ),
    Alias(
        "preemptions",
        "counter",
        ("vllm:num_preemptions", "sglang:num_retracted_requests", "sglang:num_retracted_reqs"),
    ),
    Alias(
        "ttft_s",
        "histogram",
        (
            "vllm:time_to_first_token_seconds",
            "sglang:time_to_first_token_seconds",
            "trtllm_time_to_first_token_seconds",
            "dynamo_frontend_time_to_first_token_seconds",
        ),
    ),
    Alias(
        "itl_s",
        "histogram",
        (
            "vllm:inter_token_latency_seconds",
            "vllm:time_per_output_token_seconds",
            "sglang:inter_token_latency_seconds",
            "sglang:time_per_output_token_seconds",
            "trtllm_time_per_output_token_seconds",
            "dynamo_frontend_inter_token_latency_seconds",
        ),
    ),
    Alias(
        "queue_s",
        "histogram",
        (
            "vllm:request_queue_time_seconds",
            "sglang:queue_time_seconds",
            "trtllm_request_queue_time_seconds",
        ),
    ),
    Alias(
        "prefill_s",
        "histogram",
        ("vllm:request_prefill_time_seconds", "trtllm_request_prefill_time_seconds"),
    ),
    Alias(
        "decode_s",
        "histogram",
        ("vllm:request_decode_time_seconds", "trtllm_request_decode_time_seconds"),
    ),
    Alias(
        "e2e_s",
        "histogram",
        (
            "vllm:e2e_request_latency_seconds",
            "sglang:e2e_request_latency_seconds",
            "trtllm_e2e_request_latency_seconds",
            "dynamo_frontend_request_duration_seconds",
        ),
    ),
    Alias(
        "drafts",
        "counter",
        (
            "vllm:spec_decode_num_drafts",
            "sglang:spec_verify_calls",
            "trtllm_spec_decode_num_drafts",
            "llamacpp:spec_decode_num_drafts",
        ),
    ),
    Alias(
        "drafted_tok",
        "counter",
        (
            "vllm:spec_decode_num_draft_tokens",
            "trtllm_spec_decode_num_draft_tokens",
            "llamacpp:spec_decode_num_draft_tokens",
        ),
    ),
    Alias(
        "accepted_tok",
        "counter",
        (
            "vllm:spec_decode_num_accepted_tokens",
            "trtllm_spec_decode_num_accepted_tokens",
            "llamacpp:spec_decode_num_accepted_tokens",
        ),
    ),
    Alias("started_at_s", "gauge", ("process_start_time_seconds",)),
)
