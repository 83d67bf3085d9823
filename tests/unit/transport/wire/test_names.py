from loadgen.transport.wire.names import AddressBook, Names
from loadgen.transport.wire.sockets import Address

A: Address = (2, ("10.0.0.1", 80))
B: Address = (2, ("10.0.0.2", 80))
C: Address = (10, ("::1", 80, 0, 0))


def test_all_addresses_of_a_name_are_begun_with_in_turn() -> None:
    book = AddressBook([A, B, C])
    assert [book.in_turn()[0] for _ in range(6)] == [A, B, C, A, B, C]
    assert set(book.in_turn()) == {A, B, C}


def test_address_that_failed_is_tried_last_for_a_while() -> None:
    book = AddressBook([A, B])
    book.shun(A)
    assert [book.in_turn() for _ in range(2)] == [[B, A], [B, A]]


def test_numeric_hosts_need_no_look_up() -> None:
    names = Names()
    for host in ("127.0.0.1", "::1"):
        book = names.known(host, 80)
        assert book is not None
        assert book.in_turn()[0][1][0] == host


def test_names_need_one() -> None:
    assert Names().known("localhost", 80) is None
