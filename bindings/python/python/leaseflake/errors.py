"""The exceptions. Each code of the error table has a class; its fields come from the core."""


class LeaseflakeError(Exception):
    """The base of all errors of Leaseflake.

    >>> import leaseflake
    >>> try:
    ...     leaseflake.IdGenerator(store="memory:", heartbeat=1)
    ... except leaseflake.LeaseflakeError as error:
    ...     print(error.code, error.name, error.retryable, error.retry_after)
    1 INVALID_ARGUMENT False None
    """

    code: int
    """The frozen number, the same in every language."""
    name: str
    """The stable name, such as ``LEASE_SUSPENDED``."""
    retryable: bool
    """Whether the same call may succeed later."""
    retry_after: float | None
    """How many seconds to wait before a retry; ``None`` where a retry does not help."""
    written: int | None = None
    """After a ``fill`` or ``next_array`` that failed: how many IDs were written before."""


class InvalidArgumentError(LeaseflakeError, ValueError):
    """An argument or option is outside what is allowed."""


class StoreError(LeaseflakeError):
    """The registry cannot be used."""


class StoreUnavailableError(StoreError):
    """The registry cannot be reached, or asks to slow down."""


class StoreRejectedError(StoreError):
    """The registry refused: no table, no permission, broken, or restored from a backup."""


class LayoutMismatchError(StoreError):
    """The registry pins another layout, epoch or region."""


class LeaseError(LeaseflakeError):
    """There is no lease on a worker ID."""


class NoWorkerIdError(LeaseError):
    """Every worker ID of the datacenter is leased."""


class LeaseSuspendedError(LeaseError):
    """The window of the lease is used up and no heartbeat has got through."""


class LeaseLostError(LeaseError):
    """Somebody else owns the worker ID now; another one is being acquired."""


class ClockError(LeaseflakeError):
    """The clock gives no usable timestamp."""


class ClockBackwardsError(ClockError):
    """The clock is farther behind the newest ID than a call may wait."""


class ClockUntrustedError(ClockError):
    """The clock cannot be trusted: ahead of the registry's, or before the epoch."""


class TimestampOutOfRangeError(ClockError):
    """The clock is past the end of the timestamp field."""


class SequenceExhaustedError(LeaseflakeError):
    """The queue of waiting calls is longer than ``max_wait_ms``, or the call never waits."""


class ClosedError(LeaseflakeError):
    """The generator is closed."""


class InternalError(LeaseflakeError):
    """A bug in Leaseflake, caught."""
