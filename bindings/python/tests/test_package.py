"""What people install: the wheel's tag and needs, an empty environment, building from source."""

import os
import pathlib
import re
import subprocess
import sys
import tarfile
import venv
import zipfile

import leaseflake
import pytest
from conftest import ROOT

WHEEL = os.environ.get("LEASEFLAKE_WHEEL")
SDIST = os.environ.get("LEASEFLAKE_SDIST")
# Compiling takes minutes where nothing is compiled yet.
BUILD_DEADLINE = 1800

needs_wheel = pytest.mark.skipif(not WHEEL, reason="LEASEFLAKE_WHEEL names no wheel")
needs_sdist = pytest.mark.skipif(
    not SDIST, reason="LEASEFLAKE_SDIST names no sdist: it is built once, not for each Python"
)


def clean(*arguments, cwd, **environment):
    """Runs a command without what the tests' own environment adds."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    ran = subprocess.run(
        [str(argument) for argument in arguments],
        capture_output=True,
        text=True,
        timeout=BUILD_DEADLINE,
        cwd=cwd,
        env=kept | environment,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture
def empty(tmp_path):
    """The interpreter of an empty environment."""
    venv.create(tmp_path / "empty", with_pip=True)
    return tmp_path / "empty" / "bin" / "python"


def readme_example():
    text = (ROOT / "bindings" / "python" / "README.md").read_text()
    return re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]


def runs_the_example(python, folder):
    made, counted = clean(python, "-c", readme_example(), cwd=folder).splitlines()
    assert int(made.split()[0]) > 0
    count, text = counted.split()
    assert int(count) == 100 and int(text) > int(made.split()[0])


@needs_wheel
def test_one_wheel_is_for_every_python_from_3_11_on():
    name = pathlib.Path(WHEEL).name
    assert re.fullmatch(rf"leaseflake-{re.escape(leaseflake.__version__)}-cp311-abi3-\w+\.whl", name), name


@needs_wheel
@pytest.mark.skipif(sys.platform != "linux", reason="glibc is Linux's")
def test_the_wheel_needs_no_newer_glibc_than_its_tag_says():
    tagged = re.search(r"manylinux_2_(\d+)_", WHEEL)
    assert tagged, f"{WHEEL} does not say which systems it runs on"
    with zipfile.ZipFile(WHEEL) as wheel:
        [native] = [name for name in wheel.namelist() if name.endswith(".so")]
        code = wheel.read(native)
    needed = {int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)", code)}
    assert needed and max(needed) <= int(tagged[1])
    assert b"libpython" not in code, "it must run in any interpreter"


@needs_wheel
def test_the_wheel_holds_the_package_its_types_and_nothing_else():
    with zipfile.ZipFile(WHEEL) as wheel:
        names = wheel.namelist()
        [metadata] = [name for name in names if name.endswith("METADATA")]
        text = wheel.read(metadata).decode()
    for name in ("__init__.py", "py.typed", "_leaseflake.pyi", "errors.py", "_leaseflake.abi3.so"):
        assert f"leaseflake/{name}" in names
    for name in ("LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-LICENSES.txt"):
        assert any(found.endswith(f".dist-info/licenses/{name}") for found in names), names
    assert {name.split("/")[0].split("-")[0] for name in names} <= {"leaseflake", "leaseflake.libs"}
    assert "Requires-Dist: numpy ; extra == 'numpy'" in text
    assert text.count("Requires-Dist") == 1, "the package needs no other"
    assert "Requires-Python: >=3.11" in text


@needs_wheel
def test_the_readme_s_example_runs_in_an_empty_environment(empty, tmp_path):
    clean(empty, "-m", "pip", "install", "--no-index", WHEEL, cwd=tmp_path)
    runs_the_example(empty, tmp_path)
    # Without numpy the rest works, and what needs it says so.
    said = clean(
        empty,
        "-c",
        "import leaseflake\nids = leaseflake.IdGenerator(store='memory:')\n"
        "try: ids.next_array(1)\nexcept ImportError as error: print(error)",
        cwd=tmp_path,
    )
    assert "numpy" in said


@needs_sdist
def test_the_sdist_builds_in_an_empty_environment(empty, tmp_path):
    with tarfile.open(SDIST) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("PKG-INFO", "Cargo.lock", "core/src/lib.rs", "bindings/python/src/lib.rs"):
        assert name in names
    # Not --locked: its lock file names members of the workspace that an sdist does not carry.
    clean(empty, "-m", "pip", "install", SDIST, cwd=tmp_path, **build_environment())
    runs_the_example(empty, tmp_path)


@needs_sdist
def test_pip_installs_the_source_tree_into_an_empty_environment(empty, tmp_path):
    clean(empty, "-m", "pip", "install", ROOT / "bindings" / "python", cwd=tmp_path, **build_environment("--locked"))
    runs_the_example(empty, tmp_path)


def build_environment(*options):
    """The profile and folder of all other tests, so that little is compiled."""
    return {"MATURIN_PEP517_ARGS": " ".join(["--profile ci", *options]), "CARGO_TARGET_DIR": str(ROOT / "target")}
