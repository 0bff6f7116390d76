"""Leaving a process: by a normal exit, or as a child of ``multiprocessing``, which skips that.

A child of ``multiprocessing`` (or of Celery's ``billiard``) ends by ``os._exit``. What it opened
itself would stay leased until it expires, so it is closed by the finalizers that such a child runs.
"""

import atexit
import os
import sys
from typing import Any

from ._leaseflake import close_at_exit, interpreter_exits

_POOLS = ("multiprocessing.util", "billiard.util")
# Below the priorities of finalizers that may still want IDs.
_LAST = -100

_armed_in: int | None = None


class _Anchor:
    """What after-fork hooks hang on: they are forgotten with their object."""


_anchor = _Anchor()


def _pools() -> list[Any]:
    return [module for name in _POOLS if (module := sys.modules.get(name)) is not None]


def _is_child(pool: Any) -> bool:
    process = sys.modules.get(pool.__name__.replace(".util", ".process"))
    current = getattr(process, "current_process", None)
    return current is not None and getattr(current(), "_parent_pid", None) is not None


def _arm(_: object = None) -> None:
    for pool in _pools():
        if _is_child(pool):
            pool.Finalize(None, close_at_exit, exitpriority=_LAST)
            # Celery's children skip even that; they say so before.
            signals = sys.modules.get("celery.signals")
            if signals is not None:
                signals.worker_process_shutdown.connect(_celery_ends, weak=False)


def _celery_ends(**_: object) -> None:
    close_at_exit()


def opened() -> None:
    """To be called when a generator has been opened."""
    global _armed_in
    if _armed_in != os.getpid():
        _armed_in = os.getpid()
        _arm()


def _after_fork() -> None:
    # The child is about to forget all finalizers, and to run these hooks then.
    for pool in _pools():
        pool.register_after_fork(_anchor, _arm)


atexit.register(interpreter_exits)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
