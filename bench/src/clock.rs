//! The clocks of the measurements.

/// Reads the wall clock as the product does, so that costs can be told as multiples of it.
#[inline]
pub(crate) fn wall_ms() -> i64 {
    leaseflake::clock::SystemClock::wall_ms()
}

/// CPU time of this process, user and system, in seconds.
pub(crate) fn cpu_seconds() -> f64 {
    // SAFETY: `rusage` is plain data that the call fills in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
