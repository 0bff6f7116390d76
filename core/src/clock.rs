//! The clocks: wall time for timestamps, boot time for deadlines. Injected, never read in logic.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Where time comes from. The product reads the system's clocks; tests inject their own.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Wall time in nanoseconds since the Unix epoch. May step either way.
    fn wall_ns(&self) -> i64;

    /// Time since boot in nanoseconds, counting suspends. Never steps.
    fn boot_ns(&self) -> u64;

    /// Sleeps for about this long.
    fn sleep(&self, span: Duration);

    /// Whether the kernel says that its clock is synchronised; `None` where it does not say.
    fn synchronised(&self) -> Option<bool> {
        None
    }
}

/// One look at both clocks, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Wall time since the Unix epoch.
    pub wall_ms: i64,
    /// Time since boot, counting suspends.
    pub boot_ms: u64,
}

/// The system's clocks, read through libc so that a preloaded shim can move them.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[cfg(unix)]
fn read(clock: libc::clockid_t) -> libc::timespec {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid place for the answer; these clocks always exist.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now
}

impl SystemClock {
    /// Wall time in milliseconds since the Unix epoch.
    #[cfg(unix)]
    #[inline]
    pub fn wall_ms() -> i64 {
        let now = read(libc::CLOCK_REALTIME);
        now.tv_sec * 1000 + i64::from(now.tv_nsec as u32 / 1_000_000)
    }

    /// Wall time in milliseconds since the Unix epoch.
    #[cfg(not(unix))]
    pub fn wall_ms() -> i64 {
        SystemClock.wall_ns() / 1_000_000
    }
}

impl Clock for SystemClock {
    #[cfg(unix)]
    fn wall_ns(&self) -> i64 {
        let now = read(libc::CLOCK_REALTIME);
        now.tv_sec * 1_000_000_000 + now.tv_nsec
    }

    #[cfg(not(unix))]
    fn wall_ns(&self) -> i64 {
        let now = std::time::SystemTime::now();
        now.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64)
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn boot_ns(&self) -> u64 {
        let now = read(libc::CLOCK_BOOTTIME);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }

    // Elsewhere CLOCK_MONOTONIC counts suspends already (macOS) or is the best there is.
    #[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
    fn boot_ns(&self) -> u64 {
        let now = read(libc::CLOCK_MONOTONIC);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }

    #[cfg(not(unix))]
    fn boot_ns(&self) -> u64 {
        static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        START.get_or_init(std::time::Instant::now).elapsed().as_nanos() as u64
    }

    fn sleep(&self, span: Duration) {
        std::thread::sleep(span);
    }

    #[cfg(target_os = "linux")]
    fn synchronised(&self) -> Option<bool> {
        kernel_clock().map(|clock| clock.synchronised)
    }
}

/// What the kernel says of its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelClock {
    /// Whether it is disciplined by NTP or the like.
    pub synchronised: bool,
    /// The largest error that it admits to, in microseconds.
    pub max_error_us: i64,
    /// The error that it expects, in microseconds.
    pub estimated_error_us: i64,
}

/// Asks the kernel about its clock; `None` where it cannot be asked.
#[cfg(target_os = "linux")]
pub fn kernel_clock() -> Option<KernelClock> {
    // SAFETY: `timex` is plain data for which all zeros is valid; modes = 0 only reads.
    let mut answer: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: `answer` is a valid place for the answer.
    let state = unsafe { libc::adjtimex(&mut answer) };
    (state >= 0).then_some(KernelClock {
        synchronised: state != libc::TIME_ERROR && answer.status & libc::STA_UNSYNC == 0,
        max_error_us: answer.maxerror,
        estimated_error_us: answer.esterror,
    })
}

/// Asks the kernel about its clock; `None` where it cannot be asked.
#[cfg(not(target_os = "linux"))]
pub fn kernel_clock() -> Option<KernelClock> {
    None
}

/// The clock of a generator: the system's without an indirect call, or an injected one.
#[derive(Clone, Debug, Default)]
pub enum ClockSource {
    /// The system's clocks.
    #[default]
    System,
    /// A test's clock.
    Injected(Arc<dyn Clock>),
}

impl ClockSource {
    /// Wall time in milliseconds since the Unix epoch: the one clock read of an ID.
    #[inline]
    pub fn wall_ms(&self) -> i64 {
        match self {
            ClockSource::System => SystemClock::wall_ms(),
            ClockSource::Injected(clock) => clock.wall_ns().div_euclid(1_000_000),
        }
    }

    /// The clock behind it.
    pub fn get(&self) -> &dyn Clock {
        match self {
            ClockSource::System => &SystemClock,
            ClockSource::Injected(clock) => &**clock,
        }
    }

    /// One look at both clocks.
    pub fn now(&self) -> Now {
        Now { wall_ms: self.wall_ms(), boot_ms: self.get().boot_ns() / 1_000_000 }
    }
}
