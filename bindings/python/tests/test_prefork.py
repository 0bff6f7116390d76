"""The prefork servers that people run: real gunicorn, real Celery."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time

import leaseflake
import pytest
from conftest import DEADLINE, at_an_exit, leased, run_python, wait_until


@contextlib.contextmanager
def server(arguments, folder, **environment):
    """A server in a process group of its own, which leaves nothing behind."""
    log = folder / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            cwd=folder,
            env={**os.environ, **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    except BaseException:
        print(log.read_text())
        raise
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def terminated(process):
    """Ends a server as an orchestrator does; gives how long it took."""
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE) == 0
    return time.monotonic() - began


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=DEADLINE)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def get(path):
    connection = UnixConnection(path)
    with contextlib.closing(connection):
        connection.request("GET", "/")
        answer = connection.getresponse()
        assert answer.status == 200
        return json.loads(answer.read())


GUNICORN = """
import json
import os

import leaseflake

# Opened once, in the master: `--preload` imports this before it forks.
ids = leaseflake.IdGenerator()


def app(environ, start_response):
    body = json.dumps({"process": os.getpid(), "ids": ids.next_batch(50), "keeper": ids.status().owns_keeper})
    start_response("200 OK", [("Content-Type", "application/json")])
    return [body.encode()]
"""


def listens(path):
    """It is there before anybody listens on it."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(path))
        except OSError:
            return False
    return True


@at_an_exit
def test_gunicorn_with_preload_shares_one_worker_id_and_leaks_no_lease(tmp_path, registry):
    (tmp_path / "service.py").write_text(GUNICORN)
    path = tmp_path / "socket"
    arguments = ["-m", "gunicorn", "--preload", "-w", 4, "-b", f"unix:{path}", "service:app"]
    processes, numbers, killed = set(), [], None
    with server(arguments, tmp_path, LEASEFLAKE_STORE=registry) as master:
        wait_until(lambda: listens(path) or master.poll() is not None, "gunicorn to listen")

        def served(enough):
            def ask():
                answer = get(path)
                processes.add(answer["process"])
                numbers.extend(answer["ids"])
                assert not answer["keeper"]
                return enough()

            wait_until(ask, "answers of all workers")

        served(lambda: len(processes) >= 4 and len(numbers) >= 5000)
        # A worker that dies is replaced by one that shares the worker ID, too.
        killed = next(iter(processes))
        os.kill(killed, signal.SIGKILL)
        served(lambda: len(processes) >= 5)
        assert leased(registry) == 1
        terminated(master)
    assert len(numbers) == len(set(numbers))
    assert len({leaseflake.decode(number)[1:3] for number in numbers}) == 1
    assert leased(registry) == 0


@at_an_exit
def test_gunicorn_without_preload_gives_each_worker_its_own(tmp_path, registry):
    (tmp_path / "service.py").write_text(GUNICORN)
    path = tmp_path / "socket"
    arguments = ["-m", "gunicorn", "-w", 2, "-b", f"unix:{path}", "service:app"]
    numbers = {}
    with server(arguments, tmp_path, LEASEFLAKE_STORE=registry) as master:
        wait_until(lambda: listens(path) or master.poll() is not None, "gunicorn to listen")

        def ask():
            answer = get(path)
            assert answer["keeper"]
            numbers.setdefault(answer["process"], []).extend(answer["ids"])
            return len(numbers) == 2

        wait_until(ask, "answers of both workers")
        assert leased(registry) == 2
        terminated(master)
    everything = [number for each in numbers.values() for number in each]
    assert len(everything) == len(set(everything))
    assert len({leaseflake.decode(number)[1:3] for number in everything}) == 2
    assert leased(registry) == 0


CELERY = """
import os

import leaseflake
from celery import Celery
from celery.signals import worker_process_init

folder = os.environ["CELERY_FOLDER"]
app = Celery("tasks", broker="filesystem://", backend=f"file://{folder}/results")
app.conf.update(
    broker_transport_options={
        "data_folder_in": f"{folder}/queue",
        "data_folder_out": f"{folder}/queue",
        "control_folder": f"{folder}/control",
    },
    worker_prefetch_multiplier=1,
    broker_connection_retry_on_startup=True,
)
ids = None


def open_ids(**_):
    global ids
    ids = leaseflake.IdGenerator()


if os.environ.get("OPENED") == "parent":
    open_ids()
elif os.environ.get("OPENED") == "child":
    worker_process_init.connect(open_ids, weak=False)


@app.task
def make(count):
    import time

    time.sleep(0.01)
    return os.getpid(), ids.next_batch(count)
"""

CLIENT = """
import json, sys
from tasks import make
results = [make.delay(50) for _ in range(60)]
print(json.dumps([result.get(timeout=100) for result in results]))
"""


@pytest.mark.parametrize("opened", ["parent", "child"])
@at_an_exit
def test_celery_s_prefork_pool_repeats_nothing_and_leaks_no_lease(tmp_path, registry, opened):
    (tmp_path / "tasks.py").write_text(CELERY)
    for name in ("queue", "control", "results"):
        (tmp_path / name).mkdir()
    arguments = ["-m", "celery", "-A", "tasks", "worker", "-P", "prefork", "-c", 3, "--loglevel", "INFO",
                 "--without-gossip", "--without-mingle"]  # fmt: skip
    with server(
        arguments, tmp_path, LEASEFLAKE_STORE=registry, OPENED=opened, CELERY_FOLDER=str(tmp_path), C_FORCE_ROOT="1"
    ) as worker:
        ran = run_python(
            textwrap.dedent(CLIENT),
            cwd=tmp_path,
            env={**os.environ, "CELERY_FOLDER": str(tmp_path), "PYTHONPATH": str(tmp_path)},
        )
        answers = json.loads(ran.stdout)
        assert leased(registry) == (1 if opened == "parent" else 3)
        terminated(worker)
    numbers = [number for _, batch in answers for number in batch]
    processes = {process for process, _ in answers}
    assert len(numbers) == len(set(numbers)) == 3000
    workers = {leaseflake.decode(number)[1:3] for number in numbers}
    assert len(workers) == (1 if opened == "parent" else len(processes))
    assert leased(registry) == 0
