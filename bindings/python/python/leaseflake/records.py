"""What a generator tells: plain records."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class IdParts(NamedTuple):
    """The fields of an ID."""

    timestamp_ms: int
    """When the ID was made, in milliseconds since the Unix epoch."""
    datacenter_id: int
    """The datacenter of the worker ID."""
    worker_id: int
    """The worker within the datacenter."""
    sequence: int
    """The place among the IDs of one millisecond."""

    @property
    def timestamp(self) -> datetime:
        """When the ID was made, as an aware ``datetime`` in UTC.

        Raises ``OverflowError`` past the year 9999, which only unusual layouts reach.
        """
        return _UNIX_EPOCH + timedelta(milliseconds=self.timestamp_ms)


class StateChange(NamedTuple):
    """One change of the state of a lease."""

    number: int
    """Counts the changes of this generator, from 1."""
    at_ms: int
    """When, in milliseconds since the Unix epoch by this process's clock."""
    from_state: str
    """The state before: ``acquiring``, ``active``, ``suspended``, ``lost`` or ``closed``."""
    to_state: str
    """The state after."""
    datacenter_id: int | None
    """The datacenter of the worker ID concerned, where there is one."""
    worker_id: int | None
    """The worker within the datacenter."""
    fencing_epoch: int
    """``fencing_epoch`` of the lease concerned; 0 without one."""
    reason: str
    """Why, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What state a generator is in. A snapshot: it may be old by the time it is read."""

    state: str
    """``acquiring``, ``active``, ``suspended``, ``lost`` or ``closed``."""
    since_ms: int
    """Since when, in milliseconds since the Unix epoch."""
    datacenter_id: int | None
    """The datacenter of the worker ID, where there is one."""
    worker_id: int | None
    """The worker within the datacenter."""
    fencing_epoch: int
    """Which owner of the worker ID we are; 0 without one."""
    lease_expiry_ts: int
    """When the lease ends, in milliseconds since the Unix epoch; 0 without one."""
    lease_length_ms: int
    """How long a renewal makes the lease."""
    ceiling_ms: int
    """The first timestamp that is refused just now, in milliseconds since the Unix epoch."""
    instance_id: str
    """Who we are in the registry."""
    store: str
    """The registry."""
    owns_keeper: bool
    """Whether the keeper runs in this process, and not in the one that forked it."""
    clock_suspect: str | None
    """Why the clock is not trusted, where it is not."""
    last_error: str | None
    """The last error of the keeper."""
    last_error_ms: int | None
    """When that was, in milliseconds since the Unix epoch."""
    issued: int
    """IDs issued by all who share the generator (forked children too)."""
    waits: int
    """Calls that had to wait for the clock."""
    clock_steps: int
    """Steps of the wall clock seen."""
    heartbeats_sent: int
    """Heartbeats sent."""
    heartbeats_failed: int
    """Heartbeats that were not confirmed."""
    leases_acquired: int
    """Leases acquired."""
    leases_lost: int
    """Leases lost."""
    claims_lost: int
    """Rounds that ended with a claim taken by somebody else."""
    requests: int
    """Requests sent to the registry."""
    changes: tuple[StateChange, ...]
    """The last 64 changes of state, oldest first."""
