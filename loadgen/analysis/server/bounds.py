"""What limits the server at a point, by its own figures: labels, each with one setting to try.

Source: docs/definitions.md#bounds.
"""

from collections.abc import Callable, Sequence

from msgspec import structs

from loadgen.analysis.findings.facts import PointFacts
from loadgen.analysis.server.view import view_of
from loadgen.analysis.words import in_percent, sized
from loadgen.model.telemetry import ServerView

KV_FULL_FRAC = 0.95
QUEUED_FRAC = 0.2
PREFILL_FRAC = 0.5
NETWORK_FRAC = 0.2
NETWORK_S = 0.005
REACHED_FRAC = 0.98

Bound = Callable[[PointFacts, ServerView], str]


def kv(facts: PointFacts, view: ServerView) -> str:
    """The KV cache is full, or requests were preempted for its sake."""
    full = view.kv_max_frac is not None and view.kv_max_frac > KV_FULL_FRAC
    if not full and not view.preemptions:
        return ""
    used = "" if view.kv_max_frac is None else f"KV cache up to {in_percent(view.kv_max_frac)} full"
    preempted = f"{view.preemptions:.0f} preemptions" if view.preemptions else ""
    return ", ".join(filter(None, (used, preempted)))


def queue(facts: PointFacts, view: ServerView) -> str:
    """Requests wait in the server's queue for over a fifth of their TTFT."""
    ttft_s = view.ttft_mean_s
    if view.queue_mean_s is None or not ttft_s or view.queue_mean_s <= QUEUED_FRAC * ttft_s:
        return ""
    running = "" if view.running_mean is None else f", {sized(view.running_mean, 2)} running"
    return (
        f"{view.queue_mean_s * 1e3:.4g} ms of {ttft_s * 1e3:.4g} ms TTFT are its queue (means)"
        f"{running}"
    )


def prefill(facts: PointFacts, view: ServerView) -> str:
    """Requests spend more time in prefill than in decode."""
    fill, decode = view.prefill_sum_s, view.decode_sum_s
    if fill is None or decode is None or fill <= PREFILL_FRAC * (fill + decode):
        return ""
    return f"{in_percent(fill / (fill + decode))} of the requests' time is prefill"


def network(facts: PointFacts, view: ServerView) -> str:
    """Our TTFT is longer than the server's by over a fifth of it."""
    ours, theirs = facts.value("ttft_send_s.mean"), view.ttft_mean_s
    if ours is None or theirs is None or facts.fidelity.grade in {"C", "refuse"}:
        return ""
    way_s = ours - theirs
    if way_s <= max(NETWORK_S, NETWORK_FRAC * ours):
        return ""
    return f"{way_s * 1e3:.4g} ms of {ours * 1e3:.4g} ms TTFT lie outside the engine (means)"


def client(facts: PointFacts, view: ServerView) -> str:
    """Slots stand empty here while nothing waits there, or the client itself is late."""
    if facts.fidelity.grade in {"C", "refuse"}:
        return f"client grade {facts.fidelity.grade}"
    mean, idle = facts.value("in_flight"), view.waiting_mean == 0
    if facts.slots is None or mean is None or not idle or mean >= REACHED_FRAC * facts.slots:
        return ""
    return f"{mean:.3g} of {facts.slots} slots busy, nothing waits at the server"


BOUNDS: dict[str, Bound] = {
    "kv": kv,
    "queue": queue,
    "prefill": prefill,
    "network": network,
    "client": client,
}

TRIES = {
    "kv": "an FP8 KV cache (vllm --kv-cache-dtype fp8), more memory for it "
    "(--gpu-memory-utilization), or fewer sequences (--max-num-seqs)",
    "queue": "let more run at once (vllm --max-num-seqs), or add a replica",
    "prefill": "bigger prefill chunks (vllm --max-num-batched-tokens), prefix caching, or prefill "
    "on GPUs of its own",
    "network": "measure from beside the server, and without the gateway, to tell which it is",
    "client": "--workers, or cores of its own for the client",
}
"""One setting to try for each label."""


def bounds_of(facts: PointFacts, view: ServerView) -> dict[str, str]:
    """The labels of a point with the figures that speak for each."""
    said = {name: look(facts, view) for name, look in BOUNDS.items()}
    return {name: text for name, text in said.items() if text}


def views_of(points: Sequence[PointFacts]) -> tuple[ServerView, ...]:
    """What the server told of each point, with what limits it; empty where it told nothing."""
    views = ((point, view_of(point.frame, point.plan.index)) for point in points)
    return tuple(
        structs.replace(view, bound=tuple(bounds_of(point, view)))
        for point, view in views
        if view is not None
    )
