//! The window, the slots and the waits, case by case.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use crate::DEFAULT_EPOCH_MS;
use crate::clock::Clock;
use crate::generator::KeptPage;
use crate::generator::leave::leave_if_orphaned;
use crate::generator::slot::{Reach, Refusal, Want};
use crate::generator::wait;
use crate::lease::keeper::LeasePage;
use crate::options::Options;
use crate::testing::{FakeClock, generator, open_window};

const START_MS: i64 = DEFAULT_EPOCH_MS + 1_000_000_000;

#[test]
fn a_thread_asleep_before_its_cas_issues_nothing_under_a_worker_id_that_was_given_back() {
    let clock = FakeClock::at_ms(START_MS);
    let shared = generator(Options::new(), &clock);
    open_window(&shared, 4, START_MS, START_MS + 60_000);
    // The thread has read `current` (worker 4) and goes to sleep.
    let asleep_in = shared.page().current() as *const crate::generator::slot::Slot;
    let page = KeptPage(shared.clone());
    page.retire();
    // Another process claims worker 4; here a new lease is acquired, and IDs flow under worker 9.
    open_window(&shared, 9, START_MS, START_MS + 60_000);
    shared.reserve(Want::Exactly(1), 0).expect("worker 9 issues");
    // The thread wakes up and does its compare-and-swap where it fell asleep.
    // SAFETY: the slot lives as long as the page.
    let slot = unsafe { &*asleep_in };
    let now = (clock.wall_ms() - DEFAULT_EPOCH_MS) as u64;
    let reach = Reach { now, max_wait: 10, longest_wait: 10 };
    assert_eq!(slot.reserve(Want::Exactly(1), &reach, &shared.limits), Err(Refusal::Retired));
}

#[test]
fn a_child_that_leaves_a_frozen_parent_ends_the_slot_for_both_first() {
    let clock = FakeClock::at_ms(START_MS);
    let parent = generator(Options::new(), &clock);
    open_window(&parent, 4, START_MS, START_MS + 600_000);
    let child = Arc::new(parent.forked(parent.clock.clone(), 2));
    // The parent stands still for longer than two heartbeats, and a thread of the child sleeps before its
    // compare-and-swap.
    let asleep_in = child.page().current() as *const crate::generator::slot::Slot;
    clock.pass(Duration::from_secs(60));
    assert!(leave_if_orphaned(&child));
    assert!(!std::ptr::eq(child.page(), parent.page()), "the child goes on in a page of its own");
    // SAFETY: the slot lives as long as the parent's page.
    let slot = unsafe { &*asleep_in };
    let reach = Reach { now: (clock.wall_ms() - DEFAULT_EPOCH_MS) as u64, max_wait: 10, longest_wait: 10 };
    assert_eq!(slot.reserve(Want::Exactly(1), &reach, &child.limits), Err(Refusal::Retired));
    assert_eq!(parent.reserve(Want::Exactly(1), 10), Err(Refusal::Retired), "the parent wakes up where it stopped");
}

#[test]
fn the_ceiling_refuses_with_the_reason_that_holds() {
    let clock = FakeClock::at_ms(START_MS);
    let shared = generator(Options::new(), &clock);
    let page = KeptPage(shared.clone());
    page.open_slot(0, 1, 1, START_MS);
    assert_eq!(shared.reserve(Want::Exactly(1), 0), Err(Refusal::Suspended), "no ceiling yet");
    page.raise(START_MS + 60_000, START_MS + 30_000, 0);
    assert!(shared.reserve(Want::Exactly(1), 0).is_ok());
    clock.step_ms(30_000);
    assert_eq!(shared.reserve(Want::Exactly(1), 0), Err(Refusal::Untrusted), "beyond the last trusted look");
    clock.step_ms(30_000);
    assert_eq!(shared.reserve(Want::Exactly(1), 0), Err(Refusal::Suspended), "beyond the lease");
    page.raise(START_MS + 1, START_MS + 1, 0);
    clock.step_ms(-59_000);
    assert!(shared.reserve(Want::Exactly(1), 0).is_ok(), "a lower ceiling changes nothing");
}

#[test]
fn nothing_is_issued_below_the_floor_or_the_past_of_the_process() {
    let clock = FakeClock::at_ms(START_MS);
    let shared = generator(Options::new().max_wait_ms(1_000), &clock);
    open_window(&shared, 1, START_MS + 500, START_MS + 60_000);
    let taken = shared.reserve(Want::Exactly(1), 1_000).expect("within max_wait_ms");
    assert_eq!(shared.wall_ms_of(&taken), START_MS + 500, "the first ID is at the floor");
    // A new lease whose floor is lower still starts above what this process has issued.
    open_window(&shared, 2, START_MS - 1_000, START_MS + 60_000);
    let taken = shared.reserve(Want::Exactly(1), 1_000).expect("within max_wait_ms");
    assert_eq!(shared.wall_ms_of(&taken), START_MS + 501);
}

#[test]
fn a_clock_far_behind_is_told_from_a_long_queue() {
    let clock = FakeClock::at_ms(START_MS);
    let shared = generator(Options::new().layout("53-1-1-8"), &clock);
    open_window(&shared, 1, START_MS, START_MS + 60_000);
    for _ in 0..11 {
        shared.reserve(Want::Exactly(256), 10).expect("a queue of ten milliseconds");
    }
    assert_eq!(shared.reserve(Want::Exactly(1), 10), Err(Refusal::Exhausted));
    assert_eq!(shared.reserve(Want::Exactly(1), 0), Err(Refusal::Exhausted), "a call that never waits");
    clock.step_ms(-1);
    assert_eq!(shared.reserve(Want::Exactly(1), 10), Err(Refusal::ClockBackwards));
}

#[test]
fn a_reservation_is_burned_when_the_clock_goes_back_while_it_waits() {
    let clock = FakeClock::at_ms(START_MS);
    let shared = generator(Options::new().layout("53-1-1-8"), &clock);
    open_window(&shared, 1, START_MS, START_MS + 60_000);
    shared.reserve(Want::Exactly(256), 10).expect("all of this millisecond");
    let taken = shared.reserve(Want::Exactly(1), 10).expect("the next one");
    clock.step_ms(-3_600_000);
    assert_eq!(shared.wait_for(&taken, 10), Err(Refusal::ClockBackwards));
    clock.step_ms(3_600_000);
    let next = shared.reserve(Want::Exactly(1), 10).expect("the clock is right again");
    assert_eq!(next.first, taken.first + 1, "the burned one is never given again");
}

#[test]
fn a_clock_that_stands_still_ends_the_wait() {
    let clock = FakeClock::at_ms(START_MS);
    let shared = generator(Options::new().layout("53-1-1-8"), &clock);
    open_window(&shared, 1, START_MS, START_MS + 60_000);
    shared.reserve(Want::Exactly(256), 10).expect("all of this millisecond");
    let taken = shared.reserve(Want::Exactly(1), 10).expect("the next one");
    clock.set_stuck(true);
    clock.set_look_ns(1_000);
    assert_eq!(shared.wait_for(&taken, 10), Err(Refusal::ClockBackwards));
}

#[test]
fn the_ends_of_the_timestamp_field_are_errors() {
    let clock = FakeClock::at_ms(DEFAULT_EPOCH_MS - 1);
    let shared = generator(Options::new(), &clock);
    open_window(&shared, 1, 0, i64::MAX);
    assert_eq!(shared.reserve(Want::Exactly(1), 10), Err(Refusal::BeforeEpoch));
    clock.step_ms(1);
    let first = shared.reserve(Want::Exactly(1), 10).expect("the epoch itself has IDs");
    assert!(first.first_bits(&shared.limits) > 0, "an ID is greater than zero");
    let last_ms = shared.config.layout.last_ms();
    clock.step_ms(last_ms - clock.wall_ms());
    let taken = shared.reserve(Want::Exactly(4096), 10).expect("the last millisecond has IDs");
    assert_eq!(shared.wall_ms_of(&taken), last_ms);
    assert_eq!(shared.reserve(Want::Exactly(1), 10), Err(Refusal::OutOfRange));
    clock.step_ms(1);
    assert_eq!(shared.reserve(Want::Exactly(1), 10), Err(Refusal::OutOfRange));
}

#[test]
fn a_page_that_is_full_of_leases_is_followed_by_another_one_and_all_go_with_the_generator() {
    let clock = FakeClock::at_ms(START_MS);
    let shared = generator(Options::new(), &clock);
    let mut pages = vec![Arc::downgrade(&shared.page_handle())];
    let mut newest = 0;
    for lease in 0..10_000u32 {
        open_window(&shared, lease % 32, START_MS, START_MS + 600_000_000);
        clock.pass(Duration::from_millis(1));
        let taken = shared.reserve(Want::Exactly(1), 10).expect("every lease issues");
        assert!(taken.first > newest, "lease {lease} went back");
        newest = taken.first;
        let page = Arc::downgrade(&shared.page_handle());
        assert!(
            shared.page().header().keeper_lives(shared.clock.now().boot_ms),
            "a child forked now would leave its parent"
        );
        if !pages.last().is_some_and(|last| last.ptr_eq(&page)) {
            pages.push(page);
        }
    }
    assert_eq!(pages.len(), 3);
    assert!(pages.iter().all(|page| page.strong_count() == 1), "a thread may still be in any of them");
    drop(shared);
    assert!(pages.iter().all(|page| page.strong_count() == 0));
}

#[test]
fn a_reservation_ahead_of_the_clock_is_held_against_the_ceiling_by_its_own_timestamp() {
    let clock = FakeClock::at_ms(START_MS);
    let shared = generator(Options::new().layout("53-1-1-8"), &clock);
    open_window(&shared, 1, START_MS, START_MS + 3);
    for ahead_ms in 0..3 {
        let taken = shared.reserve(Want::Exactly(256), 10).expect("below the ceiling");
        assert_eq!(shared.wall_ms_of(&taken), START_MS + ahead_ms);
    }
    // The clock is still below the ceiling; the ID would not be.
    assert_eq!(shared.reserve(Want::Exactly(1), 10), Err(Refusal::Suspended));
}

/// A machine that puts the waiter to sleep for 50 ms while it looks at the boot clock again.
#[derive(Debug)]
struct Drowsy {
    passed_ns: AtomicU64,
    looks: AtomicU64,
}

impl Clock for Drowsy {
    fn wall_ns(&self) -> i64 {
        START_MS * 1_000_000 + self.passed_ns.load(SeqCst) as i64
    }

    fn boot_ns(&self) -> u64 {
        if self.looks.fetch_add(1, SeqCst) == 1 {
            self.passed_ns.fetch_add(50_000_000, SeqCst);
        }
        self.passed_ns.load(SeqCst)
    }

    fn sleep(&self, span: Duration) {
        self.passed_ns.fetch_add(span.as_nanos() as u64 / 2, SeqCst);
    }
}

#[test]
fn a_waiter_put_to_sleep_between_its_two_looks_does_not_take_the_clock_for_stuck() {
    let clock = Drowsy { passed_ns: AtomicU64::new(0), looks: AtomicU64::new(0) };
    assert_eq!(wait::until(&clock, START_MS + 5, 10, 0), Ok(()));
}
