"""asyncio: the event loop is never blocked by opening and closing."""

import asyncio
import time

import leaseflake
import pytest
from conftest import DEADLINE, leased, wait_until
from leaseflake import IdGenerator


def run(main):
    async def bounded():
        async with asyncio.timeout(DEADLINE):
            return await main()

    return asyncio.run(bounded())


async def longest_gap(task):
    """How long the loop was held up while a task ran, in seconds."""
    longest, last = 0.0, time.monotonic()
    while not task.done():
        await asyncio.sleep(0)
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    return longest


def test_async_with_opens_and_releases(registry):
    async def main():
        async with IdGenerator.open_async(store=registry, datacenter_id=4) as ids:
            assert ids.status().datacenter_id == 4
            assert leased(registry) == 1
            return ids.next_id()

    assert run(main) > 0
    assert leased(registry) == 0


def test_await_opens_and_aclose_releases(registry):
    async def main():
        ids = await IdGenerator.open_async(store=registry)
        async with ids as same:
            assert same is ids
            assert ids.next_id() > 0
        assert ids.closed
        await ids.aclose()
        with pytest.raises(leaseflake.ClosedError):
            ids.next_id()

    run(main)
    assert leased(registry) == 0


def test_errors_of_opening_come_out_of_the_await(tmp_path):
    async def main():
        with pytest.raises(leaseflake.InvalidArgumentError):
            IdGenerator.open_async(stoer="memory:")
        with pytest.raises(leaseflake.InvalidArgumentError):
            await IdGenerator.open_async()
        with pytest.raises(leaseflake.StoreError):
            async with IdGenerator.open_async(store="sqlite:/dev/null/folder.db", acquire_timeout_ms=100):
                raise AssertionError("it cannot be open")

    run(main)


def test_the_loop_goes_on_while_an_unreachable_registry_is_tried(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "none")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "none")

    # Nobody listens there.
    async def main():
        opening = IdGenerator.open_async(
            store="dynamodb://table?region=us-east-1&endpoint=http://127.0.0.1:9", acquire_timeout_ms=1500
        )

        async def opened():
            async with opening:
                pass

        task = asyncio.ensure_future(opened())
        gap = await longest_gap(task)
        with pytest.raises(leaseflake.StoreUnavailableError):
            task.result()
        return gap

    # A loaded machine holds a process up too; a blocking open would take all of the 1.5 s.
    assert run(main) < 1.0


def test_a_cancelled_opening_leaves_no_lease(registry):
    taken = [IdGenerator(store=registry, datacenter_id=2, slot=slot) for slot in range(32)]

    async def main():
        async def opened():
            async with IdGenerator.open_async(store=registry, datacenter_id=2, slot=99, acquire_timeout_ms=60_000):
                raise AssertionError("there is no worker ID for it")

        task = asyncio.ensure_future(opened())
        await asyncio.sleep(0.05)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - began

    try:
        assert run(main) < 1.0
    finally:
        for generator in taken:
            generator.close()
    wait_until(lambda: leased(registry) == 0, "the release of what was cancelled")


def test_many_tasks_open_at_once_and_share_a_worker_id(registry):
    async def main():
        async def one():
            async with IdGenerator.open_async(store=registry) as ids:
                await asyncio.sleep(0.01)
                return ids.next_batch(100)

        return await asyncio.gather(*[one() for _ in range(20)])

    numbers = [number for batch in run(main) for number in batch]
    assert len(set(numbers)) == 2000
    assert leased(registry) == 0
