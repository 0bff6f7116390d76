"""The Python package measured, by itself and beside others.

Ratios are of numbers measured in turn, round by round, so that what else the machine does touches both sides.
"""

import itertools
import pathlib
import platform
import sys
import threading
import time
import uuid

import fastuuid
import leaseflake
import numpy
import snowflake
import uuid_utils
from leaseflake import IdGenerator
from leaseflake import _leaseflake as native

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from report import Report

LIMIT = 4_096_000
WINDOW_NS = 1_000_000_000
# 20 sequence bits: a thousand million a second, so that the limit is out of the way.
WIDE = "41-1-1-20"


def nanoseconds(call, calls):
    """What one call takes, over many: the loop that any program has."""
    began = time.perf_counter_ns()
    for _ in itertools.repeat(None, calls):
        call()
    return (time.perf_counter_ns() - began) / calls


def window(call):
    """Calls a second, over a second."""
    began = time.perf_counter_ns()
    made = 0
    while (passed := time.perf_counter_ns() - began) < WINDOW_NS:
        for _ in range(4096):
            call()
        made += 4096
    return made * 1e9 / passed


def cost(report):
    """One call, where the limit is out of the way."""
    with IdGenerator(store="memory:cost", layout=WIDE) as ids:
        calls = {
            "an empty call through the binding": native._nothing,
            "a call that reads the wall clock": native._read_clock,
            "next_id()": ids.next_id,
            "next(ids)": ids.__next__,
            "next_str()": ids.next_str,
            "uuid.uuid4()": uuid.uuid4,
        }
        costs = {name: [] for name in calls}
        for _ in range(300):
            for name, call in calls.items():
                costs[name].append(nanoseconds(call, 10_000))
    empty, clock, one = (costs[name] for name in list(calls)[:3])
    # The noise of 300 rounds in turn hits all of them; their least is what each costs by itself.
    report.row("next_id() / (an empty call + reading the wall clock)", "ratio", [min(one) / min(clock)], at_most=1.5)
    report.row("... round by round", "ratio", [a / b for a, b in zip(one, clock)])
    for name, rounds in costs.items():
        report.row(name, "ns", rounds)
    assert min(empty) <= min(clock)


def limit(report):
    """One worker ID at its limit, from one thread and from eight."""
    with IdGenerator(store="memory:one") as ids:
        ids.next_id()
        used, began = time.process_time(), time.perf_counter()
        rates = [window(ids.next_id) / LIMIT for _ in range(5)]
        cores = (time.process_time() - used) / (time.perf_counter() - began)
    report.row("rate of next_id() in a plain loop, of the layout's limit", "ratio", rates, at_least=0.995)
    report.row("CPU in that loop, Python's own included", "cores", [cores])

    with IdGenerator(store="memory:eight") as ids:
        rates, refused = [], 0
        for _ in range(5):
            made = []
            start = threading.Barrier(9)

            def work(ids=ids, made=made, start=start):
                count = failed = 0
                start.wait()
                until = time.perf_counter_ns() + WINDOW_NS
                while time.perf_counter_ns() < until:
                    for _ in range(256):
                        try:
                            ids.next_id()
                            count += 1
                        except leaseflake.LeaseflakeError:
                            failed += 1
                made.append((count, failed))

            threads = [threading.Thread(target=work) for _ in range(8)]
            for thread in threads:
                thread.start()
            start.wait()
            began = time.perf_counter()
            for thread in threads:
                thread.join()
            passed = time.perf_counter() - began
            rates.append(sum(count for count, _ in made) / passed / LIMIT)
            refused += sum(failed for _, failed in made)
    report.row("rate of 8 threads on one generator, of the layout's limit", "ratio", rates, at_least=0.95)
    report.row("calls refused among 8 threads", "calls", [refused], at_most=0)


def many(report):
    """Many IDs at once."""

    def rates(call, ids_of_a_call, turns):
        return [ids_of_a_call * 1e3 / nanoseconds(call, turns) for _ in range(20)]

    with IdGenerator(store="memory:many", layout=WIDE) as ids:
        million = numpy.empty(1_000_000, "int64")
        report.row("fill(array of 1,000,000)", "million IDs/s", rates(lambda: ids.fill(million), 1_000_000, 1), 100)
        report.row(
            "next_array(1_000_000)", "million IDs/s", rates(lambda: ids.next_array(1_000_000), 1_000_000, 1), 100
        )
        report.row("next_batch(1000)", "million IDs/s", rates(lambda: ids.next_batch(1000), 1000, 200))
        report.row("next_strs(1000)", "million IDs/s", rates(lambda: ids.next_strs(1000), 1000, 100))


def beside_others(report):
    """Others at full speed, and whether they repeat."""
    with IdGenerator(store="memory:beside") as ids:
        peer = snowflake.SnowflakeGenerator(1)
        for name, call in {
            "leaseflake next_id()": ids.next_id,
            "uuid.uuid4() (122 random bits, no order)": uuid.uuid4,
            "fastuuid.uuid4()": fastuuid.uuid4,
            "uuid_utils.uuid7()": uuid_utils.uuid7,
            "snowflake-id next(generator)": lambda: next(peer),
        }.items():
            report.row(name, "million calls/s", [window(call) / 1e6 for _ in range(3)])
            made = [call() for _ in itertools.repeat(None, 1_000_000)]
            nothing = made.count(None)
            if nothing:
                report.row("  calls of a million that gave None instead of an ID", "calls", [nothing])
            report.row("  repeated among a million", "IDs", [len(made) - nothing - len(set(made) - {None})])


def main():
    report = Report("python", python=platform.python_version(), leaseflake=leaseflake.__version__)
    cost(report)
    limit(report)
    many(report)
    beside_others(report)
    sys.exit(report.finish())


main()
