from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from loadgen.model.plan import Share
from loadgen.schedule.share import own_count, own_items, own_slots

workers = st.integers(1, 9)


@given(workers, st.integers(0, 500))
def test_counts_of_all_shares_add_up(count: int, total: int) -> None:
    parts = [own_count(Share(index, count), total) for index in range(count)]
    assert sum(parts) == total
    assert max(parts) - min(parts) <= 1


@given(workers, st.integers(0, 500))
def test_slots_of_all_shares_are_the_whole_and_none_twice(count: int, total: int) -> None:
    slots = [slot for index in range(count) for slot in own_slots(Share(index, count), total)]
    assert slots == list(range(total))


@given(workers, st.integers(0, 200))
def test_items_of_all_shares_are_the_whole_and_none_twice(count: int, length: int) -> None:
    own = [list(own_items(Share(index, count), iter(range(length)))) for index in range(count)]
    assert sorted(item for part in own for item in part) == list(range(length))
    assert own[0] == list(islice(range(length), 0, None, count))
