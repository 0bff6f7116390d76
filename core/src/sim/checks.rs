//! What is checked of every ID: no repeat, increasing, windows disjoint, not far ahead.

use std::collections::{BTreeMap, HashMap};

use crate::lease::trust::CAP_MS;

/// The sequence bits of the default layout.
const SEQUENCE: u64 = 4095;

/// All that was ever issued, over all processes.
#[derive(Default)]
pub(super) struct Ledger {
    /// By the ID of sequence number 0: the runs of sequence numbers issued.
    seen: HashMap<u64, Vec<(u64, u64)>>,
    /// By worker and fencing epoch: the first and last timestamp issued.
    windows: BTreeMap<(u64, u64), (u64, u64)>,
    /// Machines that were cloned: below this timestamp two copies of one lease may issue the same.
    excused: BTreeMap<(u64, u64), u64>,
    pub(super) ids: u64,
    pub(super) excused_repeats: u64,
}

/// An issue, as the checks see it.
pub(super) struct Issued {
    pub(super) worker: u64,
    pub(super) fencing_epoch: u64,
    /// In ms since the layout's epoch.
    pub(super) timestamp: u64,
    pub(super) first_bits: u64,
    pub(super) count: u64,
}

impl Ledger {
    /// A machine was cloned with this lease: until its ceiling both copies are in their right.
    pub(super) fn excuse(&mut self, worker: u64, fencing_epoch: u64, ceiling: u64) {
        let below = self.excused.entry((worker, fencing_epoch)).or_default();
        *below = ceiling.max(*below);
    }

    pub(super) fn enter(&mut self, issued: &Issued) -> Result<(), String> {
        self.ids += issued.count;
        let lease = (issued.worker, issued.fencing_epoch);
        let first = issued.first_bits & SEQUENCE;
        let last = first + issued.count - 1;
        let runs = self.seen.entry(issued.first_bits & !SEQUENCE).or_default();
        if runs.iter().any(|run| first <= run.1 && run.0 <= last) {
            if self.excused.get(&lease).is_none_or(|below| issued.timestamp >= *below) {
                return Err(format!("ID {} of worker {} was issued twice", issued.first_bits, issued.worker));
            }
            self.excused_repeats += 1;
        }
        runs.push((first, last));
        let window = self.windows.entry(lease).or_insert((issued.timestamp, issued.timestamp));
        *window = (window.0.min(issued.timestamp), window.1.max(issued.timestamp));
        Ok(())
    }

    /// Windows of one worker ID, in the order of their owners, must not touch.
    pub(super) fn windows_are_disjoint(&self) -> Result<(), String> {
        let mut before: Option<((u64, u64), (u64, u64))> = None;
        for (&lease, &window) in &self.windows {
            if let Some((earlier, last)) = before
                && earlier.0 == lease.0
                && window.0 <= last.1
            {
                return Err(format!(
                    "worker {}: epoch {} issued up to {}, epoch {} from {} on",
                    lease.0, earlier.1, last.1, lease.1, window.0
                ));
            }
            before = Some((lease, window));
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
