//! How far a long run has come, on standard error: only for a person who watches, and only where
//! the IDs themselves do not run over the same screen.

use std::fmt::Write;
use std::io::{IsTerminal, stderr, stdout};
use std::time::{Duration, Instant};

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressState, ProgressStyle};

/// A run that is over sooner shows nothing.
const AFTER: Duration = Duration::from_millis(500);

pub(super) struct Progress {
    count: Option<u64>,
    started: Instant,
    wanted: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(super) fn new(count: Option<u64>) -> Progress {
        let wanted = stderr().is_terminal() && !stdout().is_terminal();
        Progress { count, started: Instant::now(), wanted, bar: None }
    }

    pub(super) fn now_at(&mut self, done: u64) {
        if !self.wanted {
            return;
        }
        if self.bar.is_none() && self.started.elapsed() >= AFTER {
            self.bar = Some(bar(self.count).with_elapsed(self.started.elapsed()));
        }
        if let Some(bar) = &self.bar {
            bar.set_position(done);
        }
    }

    /// Takes the bar away: what comes next on the screen begins on a clean line.
    pub(super) fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.wanted = false;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

fn bar(count: Option<u64>) -> ProgressBar {
    let (bar, template) = match count {
        Some(count) => (ProgressBar::new(count), "{percent:>3}% {bar:24} {human_pos} IDs  {rate}  {left} left"),
        None => (ProgressBar::new_spinner(), "{spinner} {human_pos} IDs  {rate}  {elapsed}"),
    };
    // The default style is good enough if this one should ever be wrong.
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    // Reckoned from the beginning: the rate of a generator is steady.
    let rate = |state: &ProgressState, out: &mut dyn Write| {
        let per_second = state.pos() as f64 / state.elapsed().as_secs_f64().max(0.001);
        let _ = write!(out, "{}/s", HumanCount(per_second as u64));
    };
    let left = |state: &ProgressState, out: &mut dyn Write| {
        let to_do = state.len().unwrap_or_default().saturating_sub(state.pos()) as f64;
        let seconds = state.elapsed().as_secs_f64() * to_do / state.pos().max(1) as f64;
        let _ = write!(out, "{}", HumanDuration(Duration::from_secs_f64(seconds.min(1e9))));
    };
    bar.with_style(style.with_key("rate", rate).with_key("left", left))
}
