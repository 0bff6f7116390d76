"""One generator in one process: IDs, batches, texts, options, status, closing."""

import copy
import itertools
import pathlib
import pickle
import time

import leaseflake
import pytest
from conftest import leased
from leaseflake import IdGenerator, InvalidArgumentError


def test_ids_increase_and_are_positive_63_bit_numbers(ids):
    numbers = [ids.next_id() for _ in range(20_000)]
    assert all(type(number) is int for number in numbers[:3])
    assert all(0 < number < 2**63 for number in numbers)
    assert all(before < after for before, after in itertools.pairwise(numbers))


def test_the_time_in_an_id_is_now(ids):
    before = time.time()
    parts = ids.decode(ids.next_id())
    assert before - 0.1 < parts.timestamp.timestamp() < time.time() + 0.1
    assert parts.timestamp.tzinfo is not None
    assert parts.timestamp.utcoffset().total_seconds() == 0
    assert parts.timestamp_ms == round(parts.timestamp.timestamp() * 1000)


def test_every_way_to_get_ids_goes_on_where_the_others_stopped(ids):
    numbers = [ids.next_id(), *ids.next_batch(10), int(ids.next_str()), *map(int, ids.next_strs(10))]
    for number in ids:
        numbers.append(number)
        if len(numbers) == 30:
            break
    numbers.append(next(ids))
    while True:
        try:
            numbers.append(ids.try_next_id())
            break
        except leaseflake.SequenceExhaustedError:
            time.sleep(0.001)
    assert numbers == sorted(set(numbers))


def test_a_batch_is_of_one_millisecond_without_gaps(ids):
    batch = ids.next_batch(1000)
    assert len(batch) == 1000
    assert batch == list(range(batch[0], batch[0] + 1000))
    assert len({ids.decode(number).timestamp_ms for number in batch}) == 1


@pytest.mark.parametrize("count", [0, -1, 1001, 2**70, "10", 1.5, None, True])
def test_a_batch_of_another_size_is_refused_by_what_was_given(ids, count):
    for method in (ids.next_batch, ids.next_strs):
        with pytest.raises(InvalidArgumentError, match=r"batch size: .* allowed: .*1000") as refused:
            method(count)
        assert str(count) in str(refused.value)


def test_texts_are_the_digits_of_ids(ids):
    text = ids.next_str()
    assert text == str(int(text))
    assert ids.decode(text) == ids.decode(int(text))


def test_a_generator_is_shared_by_all_who_open_the_same_registry(registry):
    with IdGenerator(store=registry) as first, IdGenerator(store=registry) as second:
        assert first.status().worker_id == second.status().worker_id
        assert first.next_id() < second.next_id() < first.next_id()
        assert leased(registry) == 1


def test_closing_the_last_handle_releases_the_lease(registry):
    first, second = IdGenerator(store=registry), IdGenerator(store=registry)
    first.close()
    assert first.closed and not second.closed
    assert second.next_id() > 0
    assert leased(registry) == 1
    second.close()
    second.close()
    assert leased(registry) == 0


def test_a_generator_that_nobody_holds_any_more_is_closed(registry):
    IdGenerator(store=registry)
    assert leased(registry) == 0


def test_a_closed_generator_says_so_in_every_method(registry):
    generator = IdGenerator(store=registry)
    with generator:
        generator.next_id()
    for call in (
        generator.next_id,
        generator.try_next_id,
        generator.next_str,
        lambda: next(generator),
        lambda: generator.next_batch(2),
        lambda: generator.next_strs(2),
        lambda: generator.fill(bytearray(16) and memoryview(bytearray(16)).cast("q")),
    ):
        with pytest.raises(leaseflake.ClosedError):
            call()
    assert generator.status().state == "closed"
    assert "closed" in repr(generator)


def test_status_tells_whose_worker_id_and_counts(registry):
    with IdGenerator(store=registry, datacenter_id=7, instance_id="a test") as ids:
        ids.next_batch(10)
        status = ids.status()
        assert (status.state, status.datacenter_id, status.instance_id) == ("active", 7, "a test")
        assert 0 <= status.worker_id <= 31
        assert status.fencing_epoch == 1
        assert status.lease_length_ms == 30_000
        assert abs(status.lease_expiry_ts - time.time() * 1000) < 60_000
        assert status.issued >= 10
        assert status.owns_keeper
        assert status.last_error is None
        assert [change.to_state for change in status.changes] == ["active"]
        assert status.changes[0].worker_id == status.worker_id
        assert f"worker ID 7/{status.worker_id}" in repr(ids)
        with pytest.raises(AttributeError):
            status.state = "lost"


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({}, "store"),
        ({"store": "nonsense"}, "store"),
        ({"store": b"memory:"}, "store"),
        ({"store": "memory:\ud800"}, "store"),
        ({"store": "memory:", "stoer": 1}, "stoer"),
        ({"store": "memory:", "datacenter_id": 32}, "datacenter_id"),
        ({"store": "memory:", "datacenter_id": [0, None]}, "datacenter_id"),
        ({"store": "memory:", "datacenter_id": []}, "datacenter_id"),
        ({"store": "memory:", "lease_ttl_ms": "soon"}, "lease_ttl_ms"),
        ({"store": "memory:", "lease_ttl_ms": 1.5}, "lease_ttl_ms"),
        ({"store": "memory:", "lease_ttl_ms": True}, "lease_ttl_ms"),
        ({"store": "memory:", "lease_ttl_ms": 2**80}, "lease_ttl_ms"),
        ({"store": "memory:", "lease_ttl_ms": 15_000}, "lease_ttl_ms"),
        ({"store": "memory:", "layout": "40-5-5-12"}, "layout"),
        ({"store": "memory:", "epoch_ms": -1}, "epoch_ms"),
        ({"store": "memory:", "slot": object()}, "slot"),
    ],
)
def test_a_wrong_option_is_refused_by_its_name(given, what):
    with pytest.raises(InvalidArgumentError, match=what) as refused:
        IdGenerator(**given)
    assert isinstance(refused.value, ValueError)


def test_positional_arguments_are_no_options():
    with pytest.raises(TypeError):
        IdGenerator("memory:")


def test_none_leaves_an_option_out():
    with IdGenerator(store="memory:none", lease_ttl_ms=None) as ids:
        assert ids.status().lease_length_ms == 30_000


def test_datacenters_are_given_as_numbers_lists_ranges_or_text():
    for given, allowed in ((3, [3]), ("3", [3]), ([3, 4], [3, 4]), (range(3, 5), [3, 4]), ("3-4", [3, 4])):
        with IdGenerator(store="memory:datacenters", datacenter_id=given) as ids:
            assert ids.status().datacenter_id in allowed


def test_options_come_from_the_environment_and_explicit_ones_win(monkeypatch, registry):
    monkeypatch.setenv("LEASEFLAKE_STORE", registry)
    monkeypatch.setenv("LEASEFLAKE_DATACENTER_ID", "9")
    monkeypatch.setenv("LEASEFLAKE_SERVICE_HOST", "10.0.0.1")
    with IdGenerator() as ids:
        assert ids.status().datacenter_id == 9
        assert ids.status().store == registry
    with IdGenerator(datacenter_id=8) as ids:
        assert ids.status().datacenter_id == 8
    monkeypatch.setenv("LEASEFLAKE_LEASE_TTL_MS", "soon")
    with pytest.raises(InvalidArgumentError, match="LEASEFLAKE_LEASE_TTL_MS"):
        IdGenerator()


def test_another_layout_of_a_registry_is_refused(registry):
    IdGenerator(store=registry).close()
    with pytest.raises(leaseflake.LayoutMismatchError):
        IdGenerator(store=registry, layout="41-4-6-12")


def test_a_layout_object_brings_its_epoch(tmp_path):
    layout = leaseflake.Layout("41-5-5-12", epoch_ms=1_700_000_000_000)
    with IdGenerator(store=f"sqlite:{tmp_path}/other.db", layout=layout) as ids:
        assert ids.layout == layout
        assert abs(ids.decode(ids.next_id()).timestamp.timestamp() - time.time()) < 10


def test_a_registry_that_cannot_be_opened_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(leaseflake.StoreError, match=r"registry\.db"):
        IdGenerator(store=f"sqlite:{tmp_path}/file/registry.db")


def test_copying_and_pickling_say_why_not(ids):
    for copied in (copy.copy, copy.deepcopy, pickle.dumps, lambda ids: pickle.dumps(ids, 0)):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            copied(ids)


def test_a_generator_cannot_be_subclassed_by_mistake():
    with pytest.raises(TypeError):
        type("Mine", (IdGenerator,), {})


def test_all_32_worker_ids_taken_is_no_worker_id(registry):
    taken = [IdGenerator(store=registry, datacenter_id=1, slot=slot) for slot in range(32)]
    try:
        assert len({generator.status().worker_id for generator in taken}) == 32
        with pytest.raises(leaseflake.NoWorkerIdError) as refused:
            IdGenerator(store=registry, datacenter_id=1, slot=32, acquire_timeout_ms=2000)
        assert refused.value.retryable
    finally:
        for generator in taken:
            generator.close()
    assert leased(registry) == 0


def test_the_names_of_the_options_are_the_core_s():
    assert "store" in leaseflake.OPTION_NAMES
    text = (pathlib.Path(leaseflake.__file__).parent / "_leaseflake.pyi").read_text()
    for name in leaseflake.OPTION_NAMES:
        assert text.count(f"        {name}: ") == 2, f"{name} is missing in the stub"
