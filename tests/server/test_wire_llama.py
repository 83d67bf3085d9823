import asyncio

from loadgen.model.exchange import Exchange
from tests.real_servers import Server
from tests.wire import MEMBERS, body_of, open_sender, send


async def test_all_of_64_streams_of_a_real_server_that_hangs_up_after_each_are_good(
    llama: Server,
) -> None:
    async with open_sender(llama.url) as sender:

        async def lane(number: int) -> list[Exchange]:
            return [await send(sender, number * 8 + turn, MEMBERS) for turn in range(8)]

        lanes = await asyncio.gather(*(lane(number) for number in range(8)))
    exchanges = [exchange for of_lane in lanes for exchange in of_lane]
    assert [exchange.detail for exchange in exchanges if exchange.detail] == []
    assert sum(exchange.complete for exchange in exchanges) == 64
    assert all(body_of(exchange).endswith(b"data: [DONE]\n\n") for exchange in exchanges)


async def test_real_server_behind_tls_keeps_its_connection(tls_nginx: Server) -> None:
    async with open_sender(tls_nginx.url, insecure=True) as sender:
        exchanges = [await send(sender, seq) for seq in range(4)]
    assert all(exchange.complete for exchange in exchanges)
    assert exchanges[-1].connection.reused
    assert exchanges[0].connection.tls_done_at_ns is not None
