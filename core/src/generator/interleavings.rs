//! Every interleaving of up to three threads on the product's own slot, page and table.
//!
//! `RUSTFLAGS="--cfg leaseflake_loom" cargo test --no-default-features interleavings`

use std::sync::Arc;

use loom::thread;

use super::page::Page;
use super::slot::{IssueLimits, Reach, Refusal, SlotLease, Want};
use super::table::{Generator, Table};
use crate::Layout;
use crate::sync::{AtomicUsize, Ordering};

/// Four IDs a millisecond, so that a millisecond is soon full.
fn limits() -> IssueLimits {
    IssueLimits::new(&Layout::new(41, 10, 10, 2).expect("a layout"), 0)
}

const NOW: u64 = 100;

fn reach() -> Reach {
    Reach { now: NOW, max_wait: 10, longest_wait: 10 }
}

fn lease(worker: u64) -> SlotLease {
    SlotLease { prefix: worker << 2, start: NOW, fencing_epoch: 1 }
}

fn page() -> Arc<Page> {
    let page = Page::new(0, 1000).expect("a page");
    assert!(page.open_slot(lease(1), &limits()));
    page.current().raise(NOW + 5, NOW + 5, 0);
    Arc::new(page)
}

/// Takes IDs from the slot in use: worker, first word and count.
fn take(page: &Page, want: Want) -> Option<(u64, u64, u64)> {
    let taken = page.current().reserve(want, &reach(), &limits()).ok()?;
    Some((taken.prefix, taken.first, taken.count))
}

/// Runs it in every interleaving, and says how many those were.
fn in_every_interleaving(run: impl Fn() + Sync + Send + 'static) {
    explore(loom::model::Builder::new(), run);
}

/// Runs it in every interleaving of up to five preemptions: where a table and pages together have too many others.
fn in_many_interleavings(run: impl Fn() + Sync + Send + 'static) {
    let mut explored = loom::model::Builder::new();
    explored.preemption_bound = Some(explored.preemption_bound.map_or(5, |bound| bound.min(5)));
    explore(explored, run);
}

fn explore(explored: loom::model::Builder, run: impl Fn() + Sync + Send + 'static) {
    let count = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counted = Arc::clone(&count);
    explored.check(move || {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        run();
    });
    let name = std::thread::current().name().unwrap_or_default().replace("generator::interleavings::", "");
    println!("{name}: {}", count.load(std::sync::atomic::Ordering::Relaxed));
}

/// No two runs of one worker overlap.
fn assert_disjoint(runs: &[(u64, u64, u64)]) {
    for (at, one) in runs.iter().enumerate() {
        for other in &runs[at + 1..] {
            let apart = one.0 != other.0 || one.1 + one.2 <= other.1 || other.1 + other.2 <= one.1;
            assert!(apart, "{one:?} and {other:?} overlap");
        }
    }
}

#[test]
fn interleavings_of_next_and_batch_and_heartbeat_repeat_nothing() {
    in_every_interleaving(|| {
        let page = page();
        let next = thread::spawn({
            let page = Arc::clone(&page);
            move || [take(&page, Want::Exactly(1)), take(&page, Want::Exactly(1))]
        });
        let batch = thread::spawn({
            let page = Arc::clone(&page);
            move || take(&page, Want::Exactly(3))
        });
        page.current().raise(NOW + 6, NOW + 7, 0);
        let mut runs: Vec<_> = next.join().expect("next").into_iter().flatten().collect();
        assert!(runs.windows(2).all(|pair| pair[0].1 < pair[1].1), "a thread's own IDs increase");
        runs.extend(batch.join().expect("batch"));
        assert_eq!(runs.len(), 3, "nothing is refused");
        assert_disjoint(&runs);
    });
}

#[test]
fn interleavings_of_next_and_retire_and_a_new_lease_leave_no_straggler() {
    in_every_interleaving(|| {
        let page = page();
        let takers: Vec<_> = (0..2)
            .map(|_| {
                let page = Arc::clone(&page);
                thread::spawn(move || take(&page, Want::Exactly(1)))
            })
            .collect();
        // The release says the newest: whoever owns the worker ID next starts above it.
        let newest = page.retire_current(&limits());
        assert!(page.open_slot(lease(2), &limits()));
        page.current().raise(NOW + 20, NOW + 20, 0);
        let runs: Vec<_> = takers.into_iter().filter_map(|taker| taker.join().expect("taker")).collect();
        assert_disjoint(&runs);
        for (prefix, first, count) in &runs {
            assert!(*prefix != 1 << 2 || first + count - 1 <= newest, "issued under the old lease after its release");
            assert!(*prefix != 2 << 2 || *first > newest, "the new lease went back");
        }
    });
}

#[test]
fn interleavings_of_a_thread_asleep_in_a_slot_that_is_left_issue_nothing_there() {
    in_every_interleaving(|| {
        let page = page();
        // In the hand of a thread that falls asleep before its compare-and-swap.
        let kept = Arc::clone(&page);
        let asleep = kept.current();
        let child = thread::spawn({
            let page = Arc::clone(&page);
            // A forked child that leaves retires first, and starts its own page above.
            move || page.retire_current(&limits())
        });
        let parent = thread::spawn({
            let page = Arc::clone(&page);
            // The parent was only stopped: a heartbeat raises its slot or finds it retired, and goes on in a new one.
            move || {
                page.current().raise(NOW + 6, NOW + 6, 0);
                if !page.current().is_retired() {
                    return None;
                }
                page.open_slot(lease(1), &limits());
                page.current().raise(NOW + 20, NOW + 20, 0);
                take(&page, Want::Exactly(1))
            }
        });
        let late = asleep.reserve(Want::Exactly(1), &reach(), &limits());
        let left_above = child.join().expect("child");
        let reopened = parent.join().expect("parent");
        if let Some((_, first, _)) = reopened {
            assert!(first > left_above, "the parent went on at {first}, not above {left_above}");
        }
        match late {
            Ok(taken) => assert!(taken.first <= left_above, "issued where a child believes nothing is issued any more"),
            Err(refusal) => assert_eq!(refusal, Refusal::Retired),
        }
    });
}

/// A generator as the table needs one: a page, and who holds it.
struct Held {
    page: Page,
    handles: AtomicUsize,
}

impl Held {
    fn above(newest: u64) -> Result<Held, ()> {
        let page = Page::new(newest, 1000).expect("a page");
        assert!(page.open_slot(lease(1), &limits()));
        page.current().raise(NOW + 20, NOW + 20, 0);
        Ok(Held { page, handles: AtomicUsize::new(0) })
    }
}

impl Generator for Held {
    fn take_handle(&self) {
        self.handles.fetch_add(1, Ordering::AcqRel);
    }
    fn give_handle(&self) -> bool {
        self.handles.fetch_sub(1, Ordering::AcqRel) == 1
    }
    fn is_over(&self) -> bool {
        self.page.header().is_closed()
    }
    fn retire(&self) -> u64 {
        self.page.header().close();
        self.page.retire_current(&limits())
    }
}

/// Opens, takes an ID and closes; `ends` is what its keeper does meanwhile.
fn use_once(table: &Table<u8, Held>, ends: impl FnOnce(&Held)) -> Option<(u64, u64, u64)> {
    let (generator, _) = table.open(&0, |_| Ok(()), Held::above).expect("opens");
    let issued = take(&generator.page, Want::Exactly(1));
    ends(&generator);
    table.close(&0, &generator);
    issued
}

#[test]
fn interleavings_of_open_and_close_and_open_again_go_on_above_the_past() {
    in_many_interleavings(|| {
        let table: Arc<Table<u8, Held>> = Arc::new(Table::new());
        let others: Vec<_> = (0..2)
            .map(|_| {
                let table = Arc::clone(&table);
                thread::spawn(move || use_once(&table, |_| ()))
            })
            .collect();
        let mut issued = vec![use_once(&table, |_| ())];
        issued.extend(others.into_iter().map(|other| other.join().expect("other")));
        let issued: Vec<_> = issued.into_iter().flatten().collect();
        assert_eq!(issued.len(), 3, "a handle outlived its lease");
        assert_disjoint(&issued);
    });
}

#[test]
fn interleavings_of_a_generator_whose_keeper_ends_are_followed_by_another_one_above_it() {
    in_many_interleavings(|| {
        let table: Arc<Table<u8, Held>> = Arc::new(Table::new());
        let other = thread::spawn({
            let table = Arc::clone(&table);
            move || use_once(&table, |_| ())
        });
        // A fault ends the keeper; who opened before it may be refused, who opens after it may not.
        let first = use_once(&table, |held| {
            held.retire();
        });
        let second = use_once(&table, |_| ());
        let other = other.join().expect("other");
        assert!(first.is_some() && second > first, "{second:?} after {first:?}");
        let issued: Vec<_> = [first, second, other].into_iter().flatten().collect();
        assert_disjoint(&issued);
    });
}
