"""Forks: children share the worker ID of their parent, repeat nothing, hang nowhere, release nothing.

Every program here runs in an interpreter of its own with a deadline: a hang fails the test.
"""

import leaseflake
import pytest
from conftest import at_an_exit, leased, run_program, run_python

PRELUDE = """
import os, signal, sys, threading, time
import leaseflake

# A child that hangs ends by itself, and so fails the test.
DEADLINE = 60
registry = sys.argv[1]

def child(work, raw_exit=True):
    "Forks; gives the PID and a file with what the child writes."
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.alarm(DEADLINE)
            os.close(read)
            with os.fdopen(write, "w") as output:
                work(output)
            code = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            if raw_exit or code:
                os._exit(code)
        sys.exit(code)
    os.close(write)
    return pid, os.fdopen(read)

def ended(pid):
    _, status = os.waitpid(pid, 0)
    assert status == 0, f"the child ended with status {status}"

def issue(output, count=5000):
    for _ in range(count):
        print(ids.next_id(), file=output)

def numbers(file):
    return [int(line) for line in file]
"""


def run(code, registry, *arguments, **options):
    ran = run_python(PRELUDE + "\n" + code, registry, *arguments, **options)
    assert ran.stderr == ""
    return ran.stdout


@at_an_exit
def test_children_share_the_worker_id_and_repeat_nothing(registry):
    out = run(
        """
ids = leaseflake.IdGenerator(store=registry)
children = [child(issue) for _ in range(4)]
mine = [ids.next_id() for _ in range(20_000)]
lists = [mine] + [numbers(file) for _, file in children]
for pid, _ in children:
    ended(pid)
everything = [number for each in lists for number in each]
assert len(set(everything)) == len(everything) == 40_000
assert all(each == sorted(each) for each in lists)
assert len({ids.decode(number)[1:3] for number in everything}) == 1
assert ids.status().state == "active" and ids.next_id() > 0
print("done")
""",
        registry,
    )
    assert out == "done\n"
    assert leased(registry) == 0


@pytest.mark.parametrize("raw_exit", [True, False], ids=["_exit", "exit"])
@at_an_exit
def test_a_child_that_ends_or_closes_does_not_release_its_parent_s_lease(registry, raw_exit):
    run(
        """
ids = leaseflake.IdGenerator(store=registry)
def close(output):
    ids.next_id()
    ids.close()
def leave(output):
    ids.next_id()
for work in (close, leave):
    pid, _ = child(work, raw_exit=sys.argv[2] == "True")
    ended(pid)
    import sqlite3
    [[renewal]] = sqlite3.connect(registry.removeprefix("sqlite:")).execute(
        "SELECT renewal_id FROM WorkerNodeRegistryTable WHERE fencing_epoch > 0")
    assert renewal != "", "the child released the lease"
    assert ids.next_id() > 0
""",
        registry,
        raw_exit,
    )
    assert leased(registry) == 0


def test_grandchildren_share_it_too(registry):
    run(
        """
ids = leaseflake.IdGenerator(store=registry)
def parent(output):
    pid, file = child(issue)
    issue(output)
    output.write(file.read())
    ended(pid)
pid, file = child(parent)
mine = [ids.next_id() for _ in range(5000)]
everything = mine + numbers(file)
ended(pid)
assert len(set(everything)) == len(everything) == 15_000
assert len({ids.decode(number)[1:3] for number in everything}) == 1
""",
        registry,
    )


def test_a_fork_from_a_thread_while_others_issue_and_wait(registry):
    run(
        """
from array import array
ids = leaseflake.IdGenerator(store=registry)
stop = threading.Event()
def busy():
    while not stop.is_set():
        ids.fill(array("q", bytes(8 * 10_000)))
def opening():
    while not stop.is_set():
        leaseflake.IdGenerator(store=registry, slot=1).close()
def listening():
    ids.on_state_change(print)
for work in (busy, busy, opening):
    threading.Thread(target=work, daemon=True).start()
failed = []
def fork():
    try:
        for _ in range(15):
            pid, file = child(lambda output: issue(output, 200))
            assert len(set(numbers(file))) == 200
            ended(pid)
    except BaseException as error:
        failed.append(error)
threads = [threading.Thread(target=fork) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
stop.set()
assert not failed, failed
""",
        registry,
    )


def test_a_child_takes_a_worker_id_of_its_own_once_its_parent_is_gone(registry):
    run(
        """
# The first process forks a child and is killed; the child goes on under a worker ID of its own.
signal_read, signal_write = os.pipe()
read, write = os.pipe()
first = os.fork()
if first == 0:
    signal.alarm(DEADLINE)
    ids = leaseflake.IdGenerator(store=registry, lease_ttl_ms=1500, heartbeat_interval_ms=300, safety_margin_ms=200)
    if os.fork() == 0:
        signal.alarm(DEADLINE)
        output = os.fdopen(write, "w")
        print(os.getpid(), file=output, flush=True)
        before = ids.next_id()
        os.read(signal_read, 1)
        while True:
            try:
                after = ids.next_id()
            except leaseflake.LeaseflakeError as error:
                assert error.retryable, error
                time.sleep(error.retry_after)
                continue
            if ids.status().owns_keeper:
                break
            time.sleep(0.01)
        assert after > before
        print(before, after, ids.status().fencing_epoch, file=output, flush=True)
        ids.close()
        os._exit(0)
    signal.pause()
os.close(write)
output = os.fdopen(read)
assert int(output.readline()) > 0
os.kill(first, signal.SIGKILL)
os.waitpid(first, 0)
os.write(signal_write, b"!")
before, after, epoch = map(int, output.readline().split())
assert before < after and epoch >= 1
""",
        registry,
        timeout=120,
    )
    # The parent's lease was not released (it was killed) and has run out; the child's was.
    assert leased(registry) <= 1


@at_an_exit
def test_a_generator_opened_in_a_child_is_the_child_s_own(registry):
    run(
        """
ids = leaseflake.IdGenerator(store=registry)
def own(output):
    with leaseflake.IdGenerator(store=registry, slot=1) as mine:
        print(mine.next_id(), file=output)
        assert mine.status().owns_keeper
pid, file = child(own)
[number] = numbers(file)
ended(pid)
assert ids.decode(number).worker_id != ids.status().worker_id or ids.decode(number).datacenter_id != ids.status().datacenter_id
""",
        registry,
    )
    assert leased(registry) == 0


MULTIPROCESSING = """
import multiprocessing
import os
import sys

import leaseflake

ids = None

def in_a_child(count):
    "With what the child inherited, or opened itself."
    mine = ids if ids is not None else leaseflake.IdGenerator(store=sys.argv[1])
    return os.getpid(), mine.next_batch(count)

def opened_in_each_child(store):
    global ids
    ids = leaseflake.IdGenerator(store=store)

if __name__ == "__main__":
    method, opened = sys.argv[2], sys.argv[3]
    context = multiprocessing.get_context(method)
    options = {}
    if opened == "parent":
        ids = leaseflake.IdGenerator(store=sys.argv[1])
    else:
        options = {"initializer": opened_in_each_child, "initargs": (sys.argv[1],)}
    with context.Pool(3, **options) as pool:
        answers = pool.map(in_a_child, [100] * 60, chunksize=1)
        pool.close()
        pool.join()
    numbers = [number for _, batch in answers for number in batch]
    assert len(numbers) == len(set(numbers)) == 6000
    workers = {leaseflake.decode(number)[1:3] for number in numbers}
    processes = {process for process, _ in answers}
    if opened == "parent":
        assert len(workers) == 1, workers
        assert ids.next_id() > 0
    else:
        assert len(workers) == len(processes), (workers, processes)
    print("done")
"""


@pytest.mark.parametrize(
    ("method", "opened"),
    [("fork", "parent"), ("fork", "child"), ("forkserver", "child"), ("spawn", "child")],
)
@at_an_exit
def test_multiprocessing_repeats_nothing_and_leaks_no_lease(registry, tmp_path, method, opened):
    program = tmp_path / "program.py"
    program.write_text(MULTIPROCESSING)
    ran = run_program(program, registry, method, opened)
    assert ran.stdout == "done\n", ran.stderr
    assert leased(registry) == 0


def test_a_generator_does_not_cross_to_a_spawned_process(registry, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import multiprocessing, sys, leaseflake\n"
        "if __name__ == '__main__':\n"
        "    ids = leaseflake.IdGenerator(store=sys.argv[1])\n"
        "    process = multiprocessing.get_context('spawn').Process(target=print, args=(ids,))\n"
        "    try:\n"
        "        process.start()\n"
        "    except TypeError as error:\n"
        "        print(error)\n"
    )
    ran = run_program(program, registry)
    assert "cannot be copied or pickled" in ran.stdout


def test_a_listener_goes_on_in_a_child(registry):
    run(
        """
ids = leaseflake.IdGenerator(store=registry)
told = []
ids.on_state_change(told.append)
def work(output):
    assert any(thread.name == "leaseflake-listen" for thread in threading.enumerate())
    ids.next_id()
pid, _ = child(work)
ended(pid)
assert any(thread.name == "leaseflake-listen" for thread in threading.enumerate())
""",
        registry,
    )


def test_an_error_of_a_child_crosses_the_pool(registry, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import multiprocessing, leaseflake\n"
        "def fail(_):\n"
        "    leaseflake.decode('x')\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('fork').Pool(1) as pool:\n"
        "        try:\n"
        "            pool.map(fail, [1])\n"
        "        except leaseflake.InvalidArgumentError as error:\n"
        "            print(error.name)\n"
    )
    ran = run_program(program)
    assert ran.stdout == "INVALID_ARGUMENT\n"
    assert leaseflake.InvalidArgumentError.name == "INVALID_ARGUMENT"
