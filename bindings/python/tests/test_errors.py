"""Exceptions: one base, fields, pickling."""

import pickle

import leaseflake
import pytest
from leaseflake import LeaseflakeError

ALL = [value for value in vars(leaseflake).values() if isinstance(value, type) and issubclass(value, Exception)]


def test_the_base_is_the_base_of_all():
    assert len(ALL) >= 16
    assert all(issubclass(error, LeaseflakeError) for error in ALL)
    assert not any(issubclass(error, (KeyboardInterrupt, SystemExit)) for error in ALL)


def test_kinds_hold_what_they_say():
    assert issubclass(leaseflake.InvalidArgumentError, ValueError)
    for error in (leaseflake.LeaseSuspendedError, leaseflake.LeaseLostError, leaseflake.NoWorkerIdError):
        assert issubclass(error, leaseflake.LeaseError)
    for error in (leaseflake.ClockBackwardsError, leaseflake.ClockUntrustedError):
        assert issubclass(error, leaseflake.ClockError)
    for error in (leaseflake.StoreUnavailableError, leaseflake.StoreRejectedError):
        assert issubclass(error, leaseflake.StoreError)


def test_an_error_crosses_processes_with_its_fields():
    with pytest.raises(LeaseflakeError) as raised:
        leaseflake.decode("x")
    error = pickle.loads(pickle.dumps(raised.value))
    assert type(error) is leaseflake.InvalidArgumentError
    assert str(error) == str(raised.value)
    assert (error.code, error.name, error.retryable, error.retry_after) == (1, "INVALID_ARGUMENT", False, None)


def test_a_full_millisecond_is_retryable_and_says_when(ids):
    with pytest.raises(leaseflake.SequenceExhaustedError) as raised:
        for _ in range(10_000_000):
            ids.try_next_id()
    assert raised.value.retryable
    assert 0 < raised.value.retry_after <= 0.1
    assert ids.next_id() > 0


def test_errors_made_by_hand_have_fields_too():
    error = LeaseflakeError("mine")
    assert (error.code, error.name, error.retryable, error.retry_after, error.written) == (
        99,
        "INTERNAL",
        False,
        None,
        None,
    )
