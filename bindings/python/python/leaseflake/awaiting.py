"""Opening and closing for asyncio: the event loop asks again and again, nothing calls into it.

The keeper's thread never touches Python, so it cannot wake an event loop; asking costs less than a
microsecond.
"""

import asyncio
from collections.abc import Callable, Generator
from types import TracebackType
from typing import TypeVar

from ._leaseflake import Closing, IdGenerator, Opening
from .leaving import opened

_T = TypeVar("_T")

# Seconds between two looks, at first and at most.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.02


async def _ask(poll: Callable[[], _T]) -> _T:
    pause = _FIRST_PAUSE
    while not (answer := poll()):
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
    return answer


class OpenedLater:
    """A generator that is being opened: to be awaited, or entered with ``async with``."""

    __slots__ = ("_generator", "_opening")

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._generator: IdGenerator | None = None

    async def _open(self) -> IdGenerator:
        if self._generator is None:
            try:
                self._generator = await _ask(self._opening.poll)
            except BaseException:
                self._opening.abandon()
                raise
            assert self._generator is not None
            opened()
        return self._generator

    def __await__(self) -> Generator[object, None, IdGenerator]:
        return self._open().__await__()

    async def __aenter__(self) -> IdGenerator:
        return await self._open()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._generator is not None:
            await self._generator.aclose()


async def closed(closing: Closing) -> None:
    """Waits until a generator is closed, or its time is over."""
    await _ask(closing.poll)


async def entered(generator: IdGenerator) -> IdGenerator:
    """What ``async with`` an open generator gives."""
    return generator
