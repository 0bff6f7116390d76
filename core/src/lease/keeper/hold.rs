//! Holding: heartbeats that raise the ceiling, leases that grow, and the release.

use super::{Flight, Keeper, LOOK_AT_CLOCK_MS, LOOK_AT_FREE_MS, Lease, LeasePage, Step, half_are_free, remember};
use crate::clock::Now;
use crate::error::{Error, ErrorCode};
use crate::lease::record::LeaseRecord;
use crate::lease::shown::shown;
use crate::lease::state::LeaseState;
use crate::lease::store::{LeaseWrite, Reply, StoreError, StoreErrorKind};
use crate::random::Random;
use crate::rules::{Rule, holds};

/// When somebody waits for IDs, a healthy keeper asks at most this often, in ms.
const HURRY_MS: u64 = 1_000;

impl<P: LeasePage> Keeper<P> {
    /// What a holder does now: nothing, a heartbeat, or a look at the free worker IDs first.
    pub(super) fn decide_holding(
        &mut self,
        now: Now,
        synchronised: Option<bool>,
        random: &mut dyn Random,
    ) -> Option<Flight> {
        if self.page.is_retired() {
            self.reopen();
        }
        if now.wall_ms >= self.page.ceiling_ms() {
            let reason = "the window is used up and no heartbeat got through";
            if now.wall_ms >= self.lease.as_ref().map_or(0, |lease| self.ceiling_of(lease.expiry_ms)) {
                self.status.enter(LeaseState::Suspended, now.wall_ms, reason);
            }
            // Somebody may be waiting: do not sit out the rest of the interval.
            if self.failures == 0 {
                self.next_at_ms = self.next_at_ms.min(self.last_attempt_boot_ms + HURRY_MS);
            }
        }
        let due = now.boot_ms >= self.next_at_ms;
        if due || now.boot_ms >= self.next_look_ms {
            self.trust.look(now, synchronised);
            self.raise();
            self.next_look_ms = now.boot_ms + LOOK_AT_CLOCK_MS.min(self.config.heartbeat_interval_ms as u64);
        }
        if !due {
            return None;
        }
        let lease = self.lease.as_ref()?;
        let wanted = self.wanted_length(lease, now);
        let stale = self.free_looked.is_none_or(|(at, _)| now.boot_ms >= at + LOOK_AT_FREE_MS);
        if wanted > lease.length_ms && stale && self.failures == 0 {
            return Some(Flight::LookAtFree);
        }
        Some(self.heartbeat(now, random))
    }

    /// A child that took the keeper for dead has retired our slot: go on in a new one, above it.
    fn reopen(&self) {
        let Some(lease) = &self.lease else { return };
        tracing::info!("the slot was retired by a child that left; going on in a new one");
        self.page.open_slot(lease.datacenter_id, lease.worker_id, lease.fencing_epoch, lease.floor_ms);
        self.raise();
    }

    /// Raises the ceilings to what the newest confirmed write and the last trusted look allow.
    fn raise(&self) {
        if let Some(lease) = &self.lease {
            self.page.raise(self.ceiling_of(lease.expiry_ms), self.trust.cap_ms(), lease.expiry_ms);
        }
    }

    /// A lease is as long as it has been held, within the two lengths that the options give.
    fn wanted_length(&self, lease: &Lease, now: Now) -> i64 {
        let held = now.boot_ms.saturating_sub(lease.held_since_boot_ms) as i64;
        held.clamp(self.config.lease_ttl_ms, self.config.lease_ttl_max_ms.max(self.config.lease_ttl_ms))
    }

    /// The next write on a lease that we hold: only if nobody has written since.
    fn write_on(&self, lease: &Lease, lease_expiry_ts: i64, renewal_id: String) -> LeaseWrite {
        LeaseWrite {
            datacenter_id: lease.datacenter_id,
            expected_epoch: lease.fencing_epoch,
            expected_version: lease.version,
            expired_before: None,
            next: LeaseRecord {
                worker_id: lease.worker_id,
                instance_id: self.instance_id.clone(),
                ip_address: self.ip_address.clone(),
                lease_expiry_ts,
                fencing_epoch: lease.fencing_epoch,
                version: lease.version + 1,
                renewal_id,
            },
        }
    }

    fn heartbeat(&mut self, now: Now, random: &mut dyn Random) -> Flight {
        let renewal_id = random.renewal_id();
        let may_grow = self.free_looked.is_some_and(|(_, half_free)| half_free);
        let base = self.trust.bounded(now);
        let wanted = self.lease.as_ref().map_or(0, |lease| self.wanted_length(lease, now));
        let Some(lease) = &mut self.lease else { unreachable!("only a holder sends heartbeats") };
        if may_grow {
            lease.length_ms = lease.length_ms.max(wanted);
        }
        remember(&mut lease.unconfirmed, renewal_id.clone());
        let expiry = base.saturating_add(lease.length_ms);
        let expiry = if holds(Rule::MonotoneExpiry) { expiry.max(lease.expiry_ms) } else { expiry };
        let Some(lease) = &self.lease else { unreachable!("as above") };
        let write = self.write_on(lease, expiry, renewal_id);
        if !holds(Rule::ConfirmedCeilings) {
            self.page.raise(self.ceiling_of(write.next.lease_expiry_ts), self.trust.cap_ms(), 0);
        }
        Flight::Heartbeat(write)
    }

    /// The free worker IDs have been counted: the heartbeat follows at once.
    pub(super) fn looked_at_free(&mut self, now: Now, result: Result<Reply, StoreError>) {
        let half_free = match &result {
            Ok(Reply::View(view)) => half_are_free(view, &self.config.layout, now.wall_ms),
            // Without an answer nothing grows.
            _ => false,
        };
        self.free_looked = Some((now.boot_ms, half_free));
        self.next_at_ms = now.boot_ms;
    }

    /// A heartbeat was answered.
    pub(super) fn renewed(
        &mut self,
        now: Now,
        sent: Now,
        write: &LeaseWrite,
        result: Result<Reply, StoreError>,
        random: &mut dyn Random,
    ) {
        match result {
            Ok(Reply::Applied) => self.confirmed(now, sent, write.next.version, write.next.lease_expiry_ts),
            Ok(Reply::Refused(Some(item))) if self.is_ours(&item) => {
                // The write of an attempt whose answer was lost.
                self.confirmed(now, sent, item.version, item.lease_expiry_ts);
            }
            Ok(Reply::Refused(item)) => {
                self.status.counters.heartbeats_failed += 1;
                self.lose(now, item);
            }
            Err(error) if error.kind == StoreErrorKind::Gone => {
                self.status.counters.heartbeats_failed += 1;
                self.forsake(now, random, error);
            }
            Ok(Reply::View(_)) | Err(_) => {
                self.status.counters.heartbeats_failed += 1;
                let error = match result {
                    Err(error) => error.into(),
                    _ => Error::new(ErrorCode::Internal, "a write was answered with a view"),
                };
                self.retry_later(now, random, error);
            }
        }
    }

    fn is_ours(&self, item: &LeaseRecord) -> bool {
        self.lease.as_ref().is_some_and(|lease| {
            item.fencing_epoch == lease.fencing_epoch
                && (lease.unconfirmed.contains(&item.renewal_id) || !holds(Rule::RenewalId))
        })
    }

    fn confirmed(&mut self, now: Now, sent: Now, version: u64, expiry_ms: i64) {
        let Some(lease) = &mut self.lease else { return };
        lease.version = version;
        lease.expiry_ms = expiry_ms;
        lease.unconfirmed.clear();
        self.failures = 0;
        self.next_at_ms = sent.boot_ms + self.config.heartbeat_interval_ms as u64;
        self.raise();
        self.status.lease = self.lease_info();
        if now.wall_ms < self.page.ceiling_ms() {
            self.status.enter(LeaseState::Active, now.wall_ms, "a heartbeat was confirmed");
        }
    }

    /// Somebody else owns the worker ID, or deleted it: stop at once, then acquire another.
    fn lose(&mut self, now: Now, item: Option<LeaseRecord>) {
        self.page.retire();
        let Some(lease) = &self.lease else { return };
        let worker = format!("{}/{}", lease.datacenter_id, lease.worker_id);
        let reason = match item {
            None => format!("the item of worker ID {worker} was deleted from {}", self.config.store_name),
            Some(item) => format!(
                "worker ID {worker} was fenced: {} holds fencing epoch {} now",
                if item.instance_id.is_empty() { "somebody".to_owned() } else { shown(&item.instance_id) },
                item.fencing_epoch
            ),
        };
        self.status.fail(Error::new(ErrorCode::LeaseLost, reason.clone()), now.wall_ms);
        self.without_lease(now, reason);
        self.succeeded(now);
    }

    /// What the lease was held in is gone: stop at once, since nothing keeps others from it any more.
    fn forsake(&mut self, now: Now, random: &mut dyn Random, error: StoreError) {
        self.page.retire();
        self.without_lease(now, error.message.clone());
        self.retry_later(now, random, error.into());
    }

    /// The lease is lost: the search for another one begins.
    fn without_lease(&mut self, now: Now, reason: String) {
        self.lease = None;
        self.status.counters.leases_lost += 1;
        self.status.enter(LeaseState::Lost, now.wall_ms, reason);
        self.status.lease = None;
        self.searching = 0;
    }

    /// The way out: release what is held, until the time is over.
    pub(super) fn decide_closing(&mut self, now: Now) -> Step {
        let give_up_at = self.closing.unwrap_or(now.boot_ms);
        let newest_ms = if holds(Rule::RetireBeforeRelease) { self.page.retire() } else { self.page.newest_ms() };
        if now.boot_ms >= give_up_at || self.lease.is_none() {
            return self.end(now);
        }
        if now.boot_ms < self.next_at_ms {
            return Step { wake_at_ms: Some(self.next_at_ms.min(give_up_at)), ..Step::default() };
        }
        let Some(lease) = &self.lease else { return self.end(now) };
        // One past the newest that was issued under this lease; the floor if nothing was.
        let past_newest = newest_ms.saturating_add(1).max(lease.floor_ms);
        let expiry = if holds(Rule::MinAtRelease) { lease.expiry_ms.min(past_newest) } else { now.wall_ms };
        let write = self.write_on(lease, expiry.max(0), String::new());
        self.send(now, Flight::Release(write))
    }

    /// A release was answered.
    pub(super) fn released(&mut self, now: Now, write: &LeaseWrite, result: Result<Reply, StoreError>) {
        match result {
            Ok(Reply::Refused(Some(item))) if self.is_ours(&item) => {
                // A heartbeat of ours landed after all: release on top of it.
                self.lease.as_mut().expect("ours, so held").version = item.version;
                self.lease.as_mut().expect("ours, so held").expiry_ms = item.lease_expiry_ts;
                self.next_at_ms = now.boot_ms;
            }
            Ok(_) => self.lease = None,
            Err(error) => {
                tracing::warn!(worker_id = write.next.worker_id, "the release failed: {error}");
                self.failures += 1;
                self.next_at_ms = now.boot_ms + 50 * u64::from(self.failures.min(10));
            }
        }
    }

    fn end(&mut self, now: Now) -> Step {
        self.page.close();
        self.status.enter(LeaseState::Closed, now.wall_ms, "closed");
        self.status.lease = None;
        self.lease = None;
        self.done = true;
        Step { done: true, ..Step::default() }
    }
}
