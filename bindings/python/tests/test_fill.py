"""`fill` and `next_array`: into whose memory, and what is refused."""

import ctypes
import mmap
import threading
from array import array

import leaseflake
import numpy
import pytest
from conftest import wait_until
from leaseflake import IdGenerator, InvalidArgumentError

# 20 sequence bits: more than a million IDs in a millisecond.
WIDE = "41-1-1-20"


@pytest.fixture
def wide(tmp_path):
    with IdGenerator(store=f"sqlite:{tmp_path}/wide.db", layout=WIDE) as generator:
        yield generator


def ascending(numbers):
    numbers = numpy.asarray(numbers, dtype="int64")
    return numbers[0] > 0 and bool((numpy.diff(numbers) > 0).all())


@pytest.mark.parametrize(
    "buffer",
    [
        numpy.zeros(5000, "int64"),
        numpy.zeros(5000, "uint64"),
        numpy.zeros((50, 100), "int64"),
        numpy.zeros((50, 100), "int64", order="F"),
        numpy.zeros(5000, "int64")[1000:2000],
        array("q", bytes(8 * 5000)),
        array("Q", bytes(8 * 5000)),
        array("l", bytes(8 * 5000)),
        memoryview(bytearray(8 * 5000)).cast("q"),
        memoryview(array("q", bytes(8 * 100)))[10:20],
        (ctypes.c_int64 * 5000)(),
        memoryview(mmap.mmap(-1, 4096)).cast("q"),
    ],
    ids=lambda buffer: type(buffer).__name__,
)
def test_native_64_bit_integers_are_filled_wherever_they_lie(ids, buffer):
    ids.fill(buffer)
    flat = numpy.asarray(buffer)
    assert ascending(flat.ravel(order="K"))


def test_only_the_given_part_of_a_buffer_is_written(ids):
    numbers = numpy.zeros(100, "int64")
    ids.fill(numbers[10:20])
    assert (numbers[:10] == 0).all() and (numbers[20:] == 0).all()
    assert ascending(numbers[10:20])


@pytest.mark.parametrize(
    ("buffer", "named"),
    [
        (numpy.zeros(4, "int32"), "of format i"),
        (numpy.zeros(4, "float64"), "format"),
        (numpy.zeros(4, ">i8"), "format"),
        (numpy.zeros(4, "complex128"), "format"),
        (numpy.zeros(4, "M8[ms]"), "ndarray"),
        (numpy.zeros(8, "int64")[::2], "not contiguous"),
        (numpy.zeros(8, "int64")[::-1], "not contiguous"),
        (numpy.frombuffer(bytes(33), "int64", count=4, offset=1).view(), "read-only"),
        (numpy.frombuffer(bytearray(33), "int64", count=4, offset=1), "not aligned"),
        (bytearray(16), "format"),
        (bytes(16), "read-only"),
        (memoryview(bytes(16)).cast("q"), "read-only"),
        (array("d", [0.0]), "format"),
        ([0, 0], "list"),
        (None, "NoneType"),
        (5, "int"),
    ],
    ids=str,
)
def test_anything_else_is_refused_by_name(ids, buffer, named):
    with pytest.raises(InvalidArgumentError, match=named) as refused:
        ids.fill(buffer)
    assert "64-bit integers" in str(refused.value)


def test_an_empty_buffer_is_filled_with_nothing(ids):
    ids.fill(array("q"))
    assert len(ids.next_array(0)) == 0


def test_a_fill_goes_on_over_milliseconds_and_repeats_nothing(ids):
    numbers = ids.next_array(50_000)
    assert numbers.dtype == numpy.int64
    assert ascending(numbers)
    times = {ids.decode(int(number)).timestamp_ms for number in numbers[::100]}
    assert len(times) > 10, "50,000 IDs do not fit into a millisecond of 4096"
    assert ids.next_id() > numbers[-1]


def test_a_million_ids_of_a_wide_layout(wide):
    numbers = wide.next_array(1_000_000)
    assert len(numpy.unique(numbers)) == 1_000_000
    assert ascending(numbers)


@pytest.mark.parametrize("count", [-1, 1.0, "10", 2**63, True, None])
def test_a_count_that_is_none_is_refused(ids, count):
    with pytest.raises(InvalidArgumentError, match="count"):
        ids.next_array(count)


def test_more_memory_than_there_is_says_so(ids):
    with pytest.raises(MemoryError):
        ids.next_array(2**59)


def test_a_count_of_numpy_is_a_count(ids):
    assert len(ids.next_array(numpy.int32(7))) == 7
    assert len(ids.next_batch(numpy.int64(7))) == 7
    assert ids.decode(numpy.uint64(ids.next_id())).timestamp_ms > 0


def test_a_failed_fill_says_how_many_ids_are_valid(tmp_path):
    generator = IdGenerator(store=f"sqlite:{tmp_path}/closing.db", max_wait_ms=1000)
    numbers = numpy.zeros(4_096_000, "int64")

    def close_once_it_has_begun():
        wait_until(lambda: numbers[0], "the first IDs")
        generator.close()

    closer = threading.Thread(target=close_once_it_has_begun)
    closer.start()
    with pytest.raises(leaseflake.ClosedError) as failed:
        generator.fill(numbers)
    closer.join()
    written = failed.value.written
    assert 0 < written < len(numbers)
    assert ascending(numbers[:written])
    assert (numbers[written:] == 0).all()
