//! How a forked child leaves the page of a parent that is gone.

use super::keep;
use super::shared::Shared;
use crate::error::Error;
use crate::rules::{Rule, holds};
use crate::sync::{Arc, Ordering};

/// How long after a failure another page is tried, in ms.
const TRY_AGAIN_AFTER_MS: u64 = 2_000;

/// Whether a page is usable without its keeper: only if that lives, or will.
fn orphaned(shared: &Shared) -> bool {
    let header = shared.page().header();
    header.is_closed() || !header.keeper_lives(shared.clock.get().boot_ns() / 1_000_000)
}

/// Leaves an inherited page whose keeper has ended or is not heard of any more: retires the slot,
/// goes on in a page of our own, above it, with a keeper of our own. `true` when this call or
/// another thread does so; a living keeper is waited for.
pub(crate) fn leave_if_orphaned(shared: &Arc<Shared>) -> bool {
    let inherited = shared.keeper_generation.load(Ordering::Acquire);
    let own = shared.host.generation();
    if inherited == own || !orphaned(shared) {
        return false;
    }
    // One thread leaves for all; the others are told that a lease is being acquired. A thread that was about to leave
    // in the process that forked us did not come along.
    let leaving = shared.leaving.load(Ordering::Acquire);
    if leaving == own || shared.leaving.compare_exchange(leaving, own, Ordering::AcqRel, Ordering::Acquire).is_err() {
        return true;
    }
    let now_ms = shared.clock.get().boot_ns() / 1_000_000;
    if now_ms >= shared.leave_from_ms.load(Ordering::Acquire) {
        match page_of_our_own(shared) {
            Ok(()) => {
                shared.keeper_generation.store(own, Ordering::Release);
                return true;
            }
            Err(error) => {
                tracing::error!("cannot leave the page of a parent that is gone: {error}");
                // A page that was given up is kept for the threads in it: not one for each call.
                shared.leave_from_ms.store(now_ms + TRY_AGAIN_AFTER_MS, Ordering::Release);
            }
        }
    }
    shared.leaving.store(inherited, Ordering::Release);
    true
}

fn page_of_our_own(shared: &Arc<Shared>) -> Result<(), Error> {
    // Retired first: a thread still in the slot can issue nothing after this.
    let newest = if holds(Rule::RetireBeforeLeaving) {
        shared.page().retire_current(&shared.limits)
    } else {
        shared.page().newest()
    };
    let page = shared.next_page(newest)?;
    shared.replace_link();
    shared.replace_page(page);
    keep::start(shared).inspect_err(|_| shared.page().header().close())
}
