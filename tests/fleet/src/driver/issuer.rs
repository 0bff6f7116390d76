//! Whatever issues IDs, a program or a forked child: its streams, and whether it makes progress.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The streams of one process, watched by their lengths alone, so that watching asks nothing of
/// the process.
#[derive(Debug)]
pub(super) struct Issuer {
    /// `p3-1`, or `p3-1-f2` for a forked child.
    pub(super) name: String,
    streams: Vec<PathBuf>,
    /// What the background threads have written.
    background: u64,
    /// What all have written.
    bytes: u64,
    /// When the background last wrote; `None` before it first did.
    grew: Option<Instant>,
    /// Since when nothing keeps it from issuing; `None` while something does.
    calm: Option<Instant>,
    /// The longest that it took to issue again once nothing kept it from it.
    slowest: Duration,
}

impl Issuer {
    pub(super) fn new(folder: &Path, name: String, threads: usize) -> Issuer {
        let streams = (0..=threads).map(|thread| folder.join(format!("{name}.{thread}.ordered"))).collect();
        Issuer { name, streams, background: 0, bytes: 0, grew: None, calm: None, slowest: Duration::ZERO }
    }

    /// Looks at the streams' lengths.
    pub(super) fn look(&mut self, now: Instant) {
        let length = |path: &PathBuf| fs::metadata(path).map_or(0, |status| status.len());
        let background = self.streams.iter().skip(1).map(length).sum();
        self.bytes = background + self.streams.first().map_or(0, length);
        if background > self.background {
            self.background = background;
            if let Some(calm) = self.calm
                && self.grew.is_none_or(|grew| grew < calm)
            {
                self.slowest = self.slowest.max(now - calm);
            }
            self.grew = Some(now);
        }
    }

    /// Something keeps it from issuing from now on.
    pub(super) fn disturbed(&mut self) {
        self.calm = None;
    }

    /// Nothing keeps it from issuing from now on.
    pub(super) fn calmed(&mut self, now: Instant) {
        self.calm.get_or_insert(now);
    }

    /// For how long it should have issued, and has not.
    pub(super) fn silence(&self, now: Instant) -> Duration {
        match (self.calm, self.grew) {
            (Some(calm), Some(grew)) => now.saturating_duration_since(calm.max(grew)),
            (Some(calm), None) => now.saturating_duration_since(calm),
            (None, _) => Duration::ZERO,
        }
    }

    /// Whether it has issued since nothing keeps it from it.
    pub(super) fn is_back(&self) -> bool {
        matches!((self.calm, self.grew), (Some(calm), Some(grew)) if grew > calm)
    }

    /// How many IDs it has written.
    pub(super) fn ids(&self) -> u64 {
        self.bytes / 8
    }

    /// The longest that it took to issue again.
    pub(super) fn slowest(&self) -> Duration {
        self.slowest
    }
}
