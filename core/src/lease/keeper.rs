//! The keeper: a pure state machine that acquires, heartbeats, re-acquires and releases a lease.
//!
//! `step(now, event)` is the whole of it. The thread, the simulation and the tests drive the very
//! same code; clock, randomness, registry and page come in from outside.

mod acquire;
mod hold;

use super::record::DatacenterView;
use super::state::{KeeperStatus, LeaseInfo, LeaseState};
use super::store::{Answer, LeaseWrite, Request, StoreError};
use super::trust::ClockTrust;
use crate::clock::Now;
use crate::error::{Error, ErrorCode};
use crate::layout::Layout;
use crate::random::Random;

/// What the keeper is told once.
#[derive(Clone, Debug)]
pub struct KeeperConfig {
    /// The layout.
    pub layout: Layout,
    /// The datacenters to search in turn; `None` = ask the registry (`auto`).
    pub datacenters: Option<Vec<u32>>,
    /// What a new holder's lease lasts, in ms.
    pub lease_ttl_ms: i64,
    /// How long a lease may grow, in ms.
    pub lease_ttl_max_ms: i64,
    /// Between heartbeats, in ms.
    pub heartbeat_interval_ms: i64,
    /// Between the ceiling and the end of the lease, in ms.
    pub safety_margin_ms: i64,
    /// What people call the registry.
    pub store_name: String,
}

/// The slots, as the keeper moves them. Times are in ms since the Unix epoch.
pub trait LeasePage {
    /// Opens a slot for a lease; nothing can be issued from it before `raise`.
    fn open_slot(&self, datacenter_id: u32, worker_id: u32, fencing_epoch: u64, floor_ms: i64);
    /// Raises the ceilings of the slot in use: the lease's and the clock's.
    fn raise(&self, ceiling_ms: i64, cap_ms: i64, expiry_ms: i64);
    /// Retires the slot in use; gives the newest timestamp issued from it.
    fn retire(&self) -> i64;
    /// The newest timestamp issued from the slot in use.
    fn newest_ms(&self) -> i64;
    /// Whether the slot in use is retired, by us or by a child that left, and another one may be opened.
    fn is_retired(&self) -> bool;
    /// The first timestamp that the slot in use refuses.
    fn ceiling_ms(&self) -> i64;
    /// No slot will ever be opened again.
    fn close(&self);
}

/// What happens to the keeper.
#[derive(Clone, Debug)]
pub enum Event {
    /// The start, with who we are in the registry.
    Begin {
        /// `instance_id` of our items.
        instance_id: String,
        /// `ip_address` of our items.
        ip_address: String,
    },
    /// The time that was asked for has come, or somebody wants the keeper to look.
    Tick,
    /// The answer to the call of the last step.
    Answered {
        /// When it was sent: looked at before.
        sent: Now,
        /// What came back.
        answer: Answer,
    },
    /// The datacenters that `auto` stands for.
    Located(Result<Vec<u32>, StoreError>),
    /// The last handle was closed: release, and give up at this boot time in ms.
    Close {
        /// The boot time to give up at.
        give_up_at_ms: u64,
    },
}

/// What the keeper wants asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// The datacenters that `auto` stands for.
    Locate,
    /// A request to the registry.
    Store(Request),
}

/// What is to be done after a step: at most one call, else sleep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Ask this; the answer is the next event but for `Close`.
    pub call: Option<Call>,
    /// Without a call: come back at this boot time, in ms.
    pub wake_at_ms: Option<u64>,
    /// The keeper has ended.
    pub done: bool,
}

/// A claim that was sent, until its fate is known.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Claim {
    write: LeaseWrite,
    /// What the previous owner left behind.
    floor_ms: i64,
}

/// A lease that we hold.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Lease {
    datacenter_id: u32,
    worker_id: u32,
    fencing_epoch: u64,
    /// Of the newest confirmed write.
    version: u64,
    /// Of the newest confirmed write.
    expiry_ms: i64,
    floor_ms: i64,
    held_since_boot_ms: u64,
    length_ms: i64,
    /// Renewal ids sent since the newest confirmed write.
    unconfirmed: Vec<String>,
}

/// What the outstanding call is about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Flight {
    Locate,
    Read,
    Initialise,
    Claim(Claim),
    LookAtFree,
    Heartbeat(LeaseWrite),
    Release(LeaseWrite),
}

/// The keeper of one lease.
#[derive(Debug)]
pub struct Keeper<P> {
    config: KeeperConfig,
    page: P,
    status: KeeperStatus,
    trust: ClockTrust,
    instance_id: String,
    ip_address: String,
    datacenters: Vec<u32>,
    /// Which of the datacenters is searched now.
    searching: usize,
    /// When the earliest lease of the datacenters searched in this round ends.
    earliest_expiry_ms: Option<i64>,
    /// Claims whose fate is unknown.
    claims: Vec<Claim>,
    lease: Option<Lease>,
    flight: Option<Flight>,
    /// What an answer has shown to be next.
    planned: Option<Flight>,
    /// Boot time of the next attempt.
    next_at_ms: u64,
    /// Boot time of the next look at the clock, for a holder.
    next_look_ms: u64,
    /// Failures in a row.
    failures: u32,
    last_attempt_boot_ms: u64,
    /// When the free worker IDs were last counted, and whether half were free.
    free_looked: Option<(u64, bool)>,
    closing: Option<u64>,
    done: bool,
}

/// Between two looks at the free worker IDs.
const LOOK_AT_FREE_MS: u64 = 5 * 60 * 1000;
/// Between two looks for a free worker ID when all are taken.
pub(crate) const LOOK_AGAIN_MS: u64 = 1_000;
/// Between two looks of a holder at the clock, at most: well within the cap that a look gives.
const LOOK_AT_CLOCK_MS: u64 = 10_000;
/// The first pause after a failure.
const BACKOFF_MS: u64 = 200;

impl<P: LeasePage> Keeper<P> {
    /// A keeper that has not begun.
    pub fn new(config: KeeperConfig, page: P, now: Now) -> Keeper<P> {
        Keeper {
            status: KeeperStatus::new(now.wall_ms),
            config,
            page,
            trust: ClockTrust::new(),
            instance_id: String::new(),
            ip_address: String::new(),
            datacenters: Vec::new(),
            searching: 0,
            earliest_expiry_ms: None,
            claims: Vec::new(),
            lease: None,
            flight: None,
            planned: None,
            next_at_ms: now.boot_ms,
            next_look_ms: now.boot_ms,
            failures: 0,
            last_attempt_boot_ms: 0,
            free_looked: None,
            closing: None,
            done: false,
        }
    }

    /// What it tells about itself.
    pub fn status(&self) -> &KeeperStatus {
        &self.status
    }

    /// The same keeper over another page: a clone of the whole machine.
    #[cfg(all(test, not(leaseflake_loom)))]
    pub(crate) fn copied_onto(&self, page: P) -> Keeper<P> {
        Keeper {
            config: self.config.clone(),
            page,
            status: self.status.clone(),
            trust: self.trust.clone(),
            instance_id: self.instance_id.clone(),
            ip_address: self.ip_address.clone(),
            datacenters: self.datacenters.clone(),
            claims: self.claims.clone(),
            lease: self.lease.clone(),
            flight: self.flight.clone(),
            planned: self.planned.clone(),
            ..*self
        }
    }

    /// Whether the last handle was closed.
    #[cfg(all(test, not(leaseflake_loom)))]
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.is_some()
    }

    /// The page that it moves.
    pub fn page(&self) -> &P {
        &self.page
    }

    /// Takes one event in, and says what to do next.
    pub fn step(&mut self, now: Now, synchronised: Option<bool>, random: &mut dyn Random, event: Event) -> Step {
        match event {
            Event::Begin { instance_id, ip_address } => {
                self.status.instance_id.clone_from(&instance_id);
                self.instance_id = instance_id;
                self.ip_address = ip_address;
                if let Some(datacenters) = self.config.datacenters.clone() {
                    self.datacenters = datacenters;
                }
            }
            Event::Tick => {}
            Event::Located(result) => {
                self.flight = None;
                match result {
                    Ok(datacenters) => self.datacenters = datacenters,
                    Err(error) => self.retry_later(now, random, error.into()),
                }
            }
            Event::Answered { sent, answer } => self.answered(now, sent, answer, random),
            Event::Close { give_up_at_ms } => {
                if self.closing.is_none() {
                    self.closing = Some(give_up_at_ms);
                    self.next_at_ms = now.boot_ms;
                    self.failures = 0;
                }
            }
        }
        let step = self.decide(now, synchronised, random);
        self.status.counters.clock_steps = self.trust.steps();
        self.status.clock_suspect = self.trust.verdict().describe();
        step
    }

    fn decide(&mut self, now: Now, synchronised: Option<bool>, random: &mut dyn Random) -> Step {
        if self.done {
            return Step { done: true, ..Step::default() };
        }
        if self.flight.is_some() {
            // A call is under way; its answer is the next thing to happen.
            return Step::default();
        }
        if self.closing.is_some() {
            self.planned = None;
            return self.decide_closing(now);
        }
        if let Some(planned) = self.planned.take() {
            return self.send(now, planned);
        }
        let flight = if self.lease.is_some() {
            self.decide_holding(now, synchronised, random)
        } else if now.boot_ms < self.next_at_ms {
            None
        } else {
            self.trust.look(now, synchronised);
            Some(self.next_to_acquire())
        };
        match flight {
            Some(flight) => self.send(now, flight),
            None => Step { wake_at_ms: Some(self.wake_at(now)), ..Step::default() },
        }
    }

    fn send(&mut self, now: Now, flight: Flight) -> Step {
        let call = match &flight {
            Flight::Locate => Call::Locate,
            Flight::Read => Call::Store(Request::Read {
                datacenter_id: self.datacenters[self.searching],
                layout: self.config.layout,
            }),
            Flight::LookAtFree => Call::Store(Request::Read {
                datacenter_id: self.lease.as_ref().map_or(0, |lease| lease.datacenter_id),
                layout: self.config.layout,
            }),
            Flight::Initialise => Call::Store(Request::Initialise {
                datacenter_id: self.datacenters[self.searching],
                layout: self.config.layout,
            }),
            Flight::Claim(claim) => Call::Store(Request::Write(claim.write.clone())),
            Flight::Heartbeat(write) | Flight::Release(write) => Call::Store(Request::Write(write.clone())),
        };
        if matches!(flight, Flight::Heartbeat(_)) {
            self.status.counters.heartbeats_sent += 1;
        }
        self.status.counters.requests += 1;
        self.last_attempt_boot_ms = now.boot_ms;
        self.flight = Some(flight);
        Step { call: Some(call), ..Step::default() }
    }

    fn answered(&mut self, now: Now, sent: Now, answer: Answer, random: &mut dyn Random) {
        self.trust.answered(sent, now, answer.date_ms);
        match self.flight.take() {
            None => {}
            Some(Flight::Locate) => {}
            Some(Flight::Read) => self.read(now, answer.result, random),
            Some(Flight::Initialise) => match answer.result {
                Ok(_) => self.succeeded(now),
                Err(error) => self.retry_later(now, random, error.into()),
            },
            Some(Flight::Claim(claim)) => self.claimed(now, claim, answer.result, random),
            Some(Flight::LookAtFree) => self.looked_at_free(now, answer.result),
            Some(Flight::Heartbeat(write)) => self.renewed(now, sent, &write, answer.result, random),
            Some(Flight::Release(write)) => self.released(now, &write, answer.result),
        }
    }

    /// After something worked: the next attempt may come at once.
    fn succeeded(&mut self, now: Now) {
        self.failures = 0;
        self.next_at_ms = now.boot_ms;
    }

    /// After a failure: note it, and pause with jitter, longer each time.
    fn retry_later(&mut self, now: Now, random: &mut dyn Random, error: Error) {
        let most = (BACKOFF_MS << self.failures.min(8)).min(self.backoff_cap());
        self.failures += 1;
        let pause = most / 2 + random.below(most / 2 + 1);
        self.next_at_ms = now.boot_ms + pause;
        // Somebody who may only retry later is told when we ourselves do.
        let error =
            if error.retryable() { error.with_retry_after(std::time::Duration::from_millis(pause)) } else { error };
        self.status.fail(error, now.wall_ms);
    }

    fn backoff_cap(&self) -> u64 {
        (self.config.heartbeat_interval_ms / 2).clamp(BACKOFF_MS as i64 / 2, 5_000) as u64
    }

    /// When to come back, with nothing to do now.
    fn wake_at(&self, now: Now) -> u64 {
        let mut at = self.next_at_ms;
        if self.lease.is_some() {
            at = at.min(self.next_look_ms);
        }
        if self.status.state == LeaseState::Active {
            // To say *suspended* when it is so, and not a heartbeat later.
            let left = self.page.ceiling_ms().saturating_sub(now.wall_ms).max(0) as u64;
            if left > 0 {
                at = at.min(now.boot_ms + left);
            }
        }
        at.max(now.boot_ms + 1)
    }

    fn lease_info(&self) -> Option<LeaseInfo> {
        self.lease.as_ref().map(|lease| LeaseInfo {
            datacenter_id: lease.datacenter_id,
            worker_id: lease.worker_id,
            fencing_epoch: lease.fencing_epoch,
            lease_expiry_ts: lease.expiry_ms,
            lease_length_ms: lease.length_ms,
            floor_ms: lease.floor_ms,
        })
    }

    /// Ceiling of the newest confirmed write.
    fn ceiling_of(&self, expiry_ms: i64) -> i64 {
        expiry_ms.saturating_sub(self.config.safety_margin_ms)
    }

    fn before_epoch(&self, now: Now) -> Option<Error> {
        let layout = &self.config.layout;
        if now.wall_ms < layout.epoch_ms() {
            return Some(Error::new(
                ErrorCode::ClockUntrusted,
                format!(
                    "the clock says {} ms since 1970, which is before the layout's epoch of {} ms: set the clock",
                    now.wall_ms,
                    layout.epoch_ms()
                ),
            ));
        }
        if now.wall_ms > layout.last_ms() {
            return Some(Error::new(
                ErrorCode::TimestampOutOfRange,
                format!(
                    "the clock says {} ms since 1970, past the layout's last timestamp of {} ms",
                    now.wall_ms,
                    layout.last_ms()
                ),
            ));
        }
        None
    }
}

/// How many attempts are remembered whose answers may have been lost: those of an outage of most of a day. One that is
/// forgotten and has landed is a claim that expires, or a heartbeat that costs the lease: nothing is issued by either.
const REMEMBERED: usize = 10_000;

/// Remembers an attempt; a registry that is away for days must not fill our memory. What lands without an answer does so
/// at the beginning of an outage or at its end, so those of its middle are forgotten.
fn remember<T>(attempts: &mut Vec<T>, attempt: T) {
    if attempts.len() >= REMEMBERED {
        attempts.remove(REMEMBERED / 2);
    }
    attempts.push(attempt);
}

/// Whether at least half of a datacenter's worker IDs are free (unexpired ones count as taken).
fn half_are_free(view: &DatacenterView, layout: &Layout, now_ms: i64) -> bool {
    let taken = view.workers.iter().filter(|item| item.is_leased_at(now_ms)).count();
    let all = layout.max_worker_id() as usize + 1;
    taken * 2 <= all
}

#[cfg(all(test, not(leaseflake_loom)))]
mod tests;
