//! A thread that makes an ID, in the steps between which it may sleep for any time.

/// Where the thread is, and what it remembers. It keeps to the page and the worker ID that it
/// found when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Thread {
    /// Not in a call.
    Idle,
    /// It has read the clock.
    Read {
        /// What the clock said.
        clock: u8,
        /// The page it is in.
        page: u8,
        /// Whether that page's slot was of another worker ID than the model's.
        elsewhere: bool,
    },
    /// It has checked a timestamp, and now issues it.
    Checked {
        /// The timestamp.
        timestamp: u8,
        /// The word that it saw, and that it compares and swaps.
        word: u8,
        /// The page it is in.
        page: u8,
        /// Whether that page's slot was of another worker ID than the model's.
        elsewhere: bool,
    },
}

impl Thread {
    /// The page the thread is in.
    pub fn page(&self) -> Option<u8> {
        match *self {
            Thread::Idle => None,
            Thread::Read { page, .. } | Thread::Checked { page, .. } => Some(page),
        }
    }
}
