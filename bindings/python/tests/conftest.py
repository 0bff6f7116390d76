"""What the tests share. They run on the installed package, never on the source tree."""

import functools
import os
import pathlib
import sqlite3
import subprocess
import sys
import textwrap
import time

import leaseflake
import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
VECTORS = ROOT / "tests" / "vectors"
# Generous: machines under load are slow, and a hang must end all the same.
DEADLINE = 120
# Python 3.12 and later warn of every fork in a process with threads, of which the keeper is one.
FLAGS = ["-X", "faulthandler", "-W", "ignore:This process:DeprecationWarning"]


def pytest_configure():
    if ROOT in pathlib.Path(leaseflake.__file__).resolve().parents and ".venv" not in leaseflake.__file__:
        pytest.exit(f"leaseflake is imported from the source tree: {leaseflake.__file__}", 2)


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    """Options come from the test alone."""
    for name in list(os.environ):
        if name.startswith("LEASEFLAKE_"):
            monkeypatch.delenv(name)
    # A busy machine may need more than the default's time for a release, and tests look for those.
    monkeypatch.setenv("LEASEFLAKE_CLOSE_TIMEOUT_MS", "20000")


@pytest.fixture
def registry(tmp_path):
    """A registry of this test's own."""
    return f"sqlite:{tmp_path}/registry.db"


@pytest.fixture
def ids(registry):
    with leaseflake.IdGenerator(store=registry) as generator:
        yield generator


def run_python(code, *arguments, timeout=DEADLINE, check=True, **options):
    """Runs a program in an interpreter of its own; a hang fails the test."""
    return subprocess.run(
        [sys.executable, *FLAGS, "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=check,
        **options,
    )


def run_program(program, *arguments, timeout=DEADLINE, check=True, **options):
    """Runs a file, as ``multiprocessing`` wants it for its children."""
    return subprocess.run(
        [sys.executable, *FLAGS, program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=check,
        **options,
    )


def wait_until(condition, what):
    """Waits for a condition, for a generous time."""
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, f"waited {DEADLINE} s for {what}"
        time.sleep(0.02)


def leased(registry):
    """How many worker IDs of a SQLite registry are owned by somebody who has not released."""
    path = registry.removeprefix("sqlite:")
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        rows = connection.execute(
            "SELECT count(*) FROM WorkerNodeRegistryTable WHERE SK LIKE 'WORKER%' AND renewal_id != '' AND lease_expiry_ts > ?",
            (int(time.time() * 1000),),
        ).fetchone()
    return rows[0]


def at_an_exit(test):
    """For a test of a normal exit, which tries to release for 300 ms: a machine under load may need those for itself.

    So the lease has to be given back in one of three runs; whatever else fails, fails.
    """

    @functools.wraps(test)
    def tried(registry, **others):
        for attempt in range(3):
            own = {"registry": f"{registry}-{attempt}", **others}
            if "tmp_path" in others:
                own["tmp_path"] = others["tmp_path"] / str(attempt)
                own["tmp_path"].mkdir()
            try:
                return test(**own)
            except AssertionError:
                if attempt == 2 or leased(own["registry"]) == 0:
                    raise

    return tried


class MovedClock:
    """A wall clock that a test moves in the processes that it starts."""

    def __init__(self, library, file):
        self._file = file
        self.environment = {**os.environ, "LD_PRELOAD": str(library), "CLOCKSHIM_FILE": str(file)}
        self.offset_ms = 0

    @property
    def offset_ms(self):
        return int.from_bytes(self._file.read_bytes(), sys.byteorder, signed=True) // 1_000_000

    @offset_ms.setter
    def offset_ms(self, offset_ms):
        self._file.touch()
        with self._file.open("r+b") as file:
            file.write((offset_ms * 1_000_000).to_bytes(8, sys.byteorder, signed=True))


@pytest.fixture(scope="session")
def clock_shim(tmp_path_factory):
    library = tmp_path_factory.mktemp("shim") / "clockshim.so"
    source = ROOT / "tests" / "shim" / "clockshim.c"
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-fPIC", "-shared", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.fixture
def moved_clock(clock_shim, tmp_path):
    return MovedClock(clock_shim, tmp_path / "offset")
