"""Listeners to changes of state: one daemon thread each, never on the path of an ID."""

import atexit
import logging
import math
import os
import threading
import time
import weakref
from collections.abc import Callable

from ._leaseflake import Watcher
from .records import StateChange

# How long a listener may take to notice that it is to stop, in milliseconds.
_LOOK_MS = 100
# How long it waits for the end of a generator whose handle is closed, in seconds.
_END_S = 3.0

_listeners: "weakref.WeakSet[Listener]" = weakref.WeakSet()


class Listener:
    """Calls a function for every change of state, in order, until it is stopped.

    It ends by itself when the generator is closed. In a forked child it goes on, and is told nothing until the child has
    a lease of its own.
    """

    def __init__(self, watcher: Watcher, callback: Callable[[StateChange], object], seen: int) -> None:
        if not callable(callback):
            raise TypeError(f"callback: {callback!r} cannot be called")
        self._watcher = watcher
        self._callback = callback
        self._seen = seen
        self._stopped = threading.Event()
        self._start()
        _listeners.add(self)

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._listen, name="leaseflake-listen", daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        ends_at = math.inf
        while not self._stopped.is_set() and time.monotonic() < ends_at:
            if self._watcher.closed and ends_at == math.inf:
                # With the last handle the generator ends: that is told as well.
                ends_at = time.monotonic() + _END_S
            for change in self._watcher.changes(self._seen, _LOOK_MS):
                self._seen = change.number
                try:
                    self._callback(change)
                except Exception:
                    logging.getLogger("leaseflake").exception("a listener to changes of state failed")
                if change.to_state == "closed":
                    return

    def stop(self) -> None:
        """Ends it; no call is under way when this returns, unless it is made from a call."""
        self._stopped.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _forked(self) -> None:
        if not self._stopped.is_set():
            # The parent's thread may have been anywhere.
            self._stopped = threading.Event()
            # The child's own changes are numbered from 1, once it has a keeper of its own.
            self._seen = 0
            self._start()


def logging_callback(
    logger: logging.Logger | str | None,
) -> Callable[[StateChange], None]:
    """What writes a change to ``logging``."""
    if not isinstance(logger, logging.Logger):
        logger = logging.getLogger("leaseflake" if logger is None else logger)
    target = logger

    def log(change: StateChange) -> None:
        bad = change.to_state in ("suspended", "lost")
        worker = "none" if change.worker_id is None else f"{change.datacenter_id}/{change.worker_id}"
        target.log(
            logging.WARNING if bad else logging.INFO,
            "lease %s -> %s (worker ID %s, fencing epoch %d): %s",
            change.from_state,
            change.to_state,
            worker,
            change.fencing_epoch,
            change.reason,
            extra={"leaseflake": change._asdict()},
        )

    return log


@atexit.register
def _stop_all() -> None:
    for listener in list(_listeners):
        listener._stopped.set()
    for listener in list(_listeners):
        listener._thread.join(timeout=1)


def _after_fork() -> None:
    for listener in list(_listeners):
        listener._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
