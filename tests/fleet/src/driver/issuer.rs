//! Whatever issues IDs, a program or a forked child: its streams, and whether it makes progress.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The streams of one process, watched in their files, so that watching asks nothing of the
/// process.
#[derive(Debug)]
pub(super) struct Issuer {
    /// `p3-1`, or `p3-1-f2` for a forked child.
    pub(super) name: String,
    /// The first is that of the commands, the others are those of the background.
    streams: Vec<Watched>,
    /// The newest IDs that the last look found, one for each stream that has grown.
    newest: Vec<i64>,
    /// When the background last wrote; `None` before it first did.
    grew: Option<Instant>,
    /// Since when nothing keeps it from issuing; `None` while something does.
    calm: Option<Instant>,
    /// The longest that it took to issue again once nothing kept it from it.
    slowest: Duration,
}

impl Issuer {
    pub(super) fn new(folder: &Path, name: String, threads: usize) -> Issuer {
        let streams =
            (0..=threads).map(|thread| Watched::new(folder.join(format!("{name}.{thread}.ordered")))).collect();
        Issuer { name, streams, newest: Vec::new(), grew: None, calm: None, slowest: Duration::ZERO }
    }

    /// Looks at what the streams hold.
    pub(super) fn look(&mut self, now: Instant) {
        self.newest.clear();
        let mut background_grew = false;
        for (thread, stream) in self.streams.iter_mut().enumerate() {
            if let Some(newest) = stream.look() {
                background_grew |= thread > 0;
                self.newest.push(newest);
            }
        }
        if background_grew {
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
        self.streams.iter().map(|stream| stream.ids).sum()
    }

    /// The newest IDs of the streams that had grown at the last look.
    pub(super) fn newest(&self) -> &[i64] {
        &self.newest
    }

    /// The longest that it took to issue again.
    pub(super) fn slowest(&self) -> Duration {
        self.slowest
    }
}

/// One stream and how far it has been seen.
#[derive(Debug)]
struct Watched {
    path: PathBuf,
    file: Option<File>,
    ids: u64,
}

impl Watched {
    fn new(path: PathBuf) -> Watched {
        Watched { path, file: None, ids: 0 }
    }

    /// The newest ID, if there is one that was not there before.
    fn look(&mut self) -> Option<i64> {
        if self.file.is_none() {
            // It is there once its thread has begun.
            self.file = File::open(&self.path).ok();
        }
        let file = self.file.as_ref()?;
        let ids = file.metadata().ok()?.len() / 8;
        if ids <= self.ids {
            return None;
        }
        self.ids = ids;
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, 8 * (ids - 1)).ok()?;
        Some(i64::from_le_bytes(bytes))
    }
}
