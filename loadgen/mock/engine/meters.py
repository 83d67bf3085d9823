"""What the simulated engine counts, and its text in Prometheus' format under vLLM's names."""

import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

NS_PER_S = 1_000_000_000

_TTFT_S = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5]
_TTFT_S += [10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0]
_GAP_S = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5]
_GAP_S += [10.0, 20.0, 40.0, 80.0]
_PHASE_S = [0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0]
_PHASE_S += [120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0]
GAUGES = ("n_running", "n_waiting", "kv_used_frac", "power_w", "energy_j")
FINISHED = ("stop", "length", "abort", "error")


class Histogram:
    """Counts a bucket (upper bounds, then +Inf), and the sum; seconds."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Counts one value."""
        self.counts[bisect.bisect_left(self.bounds, value)] += 1
        self.sum += value


@dataclass(slots=True)
class Meters:
    """Counters and gauges of one engine; energy is for one GPU, joules."""

    n_running: int = 0
    n_waiting: int = 0
    kv_used_frac: float = 0.0
    prompt_tok: int = 0
    cached_tok: int = 0
    generation_tok: int = 0
    prefix_queries: int = 0
    prefix_hits: int = 0
    n_preemptions: int = 0
    n_rejected: int = 0
    n_drafts: int = 0
    drafted_tok: int = 0
    accepted_tok: int = 0
    accepted_by_place: list[int] = field(default_factory=list)
    power_w: float = 0.0
    energy_j: float = 0.0
    finished: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FINISHED, 0))
    ttft: Histogram = field(default_factory=lambda: Histogram(_TTFT_S))
    itl: Histogram = field(default_factory=lambda: Histogram(_GAP_S))
    tpot: Histogram = field(default_factory=lambda: Histogram(_GAP_S))
    queue: Histogram = field(default_factory=lambda: Histogram(_PHASE_S))
    prefill: Histogram = field(default_factory=lambda: Histogram(_PHASE_S))
    decode: Histogram = field(default_factory=lambda: Histogram(_PHASE_S))
    inference: Histogram = field(default_factory=lambda: Histogram(_PHASE_S))
    e2e: Histogram = field(default_factory=lambda: Histogram(_PHASE_S))

    def reset(self) -> None:
        """All counters from nought again, as after a restart; gauges stay."""
        fresh = Meters()
        for one in fields(self):
            if one.name not in GAUGES:
                setattr(self, one.name, getattr(fresh, one.name))

    def first_token(self, arrived_ns: int, now_ns: int) -> None:
        """Books a first token."""
        self.ttft.observe((now_ns - arrived_ns) / NS_PER_S)

    def gap(self, gap_ns: int) -> None:
        """Books the time between two of a request's steps."""
        self.itl.observe(gap_ns / NS_PER_S)

    def prompt(self, n_tok: int, cached_tok: int) -> None:
        """Books a prompt once it is computed."""
        self.prompt_tok += n_tok
        self.cached_tok += cached_tok

    def drafted(self, n_draft: int, n_accepted: int) -> None:
        """Books one speculative step."""
        self.n_drafts += 1
        self.drafted_tok += n_draft
        self.accepted_tok += n_accepted
        while len(self.accepted_by_place) < n_draft:
            self.accepted_by_place.append(0)
        for place in range(n_accepted):
            self.accepted_by_place[place] += 1

    def phases(self, instants_ns: tuple[int, int, int, int], n_out: int) -> None:
        """Books the phases of a finished request: arrived, scheduled, first, last token."""
        arrived, scheduled, first, last = (at / NS_PER_S for at in instants_ns)
        self.queue.observe(scheduled - arrived)
        self.prefill.observe(first - scheduled)
        self.decode.observe(last - first)
        self.inference.observe(last - scheduled)
        self.e2e.observe(last - arrived)
        if n_out > 1:
            self.tpot.observe((last - first) / (n_out - 1))

    def spend(self, watts: float, duration_ns: int) -> None:
        """Books energy of one GPU: `watts` over a duration."""
        self.power_w = watts
        self.energy_j += watts * duration_ns / NS_PER_S


def format_metrics(meters: Meters, model: str, started_at_s: float, inflated: float = 1.0) -> str:
    """The text of /metrics; counters are whole numbers as floats, as prometheus_client prints.

    Generated tokens are told `inflated` times as many.
    """
    labels = f'engine="0",model_name="{model}"'
    lines: list[str] = []
    _family(lines, "process_start_time_seconds", "gauge", [("", started_at_s)])
    for name, value in _gauges(meters):
        _family(lines, f"vllm:{name}", "gauge", [(labels, value)])
    for name, number in _counters(meters, inflated):
        _family(lines, f"vllm:{name}_total", "counter", [(labels, number)])
    by_source = [
        (f'{labels},source="local_compute"', meters.prompt_tok - meters.cached_tok),
        (f'{labels},source="local_cache_hit"', meters.cached_tok),
        (f'{labels},source="external_kv_transfer"', 0),
    ]
    _family(lines, "vllm:prompt_tokens_by_source_total", "counter", by_source)
    finished = [(f'{labels},finished_reason="{r}"', n) for r, n in meters.finished.items()]
    _family(lines, "vllm:request_success_total", "counter", finished)
    places = [
        (f'{labels},position="{place}"', n) for place, n in enumerate(meters.accepted_by_place)
    ]
    if places:
        name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
        _family(lines, name, "counter", places)
    for name, histogram in _histograms(meters):
        _histogram(lines, f"vllm:{name}", histogram, labels)
    return "\n".join(lines) + "\n"


def format_cache_config(block_tok: int, n_blocks: int, prefix_cache: bool) -> str:
    """The line of /metrics that tells the cache's settings, under vLLM's names."""
    lines: list[str] = []
    labels = (
        f'engine="0",block_size="{block_tok}",cache_dtype="auto",'
        f'enable_prefix_caching="{prefix_cache}",num_gpu_blocks="{n_blocks}"'
    )
    _family(lines, "vllm:cache_config_info", "gauge", [(labels, 1.0)])
    return "\n".join(lines) + "\n"


def _gauges(meters: Meters) -> list[tuple[str, float]]:
    return [
        ("num_requests_running", meters.n_running),
        ("num_requests_waiting", meters.n_waiting),
        ("kv_cache_usage_perc", meters.kv_used_frac),
    ]


def _counters(meters: Meters, inflated: float) -> list[tuple[str, int]]:
    counters = [
        ("prompt_tokens", meters.prompt_tok),
        ("prompt_tokens_cached", meters.cached_tok),
        ("generation_tokens", round(meters.generation_tok * inflated)),
        ("prefix_cache_queries", meters.prefix_queries),
        ("prefix_cache_hits", meters.prefix_hits),
        ("num_preemptions", meters.n_preemptions),
        ("admission_rejections", meters.n_rejected),
    ]
    if meters.n_drafts:
        counters += [
            ("spec_decode_num_drafts", meters.n_drafts),
            ("spec_decode_num_draft_tokens", meters.drafted_tok),
            ("spec_decode_num_accepted_tokens", meters.accepted_tok),
        ]
    return counters


def _histograms(meters: Meters) -> list[tuple[str, Histogram]]:
    return [
        ("time_to_first_token_seconds", meters.ttft),
        ("inter_token_latency_seconds", meters.itl),
        ("request_time_per_output_token_seconds", meters.tpot),
        ("request_queue_time_seconds", meters.queue),
        ("request_prefill_time_seconds", meters.prefill),
        ("request_decode_time_seconds", meters.decode),
        ("request_inference_time_seconds", meters.inference),
        ("e2e_request_latency_seconds", meters.e2e),
    ]


def _family(lines: list[str], name: str, kind: str, samples: Sequence[tuple[str, float]]) -> None:
    lines.append(f"# HELP {name} Simulated.")
    lines.append(f"# TYPE {name} {kind}")
    for labels, value in samples:
        braces = f"{{{labels}}}" if labels else ""
        lines.append(f"{name}{braces} {float(value)!r}")


def _histogram(lines: list[str], name: str, histogram: Histogram, labels: str) -> None:
    lines.append(f"# HELP {name} Simulated.")
    lines.append(f"# TYPE {name} histogram")
    total = 0
    bounds = [repr(bound) for bound in histogram.bounds] + ["+Inf"]
    for bound, count in zip(bounds, histogram.counts, strict=True):
        total += count
        lines.append(f'{name}_bucket{{{labels},le="{bound}"}} {float(total)!r}')
    lines.append(f"{name}_count{{{labels}}} {float(total)!r}")
    lines.append(f"{name}_sum{{{labels}}} {histogram.sum!r}")


def format_power(meters: Meters, n_gpus: int, gpu_name: str) -> str:
    """The text of /dcgm/metrics: watts, and millijoules since the start, of each GPU."""
    gpus = [f'gpu="{i}",UUID="GPU-mock-{i}",modelName="{gpu_name}"' for i in range(n_gpus)]
    lines: list[str] = []
    watts = [(labels, meters.power_w) for labels in gpus]
    energy = [(labels, float(round(meters.energy_j * 1000))) for labels in gpus]
    _family(lines, "DCGM_FI_DEV_POWER_USAGE", "gauge", watts)
    _family(lines, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", energy)
    return "\n".join(lines) + "\n"
