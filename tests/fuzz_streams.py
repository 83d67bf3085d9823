"""Random splits and damage of captured streams, counted: `fuzz_streams.py --n 100000 --seed 1`.

Half of the examples are split only, and must give what the unsplit stream gives; half are damaged
too, and must give one record with one outcome. Exits 1 at the first law that does not hold.
"""

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from loadgen.transport.decoding.decode import decode
from tests.mutations import OPS, Op, as_exchange, check_laws, mutate, streams, without_arrivals


def draw_damage(chance: random.Random) -> list[Op]:
    return [
        (chance.choice(OPS), chance.randrange(12_000), chance.randrange(400))
        for _ in range(chance.randint(1, 6))
    ]


def draw_cuts(chance: random.Random) -> list[int]:
    return [chance.randrange(12_000) for _ in range(chance.randint(0, 40))]


def fuzz(n: int, seed: int) -> Counter[str]:
    """How often each outcome came; raises where a law does not hold."""
    captures = streams()
    unsplit = [
        without_arrivals(
            decode(as_exchange(capture, capture.body, [], complete=True), keep_text=True)
        )
        for capture in captures
    ]
    outcomes: Counter[str] = Counter()
    for no in range(n):
        chance = random.Random(f"{seed}-{no}")
        which = chance.randrange(len(captures))
        capture = captures[which]
        if no % 2:
            body = mutate(capture.body, draw_damage(chance))
            complete = chance.random() < 0.5
            record = check_laws(as_exchange(capture, body, draw_cuts(chance), complete=complete))
            outcomes[f"damaged: {record.outcome}"] += 1
        else:
            exchange = as_exchange(capture, capture.body, draw_cuts(chance), complete=True)
            record = check_laws(exchange)
            assert without_arrivals(record) == unsplit[which], f"a split changed {capture.name}"
            outcomes[f"split: {record.outcome}"] += 1
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    started = time.monotonic()
    try:
        outcomes = fuzz(options.n, options.seed)
    except Exception:  # noqa: BLE001 - the fuzzer's report of any crash
        traceback.print_exc()
        return 1
    for name, count in sorted(outcomes.items()):
        print(f"{count:8} {name}")
    print(f"{options.n} examples, seed {options.seed}, {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
