"""A server that is k times slower in everything has rates k times lower and the same shares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.phases import fit


@given(
    times=st.floats(0.01, 100.0),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(40, 200),
    blocks=st.integers(1, 40),
)
def test_phases_scale_with_time(times: float, seed: int, n: int, blocks: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = np.column_stack([rng.integers(1, 5_000, n), rng.integers(1, 500, n)]).astype(float)
    y = 0.01 + lengths @ np.array([1e-4, 1e-2]) + rng.exponential(0.01, n)
    clusters = np.arange(n, dtype=np.int64) * blocks // n
    one, other = (fit(0, lengths, y * scale, clusters) for scale in (1.0, times))

    assert bool(one.reason) == bool(other.reason)
    for name in ("prefill_tps", "prefill_low_tps", "decode_tps", "decode_high_tps"):
        before, after = getattr(one, name), getattr(other, name)
        if before is not None:
            assert after == pytest.approx(before / times, rel=1e-6)
    if one.prefill_time_frac is not None and one.decode_time_frac is not None:
        assert other.prefill_time_frac == pytest.approx(one.prefill_time_frac, rel=1e-6)
        assert 0 < one.prefill_time_frac + one.decode_time_frac < 1.1
