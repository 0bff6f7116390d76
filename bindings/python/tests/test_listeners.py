"""State changes as calls and as log records."""

import logging
import threading

import leaseflake
import pytest
from conftest import DEADLINE, run_python
from leaseflake import IdGenerator


def test_a_listener_is_told_of_the_end(registry):
    told = []
    ended = threading.Event()

    def callback(change):
        told.append(change)
        if change.to_state == "closed":
            ended.set()

    ids = IdGenerator(store=registry)
    listener = ids.on_state_change(callback)
    ids.close()
    assert ended.wait(DEADLINE)
    assert told[-1].from_state == "active"
    assert told[-1].number > 1
    listener.stop()


def test_a_stopped_listener_is_told_nothing_more(registry):
    told = []
    ids = IdGenerator(store=registry)
    listener = ids.on_state_change(told.append)
    listener.stop()
    listener.stop()
    ids.close()
    assert told == []


def test_a_listener_does_not_keep_a_generator_open(registry):
    told = threading.Event()
    IdGenerator(store=registry).on_state_change(lambda change: told.set())
    assert told.wait(DEADLINE)


def test_a_failing_listener_is_logged_and_goes_on(registry, caplog):
    seen = threading.Event()

    def callback(change):
        seen.set()
        raise RuntimeError("mine")

    ids = IdGenerator(store=registry)
    listener = ids.on_state_change(callback)
    ids.close()
    assert seen.wait(DEADLINE)
    listener._thread.join(DEADLINE)
    assert "a listener to changes of state failed" in caplog.text


def test_changes_go_to_logging_when_asked(registry, caplog):
    caplog.set_level(logging.INFO)
    ids = IdGenerator(store=registry)
    listener = ids.log_state_changes("mine")
    ids.close()
    listener._thread.join(DEADLINE)
    [record] = [record for record in caplog.records if record.name == "mine"]
    assert "active -> closed" in record.getMessage()
    assert record.leaseflake["to_state"] == "closed"


def test_what_cannot_be_called_is_no_callback(ids):
    with pytest.raises(TypeError, match="callback"):
        ids.on_state_change(5)


def test_nothing_is_logged_unless_asked(registry):
    ran = run_python(
        """
        import sys, leaseflake
        with leaseflake.IdGenerator(store=sys.argv[1]) as ids:
            ids.next_id()
        """,
        registry,
    )
    assert ran.stdout == ran.stderr == ""


def test_a_listener_does_not_hold_up_the_end_of_the_interpreter(registry):
    run_python(
        """
        import sys, leaseflake
        ids = leaseflake.IdGenerator(store=sys.argv[1])
        ids.on_state_change(print)
        ids.log_state_changes()
        """,
        registry,
        timeout=30,
    )


def test_the_warning_level_is_for_losses():
    from leaseflake.listening import logging_callback

    change = leaseflake.StateChange(2, 0, "active", "suspended", 1, 2, 3, "no heartbeat")
    logger = logging.getLogger("levels")
    records = []
    handler = logging.Handler()
    handler.emit = records.append
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    log = logging_callback(logger)
    log(change)
    log(change._replace(to_state="active"))
    assert [record.levelno for record in records] == [logging.WARNING, logging.INFO]
    assert "worker ID 1/2" in records[0].getMessage()
