//! Acquiring: read, choose, claim; after a lost claim read again.

use super::{Claim, Flight, Keeper, LOOK_AGAIN_MS, Lease, LeasePage, remember};
use crate::clock::Now;
use crate::error::{Error, ErrorCode};
use crate::lease::pin;
use crate::lease::record::{DatacenterView, LeaseRecord};
use crate::lease::state::LeaseState;
use crate::lease::store::{LeaseWrite, Reply, StoreError};
use crate::lease::trust::Verdict;
use crate::random::Random;
use crate::rules::{Rule, holds};

impl<P: LeasePage> Keeper<P> {
    /// The next call on the way to a worker ID.
    pub(super) fn next_to_acquire(&self) -> Flight {
        if self.datacenters.is_empty() { Flight::Locate } else { Flight::Read }
    }

    /// A datacenter has been read: initialise it, claim in it, or go on to the next.
    pub(super) fn read(&mut self, now: Now, result: Result<Reply, StoreError>, random: &mut dyn Random) {
        let view = match result {
            Ok(Reply::View(view)) => view,
            Ok(_) => return self.retry_later(now, random, internal("a read was answered without a view")),
            Err(error) => return self.retry_later(now, random, error.into()),
        };
        let datacenter_id = self.datacenters[self.searching];
        for warning in &view.warnings {
            tracing::warn!(datacenter_id, "{warning}");
        }
        if let Err(error) = pin::check(&view, datacenter_id, &self.config.layout, &self.config.store_name) {
            return self.retry_later(now, random, error.into());
        }
        if view.layout.is_none() {
            self.planned = Some(Flight::Initialise);
            return;
        }
        if self.closing.is_some() {
            return;
        }
        if let Some((claim, item)) = self.landed_claim(datacenter_id, &view) {
            return self.take(now, claim, item.version, item.lease_expiry_ts);
        }
        if let Some(error) = self.clock_forbids(now) {
            return self.retry_later(now, random, error);
        }
        if self.trust.verdict() == Verdict::Doubtful {
            // One answer speaks against the clock: a second one decides.
            self.succeeded(now);
            return;
        }
        self.choose(now, datacenter_id, &view, random);
    }

    /// A claim of ours that landed although its answer was lost.
    fn landed_claim(&self, datacenter_id: u32, view: &DatacenterView) -> Option<(Claim, LeaseRecord)> {
        view.workers.iter().find_map(|item| {
            let claim = self.claims.iter().find(|claim| {
                claim.write.datacenter_id == datacenter_id
                    && claim.write.next.worker_id == item.worker_id
                    && claim.write.next.fencing_epoch == item.fencing_epoch
                    && (claim.write.next.renewal_id == item.renewal_id || !holds(Rule::RenewalId))
            })?;
            Some((claim.clone(), item.clone()))
        })
    }

    fn clock_forbids(&self, now: Now) -> Option<Error> {
        if let Some(error) = self.before_epoch(now) {
            return Some(error);
        }
        match self.trust.verdict() {
            Verdict::Trusted | Verdict::Doubtful => None,
            verdict => Some(Error::new(
                ErrorCode::ClockUntrusted,
                format!(
                    "{}; no worker ID is claimed in {} until the clock is right: check NTP, or run `leaseflake doctor`",
                    verdict.describe().unwrap_or_default(),
                    self.config.store_name
                ),
            )),
        }
    }

    /// Picks a free worker ID: released by us, never used, released, expired; random among equals.
    fn choose(&mut self, now: Now, datacenter_id: u32, view: &DatacenterView, random: &mut dyn Random) {
        let rank = |item: &LeaseRecord| match item {
            _ if item.fencing_epoch > 0 && item.is_released() && item.instance_id == self.instance_id => 0,
            _ if item.fencing_epoch == 0 => 1,
            _ if item.is_released() => 2,
            _ => 3,
        };
        let mut view = view.clone();
        if !holds(Rule::DeletedItemRefused) {
            let missing = |id: &u32| !view.workers.iter().any(|item| item.worker_id == *id);
            let missing: Vec<u32> = (0..=self.config.layout.max_worker_id()).filter(missing).collect();
            view.workers.extend(missing.into_iter().map(LeaseRecord::unused));
        }
        let is_free = |item: &&LeaseRecord| !item.is_leased_at(now.wall_ms) && item.has_a_next_owner();
        let free: Vec<&LeaseRecord> = view.workers.iter().filter(is_free).collect();
        if let Some(best) = free.iter().map(|item| rank(item)).min() {
            let equals: Vec<&&LeaseRecord> = free.iter().filter(|item| rank(item) == best).collect();
            let chosen = equals[random.below(equals.len() as u64) as usize];
            let claim = self.claim_of(now, datacenter_id, chosen, random);
            self.earliest_expiry_ms = None;
            self.planned = Some(Flight::Claim(claim));
            return;
        }
        let earliest = view.workers.iter().map(|item| item.lease_expiry_ts).min();
        self.earliest_expiry_ms = match (self.earliest_expiry_ms, earliest) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        if self.searching + 1 < self.datacenters.len() {
            self.searching += 1;
            self.next_at_ms = now.boot_ms;
            return;
        }
        self.none_free(now, random);
    }

    /// All are taken: look again when the earliest ends, at most once a second; and every other second
    /// all the same, because a holder that closes gives its worker ID back long before its lease ends.
    fn none_free(&mut self, now: Now, random: &mut dyn Random) {
        let until = self.earliest_expiry_ms.take().map_or(0, |at| at.saturating_sub(now.wall_ms).max(0) as u64);
        let pause = until.clamp(LOOK_AGAIN_MS, 2 * LOOK_AGAIN_MS) + random.below(100);
        self.searching = 0;
        self.failures = 0;
        self.next_at_ms = now.boot_ms + pause;
        let names: Vec<String> = self.datacenters.iter().take(8).map(u32::to_string).collect();
        let more = if self.datacenters.len() > 8 { ", ..." } else { "" };
        let error = Error::new(
            ErrorCode::NoWorkerId,
            format!(
                "all worker IDs of datacenter {}{more} in {} are leased; the next lease ends in {until} ms: \
                 wait, stop a process, or give another datacenter_id (`leaseflake registry show` lists the holders)",
                names.join(", "),
                self.config.store_name
            ),
        );
        self.status.fail(error.with_retry_after(std::time::Duration::from_millis(pause)), now.wall_ms);
    }

    fn claim_of(&self, now: Now, datacenter_id: u32, item: &LeaseRecord, random: &mut dyn Random) -> Claim {
        let expiry = self.trust.bounded(now).saturating_add(self.config.lease_ttl_ms);
        Claim {
            floor_ms: item.lease_expiry_ts,
            write: LeaseWrite {
                datacenter_id,
                expected_epoch: item.fencing_epoch,
                expected_version: item.version,
                expired_before: Some(now.wall_ms),
                next: LeaseRecord {
                    worker_id: item.worker_id,
                    instance_id: self.instance_id.clone(),
                    ip_address: self.ip_address.clone(),
                    lease_expiry_ts: expiry.max(item.lease_expiry_ts),
                    fencing_epoch: item.fencing_epoch + 1,
                    version: item.version + 1,
                    renewal_id: random.renewal_id(),
                },
            },
        }
    }

    /// A claim was answered.
    pub(super) fn claimed(
        &mut self,
        now: Now,
        claim: Claim,
        result: Result<Reply, StoreError>,
        random: &mut dyn Random,
    ) {
        match result {
            Ok(Reply::Applied) => {
                let (version, expiry) = (claim.write.next.version, claim.write.next.lease_expiry_ts);
                self.take(now, claim, version, expiry);
            }
            Ok(Reply::Refused(Some(item)))
                if item.fencing_epoch == claim.write.next.fencing_epoch
                    && (item.renewal_id == claim.write.next.renewal_id || !holds(Rule::RenewalId)) =>
            {
                self.take(now, claim, item.version, item.lease_expiry_ts);
            }
            Ok(_) => {
                // Somebody was faster: read again, after a moment that spreads the claimants.
                self.status.counters.claims_lost += 1;
                self.failures = 0;
                self.next_at_ms = now.boot_ms + random.below(20);
            }
            Err(error) => {
                // It may have landed, or may land yet: the next read tells.
                remember(&mut self.claims, claim);
                self.retry_later(now, random, error.into());
            }
        }
    }

    /// A claim is ours: a new lease, a new slot.
    fn take(&mut self, now: Now, claim: Claim, version: u64, expiry_ms: i64) {
        let next = &claim.write.next;
        let floor_ms = if holds(Rule::Floor) { claim.floor_ms } else { 0 };
        self.lease = Some(Lease {
            datacenter_id: claim.write.datacenter_id,
            worker_id: next.worker_id,
            fencing_epoch: next.fencing_epoch,
            version,
            expiry_ms,
            floor_ms,
            held_since_boot_ms: now.boot_ms,
            length_ms: self.config.lease_ttl_ms,
            unconfirmed: Vec::new(),
        });
        self.claims.clear();
        self.searching = 0;
        self.free_looked = None;
        self.failures = 0;
        self.next_at_ms = self.last_attempt_boot_ms + self.config.heartbeat_interval_ms as u64;
        self.status.counters.leases_acquired += 1;
        if self.closing.is_some() {
            // Nobody wants it any more; it is released without a slot.
            return;
        }
        self.page.open_slot(claim.write.datacenter_id, next.worker_id, next.fencing_epoch, floor_ms);
        self.page.raise(self.ceiling_of(expiry_ms), self.trust.cap_ms(), expiry_ms);
        self.status.lease = self.lease_info();
        self.status.enter(
            LeaseState::Active,
            now.wall_ms,
            format!("acquired worker ID {}/{}", claim.write.datacenter_id, next.worker_id),
        );
    }
}

fn internal(message: &str) -> Error {
    Error::new(ErrorCode::Internal, message)
}
