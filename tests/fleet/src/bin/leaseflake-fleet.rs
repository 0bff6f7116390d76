//! `leaseflake-fleet`: many real processes under a seeded script of faults, and one checker.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Parser;
use leaseflake::Layout;
use leaseflake_fleet::driver::{Config, Outcome, Registry, run};

/// The design's 30 s, a proof's tolerance and resolution, and the skew that clocks start with.
const MOST_AHEAD: Duration = Duration::from_millis(30_000 + 2_000 + 1_000 + 800);

/// Runs many real processes, each with a clock of its own, under a seeded script of SIGSTOP,
/// SIGKILL, forks, clock steps, network cuts and restarts, and then reads every ID that they
/// issued.
///
/// Exits with 1 if an ID repeats, a stream does not increase strictly, a process crashes or
/// hangs, or one that nothing keeps from issuing does not issue again in time; with 2 if the
/// fleet cannot be run. The streams are kept where something failed.
#[derive(Parser)]
#[command(name = "leaseflake-fleet", version)]
struct Arguments {
    /// Decides the script; the same seed gives the same script. By default another each time.
    #[arg(long)]
    seed: Option<u64>,
    /// How long there are faults, in minutes.
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// How many programs run at once.
    #[arg(long, default_value_t = 12)]
    processes: usize,
    /// The registry, as the `store` option names it; `{folder}` is the folder of this run. By
    /// default a DynamoDB emulator, each process behind a network that breaks.
    #[arg(long)]
    store: Option<String>,
    /// A program that speaks the protocol (PROTOCOL.md), with its arguments divided by blanks.
    /// Several share the fleet. By default `leaseflake-fleet-rust` beside this command.
    #[arg(long)]
    program: Vec<String>,
    /// Faults go on until so many IDs are issued.
    #[arg(long, default_value_t = 1_000_000)]
    target_ids: u64,
    /// IDs a second for each program. By default what reaches the target in time.
    #[arg(long)]
    rate: Option<u64>,
    /// Threads that issue in each program that can have several.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// How many forked children there may be at once. By default half of the processes.
    #[arg(long)]
    children: Option<usize>,
    /// An option of every generator, NAME=VALUE as in `lease_ttl_ms=4000`; may be repeated. By
    /// default leases of 4 s, heartbeats of 1 s, margins of 0.5 s, and a layout with so few worker
    /// IDs that processes have to take over each other's.
    #[arg(long)]
    option: Vec<String>,
    /// Faults and calls a minute. By default one for each process every 6 s.
    #[arg(long)]
    events_per_minute: Option<u64>,
    /// The farthest step of a clock. By default 300 s on the emulator, and 5 s on a registry that
    /// is given: one that tells no time of its own believes a process whose clock is ahead.
    #[arg(long)]
    largest_step_ms: Option<u64>,
    /// A process that nothing keeps from issuing must issue again within so many seconds.
    #[arg(long, default_value_t = 60)]
    liveness_seconds: u64,
    /// An empty folder for the streams, which stay there. By default a temporary one, which is
    /// kept only where something failed.
    #[arg(long)]
    folder: Option<PathBuf>,
}

fn main() -> ExitCode {
    match fleet(Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("leaseflake-fleet: {error}");
            ExitCode::from(2)
        }
    }
}

fn fleet(arguments: Arguments) -> io::Result<bool> {
    let temporary = match &arguments.folder {
        Some(_) => None,
        None => Some(tempfile::Builder::new().prefix("leaseflake-fleet-").tempdir()?),
    };
    let folder = arguments.folder.clone().or_else(|| temporary.as_ref().map(|folder| folder.path().to_owned()));
    let config = config(arguments, folder.unwrap_or_default())?;
    let outcome: Outcome = run(&config)?;
    println!("{outcome}");
    if let Some(temporary) = temporary
        && !outcome.passed()
    {
        println!("streams: {}", temporary.keep().display());
    }
    Ok(outcome.passed())
}

fn config(arguments: Arguments, folder: PathBuf) -> io::Result<Config> {
    if arguments.processes == 0 || arguments.threads == 0 {
        return Err(invalid("--processes and --threads: at least 1"));
    }
    if !(arguments.minutes > 0.0 && arguments.minutes <= 10_000.0) {
        return Err(invalid("--minutes: above 0, at most 10000"));
    }
    let children = arguments.children.unwrap_or(arguments.processes / 2);
    let layout = scarce_layout(arguments.processes + children);
    let mut environment: Vec<(String, String)> = [
        ("lease_ttl_ms", "4000"),
        ("heartbeat_interval_ms", "1000"),
        ("safety_margin_ms", "500"),
        ("layout", layout.as_str()),
    ]
    .map(|(name, value)| (variable(name), value.to_owned()))
    .into();
    for option in &arguments.option {
        let (name, value) = option.split_once('=').ok_or_else(|| invalid(&format!("--option {option}: NAME=VALUE")))?;
        environment.retain(|(known, _)| *known != variable(name));
        environment.push((variable(name), value.to_owned()));
    }
    let given = |name: &str| environment.iter().find(|(known, _)| *known == variable(name)).map(|(_, value)| value);
    let lease_ms = given("lease_ttl_ms")
        .and_then(|value| value.parse().ok())
        .ok_or_else(|| invalid("--option lease_ttl_ms: a whole number of milliseconds"))?;
    let mut layout: Layout =
        given("layout").map_or(Ok(Layout::default()), |text| text.parse()).map_err(io::Error::other)?;
    if let Some(epoch_ms) = given("epoch_ms") {
        let epoch_ms = epoch_ms.parse().map_err(|_| invalid("--option epoch_ms: a whole number of milliseconds"))?;
        layout = layout.with_epoch_ms(epoch_ms).map_err(io::Error::other)?;
    }
    let registry = match &arguments.store {
        Some(store) => Registry::Given(store.replace("{folder}", &folder.display().to_string())),
        None => Registry::Emulator,
    };
    let largest_step_ms = if registry == Registry::Emulator { 300_000 } else { 5_000 };
    let mut programs: Vec<Vec<String>> =
        arguments.program.iter().map(|text| text.split_whitespace().map(str::to_owned).collect()).collect();
    if programs.is_empty() {
        let beside = std::env::current_exe()?.with_file_name("leaseflake-fleet-rust");
        programs.push(vec![beside.display().to_string()]);
    }
    Ok(Config {
        seed: arguments.seed.unwrap_or_else(fresh_seed),
        duration: Duration::from_secs_f64(arguments.minutes * 60.0),
        processes: arguments.processes,
        registry,
        programs,
        environment,
        lease: Duration::from_millis(lease_ms),
        target_ids: arguments.target_ids,
        rate: arguments.rate,
        threads: arguments.threads,
        children,
        layout,
        most_ahead: Some(MOST_AHEAD),
        events_per_minute: arguments.events_per_minute.unwrap_or(10 * arguments.processes as u64),
        largest_step_ms: arguments.largest_step_ms.unwrap_or(largest_step_ms),
        liveness: Duration::from_secs(arguments.liveness_seconds),
        folder,
        temporary: None,
    })
}

/// As few worker IDs in a datacenter as this many holders need.
fn scarce_layout(holders: usize) -> String {
    let worker_bits = holders.next_power_of_two().trailing_zeros().clamp(1, 10);
    format!("41-5-{worker_bits}-{}", 17 - worker_bits)
}

fn variable(option: &str) -> String {
    format!("LEASEFLAKE_{}", option.to_ascii_uppercase())
}

fn fresh_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| u64::from(now.subsec_nanos()) ^ now.as_secs())
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
