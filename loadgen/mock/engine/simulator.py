"""A continuous-batching engine as a published law. Pure: it is told the time, it never reads it.

The law, with the profile's names:

    step_s  =  [P > 0] * (prefill.step_s + P / prefill.tps)
             + [B > 0] * (decode.a_s + decode.b_s * B + decode.c_s * L)

P is the number of prompt tokens computed in this step: at most `prefill.chunk_tok`, given to
waiting prompts first come first served, tokens found in the prefix cache being free (the last
token of a prompt is always computed). B is the number of jobs that decode in this step and
L the sum of their contexts in tokens. A step's tokens appear at its end. A prompt whose last
token was computed in a step yields its first output token at that step's end; a decoding
job yields 1 + (leading accepted drafts) tokens a step.

At most `max_batch` jobs run. A job holds ceil(context / kv.block_tok) blocks; when a
decoding job finds no block, the job admitted last is preempted: it loses its blocks,
goes to the head of the queue and is computed again, its own output included.
"""

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from loadgen.mock.engine.blocks import BlockPool
from loadgen.mock.engine.meters import Meters
from loadgen.mock.engine.vocabulary import extend_hashes
from loadgen.mock.profiles import Profile

NS_PER_S = 1_000_000_000


@dataclass(eq=False, slots=True)
class Job:
    """One request inside the engine; `on_tokens(n)` is called at the end of a step."""

    prompt: list[int]
    output: list[int]
    rng: random.Random
    on_tokens: Callable[[int], None]
    arrived_ns: int
    hashes: list[int] = field(default_factory=list)
    n_shared: int = 0
    n_private: int = 0
    n_computed: int = 0
    n_out: int = 0
    n_drawn: int = 0
    n_chunk: int = 0
    cached_tok: int | None = None
    scheduled_ns: int | None = None
    first_ns: int | None = None
    last_ns: int | None = None
    n_preempted: int = 0

    @property
    def n_context(self) -> int:
        """Tokens of prompt and output so far."""
        return len(self.prompt) + self.n_out

    @property
    def is_decoding(self) -> bool:
        """Whether everything before the next output token is computed."""
        return self.first_ns is not None and self.n_computed >= self.n_context

    def tokens(self) -> list[int]:
        """Prompt and output so far, as ids."""
        return self.prompt + self.output[: self.n_out] if self.n_out else self.prompt


class QueueFullError(Exception):
    """The engine's queue has no room: the server answers 503."""


class Engine:
    """Waiting and running jobs, stepped from outside by `begin_step` and `finish_step`."""

    def __init__(self, profile: Profile, meters: Meters) -> None:
        self.profile = profile
        self.meters = meters
        self.pool = BlockPool(profile.kv.n_blocks, prefix_cache=profile.kv.prefix_cache)
        self.waiting: deque[Job] = deque()
        self.running: list[Job] = []
        self._decoding: list[Job] = []
        self._n_timed = 0

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to step."""
        return not self.running and not self.waiting

    def submit(self, job: Job) -> None:
        """Queues a job. Raises: QueueFullError."""
        limit = self.profile.max_queue
        room = self.profile.max_batch - len(self.running)
        if limit is not None and len(self.waiting) >= limit + max(0, room):
            self.meters.n_rejected += 1
            raise QueueFullError
        extend_hashes(job.hashes, job.prompt, self.profile.kv.block_tok)
        self.waiting.append(job)
        self._gauge()

    def abort(self, job: Job) -> None:
        """Forgets a job whose client has left."""
        if job in self.running:
            self.running.remove(job)
            self._release(job)
        elif job in self.waiting:
            self.waiting.remove(job)
        if job in self._decoding:
            self._decoding.remove(job)
        self._gauge()

    def add_timed(self, n: int) -> None:
        """Counts requests that run on a timetable of their own among the running ones."""
        self._n_timed += n
        self._gauge()

    def begin_step(self, now_ns: int) -> int:
        """Decides what the next step computes; returns how long it takes, ns."""
        n_preemptions = self.meters.n_preemptions
        self._decoding = [s for s in self.running if s.is_decoding]
        for job in list(self._decoding):
            if job in self._decoding:
                self._reserve(job)
        budget = self.profile.prefill.chunk_tok
        prompt_tok = 0
        for job in self.running:
            if not job.is_decoding:
                prompt_tok += self._plan_chunk(job, budget - prompt_tok)
        has_room = self.meters.n_preemptions == n_preemptions
        while has_room and prompt_tok < budget and self._admit(now_ns):
            prompt_tok += self._plan_chunk(self.running[-1], budget - prompt_tok)
        self._gauge()
        return self._step_ns(prompt_tok)

    def finish_step(self, now_ns: int) -> None:
        """Applies the step: every job that has new tokens is told."""
        for job in list(self._decoding):
            self.count(job, job.n_drawn, now_ns)
            job.n_computed = job.n_context
            self._publish(job)
            self._retire_if_done(job)
        for job in [s for s in self.running if s.n_chunk]:
            job.n_computed += job.n_chunk
            job.n_chunk = 0
            if job.n_computed >= job.n_context:
                self._publish(job)
                self.count(job, 1, now_ns)
                job.n_computed = job.n_context
                self._retire_if_done(job)
        self._decoding = []
        self._gauge()

    def _step_ns(self, prompt_tok: int) -> int:
        prefill, decode = self.profile.prefill, self.profile.decode
        seconds = 0.0
        if prompt_tok:
            seconds += prefill.step_s + prompt_tok / prefill.tps
        if self._decoding:
            context = sum(s.n_context for s in self._decoding)
            seconds += decode.a_s + decode.b_s * len(self._decoding) + decode.c_s * context
        return round(seconds * NS_PER_S)

    def _admit(self, now_ns: int) -> bool:
        if not self.waiting or len(self.running) >= self.profile.max_batch:
            return False
        job = self.waiting[0]
        block_tok = self.profile.kv.block_tok
        n_tokens = job.n_context
        hits = job.hashes[: (n_tokens - 1) // block_tok]
        hits = hits[: self.pool.n_hits(hits)]
        n_new = -(-(n_tokens + 1) // block_tok) - len(hits)
        if n_new + self.pool.n_newly_used(hits) > self.pool.n_free:
            return False
        self.pool.share(hits)
        self.pool.take(n_new)
        job.n_shared, job.n_private = len(hits), n_new
        job.n_computed = len(hits) * block_tok
        self.waiting.popleft()
        self.running.append(job)
        if job.scheduled_ns is None:
            job.scheduled_ns = now_ns
            job.cached_tok = job.n_computed
            self.meters.prefix_queries += n_tokens
            self.meters.prefix_hits += job.n_computed
        return True

    def _plan_chunk(self, job: Job, budget: int) -> int:
        job.n_chunk = max(0, min(budget, job.n_context - job.n_computed))
        return job.n_chunk

    def _reserve(self, job: Job) -> None:
        """Draws this step's token count and takes the blocks for it, preempting where it must."""
        job.n_drawn = min(self._draw(job), len(job.output) - job.n_out)
        held = job.n_shared + job.n_private
        wanted = -(-(job.n_context + job.n_drawn) // self.profile.kv.block_tok)
        while not self.pool.take(max(0, wanted - held)):
            victim = self.running[-1]
            self._preempt(victim)
            if victim is job:
                return
        job.n_private += max(0, wanted - held)

    def _draw(self, job: Job) -> int:
        """Tokens of one decode step: 1 plus the leading accepted drafts."""
        speculation = self.profile.speculation
        if not speculation.draft_tok:
            return 1
        accepted = 0
        while accepted < speculation.draft_tok and job.rng.random() < speculation.accept:
            accepted += 1
        self.meters.drafted(speculation.draft_tok, accepted)
        return 1 + accepted

    def _preempt(self, job: Job) -> None:
        self.running.remove(job)
        if job in self._decoding:
            self._decoding.remove(job)
        self._release(job)
        job.n_computed = job.n_chunk = 0
        job.n_preempted += 1
        self.meters.n_preemptions += 1
        self.waiting.appendleft(job)

    def _publish(self, job: Job) -> None:
        """Makes the computed full blocks findable."""
        block_tok = self.profile.kv.block_tok
        n_full = job.n_computed // block_tok
        if n_full <= job.n_shared:
            return
        if n_full > len(job.hashes):
            extend_hashes(job.hashes, job.tokens(), block_tok)
        while job.n_shared < min(n_full, len(job.hashes)):
            if not self.pool.publish(job.hashes[job.n_shared]):
                return
            job.n_shared += 1
            job.n_private -= 1

    def count(self, job: Job, n: int, now_ns: int) -> None:
        """Books `n` new tokens of a job and hands them on."""
        if job.first_ns is None:
            job.first_ns = now_ns
            self.meters.first_token(job.arrived_ns, now_ns)
            cached = job.cached_tok or 0
            self.meters.prompt(len(job.prompt), cached)
        elif job.last_ns is not None:
            self.meters.gap(now_ns - job.last_ns)
        job.last_ns = now_ns
        job.n_out += n
        self.meters.generation_tok += n
        job.on_tokens(n)

    def _retire_if_done(self, job: Job) -> None:
        if job.n_out >= len(job.output) and job in self.running:
            self.running.remove(job)
            self._release(job)

    def _release(self, job: Job) -> None:
        self.pool.release(job.hashes[: job.n_shared], job.n_private)
        job.n_shared = job.n_private = 0

    def _gauge(self) -> None:
        meters = self.meters
        meters.n_running = len(self.running) + self._n_timed
        meters.n_waiting = len(self.waiting)
        meters.kv_used_frac = self.pool.n_used / self.pool.n_blocks
