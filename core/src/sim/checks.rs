//! What is checked of every ID: no repeat, increasing, windows disjoint, not far ahead.

use std::collections::{BTreeMap, HashMap};

use crate::lease::trust::CAP_MS;

/// The sequence bits of the default layout.
const SEQUENCE: u64 = 4095;

/// A worker ID at its place in an ID, and which of its owners.
pub(super) type Lease = (u64, u64);

/// All that was ever issued, over all processes.
#[derive(Default)]
pub(super) struct Ledger {
    /// By the ID of sequence number 0: what was issued.
    seen: HashMap<u64, Vec<Run>>,
    windows: BTreeMap<Lease, Window>,
    copied: BTreeMap<Lease, Copied>,
    pub(super) ids: u64,
    pub(super) excused_repeats: u64,
    /// Changes with everything that was issued and its order: two runs of a seed come to the same.
    pub(super) trace: u64,
}

/// Sequence numbers that were issued together.
struct Run {
    first: u64,
    last: u64,
    page: usize,
    lease: Lease,
}

/// What an owner of a worker ID may issue, and what it did. In ms since the layout's epoch.
struct Window {
    floor: u64,
    ceiling: u64,
    /// First and last that were issued.
    issued: Option<(u64, u64)>,
    released: bool,
}

/// A lease on a machine that was cloned: below the ceiling of that moment, original and copy may issue the same, and
/// where one of them releases it, its successor and the other one may.
struct Copied {
    ceiling: u64,
    pages: Vec<usize>,
}

/// An issue, as the checks see it.
pub(super) struct Issued {
    pub(super) lease: Lease,
    /// Which memory it was issued from.
    pub(super) page: usize,
    /// In ms since the layout's epoch.
    pub(super) timestamp: u64,
    pub(super) first_bits: u64,
    pub(super) count: u64,
}

impl Ledger {
    /// A machine was cloned with this lease.
    pub(super) fn copied(&mut self, lease: Lease, ceiling: u64, pages: [usize; 2]) {
        let copied = self.copied.entry(lease).or_insert(Copied { ceiling, pages: Vec::new() });
        copied.ceiling = copied.ceiling.max(ceiling);
        copied.pages.extend(pages);
    }

    /// A slot as its keeper has just left it: where it begins, and where it ends for now.
    pub(super) fn window(&mut self, lease: Lease, floor: u64, ceiling: u64) {
        let window = self.windows.entry(lease).or_insert(Window { floor, ceiling, issued: None, released: false });
        window.ceiling = window.ceiling.max(ceiling);
    }

    /// The owner has retired its slot to give the lease back.
    pub(super) fn released(&mut self, lease: Lease) {
        if let Some(window) = self.windows.get_mut(&lease) {
            window.released = true;
        }
    }

    pub(super) fn enter(&mut self, issued: &Issued) -> Result<(), String> {
        self.ids += issued.count;
        self.trace = (self.trace ^ issued.first_bits ^ issued.count).wrapping_mul(0x0000_0100_0000_01B3);
        let first = issued.first_bits & SEQUENCE;
        let run = Run { first, last: first + issued.count - 1, page: issued.page, lease: issued.lease };
        let window = self.windows.get_mut(&issued.lease).ok_or("an ID of a lease that nobody opened")?;
        if issued.timestamp < window.floor || issued.timestamp >= window.ceiling {
            return Err(format!(
                "ID {} of worker {} lies at {}, outside of its window {}..{}",
                issued.first_bits, issued.lease.0, issued.timestamp, window.floor, window.ceiling
            ));
        }
        let (from, to) = window.issued.unwrap_or((issued.timestamp, issued.timestamp));
        window.issued = Some((from.min(issued.timestamp), to.max(issued.timestamp)));

        let runs = self.seen.entry(issued.first_bits & !SEQUENCE).or_default();
        if let Some(other) = runs.iter().find(|other| run.first <= other.last && other.first <= run.last) {
            let known = |a: &Run, b: &Run| {
                self.copied.get(&a.lease).is_some_and(|copied| {
                    let successor = self.windows.get(&a.lease).is_some_and(|window| window.released)
                        && b.lease.0 == a.lease.0
                        && b.lease.1 > a.lease.1;
                    issued.timestamp < copied.ceiling
                        && copied.pages.contains(&a.page)
                        && (copied.pages.contains(&b.page) || successor)
                })
            };
            if !known(&run, other) && !known(other, &run) {
                return Err(format!("ID {} of worker {} was issued twice", issued.first_bits, issued.lease.0));
            }
            self.excused_repeats += 1;
        }
        runs.push(run);
        Ok(())
    }

    /// Windows of one worker ID, in the order of their owners, must not touch: neither what they issued nor what they
    /// might have.
    pub(super) fn windows_are_disjoint(&self) -> Result<(), String> {
        for ((&lease, window), (&next_lease, next)) in self.windows.iter().zip(self.windows.iter().skip(1)) {
            if lease.0 != next_lease.0 || (window.released && self.copied.contains_key(&lease)) {
                continue;
            }
            let issued_to = window.issued.map_or(window.floor, |(_, last)| last + 1);
            let end = if window.released { issued_to } else { window.ceiling.max(issued_to) };
            if next.floor < end {
                return Err(format!(
                    "worker {}: the window of epoch {} ends at {end}, that of epoch {} begins at {}",
                    lease.0, lease.1, next_lease.1, next.floor
                ));
            }
        }
        Ok(())
    }
}

/// Where the registry tells the time and has answered lately, no ID lies far ahead of it.
pub(super) fn not_far_ahead(timestamp_ms: i64, true_ms: i64) -> Result<(), String> {
    // The cap, a `Date` of 1 s resolution, its tolerance of 2 s, and 1 s of rounding.
    let most = CAP_MS + 4_000;
    if timestamp_ms - true_ms > most {
        return Err(format!("an ID lies {} ms ahead of true time", timestamp_ms - true_ms));
    }
    Ok(())
}

/// A check that cannot fail checks nothing.
mod tests {
    use super::*;

    const LEASE: Lease = (1 << 12, 7);
    const NEXT: Lease = (1 << 12, 8);

    fn issued(lease: Lease, page: usize, timestamp: u64) -> Issued {
        Issued { lease, page, timestamp, first_bits: (timestamp << 22) | lease.0 | 5, count: 3 }
    }

    fn ledger() -> Ledger {
        let mut ledger = Ledger::default();
        ledger.window(LEASE, 100, 200);
        ledger
    }

    #[test]
    fn an_id_issued_twice_is_found_also_where_runs_only_overlap() {
        let mut ledger = ledger();
        ledger.enter(&issued(LEASE, 1, 150)).expect("the first");
        let mut second = issued(LEASE, 1, 150);
        second.first_bits += 3;
        ledger.enter(&second).expect("the three after it");
        second.first_bits -= 1;
        second.count = 1;
        assert!(ledger.enter(&second).unwrap_err().contains("issued twice"));
    }

    #[test]
    fn an_id_outside_of_its_window_is_found_on_both_sides() {
        for timestamp in [99, 200] {
            assert!(ledger().enter(&issued(LEASE, 1, timestamp)).unwrap_err().contains("outside"));
        }
        assert!(ledger().enter(&issued(NEXT, 1, 150)).is_err(), "nobody opened that lease");
    }

    #[test]
    fn windows_that_touch_are_found_though_nothing_was_issued_there() {
        let mut ledger = ledger();
        ledger.window(NEXT, 200, 300);
        ledger.windows_are_disjoint().expect("one begins where the other ends");
        ledger.window(LEASE, 100, 201);
        assert!(ledger.windows_are_disjoint().is_err());
        ledger.released(LEASE);
        ledger.windows_are_disjoint().expect("it was given back and had issued nothing");
        ledger.window(NEXT, 200, 300);
        ledger.enter(&issued(LEASE, 1, 200)).expect("within its own window");
        assert!(ledger.windows_are_disjoint().is_err(), "the next one begins at the last that was issued");
    }

    #[test]
    fn only_a_machine_and_its_copy_may_repeat_and_only_below_the_ceiling_that_was_copied() {
        let mut ledger = ledger();
        ledger.copied(LEASE, 180, [1, 2]);
        ledger.enter(&issued(LEASE, 1, 150)).expect("the original");
        ledger.enter(&issued(LEASE, 2, 150)).expect("its copy");
        assert_eq!(ledger.excused_repeats, 1);
        assert!(ledger.enter(&issued(LEASE, 3, 150)).is_err(), "somebody else");
        ledger.enter(&issued(LEASE, 1, 190)).expect("the original");
        assert!(ledger.enter(&issued(LEASE, 2, 190)).is_err(), "above what was copied");
    }
}
