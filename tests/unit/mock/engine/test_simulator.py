import random

import pytest

from loadgen.mock.engine.meters import Meters
from loadgen.mock.engine.simulator import Engine, Job, QueueFullError
from loadgen.mock.profiles import Profile, load_profile


class Bench:
    """An engine in virtual time; remembers when which job got how many tokens."""

    def __init__(self, *overrides: str) -> None:
        self.profile: Profile = load_profile("small", overrides)
        self.meters = Meters()
        self.engine = Engine(self.profile, self.meters)
        self.now_ns = 0
        self.got: dict[int, list[tuple[int, int]]] = {}

    def add(self, prompt: list[int], n_out: int) -> Job:
        number = len(self.got)
        self.got[number] = []
        job = Job(
            prompt,
            list(range(10_000 * (number + 1), 10_000 * (number + 1) + n_out)),
            random.Random(number),
            lambda n: self.got[number].append((self.now_ns, n)),
            self.now_ns,
        )
        self.engine.submit(job)
        return job

    def run(self) -> None:
        n_steps = 0
        while not self.engine.is_idle:
            self.now_ns += self.engine.begin_step(self.now_ns)
            self.engine.finish_step(self.now_ns)
            n_steps += 1
            assert n_steps < 100_000

    def instants(self, number: int) -> list[int]:
        return [at for at, _ in self.got[number]]


def test_first_token_comes_after_the_prompts_compute_time() -> None:
    bench = Bench("prefill.tps=1000", "prefill.step_s=0.5", "prefill.chunk_tok=100")
    bench.add(list(range(250)), 1)
    bench.run()
    assert bench.instants(0) == [pytest.approx((3 * 0.5 + 250 / 1000) * 1e9, abs=10)]


def test_decode_step_is_linear_in_batch_and_context() -> None:
    bench = Bench("decode.a_s=0.010", "decode.b_s=0.001", "decode.c_s=0.00001", "prefill.step_s=0")
    for shift in range(3):
        bench.add([shift * 1000 + i for i in range(100)], 3)
    bench.run()
    first, second, third = bench.instants(0)
    assert second - first == pytest.approx((0.010 + 3 * 0.001 + 303 * 1e-5) * 1e9, rel=1e-6)
    assert third - second == pytest.approx((0.010 + 3 * 0.001 + 306 * 1e-5) * 1e9, rel=1e-6)


def test_a_long_prompt_stalls_running_streams_by_one_chunk_at_most() -> None:
    bench = Bench("prefill.chunk_tok=100", "prefill.tps=1000", "prefill.step_s=0")
    bench.add([1] * 10, 20)
    bench.engine.finish_step(bench.engine.begin_step(0))
    bench.add(list(range(1000)), 1)
    bench.run()
    gaps = [b - a for a, b in zip(bench.instants(0), bench.instants(0)[1:], strict=False)]
    assert max(gaps) < (0.1 + 0.009) * 1e9
    assert sum(gap > 0.1e9 for gap in gaps) == 10


def test_no_more_than_max_batch_run_and_the_rest_wait_in_order() -> None:
    bench = Bench("max_batch=2")
    jobs = [bench.add([i] * 40, 5) for i in range(6)]
    bench.engine.begin_step(0)
    assert (bench.meters.n_running, bench.meters.n_waiting) == (2, 4)
    bench.engine.finish_step(0)
    bench.run()
    firsts = [job.first_ns for job in jobs]
    assert firsts == sorted(firsts, key=lambda at: at or 0)
    assert [sum(n for _, n in got) for got in bench.got.values()] == [5] * 6


def test_a_full_queue_refuses() -> None:
    bench = Bench("max_batch=1", "max_queue=2")
    for i in range(3):
        bench.add([i], 5)
    with pytest.raises(QueueFullError):
        bench.add([9], 5)
    assert bench.meters.n_rejected == 1


def test_a_prompt_sent_twice_is_cached_up_to_its_last_full_block() -> None:
    bench = Bench("kv.block_tok=16")
    first = bench.add(list(range(100)), 2)
    bench.run()
    second = bench.add(list(range(100)), 2)
    bench.run()
    assert (first.cached_tok, second.cached_tok) == (0, 96)
    assert (bench.meters.prompt_tok, bench.meters.cached_tok) == (200, 96)


def test_the_last_prompt_token_is_always_computed() -> None:
    bench = Bench("kv.block_tok=16")
    bench.add(list(range(96)), 1)
    bench.run()
    again = bench.add(list(range(96)), 1)
    bench.run()
    assert again.cached_tok == 80


def test_the_next_turn_finds_prompt_and_answer_in_the_cache() -> None:
    bench = Bench("kv.block_tok=10")
    job = bench.add(list(range(50)), 30)
    bench.run()
    turn = bench.add([*job.prompt, *job.output, *range(900, 920)], 1)
    bench.run()
    assert turn.cached_tok == 80


def test_prefix_cache_off_finds_nothing() -> None:
    bench = Bench("kv.prefix_cache=false")
    for _ in range(2):
        job = bench.add(list(range(100)), 2)
        bench.run()
    assert job.cached_tok == 0


def test_old_blocks_are_evicted_when_others_need_room() -> None:
    bench = Bench("kv.block_tok=10", "kv.n_blocks=20")
    bench.add(list(range(100)), 1)
    bench.run()
    bench.add(list(range(1000, 1150)), 1)
    bench.run()
    again = bench.add(list(range(100)), 1)
    bench.run()
    assert again.cached_tok is not None
    assert again.cached_tok < 90


def test_preempted_streams_lose_no_token() -> None:
    bench = Bench("kv.block_tok=4", "kv.n_blocks=30", "max_batch=8")
    jobs = [bench.add([100 * i + k for k in range(20)], 40) for i in range(5)]
    bench.run()
    assert bench.meters.n_preemptions > 0
    assert sum(job.n_preempted for job in jobs) == bench.meters.n_preemptions
    assert [sum(n for _, n in got) for got in bench.got.values()] == [40] * 5
    assert bench.engine.pool.n_used == 0


def test_an_aborted_job_gives_its_blocks_back() -> None:
    bench = Bench()
    job = bench.add(list(range(100)), 50)
    bench.engine.finish_step(bench.engine.begin_step(0))
    assert bench.engine.pool.n_used > 0
    bench.engine.abort(job)
    assert bench.engine.pool.n_used == 0
    assert bench.engine.is_idle


def test_accepted_drafts_come_in_one_step_as_often_as_the_profile_says() -> None:
    bench = Bench("speculation.draft_tok=2", "speculation.accept=0.5")
    bench.add([1, 2, 3], 4000)
    bench.run()
    steps = [n for _, n in bench.got[0]][1:-1]
    assert set(steps) == {1, 2, 3}
    assert sum(steps) / len(steps) == pytest.approx(1.75, rel=0.05)
    meters = bench.meters
    assert meters.drafted_tok == 2 * meters.n_drafts
    assert meters.accepted_tok == sum(meters.accepted_by_place)


def test_the_same_seed_gives_the_same_steps() -> None:
    benches = [Bench("speculation.draft_tok=3") for _ in range(2)]
    for bench in benches:
        bench.add([1, 2, 3], 200)
        bench.run()
    assert benches[0].got == benches[1].got
