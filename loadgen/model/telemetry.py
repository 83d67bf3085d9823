"""What witnesses say of a run: the server's own metrics beside ours, point by point."""

from typing import Literal

from msgspec import Struct

CheckVerdict = Literal["ok", "warn", "fail", "unknown"]


class CrossCheck(Struct, frozen=True):
    """One number of the client beside the same number of another witness."""

    check: str
    """output_tok, input_tok, ended, in_flight, ttft, queueing, cached, acceptance, kv, model ..."""
    verdict: CheckVerdict
    text: str
    """Both numbers with their difference, in words."""
    client: float | None = None
    server: float | None = None
    unit: str = ""
    tolerance: str = ""
    point: int | None = None


class ServerView(Struct, frozen=True):
    """What the server's own metrics said during one point; None where it doesn't tell."""

    point: int
    origins: tuple[str, ...]
    samples: int
    running_mean: float | None = None
    waiting_mean: float | None = None
    waiting_max: float | None = None
    kv_max_frac: float | None = None
    input_tok: float | None = None
    """Counter differences over the whole point, from its first sending to its last answer."""
    output_tok: float | None = None
    cached_tok: float | None = None
    ended: float | None = None
    preemptions: float | None = None
    ttft_mean_s: float | None = None
    itl_mean_s: float | None = None
    queue_mean_s: float | None = None
    prefill_mean_s: float | None = None
    decode_mean_s: float | None = None
    prefill_sum_s: float | None = None
    decode_sum_s: float | None = None
    drafted_tok: float | None = None
    accepted_tok: float | None = None
    drafts: float | None = None
    resets: int = 0
    bound: tuple[str, ...] = ()
    """What limits it, by these figures: kv, queue, prefill, client, network; empty: not told."""
