"""The Python package as a member of the fleet: see ../PROTOCOL.md.

python member.py
"""

import array
import os
import signal
import sys
import threading
import time

import leaseflake

BLOCK = 10_000  # the most IDs that are issued before they are written
STEP = 0.005  # one step of the pace, in seconds
MADE_UP = 0.1  # time that was slept through is made up for to this, in seconds
LONGEST_RETRY = 0.1
SINGLES = 64
BATCH = 1000
CHILD_RATE = 1000  # what a child issues in a second if `run` has not said it


class Refusal(Exception):
    """An answer that is an error of the table's, without the package's doing."""


class Stream:
    """One stream of IDs; whatever was issued is in the file up to the last call."""

    def __init__(self, suffix, thread):
        path = "%s%s.%d.ordered" % (os.environ["FLEET_OUT"], suffix, thread)
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o666)

    def append(self, ids):
        numbers = ids if isinstance(ids, array.array) else array.array("q", ids)
        if sys.byteorder == "big":
            numbers = array.array("q", numbers)
            numbers.byteswap()
        data = memoryview(numbers).cast("B")
        while data:
            data = data[os.write(self.file, data) :]


class Paced:
    """Issues in steps, by a monotonic clock: single calls, a batch and a fill in turn."""

    def __init__(self, generator, stream, rate):
        self.generator, self.stream, self.rate = generator, stream, rate
        self.credit, self.looked, self.turn = 0.0, time.monotonic(), 0

    def due(self):
        if self.rate == 0:
            return BLOCK
        now = time.monotonic()
        self.credit = min(self.credit + self.rate * (now - self.looked), max(self.rate * MADE_UP, 1.0))
        self.looked = now
        return min(int(self.credit), BLOCK)

    def step(self):
        due = self.due()
        if due == 0:
            time.sleep(STEP)
            return 0
        self.turn = (self.turn + 1) % 3
        ids = []
        try:
            if self.turn == 0:
                for _ in range(min(due, SINGLES)):
                    ids.append(self.generator.next_id())
            elif self.turn == 1:
                ids = self.generator.next_batch(min(due, BATCH))
            else:
                ids = array.array("q", bytes(8 * due))
                try:
                    self.generator.fill(ids)
                except leaseflake.LeaseflakeError as error:
                    ids = ids[: error.written or 0]
                    raise
        finally:
            self.stream.append(ids)
            self.credit -= len(ids)
        return len(ids)


class Background:
    """The threads of `run`."""

    def __init__(self, generator, rate, threads):
        self.lock, self.issued, self.errors, self.stopped = threading.Lock(), 0, {}, False
        streams = [Stream("", thread) for thread in range(1, threads + 1)]
        rate = -(-rate // threads)
        self.threads = [
            threading.Thread(target=self.work, args=(Paced(generator, stream, rate),), daemon=True)
            for stream in streams
        ]
        for thread in self.threads:
            thread.start()

    def work(self, paced):
        try:
            while not self.stopped:
                try:
                    issued = paced.step()
                except leaseflake.LeaseflakeError as error:
                    with self.lock:
                        self.errors[error.name] = self.errors.get(error.name, 0) + 1
                    if not error.retryable:
                        return
                    time.sleep(pause(error))
                else:
                    with self.lock:
                        self.issued += issued
        except BaseException:
            # IDs that nobody can check, or a bug: neither must look like a pass.
            sys.excepthook(*sys.exc_info())
            os.abort()

    def progress(self):
        with self.lock:
            return " ".join(["issued=%d" % self.issued, *("%s=%d" % error for error in sorted(self.errors.items()))])

    def stop(self):
        self.stopped = True
        for thread in self.threads:
            thread.join()
        return str(self.issued)


def pause(error):
    return min(error.retry_after or STEP, LONGEST_RETRY)


class Member:
    """What the commands do. Each answers the fields that follow `ok`."""

    def __init__(self, ends):
        self.ends = ends
        self.generator = self.foreground = self.background = None
        self.rate, self.forks = CHILD_RATE, 0

    def perform(self, line):
        word, *rest = line.split() or [""]
        commands = {
            "open": (self.open, 0), "issue": (self.issue, 1), "batch": (self.batch, 2), "fill": (self.fill, 1),
            "run": (self.run, 2), "stop": (self.stop, 0), "progress": (self.progress, 0), "fork": (self.fork, 0),
            "status": (self.status, 0), "close": (self.close, 0),
        }  # fmt: skip
        command, arity = commands.get(word, (None, None))
        if arity != len(rest) or not all(number.isascii() and number.isdigit() for number in rest):
            raise invalid("no such command: %s" % line.strip())
        return command(*map(int, rest))

    def opened(self):
        if self.generator is None:
            raise Refusal("30 CLOSED no generator is open; say `open` first")
        return self.generator

    def open(self):
        if self.generator is None:
            self.generator = leaseflake.IdGenerator()

    def issue(self, count):
        generator = self.opened()
        return self.issued([generator.next_id()] for _ in range(count))

    def batch(self, size, count):
        generator = self.opened()
        return self.issued(generator.next_batch(size) for _ in range(count))

    def fill(self, count):
        generator = self.opened()
        if not 1 <= count <= BLOCK:
            raise invalid("fill: %d; allowed: 1..=%d" % (count, BLOCK))

        def filled():
            ids = array.array("q", bytes(8 * count))
            try:
                generator.fill(ids)
            except leaseflake.LeaseflakeError as error:
                yield ids[: error.written or 0]
                raise
            yield ids

        return self.issued(filled())

    def issued(self, calls):
        """Writes what each call issues; what was issued before an error is written all the same."""
        count = first = last = 0
        for ids in calls:
            if len(ids) == 0:
                continue
            if self.foreground is None:
                self.foreground = Stream("", 0)
            self.foreground.append(ids)
            first, last, count = (first if count else ids[0]), ids[-1], count + len(ids)
        return "%d %d %d" % (count, first, last)

    def run(self, rate, threads):
        generator = self.opened()
        if self.background is not None or not 1 <= threads <= 64:
            raise invalid("run: once in the life of a program, with 1 to 64 threads")
        self.rate = rate
        self.background = Background(generator, rate, threads)

    def stop(self):
        background, self.background = self.background, None
        return background.stop() if background else "0"

    def progress(self):
        return self.background.progress() if self.background else "issued=0"

    def status(self):
        status = self.opened().status()
        names = (name for name in dir(status) if not name.startswith("_"))
        fields = ((name, getattr(status, name)) for name in names)
        shown = ((name, str(value)) for name, value in fields if isinstance(value, (int, str)))
        return " ".join("%s=%s" % (name, "_".join(value.split())) for name, value in shown)

    def close(self):
        generator, self.generator = self.generator, None
        if generator is not None:
            generator.close()

    def fork(self):
        generator = self.opened()
        self.forks += 1
        child = os.fork()
        if child == 0:
            self.live_as_child(generator)
        return str(child)

    def live_as_child(self, generator):
        """Never returns, and touches nothing that was the parent's but the generator."""
        code = 4
        try:
            os.close(0)
            os.close(1)
            paced = Paced(generator, Stream("-f%d" % self.forks, 1), self.rate)
            code = 0
            while time.monotonic() < self.ends:
                try:
                    paced.step()
                except leaseflake.LeaseflakeError as error:
                    if not error.retryable:
                        code = 5
                        break
                    time.sleep(pause(error))
        except BaseException:
            sys.excepthook(*sys.exc_info())
            code = 6
        finally:
            os._exit(code)


def invalid(what):
    return Refusal("1 INVALID_ARGUMENT %s" % what)


def answer(text):
    os.write(1, (text + "\n").encode())


def main():
    life = float(os.environ["FLEET_SECONDS"])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # Whatever hangs: the driver is gone, and nobody waits for a clean end.
    watch = threading.Timer(life, os._exit, (3,))
    watch.daemon = True
    watch.start()
    member = Member(time.monotonic() + life)
    answer("ready fork threads")
    for line in sys.stdin:
        if line.split() == ["exit"]:
            answer("ok")
            break
        try:
            answer(("ok %s" % (member.perform(line) or "")).rstrip())
        except Refusal as refusal:
            answer("error %s" % refusal)
        except leaseflake.LeaseflakeError as error:
            answer("error %d %s %s" % (error.code, error.name, " ".join(str(error).split())))
    member.close()


if __name__ == "__main__":
    main()
