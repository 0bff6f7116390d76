//! What makes the model finite: how much time, how many faults, how many messages.

/// Times are ticks of 10 s, so that the default lease of 30 s is three of them.
pub const TICK_S: u32 = 10;
/// The length of a lease.
pub const LEASE: u8 = 3;
/// The safety margin. One tick, where the product has 5 s: a tick is the least that there is.
pub const MARGIN: u8 = 1;
/// When the story starts, so that clocks have room to step back.
pub const START: u8 = 4;
/// The most processes that a model has.
pub const MAX_PROCESSES: usize = 3;

/// How the processes' clocks behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocks {
    /// True time plus an offset that is stepped to one of these, in ticks, at any moment, as
    /// often as `Faults::clock_steps` says.
    Stepped(&'static [i8]),
    /// Each reading says anything from 0 up to this, whatever the last one said. There is no
    /// true time then: every real clock, however it drifts and steps, is among these.
    Anything(u8),
    /// Each reading says one of these, whatever the last one said: fewer values than `Anything`, so
    /// that there is room for more faults.
    AnyOf(&'static [u8]),
}

impl Clocks {
    /// Whether there is a true time that clocks follow.
    pub fn follow_time(&self) -> bool {
        matches!(self, Clocks::Stepped(_))
    }

    /// The most that a clock can say ahead of the true time; without one, the most that it says.
    fn lead(&self) -> u8 {
        match *self {
            Clocks::Stepped(offsets) => offsets.iter().copied().max().unwrap_or(0).max(0) as u8,
            Clocks::Anything(last) => last,
            Clocks::AnyOf(values) => values.iter().copied().max().unwrap_or(0),
        }
    }
}

/// What a process and its clone may repeat. No protocol without a look at the machine can do better
/// than to stop one of them at its next heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excuse {
    /// Nothing.
    Nothing,
    /// Timestamps in the window that was confirmed when the clone was made.
    WindowConfirmed,
    /// Timestamps in the windows that were confirmed or asked for when the clone was made.
    WindowsAskedFor,
}

/// How often each fault may happen in one history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Faults {
    /// Steps of a process's clock.
    pub clock_steps: u8,
    /// Crashes (a crashed process may start again).
    pub crashes: u8,
    /// Clones of a process with its memory.
    pub clones: u8,
    /// Forks.
    pub forks: u8,
    /// Requests that reach the registry twice.
    pub doubles: u8,
    /// Requests and answers that are lost or delayed past the sender's patience.
    pub lost: u8,
    /// Answers that reach the process a second time, or when it has stopped waiting for them: at any
    /// moment after the first, one at a time for each process.
    pub answers: u8,
    /// Stops of all processes by an operator. In one step: whatever one of them does while others
    /// are stopped already, it can as well do before.
    pub stops: u8,
    /// Deletions of the worker item.
    pub deletions: u8,
    /// Restores of the registry from a backup.
    pub restores: u8,
    /// Fences.
    pub fences: u8,
    /// Leases of another worker ID, under which a process goes on.
    pub elsewhere: u8,
    /// Releases.
    pub releases: u8,
    /// An initialisation that was sent long ago and is still in flight.
    pub initialisations: u8,
}

/// The bounds of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// How many processes there are.
    pub processes: usize,
    /// How many of them run at the start; others may start, be forked or cloned.
    pub running: usize,
    /// The last tick of true time.
    pub last_tick: u8,
    /// The clocks.
    pub clocks: Clocks,
    /// How many claims and heartbeats each process may send.
    pub sends: u8,
    /// How many of them all processes together may send, if that is bounded too.
    pub sends_in_all: Option<u8>,
    /// Whether threads pause between reading the clock, checking and issuing; otherwise a call
    /// is one step.
    pub pauses: bool,
    /// How far ahead of the clock a call may reserve, in ticks.
    pub ahead: u8,
    /// How often each fault may happen.
    pub faults: Faults,
    /// Which repeats of a clone are excused.
    pub excuse: Excuse,
}

impl Bounds {
    /// A calm world: true clocks, nothing lost, nobody dies.
    pub const fn calm(processes: usize) -> Bounds {
        Bounds {
            processes,
            running: processes,
            last_tick: 8,
            clocks: Clocks::Stepped(&[0]),
            sends: 2,
            sends_in_all: None,
            pauses: false,
            ahead: 0,
            faults: Faults {
                clock_steps: 0,
                crashes: 0,
                clones: 0,
                forks: 0,
                doubles: 0,
                lost: 0,
                answers: 0,
                stops: 0,
                deletions: 0,
                restores: 0,
                fences: 0,
                elsewhere: 0,
                releases: 0,
                initialisations: 0,
            },
            excuse: Excuse::WindowsAskedFor,
        }
    }

    /// A timestamp above every one that any clock of the model can have led to.
    pub fn above_all_clocks(&self, now: u8) -> u8 {
        now + self.clocks.lead() + self.ahead + 1
    }
}
