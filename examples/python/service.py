"""A service that numbers its orders and gives its worker ID back on SIGTERM.

LEASEFLAKE_STORE=sqlite:ids.db python examples/python/service.py
"""

import asyncio
import logging
import signal

import leaseflake


async def take_orders(ids: leaseflake.IdGenerator, orders: int | None) -> None:
    taken = 0
    while orders is None or taken < orders:
        try:
            number = ids.next_id()
        except leaseflake.LeaseflakeError as error:
            if not error.retryable:
                raise
            logging.warning("no ID just now: %s", error)
            await asyncio.sleep(error.retry_after or 0.1)
            continue
        taken += 1
        logging.info("order %d", number)
        await asyncio.sleep(0.5)


async def main(orders: int | None = None) -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    async with leaseflake.IdGenerator.open_async() as ids:
        ids.log_state_changes()
        work = asyncio.ensure_future(take_orders(ids, orders))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, work.cancel)
        try:
            await work
        except asyncio.CancelledError:
            logging.info("ending")


if __name__ == "__main__":
    asyncio.run(main())
