"""64-bit, time-sorted, globally unique IDs made in your own process.

>>> import leaseflake
>>> with leaseflake.IdGenerator(store="memory:") as ids:
...     parts = ids.decode(ids.next_id())
>>> parts.timestamp.tzname()
'UTC'

What makes an ID unique is a worker ID that nobody else uses, and a process owns its worker ID by a
lease in DynamoDB (or, on one machine, in a SQLite file): see `IdGenerator`.
"""

from ._leaseflake import OPTION_NAMES, IdGenerator, Layout, __version__, decode
from .errors import (
    ClockBackwardsError,
    ClockError,
    ClockUntrustedError,
    ClosedError,
    InternalError,
    InvalidArgumentError,
    LayoutMismatchError,
    LeaseError,
    LeaseflakeError,
    LeaseLostError,
    LeaseSuspendedError,
    NoWorkerIdError,
    SequenceExhaustedError,
    StoreError,
    StoreRejectedError,
    StoreUnavailableError,
    TimestampOutOfRangeError,
)
from .listening import Listener
from .records import IdParts, StateChange, Status

__all__ = [
    "OPTION_NAMES",
    "ClockBackwardsError",
    "ClockError",
    "ClockUntrustedError",
    "ClosedError",
    "IdGenerator",
    "IdParts",
    "InternalError",
    "InvalidArgumentError",
    "Layout",
    "LayoutMismatchError",
    "LeaseError",
    "LeaseLostError",
    "LeaseSuspendedError",
    "LeaseflakeError",
    "Listener",
    "NoWorkerIdError",
    "SequenceExhaustedError",
    "StateChange",
    "Status",
    "StoreError",
    "StoreRejectedError",
    "StoreUnavailableError",
    "TimestampOutOfRangeError",
    "__version__",
    "decode",
]
