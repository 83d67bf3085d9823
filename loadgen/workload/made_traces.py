"""AgentX-like traces made by chance, for those without the corpus: shapes only, like real ones.

Distributions were fitted to 710 recorded traces (`kvt`) and to what is published of AgentX v1.0
(`agentx-like`); parameters and what came of them: docs/howto-agentx.md#made-traces.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import exp, log
from random import Random
from typing import Any, NamedTuple

LABEL = "AgentX-like synthetic"
BLOCK_TOK = 64
MODEL = "made"
KEPT_TOK = 15_000
"""What a compaction leaves at the head of a prompt: tools and system."""
GROWTH_MOST_TOK = 120_000
TOOL_SHARE = 0.865
PARALLEL_MOST = 10
WIDE_MOST_TOK = 980_000


class Profile(NamedTuple):
    """Parameters of one kind of sessions; `ln_*` are of log-normal distributions."""

    ln_turns: tuple[float, float]
    turns: tuple[int, int]
    wide_share: float
    """Sessions with a window of a million tokens."""
    wide_cap_tok: float
    wide_cap_sd: float
    fresh_share: float
    """Sessions that begin anew; the others go on from an earlier one."""
    fresh_tok: float
    resumed_tok: float
    resumed_wide_tok: float
    out_tok: float
    out_sd: float
    ln_new: tuple[float, float]
    reset_share: float
    agents_share: float
    """Sessions with subagents."""


PROFILES: dict[str, Profile] = {
    "kvt": Profile(
        (3.667, 1.156), (3, 514), 0.22, 420_000, 0.5, 0.54, 18_900, 95_000, 280_000,
        216, 1.35, (6.6, 1.25), 0.003, 0.0,
    ),
    "agentx-like": Profile(
        (4.45, 1.05), (20, 3000), 0.95, 650_000, 0.4, 0.55, 24_000, 95_000, 240_000,
        444, 1.2, (6.8, 1.3), 0.001, 0.445,
    ),
}  # fmt: skip


@dataclass(slots=True)
class Call:
    """One request: when it starts, its prompt's blocks and lengths, how long its answer took."""

    at_s: float
    in_tok: int
    out_tok: int
    api_s: float
    ids: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Stream:
    """A conversation that grows, is compacted, and grows again."""

    chance: Random
    cap_tok: float
    kept_tok: int
    ids: list[int] = field(default_factory=list)

    def fit(self, in_tok: int, fresh: Iterator[int], kept_tok: int | None = None) -> list[int]:
        """The prompt's block ids: what stood before (or as much as is kept), then new ones."""
        wanted = in_tok // BLOCK_TOK
        held = len(self.ids) if kept_tok is None else min(kept_tok // BLOCK_TOK, len(self.ids))
        self.ids = self.ids[: min(held, wanted)]
        while len(self.ids) < wanted:
            self.ids.append(next(fresh))
        return list(self.ids)


def made_sessions(profile: str, n_sessions: int, seed: int) -> Iterator[dict[str, Any]]:
    """Traces as JSON objects in the Weka form, each labelled as made."""
    for number in range(n_sessions):
        yield _session(PROFILES[profile], f"made_{number:04d}", Random(f"{seed}/made/{number}"))


def _session(profile: Profile, name: str, chance: Random) -> dict[str, Any]:
    fresh = iter(range(1, 1 << 40))
    main = main_calls(profile, chance, fresh)
    entries = [_request(call) for call in main]
    if chance.random() < profile.agents_share:
        entries += list(_groups(main, chance, fresh))
    entries.sort(key=lambda entry: entry["t"])
    return {
        "id": name,
        "label": LABEL,
        "models": [MODEL],
        "block_size": BLOCK_TOK,
        "hash_id_scope": "local",
        "requests": entries,
    }


def main_calls(profile: Profile, chance: Random, fresh: Iterator[int]) -> list[Call]:
    """The main agent's requests in order."""
    n_turns = _clipped(_lognormal(chance, *profile.ln_turns), *profile.turns)
    wide = chance.random() < profile.wide_share
    if wide:
        cap = min(_lognormal(chance, log(profile.wide_cap_tok), profile.wide_cap_sd), WIDE_MOST_TOK)
    else:
        cap = max(chance.gauss(155_000, 9_000), 2.0 * KEPT_TOK)
    if chance.random() < profile.fresh_share:
        context = _lognormal(chance, log(profile.fresh_tok), 0.2)
    else:
        resumed = profile.resumed_wide_tok if wide else profile.resumed_tok
        context = min(max(_lognormal(chance, log(resumed), 0.6), 31_000), 0.9 * cap)
    return _grown(_Stream(chance, cap, KEPT_TOK), context, n_turns, profile, fresh)


def _grown(
    stream: _Stream, context: float, n_turns: int, profile: Profile, fresh: Iterator[int]
) -> list[Call]:
    """A conversation of so many turns from that context on."""
    chance, calls, at_s = stream.chance, [], 0.0
    kept: int | None = None
    for _ in range(n_turns):
        out_tok = int(80 + _lognormal(chance, log(profile.out_tok - 80), profile.out_sd))
        call = Call(at_s, int(context), out_tok, 2.5 + out_tok / 60)
        call.ids = stream.fit(call.in_tok, fresh, kept)
        kept = None
        calls.append(call)
        at_s += call.api_s + _delay_s(chance)
        context += out_tok + min(_lognormal(chance, *profile.ln_new), GROWTH_MOST_TOK)
        if context > stream.cap_tok or chance.random() < profile.reset_share:
            kept = stream.kept_tok
            left = stream.kept_tok + _lognormal(chance, log(60_000), 0.8)
            context = min(left, 0.95 * stream.cap_tok)
    return calls


def _groups(main: list[Call], chance: Random, fresh: Iterator[int]) -> Iterator[dict[str, Any]]:
    """Subagents, each spawned while one of the main agent's turns runs."""
    n_groups = _clipped(_lognormal(chance, log(4), 1.35), 1, 80)
    inner = PROFILES["agentx-like"]._replace(ln_new=(6.9, 1.25), reset_share=0.0)
    spawns = sorted(chance.randrange(len(main)) for _ in range(n_groups))
    for number, turn in enumerate(spawns, 1):
        if spawns[: number - 1].count(turn) >= PARALLEL_MOST:
            continue
        at_s = main[turn].at_s + main[turn].api_s + 0.1
        n_turns = _clipped(_lognormal(chance, log(15), 1.0), 1, 300)
        stream = _Stream(chance, 300_000, 0)
        calls = _grown(stream, _lognormal(chance, log(20_000), 0.5), n_turns, inner, fresh)
        end_s = calls[-1].at_s + calls[-1].api_s
        for call in calls:
            call.at_s += at_s
        yield {
            "type": "subagent",
            "t": round(at_s, 3),
            "agent_id": f"subagent_{number:03d}",
            "subagent_type": "Subagent",
            "duration_ms": round(end_s * 1000),
            "status": "completed",
            "requests": [_request(call) for call in calls],
        }


def _request(call: Call) -> dict[str, Any]:
    return {
        "type": "s",
        "t": round(call.at_s, 3),
        "model": MODEL,
        "in": call.in_tok,
        "out": call.out_tok,
        "hash_ids": call.ids,
        "api_time": round(call.api_s, 3),
    }


def _delay_s(chance: Random) -> float:
    """From an answer's end to the next request: after a tool's result, else after a user's text."""
    of_tool = chance.random() < TOOL_SHARE
    return _lognormal(chance, 2.53, 1.29) if of_tool else _lognormal(chance, 3.70, 1.79)


def _lognormal(chance: Random, mu: float, sigma: float) -> float:
    return exp(chance.gauss(mu, sigma))


def _clipped(value: float, low: int, high: int) -> int:
    return min(max(round(value), low), high)
