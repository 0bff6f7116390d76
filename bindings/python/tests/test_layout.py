"""Layouts and decoding, held to the vectors that every language shares."""

import copy
import json
import pickle
from datetime import UTC, datetime

import leaseflake
import pytest
from conftest import VECTORS
from leaseflake import InvalidArgumentError, Layout

IDS = json.loads((VECTORS / "ids.json").read_text())
LAYOUTS = json.loads((VECTORS / "layouts.json").read_text())
ERRORS = json.loads((VECTORS / "errors.json").read_text())


@pytest.mark.parametrize("vector", IDS["valid"], ids=lambda vector: vector["id"])
def test_ids_decode_and_encode_as_in_every_language(vector):
    layout = Layout(vector["layout"], int(vector["epoch_ms"]))
    for given in (vector["id"], int(vector["id"])):
        parts = layout.decode(given)
        assert parts == (
            int(vector["timestamp_ms"]),
            vector["datacenter_id"],
            vector["worker_id"],
            vector["sequence"],
        )
    assert layout.encode(*parts) == int(vector["id"])
    if vector["utc"] is not None:
        assert parts.timestamp == datetime.fromisoformat(vector["utc"])
    if layout == Layout():
        assert leaseflake.decode(vector["id"]) == parts


@pytest.mark.parametrize("vector", LAYOUTS["valid"], ids=lambda vector: f"{vector['layout']}@{vector['epoch_ms']}")
def test_layouts_are_as_in_every_language(vector):
    layout = Layout(vector["layout"], int(vector["epoch_ms"]))
    assert str(layout) == vector["layout"]
    for name in ("timestamp_bits", "datacenter_bits", "worker_bits", "sequence_bits", "max_datacenter_id",
                 "max_worker_id", "max_sequence", "ids_per_second", "max_batch"):  # fmt: skip
        assert getattr(layout, name) == vector[name], name
    for name in ("epoch_ms", "max_timestamp", "last_ms"):
        assert getattr(layout, name) == int(vector[name]), name


def test_the_default_layout_is_the_seed_s():
    assert Layout() == Layout(LAYOUTS["default"]["layout"], int(LAYOUTS["default"]["epoch_ms"]))


def test_the_error_table_is_the_core_s():
    by_code = {error["code"]: error for error in ERRORS["errors"] if error["code"] != 0}
    classes = {
        value.code: value
        for value in vars(leaseflake).values()
        if isinstance(value, type) and issubclass(value, leaseflake.LeaseflakeError) and not value.__subclasses__()
    }
    assert classes.keys() == by_code.keys()
    for code, error in by_code.items():
        assert classes[code].name == error["name"]
        assert classes[code].retryable == error["retryable"]
        camel = "".join(word.capitalize() for word in error["name"].split("_"))
        assert classes[code].__name__ == f"{camel}Error"


@pytest.mark.parametrize(
    "value",
    [0, -1, 2**63, 2**200, "", "0", "-1", "+1", " 1", "1 ", "01", "1.0", "1e3", "9223372036854775808", "\u0661", "x" * 10_000,
     1.0, None, True, b"1", [], "\ud800"],
    ids=lambda value: repr(value)[:20],
)  # fmt: skip
def test_what_is_no_id_is_refused(value):
    with pytest.raises(InvalidArgumentError, match="id") as refused:
        leaseflake.decode(value)
    assert "9223372036854775807" in str(refused.value)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("text", ["41-5-5-11", "41-5-5", "", "a", "41-5-5-12 ", "041-5-5-12", "-1-5-5-12"])
def test_what_is_no_layout_is_refused(text):
    with pytest.raises(InvalidArgumentError, match="layout"):
        Layout(text)


@pytest.mark.parametrize("epoch_ms", [-1, 2**62, 2**70, "0", 0.5])
def test_an_epoch_outside_1970_to_now_is_refused(epoch_ms):
    with pytest.raises(InvalidArgumentError, match="epoch_ms"):
        Layout(epoch_ms=epoch_ms)


def test_fields_that_do_not_fit_are_refused_by_name():
    layout = Layout()
    now = layout.epoch_ms + 5
    for name, value in (("datacenter_id", 32), ("worker_id", -1), ("sequence", 4096), ("sequence", 2**70)):
        fields = {"timestamp_ms": now, "datacenter_id": 0, "worker_id": 0, "sequence": 0, name: value}
        with pytest.raises(InvalidArgumentError, match=name):
            layout.encode(**fields)
    with pytest.raises(leaseflake.TimestampOutOfRangeError, match="timestamp_ms"):
        layout.encode(layout.epoch_ms - 1, 0, 0, 0)


def test_layouts_are_values():
    layout = Layout("41-4-6-12", epoch_ms=0)
    assert layout == copy.deepcopy(layout) == pickle.loads(pickle.dumps(layout))
    assert layout != Layout("41-4-6-12") and layout != "41-4-6-12"
    assert len({layout, copy.copy(layout), Layout()}) == 2
    assert eval(repr(layout), {"Layout": Layout}) == layout


def test_a_time_past_the_year_9999_is_an_overflow_and_no_crash():
    parts = Layout("61-0-1-1").decode(2**63 - 1)
    assert parts.timestamp_ms > 0
    with pytest.raises(OverflowError):
        _ = parts.timestamp


def test_times_are_utc_whatever_the_machine_says():
    assert leaseflake.decode(1).timestamp == datetime(2026, 1, 1, tzinfo=UTC)
