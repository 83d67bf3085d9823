"""A ceiling on the rate of requests for shared endpoints (`--max-rate`), and what it cost.

It never paces arrivals: requests keep their due time, and the wait it causes is counted, so that a
run in which the ceiling bit can say so.
"""

from asyncio_throttle.throttler import Throttler

from loadgen import clock


class RateCeiling:
    """Lets at most `rate_rps` requests a second through; `wait_ns` and `waits` tell its price."""

    def __init__(self, rate_rps: float) -> None:
        whole_seconds = max(1.0, 1.0 / rate_rps)
        self._throttler = Throttler(
            rate_limit=max(1, round(rate_rps * whole_seconds)), period=whole_seconds
        )
        self.wait_ns = 0
        self.waits = 0

    async def passed(self) -> None:
        """Returns when one more request may be sent."""
        before_ns = clock.now_ns()
        async with self._throttler:
            waited_ns = clock.now_ns() - before_ns
        if waited_ns > 1_000_000:
            self.wait_ns += waited_ns
            self.waits += 1
