//! The driver: many real processes, each with a clock of its own, under a seeded script of
//! faults; afterwards the checker reads every ID that they issued.

mod agenda;
mod answers;
mod faults;
mod fleet;
mod issuer;
mod network;
mod place;
mod process;
mod program;
mod script;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use leaseflake::Layout;

use crate::check::{self, Format, Report, Settings, Stream};
use fleet::Fleet;

pub use network::Registry;

/// What the fleet is, and what it has to go through.
#[derive(Clone, Debug)]
pub struct Config {
    /// Decides the script of faults.
    pub seed: u64,
    /// How long there are faults, at least.
    pub duration: Duration,
    /// How many programs run at once.
    pub processes: usize,
    /// Where worker IDs come from.
    pub registry: Registry,
    /// The programs and their arguments; places take them in turn.
    pub programs: Vec<Vec<String>>,
    /// Options of every generator, as the environment names them: `LEASEFLAKE_LEASE_TTL_MS`.
    pub environment: Vec<(String, String)>,
    /// How long a lease is by these options; pauses and cuts are measured in leases.
    pub lease: Duration,
    /// Faults go on until so many IDs are issued.
    pub target_ids: u64,
    /// IDs a second for each program; `None` is what reaches the target in time.
    pub rate: Option<u64>,
    /// Threads that issue in each program that can have several.
    pub threads: usize,
    /// How many forked children there may be at once.
    pub children: usize,
    /// Events a minute, calls included.
    pub events_per_minute: u64,
    /// The layout of the IDs.
    pub layout: Layout,
    /// How far an ID may be ahead of the true time; `None` is not looked at.
    pub most_ahead: Option<Duration>,
    /// The farthest step of a clock.
    pub largest_step_ms: u64,
    /// A process that nothing keeps from issuing must issue again within this.
    pub liveness: Duration,
    /// Where streams, clocks and error outputs go: an empty folder.
    pub folder: PathBuf,
    /// Where the checker sorts; `None` is the system's folder.
    pub temporary: Option<PathBuf>,
}

/// What the fleet did and what the checker says about it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The seed of the script.
    pub seed: u64,
    /// The checker's report.
    pub report: Report,
    /// How often each kind of fault was injected.
    pub faults: BTreeMap<&'static str, u64>,
    /// How often calls and background threads got each error, as far as was told.
    pub errors: BTreeMap<String, u64>,
    /// What statuses said of leases, as far as was told: acquired, lost, claims that went to
    /// others, and the highest fencing epoch.
    pub leases: BTreeMap<&'static str, u64>,
    /// The farthest that an ID was seen ahead of the true time, in milliseconds.
    pub most_ahead_ms: i64,
    /// How long IDs were issued.
    pub seconds: f64,
    /// The longest that a process took to issue again once nothing kept it from it.
    pub slowest_recovery: Duration,
    /// What went wrong besides the report: crashes, hangs, silence, answers that break the
    /// protocol.
    pub failures: Vec<String>,
}

impl Outcome {
    /// Whether nothing repeated, nothing was out of order and everything lived.
    pub fn passed(&self) -> bool {
        self.failures.is_empty() && self.report.is_clean()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |counts: Vec<String>| if counts.is_empty() { "none".to_owned() } else { counts.join(" ") };
        writeln!(f, "seed={}", self.seed)?;
        writeln!(f, "faults: {}", list(self.faults.iter().map(|(kind, n)| format!("{kind}={n}")).collect()))?;
        writeln!(f, "refusals: {}", list(self.errors.iter().map(|(name, n)| format!("{name}={n}")).collect()))?;
        writeln!(f, "leases: {}", list(self.leases.iter().map(|(name, n)| format!("{name}={n}")).collect()))?;
        writeln!(f, "{}", self.report)?;
        writeln!(
            f,
            "seconds={:.1} ids_per_second={:.0} slowest_recovery_ms={} most_ahead_ms={}",
            self.seconds,
            self.report.ids as f64 / self.seconds.max(0.001),
            self.slowest_recovery.as_millis(),
            self.most_ahead_ms
        )?;
        for failure in &self.failures {
            writeln!(f, "failure: {failure}")?;
        }
        write!(f, "result: {}", if self.passed() { "passed" } else { "FAILED" })
    }
}

/// Runs the fleet, ends every process of it, and checks what they issued.
///
/// # Errors
///
/// Something outside the fleet's own doing: a program that cannot be started, a folder that
/// cannot be written. What processes do wrong is in the outcome.
pub fn run(config: &Config) -> io::Result<Outcome> {
    process::adopt_orphans();
    let started = Instant::now();
    let mut fleet = Fleet::new(config)?;
    let ran = fleet.run();
    let seconds = started.elapsed().as_secs_f64();
    let summary = fleet.end();
    ran?;

    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(&config.folder)? {
        paths.push(entry?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ordered"));
    paths.sort();
    let streams: Vec<Stream> =
        paths.into_iter().map(|path| Stream { format: Some(Format::Binary), ..Stream::named(path) }).collect();
    let settings = Settings { temporary: config.temporary.clone(), ..Settings::default() };
    let report = Report { faults: summary.faults.values().sum(), ..check::check(&streams, &settings)? };
    Ok(Outcome {
        seed: config.seed,
        report,
        faults: summary.faults,
        errors: summary.errors,
        leases: summary.leases,
        most_ahead_ms: summary.most_ahead_ms,
        seconds,
        slowest_recovery: summary.slowest,
        failures: summary.failures,
    })
}
