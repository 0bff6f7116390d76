"""What a generator must not do to its interpreter: hold the GIL, hold up signals, hold up the exit."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time

import leaseflake
import numpy
import pytest
from conftest import DEADLINE, at_an_exit, leased, run_python
from leaseflake import IdGenerator


def test_threads_share_a_generator_and_repeat_nothing(ids):
    collected = [[] for _ in range(8)]

    def issue(into):
        for _ in range(20_000):
            into.append(ids.next_id())

    threads = [threading.Thread(target=issue, args=(into,)) for into in collected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    assert all(numbers == sorted(numbers) for numbers in collected)
    assert len({number for numbers in collected for number in numbers}) == 8 * 20_000


def other_thread_runs_during(call):
    """How many steps another thread of Python made while a call ran."""
    steps = 0
    done = threading.Event()
    running = threading.Event()

    def count():
        nonlocal steps
        running.set()
        while not done.is_set():
            steps += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    running.wait(DEADLINE)
    before = steps
    call()
    during = steps - before
    done.set()
    thread.join(DEADLINE)
    return during


def test_other_threads_run_while_a_fill_waits_for_the_clock(ids):
    numbers = numpy.zeros(4096 * 200, "int64")
    assert other_thread_runs_during(lambda: ids.fill(numbers)) > 100


def test_other_threads_run_while_an_open_waits(registry):
    taken = [IdGenerator(store=registry, datacenter_id=3, slot=slot) for slot in range(32)]

    def refused():
        with pytest.raises(leaseflake.NoWorkerIdError):
            IdGenerator(store=registry, datacenter_id=3, slot=40, acquire_timeout_ms=2000)

    try:
        assert other_thread_runs_during(refused) > 100
    finally:
        for generator in taken:
            generator.close()


INTERRUPTED = """
import os, signal, sys, time
import leaseflake
began = None
def alarm(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, alarm)
def measure(call):
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    began = time.monotonic()
    try:
        call()
    except KeyboardInterrupt:
        return time.monotonic() - began - 0.2
    raise AssertionError("it ended by itself")
"""


@pytest.mark.parametrize(
    "code",
    [
        # An open that would go on for a minute: all worker IDs are taken.
        """
        store = "sqlite:" + sys.argv[1]
        taken = [leaseflake.IdGenerator(store=store, datacenter_id=1, slot=slot) for slot in range(32)]
        late = measure(lambda: leaseflake.IdGenerator(
            store=store, datacenter_id=1, slot=50, acquire_timeout_ms=60_000))
        """,
        # A fill of a minute.
        """
        from array import array
        numbers = array("q", bytes(8 * 4096 * 60_000))
        ids = leaseflake.IdGenerator(store="sqlite:" + sys.argv[1])
        late = measure(lambda: ids.fill(numbers))
        """,
        # A wait of ten seconds for one ID: the clock was set back.
        """
        ids = leaseflake.IdGenerator(store="sqlite:" + sys.argv[1], max_wait_ms=20_000)
        ids.next_id()
        with open(os.environ["CLOCKSHIM_FILE"], "r+b") as offset:
            offset.write((-10_000_000_000).to_bytes(8, sys.byteorder, signed=True))
        late = measure(ids.next_id)
        """,
    ],
    ids=["open", "fill", "next_id"],
)
def test_a_signal_gets_through_at_once(code, tmp_path, moved_clock):
    delays = []
    for attempt in range(3):
        moved_clock.offset_ms = 0
        ran = run_python(
            INTERRUPTED + textwrap.dedent(code) + "\nprint(late, flush=True)\nos._exit(0)",
            tmp_path / f"registry-{attempt}.db",
            env=moved_clock.environment,
        )
        delays.append(float(ran.stdout))
        # A few milliseconds are the aim; a loaded machine is given room, a missing look none.
        if delays[-1] < 0.5:
            return
    raise AssertionError(f"a signal was held up for {delays} s")


def test_a_clock_that_was_set_back_gives_a_clock_error_and_recovers(tmp_path, moved_clock):
    ran = run_python(
        """
        import os, sys, leaseflake
        ids = leaseflake.IdGenerator(store="sqlite:" + sys.argv[1])
        def step(ms):
            with open(os.environ["CLOCKSHIM_FILE"], "r+b") as offset:
                offset.write((ms * 1_000_000).to_bytes(8, sys.byteorder, signed=True))
        first = ids.next_id()
        step(-5000)
        try:
            ids.next_id()
        except leaseflake.ClockBackwardsError as error:
            assert error.retryable and 4 < error.retry_after <= 5, error.retry_after
        else:
            raise AssertionError("the clock is 5 s behind")
        step(0)
        assert ids.next_id() > first
        print("done")
        """,
        tmp_path / "registry.db",
        env=moved_clock.environment,
    )
    assert ran.stdout == "done\n"


@pytest.mark.parametrize(
    "code",
    [
        "ids = leaseflake.IdGenerator(store=sys.argv[1]); ids.next_id()",
        "leaseflake.held = leaseflake.IdGenerator(store=sys.argv[1])",
        "generators = [leaseflake.IdGenerator(store=sys.argv[1], slot=slot) for slot in range(5)]",
        "ids = leaseflake.IdGenerator(store=sys.argv[1]); sys.exit(0)",
        "import atexit; ids = leaseflake.IdGenerator(store=sys.argv[1]); atexit.register(ids.close)",
        "import atexit; ids = leaseflake.IdGenerator(store=sys.argv[1]); atexit.register(lambda: print(ids.next_id()))",
    ],
)
@at_an_exit
def test_an_exit_with_open_generators_releases_them(code, registry):
    ran = run_python("import sys, leaseflake\n" + code, registry)
    assert ran.stderr == ""
    assert leased(registry) == 0


def test_an_exit_with_a_registry_out_of_reach_takes_no_longer(tmp_path):
    ran = run_python(
        """
        import fcntl, glob, os, sys, time, leaseflake
        ids = [leaseflake.IdGenerator(store=sys.argv[1], slot=slot, close_timeout_ms=60_000) for slot in range(3)]
        # Whoever holds the registry keeps everybody else out of it.
        files = [open(path, "rb+") for path in glob.glob(sys.argv[1].removeprefix("sqlite:") + "*")]
        assert len(files) > 1
        read, write = os.pipe()
        holder = os.fork()
        if holder == 0:
            nothing = os.open(os.devnull, os.O_RDWR)
            for standard in range(3):
                os.dup2(nothing, standard)
            for file in files:
                fcntl.flock(file, fcntl.LOCK_EX)
                fcntl.lockf(file, fcntl.LOCK_EX)
            os.write(write, b"!")
            time.sleep(100)
            os._exit(0)
        os.read(read, 1)
        print(holder, time.monotonic(), flush=True)
        """,
        f"sqlite:{tmp_path}/held.db",
    )
    ended = time.monotonic()
    holder, began = ran.stdout.split()
    os.kill(int(holder), signal.SIGKILL)
    assert ended - float(began) < 30, "it waited for close_timeout_ms"
    assert leased(f"sqlite:{tmp_path}/held.db") == 3, "the registry was out of reach"


def test_daemon_threads_in_the_middle_of_a_wait_do_not_crash_the_exit(registry):
    for _ in range(3):
        ran = run_python(
            """
            import sys, threading, time, leaseflake
            from array import array
            ids = leaseflake.IdGenerator(store=sys.argv[1])
            def issue():
                while True:
                    ids.next_id()
            def fill():
                while True:
                    ids.fill(array("q", bytes(8 * 20_000)))
            for work in (issue, issue, fill, fill):
                threading.Thread(target=work, daemon=True).start()
            time.sleep(0.2)
            """,
            registry,
        )
        assert ran.stderr == ""


@at_an_exit
def test_ctrl_c_ends_a_program_at_once(registry):
    program = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import signal, sys, leaseflake\n"
            # Shells have what they start in the background ignore it.
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "with leaseflake.IdGenerator(store=sys.argv[1]) as ids:\n"
            "    print('ready', flush=True)\n"
            "    for number in ids: pass\n",
            registry,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert program.stdout.readline() == "ready\n"
        program.send_signal(signal.SIGINT)
        _, errors = program.communicate(timeout=DEADLINE)
    finally:
        program.kill()
    assert "KeyboardInterrupt" in errors
    assert leased(registry) == 0


def test_the_keeper_is_no_thread_of_python(ids):
    ids.next_id()
    assert all("leaseflake" not in thread.name for thread in threading.enumerate())
    names = {comm.read_text().strip() for comm in pathlib.Path("/proc/self/task").glob("*/comm")}
    assert "leaseflake-keep" in names


def test_no_module_is_imported_that_was_not_asked_for():
    ran = run_python(
        """
        import sys, leaseflake
        print([name for name in ("numpy", "multiprocessing", "asyncio", "typing_extensions") if name in sys.modules])
        """
    )
    assert ran.stdout == "[]\n"
