//! The keeper's thread: the state machine with a registry, a clock and the kernel's randomness.

use std::time::Duration;

use super::shared::{KeptPage, Shared};
use crate::clock::Now;
use crate::discovery;
use crate::error::{Error, ErrorCode};
use crate::lease::keeper::{Call, Event, Keeper, KeeperConfig, Step};
use crate::lease::store::LeaseStore;
use crate::random::KernelRandom;
use crate::sync::{Arc, Ordering};

/// At most 15 characters: longer names are cut.
const THREAD_NAME: &str = "leaseflake-keep";
/// Callers may bring the keeper forward at most this often.
const HEAR_EVERY_MS: u64 = 20;
/// The longest sleep: a suspended machine's timers stand still, its boot clock does not.
const LONGEST_SLEEP_MS: u64 = 5_000;

/// Starts the keeper of a generator.
///
/// # Errors
///
/// `STORE_UNAVAILABLE` when the system gives no thread.
pub(crate) fn start(shared: &Arc<Shared>) -> Result<(), Error> {
    #[cfg(all(test, not(leaseflake_loom)))]
    if matches!(shared.host, super::shared::Host::Simulated(_)) {
        // The simulation sees the new page and drives a keeper for it.
        return Ok(());
    }
    let kept = Arc::clone(shared);
    match crate::thread::spawn(THREAD_NAME, move || run_guarded(&kept)) {
        Ok(_detached) => {
            shared.link().start();
            Ok(())
        }
        Err(error) => Err(Error::new(
            ErrorCode::StoreUnavailable,
            format!(
                "the keeper's thread cannot be started ({error}): raise the limit of threads (ulimit -u, cgroup pids.max)"
            ),
        )),
    }
}

fn run_guarded(shared: &Arc<Shared>) {
    let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(shared)));
    if let Err(panic) = ran {
        // Nothing more is issued under a lease that nobody keeps.
        shared.page().retire_current(&shared.limits);
        shared.page().header().close();
        // What listens to log lines is the host's, and may panic as well.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let error = crate::guard::panic_error("the keeper", &*panic);
            shared.link().fail(error, shared.clock.now());
        }));
    }
    shared.link().finish();
}

fn run(shared: &Arc<Shared>) {
    let config = &shared.config;
    let mut store = config.store.build();
    let mut keeper = Keeper::new(keeper_config(shared, store.name()), KeptPage(Arc::clone(shared)), shared.clock.now());
    let identity = discovery::identify(config);
    let mut event = Event::Begin { instance_id: identity.instance_id, ip_address: identity.ip_address };
    let mut close_told = false;
    let mut heard_at_ms = 0;
    loop {
        let now = shared.clock.now();
        let synchronised = shared.clock.get().synchronised();
        let step = keeper.step(now, synchronised, &mut KernelRandom, event);
        shared.page().header().set_state(keeper.status().state);
        shared.link().publish(keeper.status());
        if step.done {
            return;
        }
        event = match step.call {
            Some(call) => ask(shared, store.as_mut(), call),
            None => sleep(shared, &step, &mut close_told, &mut heard_at_ms),
        };
    }
}

pub(crate) fn keeper_config(shared: &Shared, store_name: String) -> KeeperConfig {
    let config = &shared.config;
    KeeperConfig {
        layout: config.layout,
        datacenters: config.datacenters.list(),
        lease_ttl_ms: config.lease_ttl_ms,
        lease_ttl_max_ms: config.lease_ttl_max_ms,
        heartbeat_interval_ms: config.heartbeat_interval_ms,
        safety_margin_ms: config.safety_margin_ms,
        store_name,
    }
}

fn ask(shared: &Shared, store: &mut dyn LeaseStore, call: Call) -> Event {
    // Stamped whatever comes of it: a child of a keeper that tries does not claim a worker ID.
    let sent = shared.clock.now();
    shared.page().header().stamp(sent.boot_ms);
    match call {
        Call::Locate => Event::Located(store.auto_datacenters(&shared.config.layout)),
        Call::Store(request) => Event::Answered { sent, answer: store.call(&request) },
    }
}

/// Sleeps until the step's time, a close, or a caller's wish.
fn sleep(shared: &Shared, step: &Step, close_told: &mut bool, heard_at_ms: &mut u64) -> Event {
    let wake_at = step.wake_at_ms.unwrap_or(u64::MAX);
    loop {
        let header = shared.page().header();
        let seen = header.wake_word.load(Ordering::Acquire);
        if let Some(give_up_at_ms) = shared.link().closing().filter(|_| !*close_told) {
            *close_told = true;
            return Event::Close { give_up_at_ms };
        }
        let now: Now = shared.clock.now();
        if now.boot_ms >= wake_at {
            return Event::Tick;
        }
        let hear_from = *heard_at_ms + HEAR_EVERY_MS;
        if header.is_called() && now.boot_ms >= hear_from {
            header.heard();
            *heard_at_ms = now.boot_ms;
            return Event::Tick;
        }
        let mut until = wake_at.min(now.boot_ms + LONGEST_SLEEP_MS);
        if header.is_called() {
            until = until.min(hear_from);
        }
        header.sleep(seen, Duration::from_millis(until.saturating_sub(now.boot_ms).max(1)));
    }
}
