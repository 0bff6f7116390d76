//! The clock shim moves the wall clock of a process that runs, and nothing else.
//!
//! The tests start this very test binary again as the process whose clock is moved: see `probe`.
#![cfg(target_os = "linux")]

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use leaseflake_tests::shim::ShimClock;

const HOUR_MS: i64 = 3_600_000;
const NS_PER_MS: i64 = 1_000_000;
const NS_PER_S: i64 = 1_000_000_000;
/// CLOCK_REALTIME_COARSE lags by a tick: 10 ms at 100 Hz, more on a stalled virtual machine.
const COARSE_LAG_NS: i64 = NS_PER_S;

/// What one look at all clocks gives, in nanoseconds.
#[derive(Debug)]
struct Clocks {
    realtime: i64,
    coarse: i64,
    gettimeofday: i64,
    time: i64,
    timespec_get: i64,
    monotonic: i64,
    boottime: i64,
}

impl Clocks {
    fn read() -> Clocks {
        let mut tv = libc::timeval { tv_sec: 0, tv_usec: 0 };
        let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        unsafe extern "C" {
            fn timespec_get(ts: *mut libc::timespec, base: libc::c_int) -> libc::c_int;
        }
        // SAFETY: each gets a pointer to a structure of its own type.
        let seconds = unsafe {
            assert_eq!(libc::gettimeofday(&mut tv, std::ptr::null_mut()), 0);
            assert_eq!(timespec_get(&mut ts, 1), 1);
            libc::time(std::ptr::null_mut())
        };
        Clocks {
            realtime: clock_ns(libc::CLOCK_REALTIME),
            coarse: clock_ns(libc::CLOCK_REALTIME_COARSE),
            gettimeofday: tv.tv_sec * NS_PER_S + tv.tv_usec * 1000,
            time: seconds * NS_PER_S,
            timespec_get: ts.tv_sec * NS_PER_S + ts.tv_nsec,
            monotonic: clock_ns(libc::CLOCK_MONOTONIC),
            boottime: clock_ns(libc::CLOCK_BOOTTIME),
        }
    }

    fn line(&self, who: &str) -> String {
        let Clocks { realtime, coarse, gettimeofday, time, timespec_get, monotonic, boottime } = self;
        format!("{who} {realtime} {coarse} {gettimeofday} {time} {timespec_get} {monotonic} {boottime}\n")
    }

    fn parse(numbers: &str) -> Clocks {
        let field: Vec<i64> = numbers.split_whitespace().map(|number| number.parse().unwrap()).collect();
        let &[realtime, coarse, gettimeofday, time, timespec_get, monotonic, boottime] = field.as_slice() else {
            panic!("seven clocks expected: {numbers}")
        };
        Clocks { realtime, coarse, gettimeofday, time, timespec_get, monotonic, boottime }
    }

    /// Asserts that these were read between two looks at the true clocks, the wall clocks
    /// `offset_ms` ahead and the others as they are.
    fn assert_between(&self, before: &Clocks, after: &Clocks, offset_ms: i64) {
        let offset = offset_ms * NS_PER_MS;
        let wall = |name: &str, read: i64, early: i64| {
            let span = before.realtime + offset - early..=after.realtime + offset;
            assert!(span.contains(&read), "{name} {read} is not in {span:?} (offset {offset_ms} ms)");
        };
        wall("clock_gettime(CLOCK_REALTIME)", self.realtime, 0);
        wall("clock_gettime(CLOCK_REALTIME_COARSE)", self.coarse, COARSE_LAG_NS);
        // Both cut what they cannot show.
        wall("gettimeofday", self.gettimeofday, 1000);
        wall("time", self.time, NS_PER_S);
        wall("timespec_get", self.timespec_get, 0);
        assert!((before.monotonic..=after.monotonic).contains(&self.monotonic), "CLOCK_MONOTONIC was moved");
        assert!((before.boottime..=after.boottime).contains(&self.boottime), "CLOCK_BOOTTIME was moved");
    }
}

fn clock_ns(clock: libc::clockid_t) -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a pointer to a timespec of ours.
    assert_eq!(unsafe { libc::clock_gettime(clock, &mut now) }, 0);
    now.tv_sec * NS_PER_S + now.tv_nsec
}

/// A process that answers each line it reads with a look at its clocks, by itself (`look`), by
/// a forked child (`fork`) or by a program that it executes (`exec`).
struct Probe {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Probe {
    fn start(clock: Option<&ShimClock>) -> Probe {
        let mut command = probe_command();
        if let Some(clock) = clock {
            clock.apply(&mut command);
        }
        let mut child = command.spawn().unwrap();
        Probe { stdin: child.stdin.take().unwrap(), stdout: BufReader::new(child.stdout.take().unwrap()), child }
    }

    fn ask(&mut self, what: &str) -> Clocks {
        writeln!(self.stdin, "{what}").unwrap();
        loop {
            let mut line = String::new();
            assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "the probe ended");
            // The test harness writes lines of its own.
            if let Some(numbers) = line.split_once("clocks ") {
                return Clocks::parse(numbers.1);
            }
        }
    }

    fn assert_offset(&mut self, what: &str, offset_ms: i64) {
        let before = Clocks::read();
        let seen = self.ask(what);
        seen.assert_between(&before, &Clocks::read(), offset_ms);
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn probe_command() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "probe", "--nocapture", "--test-threads=1"]);
    command.env("CLOCK_PROBE", "1").stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// Not a test by itself: the process that the other tests start. Does nothing otherwise.
#[test]
fn probe() {
    if std::env::var_os("CLOCK_PROBE").is_none() {
        return;
    }
    for line in io::stdin().lines() {
        match line.unwrap().as_str() {
            "look" => answer(&Clocks::read()),
            "fork" => {
                // SAFETY: the child reads clocks, writes one line and leaves without unwinding
                // into the harness.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    answer(&Clocks::read());
                    // SAFETY: ends the child at once.
                    unsafe { libc::_exit(0) };
                }
                let mut status = 0;
                // SAFETY: waits for our own child.
                assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
                assert_eq!(status, 0);
            }
            "exec" => {
                let mut inner = Probe::start(None);
                let clocks = inner.ask("look");
                answer(&clocks);
            }
            other => panic!("unknown request {other}"),
        }
    }
}

fn answer(clocks: &Clocks) {
    // On a line of its own, whatever the harness has written before.
    let line = format!("\n{}", clocks.line("clocks"));
    // SAFETY: writes bytes of ours; no buffer that a forked child could copy.
    let written = unsafe { libc::write(1, line.as_ptr().cast(), line.len()) };
    assert_eq!(written, line.len() as isize);
}

#[test]
fn the_wall_clock_of_a_running_process_is_stepped_and_no_other_clock() {
    let dir = tempfile::tempdir().unwrap();
    let clock = ShimClock::create(dir.path()).unwrap();
    let mut probe = Probe::start(Some(&clock));
    probe.assert_offset("look", 0);
    for offset_ms in [HOUR_MS, -HOUR_MS, 1, -1, 999, -999, 30 * 24 * HOUR_MS, 0] {
        clock.set_offset_ms(offset_ms);
        assert_eq!(clock.offset_ms(), offset_ms);
        probe.assert_offset("look", offset_ms);
    }
    clock.set_offset_ms(10_000);
    clock.step_ms(-10_400);
    assert_eq!(clock.offset_ms(), -400);
    probe.assert_offset("look", -400);
}

#[test]
fn forked_children_and_executed_programs_live_by_the_same_clock() {
    let dir = tempfile::tempdir().unwrap();
    let clock = ShimClock::create(dir.path()).unwrap();
    clock.set_offset_ms(-HOUR_MS);
    let mut probe = Probe::start(Some(&clock));
    for offset_ms in [-HOUR_MS, HOUR_MS] {
        clock.set_offset_ms(offset_ms);
        probe.assert_offset("fork", offset_ms);
        probe.assert_offset("exec", offset_ms);
    }
}

#[test]
fn two_clocks_of_one_folder_move_apart() {
    let dir = tempfile::tempdir().unwrap();
    let (early, late) = (ShimClock::create(dir.path()).unwrap(), ShimClock::create(dir.path()).unwrap());
    early.set_offset_ms(-5_000);
    late.set_offset_ms(7_000);
    Probe::start(Some(&early)).assert_offset("look", -5_000);
    Probe::start(Some(&late)).assert_offset("look", 7_000);
}

#[test]
fn a_clock_whose_file_is_gone_stops_the_process_instead_of_running_unmoved() {
    let dir = tempfile::tempdir().unwrap();
    let clock = ShimClock::create(dir.path()).unwrap();
    let mut command = probe_command();
    clock.apply(&mut command);
    command.env("CLOCKSHIM_FILE", dir.path().join("absent")).stderr(Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("clockshim: cannot open") && said.contains("absent"), "{said}");
}
