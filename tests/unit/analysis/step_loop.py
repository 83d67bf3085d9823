"""A closed loop on a continuous-batching server, as a step simulation: known long-run rate.

Lognormal output lengths (mean 500, sigma 0.8), a step of 8 ms + 60 us a decoding request, prompts
prefilled one after another (20 ms each, inside the step that ends with the first token).
"""

import math
from dataclasses import dataclass

import numpy as np

from tests.tables import Call, call

STEP_S = 0.008
PER_REQUEST_S = 0.00006
PREFILL_S = 0.020
MEAN_TOK = 500.0
SIGMA = 0.8


@dataclass(frozen=True)
class Simulated:
    """Requests with their due time and token times in ms, and the tokens a second of the run."""

    due_ms: list[float]
    token_ms: list[list[float]]
    second_half_tps: float

    def calls(self) -> list[Call]:
        return [
            call(due, [(at, "c") for at in tokens], usage=len(tokens))
            for due, tokens in zip(self.due_ms, self.token_ms, strict=True)
        ]


def simulate(slots: int, requests: int, seed: int, *, keep: bool = True) -> Simulated:
    """Runs until `requests` have been issued and all have ended."""
    chance = np.random.default_rng(seed)
    mu = math.log(MEAN_TOK) - SIGMA**2 / 2
    lengths = np.maximum(1, chance.lognormal(mu, SIGMA, requests).astype(np.int64))
    due_ms: list[float] = [0.0] * min(slots, requests)
    token_ms: list[list[float]] = [[] for _ in range(requests)]
    waiting = list(range(len(due_ms)))
    left: dict[int, int] = {}
    now_s, counted, half_s = 0.0, 0, 0.0
    while waiting or left:
        now_s += STEP_S + PER_REQUEST_S * len(left) + (PREFILL_S if waiting else 0.0)
        emitting = list(left)
        if waiting:
            first = waiting.pop(0)
            left[first] = int(lengths[first])
            emitting.append(first)
        for number in emitting:
            if keep:
                token_ms[number].append(now_s * 1000)
            left[number] -= 1
            if left[number] == 0:
                del left[number]
                if len(due_ms) < requests:
                    waiting.append(len(due_ms))
                    due_ms.append(now_s * 1000)
        if requests // 10 < len(due_ms) < requests:
            half_s = half_s or now_s
            counted += len(emitting)
            last_s = now_s
    return Simulated(due_ms, token_ms, counted / (last_s - half_s) if half_s else 0.0)
