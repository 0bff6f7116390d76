//! The answers of one connection that its client has not read: they take places and memory, which a client that
//! never reads must not keep.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The answers of one connection that are not sent whole, the oldest first.
#[derive(Default)]
pub(crate) struct Unread(Mutex<Answers>);

#[derive(Default)]
struct Answers {
    began: BTreeMap<u64, Instant>,
    next: u64,
}

/// One of them, until it is dropped.
pub(crate) struct Sending {
    of: Arc<Unread>,
    number: u64,
}

impl Unread {
    /// An answer begins.
    pub(crate) fn begin(self: Arc<Unread>) -> Sending {
        let number = {
            let mut answers = self.lock();
            answers.next += 1;
            let number = answers.next;
            answers.began.insert(number, Instant::now());
            number
        };
        Sending { of: self, number }
    }

    /// Waits until one has been unread for longer than this: for ever, if all are read in time.
    pub(crate) async fn for_longer_than(&self, limit: Duration) {
        loop {
            // A new answer is looked at in time, since it is younger than whatever is waited for here.
            let due = self.oldest().unwrap_or_else(Instant::now) + limit;
            tokio::time::sleep_until(due).await;
            if self.oldest().is_some_and(|began| began + limit <= Instant::now()) {
                return;
            }
        }
    }

    /// When the oldest one began.
    fn oldest(&self) -> Option<Instant> {
        self.lock().began.first_key_value().map(|(_, began)| *began)
    }

    fn lock(&self) -> MutexGuard<'_, Answers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.of.lock().began.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_answer_alone_decides() {
        let unread = Arc::new(Unread::default());
        assert_eq!(unread.oldest(), None);
        let first = Arc::clone(&unread).begin();
        let oldest = unread.oldest();
        let second = Arc::clone(&unread).begin();
        assert_eq!(unread.oldest(), oldest);
        drop(first);
        assert!(unread.oldest() >= oldest && unread.oldest().is_some());
        // Unread for longer than nothing.
        unread.for_longer_than(Duration::from_millis(1)).await;
        drop(second);
        assert_eq!(unread.oldest(), None);
    }
}
