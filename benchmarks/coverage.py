"""How often our intervals cover and the steady-state detector is right: a table, by simulation.

Nominal 95 % intervals should cover 90 to 98 %, the detector should be right in 90 % and more.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.coverage import COVERED, FOUND, covered_quantiles, covered_rates, detected


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--short", action="store_true", help="a tenth of the runs")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    runs = 40 if given.short else 400
    worse = 0
    for found in (covered_rates, covered_quantiles):
        for name, share in found(runs, given.seed):
            worse += not COVERED[0] <= share <= COVERED[1]
            print(f"{name:28} covers {share:6.1%}  of {runs}")
    for name, share in detected(runs // 10, given.seed):
        worse += share < FOUND
        print(f"{name:28} right  {share:6.1%}  of {runs // 10}")
    print(f"{worse} outside 90-98 % (intervals) or under 90 % (detector)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
