//! Readiness follows the leases: it goes before the first call fails.

use std::sync::Arc;
use std::time::Duration;

use leaseflake::clock::SystemClock;
use leaseflake::{IdGenerator, LeaseState, Options, Status};
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use crate::calls::Calls;
use crate::metrics::Metrics;
use crate::phase::{Heard, Phase};
use crate::pool::{Pool, Slot};

/// How often the leases are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long before the end of its window a worker ID is no longer ready, at most, in ms.
const LONGEST_LEAD_MS: i64 = 5_000;
/// How far beyond its last trusted look at the clock a generator issues, in ms.
const TRUSTED_AHEAD_MS: i64 = 30_000;
/// How often it looks at least, in ms.
const LOOKS_MS: i64 = 10_000;
/// The names under which health is asked: the server's, and that of the service.
const NAMES: [&str; 2] = ["", "hispeeddesign.idgen.v1.IdGeneratorService"];

/// Watches the leases for health, readiness and metrics.
pub(crate) struct Watch {
    pool: Arc<Pool>,
    metrics: Arc<Metrics>,
    calls: Arc<Calls>,
    reporter: HealthReporter,
    lead: Lead,
    /// For each slot, whether it was suspended at the last look.
    suspended: Vec<bool>,
}

/// How long before the end of a window its worker ID is not ready any more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lead {
    heartbeat_ms: i64,
    margin_ms: i64,
}

impl Lead {
    /// By the options of the generators, with the environment beneath them.
    pub(crate) fn of(options: &Options) -> Lead {
        let number = |name, default| options.get(name).and_then(|text| text.parse().ok()).unwrap_or(default);
        Lead { heartbeat_ms: number("heartbeat_interval_ms", 10_000), margin_ms: number("safety_margin_ms", 5_000) }
    }

    /// Half of what is left just before a heartbeat when all is well, so that a late heartbeat alone
    /// changes nothing.
    fn ms(self, lease_length_ms: i64) -> i64 {
        let by_lease = lease_length_ms - self.margin_ms - self.heartbeat_ms;
        let by_clock = TRUSTED_AHEAD_MS - self.heartbeat_ms.min(LOOKS_MS);
        (by_lease.min(by_clock) / 2).clamp(0, LONGEST_LEAD_MS)
    }
}

impl Watch {
    pub(crate) fn new(
        pool: Arc<Pool>,
        metrics: Arc<Metrics>,
        calls: Arc<Calls>,
        reporter: HealthReporter,
        lead: Lead,
    ) -> Watch {
        let suspended = vec![false; pool.slots().len()];
        Watch { pool, metrics, calls, reporter, lead, suspended }
    }

    /// Watches until the service is over.
    pub(crate) async fn run(mut self, mut phase: Heard) {
        // As it was told before it began.
        let mut told = false;
        let mut draining = phase.clone();
        loop {
            self.look();
            let serving = phase.now() == Phase::Serving && self.pool.is_ready();
            self.metrics.set_ready(serving);
            if told != serving {
                told = serving;
                tracing::info!(ready = serving, "{}", if serving { "taking calls" } else { "not ready for calls" });
                tell(&self.reporter, serving).await;
            }
            // Whoever watches is told that it is not ready before there is nothing to watch.
            if phase.now() >= Phase::Finishing {
                break;
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                // At once, and not at the next look.
                () = draining.reached(Phase::Draining), if serving => {}
                () = phase.reached(Phase::Finishing), if !serving => {}
            }
        }
        // Streams that watch would hold their connections open for ever.
        for name in NAMES {
            self.reporter.clear_service_status(name).await;
        }
        phase.reached(Phase::Over).await;
    }

    fn look(&mut self) {
        let now_ms = SystemClock::wall_ms();
        self.metrics.set_under_way(self.calls.under_way());
        for (slot, was_suspended) in self.pool.slots().iter().zip(&mut self.suspended) {
            let Some(generator) = slot.generator() else { continue };
            let status = generator.status();
            slot.note(is_ready(slot, &status, now_ms, self.lead), status.datacenter_id.zip(status.worker_id));
            let suspended = slot.take_suspended() || status.state == LeaseState::Suspended;
            let newly = suspended && !*was_suspended;
            *was_suspended = suspended;
            self.metrics.set_lease(slot, &status, now_ms, newly.into());
            self.metrics.set_end(generator.layout().last_ms(), now_ms);
        }
    }
}

/// Whether a worker ID takes calls and will for a while.
fn is_ready(slot: &Slot, status: &Status, now_ms: i64, lead: Lead) -> bool {
    status.state == LeaseState::Active
        && status.ceiling_ms.saturating_sub(now_ms) > lead.ms(status.lease_length_ms)
        && !slot.clock_refuses()
}

/// Tells all who ask, and all who watch.
pub(crate) async fn tell(reporter: &HealthReporter, serving: bool) {
    let status = if serving { ServingStatus::Serving } else { ServingStatus::NotServing };
    for name in NAMES {
        reporter.set_service_status(name, status).await;
    }
}

/// Whether this process can still do its work: not once every generator has ended by a fault.
pub(crate) fn is_alive(pool: &Pool) -> bool {
    let ended = |generator: &IdGenerator| generator.status().state == LeaseState::Closed;
    !pool.slots().iter().all(|slot| slot.generator().is_some_and(ended))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lead_is_well_below_what_is_left_before_a_heartbeat_when_all_is_well() {
        let lead = |heartbeat_ms, margin_ms, length| Lead { heartbeat_ms, margin_ms }.ms(length);
        // The defaults leave 15 s just before a heartbeat.
        assert_eq!(lead(10_000, 5_000, 30_000), 5_000);
        // Long leases are bounded by the trust in the clock: 30 s, looked at every 10 s.
        assert_eq!(lead(600_000, 5_000, 10_800_000), 5_000);
        assert_eq!(lead(300, 300, 1_500), 450);
        assert_eq!(lead(10_000, 5_000, 15_001), 0);
    }
}
