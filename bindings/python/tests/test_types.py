"""Types and examples: what people's tools read."""

import doctest
import importlib
import os
import pathlib
import subprocess
import sys

import leaseflake
import pytest
from conftest import DEADLINE, ROOT, leased

PACKAGE = pathlib.Path(leaseflake.__file__).parent
MODULES = ["leaseflake", "leaseflake._leaseflake", "leaseflake.errors", "leaseflake.records"]
EXAMPLES = ROOT / "examples" / "python"


def tool(*arguments, **options):
    ran = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=5 * DEADLINE, **options
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def native_doctests(module):
    """doctest finds nothing in classes of other languages by itself."""
    globs = vars(leaseflake).copy()
    for name, value in vars(module).items():
        documented = [(name, value)]
        if isinstance(value, type):
            documented += [(f"{name}.{member}", what) for member, what in vars(value).items()]
        for where, what in documented:
            text = getattr(what, "__doc__", None)
            if isinstance(text, str) and ">>>" in text:
                yield doctest.DocTestParser().get_doctest(text, globs, where, None, 0)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    module = importlib.import_module(name)
    tests = list(native_doctests(module)) if name.endswith("_leaseflake") else doctest.DocTestFinder().find(module)
    runner = doctest.DocTestRunner()
    for test in tests:
        runner.run(test)
    assert runner.failures == 0
    if name != "leaseflake.records":
        assert runner.tries > 0, "no example was found"


def test_everything_public_is_documented():
    for name in leaseflake.__all__:
        value = getattr(leaseflake, name)
        if isinstance(value, type) or callable(value):
            assert (value.__doc__ or "").strip(), name
    for cls in (leaseflake.IdGenerator, leaseflake.Layout):
        for member, value in vars(cls).items():
            if not member.startswith("_"):
                assert (value.__doc__ or "").strip(), f"{cls.__name__}.{member}"


def test_the_stub_says_what_the_module_has(tmp_path):
    tool("-m", "mypy.stubtest", "leaseflake", cwd=tmp_path)


@pytest.fixture(scope="module")
def mypy_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("mypy")


def test_users_programs_are_type_checked_strictly(tmp_path, mypy_cache):
    program = tmp_path / "program.py"
    program.write_text(
        """
import asyncio
from array import array
from datetime import datetime
from typing import assert_type

import leaseflake
from leaseflake import IdGenerator, IdParts, Layout

with IdGenerator(store="memory:", datacenter_id=[1, 2], lease_ttl_ms=60_000) as ids:
    assert_type(ids, IdGenerator)
    assert_type(ids.next_id(), int)
    assert_type(ids.next_batch(10), list[int])
    assert_type(ids.next_strs(10), list[str])
    assert_type(ids.fill(array("q", bytes(80))), None)
    assert_type(ids.decode("1"), IdParts)
    assert_type(ids.decode(1).timestamp, datetime)
    assert_type(ids.status().worker_id, int | None)
    for number in ids:
        assert_type(number, int)
        break

async def main() -> int:
    async with IdGenerator.open_async(store="memory:") as ids:
        assert_type(ids, IdGenerator)
    opened = await IdGenerator.open_async(store="memory:")
    assert_type(opened, IdGenerator)
    async with opened as same:
        return same.next_id()

asyncio.run(main())
try:
    Layout("41-5-5-12", epoch_ms=0).decode(1)
except leaseflake.LeaseflakeError as error:
    assert_type(error.code, int)
    assert_type(error.retry_after, float | None)
"""
    )
    tool("-m", "mypy", "--strict", "--cache-dir", mypy_cache, program, cwd=tmp_path)
    tool(program, cwd=tmp_path)


def test_the_examples_are_type_checked_strictly(tmp_path, mypy_cache):
    tool("-m", "mypy", "--strict", "--cache-dir", mypy_cache, *EXAMPLES.glob("*.py"), cwd=tmp_path)


def test_the_examples_run(tmp_path, registry):
    environment = {**os.environ, "LEASEFLAKE_STORE": registry}
    assert "was made at" in tool(EXAMPLES / "quickstart.py", cwd=tmp_path)
    tool(EXAMPLES / "count.py", 2500, tmp_path / "ids", cwd=tmp_path, env=environment)
    numbers = [int(line) for line in (tmp_path / "ids").read_text().splitlines()]
    assert len(numbers) == 2500 and numbers == sorted(set(numbers))


def test_the_service_gives_its_worker_id_back_on_sigterm(tmp_path, registry):
    service = subprocess.Popen(
        [sys.executable, EXAMPLES / "service.py"],
        env={**os.environ, "LEASEFLAKE_STORE": registry},
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait = service.stderr.readline()
        assert "order" in wait, wait
        assert leased(registry) == 1
        service.terminate()
        _, said = service.communicate(timeout=DEADLINE)
    finally:
        service.kill()
    assert service.returncode == 0
    assert "ending" in said
    assert leased(registry) == 0


def test_mistakes_are_type_errors(tmp_path, mypy_cache):
    mistakes = [
        "IdGenerator(stoer=1)",
        "IdGenerator('memory:')",
        "IdGenerator().next_id(1)",
        "Layout(5)",
        "decode(1.5)",
    ]
    program = tmp_path / "program.py"
    program.write_text("\n".join(["from leaseflake import IdGenerator, Layout, decode", *mistakes]))
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", mypy_cache, program],
        capture_output=True,
        text=True,
        timeout=5 * DEADLINE,
        cwd=tmp_path,
    )
    wrong = {int(line.split(":")[1]) for line in ran.stdout.splitlines() if ": error:" in line}
    assert wrong == set(range(2, 2 + len(mistakes))), ran.stdout


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists()
    assert os.path.exists(PACKAGE / "_leaseflake.pyi")
