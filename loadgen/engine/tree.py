"""One session in play: which of its turns have gone, which may go next, and when.

Pure bookkeeping: it reads no clock and sends nothing. A turn may go once everything that it waits
for has happened, at its due instant; idle caps move due instants, never waits.
"""

from collections.abc import Iterator
from enum import IntEnum

from loadgen.model.session import Session, Wait


class _State(IntEnum):
    WAITING = 0
    LAUNCHED = 1
    SENT = 2
    DONE = 3


class Tree:
    """A session's turns by number, linked by their waits; played ones are done from the start.

    `unpaced` or `pace_from` sets its clock, before anything is sent. Each turn then goes through
    `launch`, `sent` and `done`, or `launch` and `called_off`.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.root = session.turns[0].stream if session.turns else ""
        self.turn_no: list[int] = []
        """Each turn's number within its stream."""
        self.earlier: list[int | None] = []
        """The turn before it in its stream."""
        self.active = 0
        """Turns launched and not ended."""
        self.idle_since_ns = 0
        """When a turn last ended, or the clock began."""
        self._closed = False
        self._state = bytearray(len(session.turns))
        self._due_ns: dict[int, int] = {}
        """Of unsent turns: the latest instant that their waits so far allow."""
        self._ready: set[int] = set()
        self._near: set[int] = set()
        """Unsent turns of which all that they wait for has been sent."""
        self._read_streams()
        self._read_waits()
        self._skip_played()
        self.pace_from(0)

    def _read_streams(self) -> None:
        last: dict[str, int] = {}
        self._left: dict[str, int] = {}
        self._begun: set[str] = set()
        for number, turn in enumerate(self.session.turns):
            earlier = last.get(turn.stream)
            self.earlier.append(earlier)
            self.turn_no.append(0 if earlier is None else self.turn_no[earlier] + 1)
            last[turn.stream] = number
            self._left[turn.stream] = self.turn_no[number] + 1

    def _read_waits(self) -> None:
        turns = self.session.turns
        numbers = {turn.turn_id: number for number, turn in enumerate(turns)}
        self._waits: list[list[tuple[int, Wait]]] = []
        self._waiters: list[list[tuple[int, Wait]]] = [[] for _ in turns]
        for number, turn in enumerate(turns):
            waits = [(numbers[wait.turn_id], wait) for wait in turn.after]
            self._waits.append(waits)
            for other, wait in waits:
                self._waiters[other].append((number, wait))
        self._unmet = [len(waits) for waits in self._waits]
        self._unsent = list(self._unmet)

    def _skip_played(self) -> None:
        """Turns that began before the session's starting point count as played."""
        from_ns = self.session.from_ns
        for number, turn in enumerate(self.session.turns):
            if from_ns is not None and turn.at_ns is not None and turn.at_ns < from_ns:
                self._state[number] = _State.DONE
                self._begun.add(turn.stream)
                self._left[turn.stream] -= 1
                for waiter, _ in self._waiters[number]:
                    self._unmet[waiter] -= 1
                    self._unsent[waiter] -= 1
        waiting = [number for number, state in enumerate(self._state) if state == _State.WAITING]
        self._to_send = len(waiting)
        self._ready = {number for number in waiting if not self._unmet[number]}
        self._near = {number for number in waiting if not self._unsent[number]}

    def unpaced(self, at_ns: int) -> None:
        """From now on every turn is due as soon as its waits have happened."""
        self._paced = False
        self._restart(at_ns)

    def pace_from(self, at_ns: int) -> None:
        """Every turn that comes next is due its full delay after `at_ns`, and so on from there."""
        self._paced = True
        self._restart(at_ns)

    def _restart(self, at_ns: int) -> None:
        self.idle_since_ns = at_ns
        self._due_ns = {
            number: at_ns + (self._delay_ns(number) if self._paced else 0)
            for number, state in enumerate(self._state)
            if state == _State.WAITING and (number in self._ready or self._has_met(number))
        }

    def _has_met(self, number: int) -> bool:
        return self._unmet[number] < len(self._waits[number])

    def _delay_ns(self, number: int) -> int:
        """The longest gap among the waits that have happened."""
        return max((w.gap_ns for other, w in self._waits[number] if self._met(other, w)), default=0)

    def _met(self, other: int, wait: Wait) -> bool:
        return self._state[other] >= (_State.SENT if wait.on == "sent" else _State.DONE)

    def primers(self) -> Iterator[tuple[int, int]]:
        """The last played turn of every stream under way, and how long before the start it lay."""
        from_ns = self.session.from_ns or 0
        for number, state in enumerate(self._state):
            earlier = self.earlier[number]
            if state != _State.WAITING or earlier is None:
                continue
            if self._state[earlier] == _State.DONE:
                yield earlier, from_ns - (self.session.turns[earlier].at_ns or 0)

    def launch(self, number: int) -> None:
        """The turn is taken in hand."""
        self._state[number] = _State.LAUNCHED
        self._ready.discard(number)
        self._near.discard(number)
        self._due_ns.pop(number, None)
        self.active += 1

    def called_off(self, number: int) -> None:
        """The launched turn is never sent."""
        self._state[number] = _State.WAITING
        self.active -= 1

    def sent(self, number: int, at_ns: int) -> None:
        """The turn is on its way."""
        self._state[number] = _State.SENT
        self._to_send -= 1
        self._begun.add(self.session.turns[number].stream)
        for waiter, _ in self._waiters[number]:
            self._unsent[waiter] -= 1
            if not self._unsent[waiter] and not self._closed:
                self._near.add(waiter)
        self._happened(number, "sent", at_ns)

    def done(self, number: int, at_ns: int) -> None:
        """The turn has ended, well or not."""
        self._state[number] = _State.DONE
        self._left[self.session.turns[number].stream] -= 1
        self.active -= 1
        self.idle_since_ns = max(self.idle_since_ns, at_ns)
        self._happened(number, "done", at_ns)

    def _happened(self, number: int, on: str, at_ns: int) -> None:
        for waiter, wait in self._waiters[number]:
            if wait.on != on or self._closed:
                continue
            due_ns = at_ns + (wait.gap_ns if self._paced else 0)
            self._due_ns[waiter] = max(self._due_ns.get(waiter, due_ns), due_ns)
            self._unmet[waiter] -= 1
            if not self._unmet[waiter]:
                self._ready.add(waiter)

    def close(self) -> None:
        """No further turn goes; what is in flight ends."""
        self._closed = True
        self._ready.clear()
        self._near.clear()
        self._due_ns.clear()

    def shift(self, by_ns: int) -> None:
        """Everything to come is due earlier by as much."""
        for number in self._due_ns:
            self._due_ns[number] -= by_ns

    def due(self, until_ns: int) -> list[tuple[int, int]]:
        """Turns that may go by then as (due instant, number), in order."""
        return sorted((self._due_ns[n], n) for n in self._ready if self._due_ns[n] <= until_ns)

    def earliest_due_ns(self) -> int | None:
        """When the next turn may go without anything else happening; None: none may."""
        return min((self._due_ns[number] for number in self._ready), default=None)

    def first_delay_ns(self) -> int | None:
        """The least full delay among the turns that may go next."""
        return min((self._delay_ns(number) for number in self._ready), default=None)

    def near(self, now_ns: int) -> Iterator[tuple[int, int]]:
        """Turns that wait for nothing unsent, as (earliest possible due instant, number)."""
        for number in self._near:
            if number in self._ready:
                yield self._due_ns[number], number
                continue
            gaps = (w.gap_ns for other, w in self._waits[number] if not self._met(other, w))
            ahead_ns = now_ns + (max(gaps) if self._paced else 0)
            yield max(ahead_ns, self._due_ns.get(number, ahead_ns)), number

    def is_done(self, number: int) -> bool:
        """Whether the turn has ended, or counts as played."""
        return self._state[number] == _State.DONE

    def is_ready(self, number: int) -> bool:
        """Whether everything that the turn waits for has happened."""
        return number in self._ready

    @property
    def all_sent(self) -> bool:
        """Whether no turn is left to send."""
        return self._closed or not self._to_send

    @property
    def closed(self) -> bool:
        """Whether it ended before its last turn."""
        return self._closed

    @property
    def drained(self) -> bool:
        """Whether the root and all subagents have ended."""
        return not self.active and (self._closed or not any(self._left.values()))

    @property
    def subagents_live(self) -> int:
        """Streams beside the root that have begun and not ended."""
        if self._closed:
            return 0
        return sum(stream != self.root and self._left[stream] > 0 for stream in self._begun)
