//! Every interleaving of up to three threads on the product's own slot, page and table.
//!
//! `RUSTFLAGS="--cfg leaseflake_loom" cargo test --no-default-features interleavings`

use std::sync::Arc;

use loom::thread;

use super::page::Page;
use super::slot::{IssueLimits, RETIRED, Reach, Refusal, SlotLease, Want};
use super::table::{Generator, Table};
use crate::Layout;
use crate::sync::{AtomicU64, AtomicUsize, Ordering};

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
    loom::model(|| {
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
    loom::model(|| {
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
    loom::model(|| {
        let page = page();
        let child = thread::spawn({
            let page = Arc::clone(&page);
            // A forked child that leaves retires first, and starts its own page above.
            move || page.retire_current(&limits())
        });
        let parent = thread::spawn({
            let page = Arc::clone(&page);
            // The parent was only stopped: it finds its slot retired, and goes on in a new one.
            move || {
                if page.current().is_retired() {
                    page.open_slot(lease(1), &limits());
                    page.current().raise(NOW + 20, NOW + 20, 0);
                }
            }
        });
        let slot = page.current();
        let result = slot.reserve(Want::Exactly(1), &reach(), &limits());
        let left_above = child.join().expect("child");
        parent.join().expect("parent");
        match result {
            Ok(taken) => assert!(taken.first <= left_above || !slot.is_retired() || slot.newest() >= taken.first),
            Err(refusal) => assert!(matches!(refusal, Refusal::Retired | Refusal::Suspended), "{refusal:?}"),
        }
    });
}

/// A generator as the table needs one: a word, and whether it is retired.
struct Counter {
    word: AtomicU64,
    handles: AtomicUsize,
}

impl Generator for Counter {
    fn take_handle(&self) {
        self.handles.fetch_add(1, Ordering::AcqRel);
    }
    fn give_handle(&self) -> bool {
        self.handles.fetch_sub(1, Ordering::AcqRel) == 1
    }
    fn is_over(&self) -> bool {
        false
    }
    fn retire(&self) -> u64 {
        self.word.fetch_or(RETIRED, Ordering::AcqRel) & !RETIRED
    }
}

#[test]
fn interleavings_of_open_and_close_and_open_again_go_on_above_the_past() {
    loom::model(|| {
        let table: Arc<Table<u8, Counter>> = Arc::new(Table::new());
        let use_once = |table: &Table<u8, Counter>| {
            let made =
                |newest: u64| Ok::<_, ()>(Counter { word: AtomicU64::new(newest), handles: AtomicUsize::new(0) });
            let (generator, _) = table.open(&0, |_| Ok(()), made).expect("opens");
            let issued = generator.word.fetch_add(1, Ordering::AcqRel) + 1;
            table.close(&0, &generator);
            issued
        };
        let others: Vec<_> = (0..2)
            .map(|_| {
                let table = Arc::clone(&table);
                thread::spawn(move || use_once(&table))
            })
            .collect();
        let mut issued = vec![use_once(&table)];
        issued.extend(others.into_iter().map(|other| other.join().expect("other")));
        issued.sort_unstable();
        assert_eq!(
            issued,
            [1, 2, 3],
            "an ID was given twice, or the process went back, or a handle outlived its lease"
        );
    });
}
