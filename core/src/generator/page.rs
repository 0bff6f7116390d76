//! The page: slots and what parent and children must both see, in memory that `fork()` shares.

use std::ptr::NonNull;

use super::slot::{IssueLimits, RETIRED, Slot, SlotLease};
use crate::error::Error;
#[cfg(all(unix, not(leaseflake_loom)))]
use crate::error::ErrorCode;
use crate::lease::state::LeaseState;
use crate::rules::{Rule, holds};
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// How many leases a page can hold before the next one needs a new page. Only touched memory
/// costs anything.
const SLOTS: usize = if cfg!(leaseflake_loom) { 4 } else { 4096 };

/// What parent and children share besides the slots.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Header {
    /// Index of the slot in use. Slot 0 is never opened: it refuses.
    current: AtomicU32,
    /// Set once: the keeper of this page has ended.
    closed: AtomicU32,
    /// The longest that any handle may wait, in ms.
    longest_wait: AtomicU64,
    /// Counts the calls for the keeper; the keeper sleeps on it.
    pub(crate) wake_word: AtomicU32,
    /// Whether a call for the keeper is already under way.
    wake_pending: AtomicU32,
    /// Boot time of the keeper's last attempt, in ms; 0 = none yet.
    stamp_ms: AtomicU64,
    /// How old the stamp may get before the keeper counts as gone, in ms.
    stale_after_ms: AtomicU64,
    /// Newest word ever issued in this process, over all slots.
    newest: AtomicU64,
    /// IDs issued from slots before the current one.
    issued: AtomicU64,
    /// The lease's state as `LeaseState`, for children.
    state: AtomicU32,
    /// Calls that had to wait.
    pub(crate) waits: AtomicU64,
}

/// The memory of one page.
pub(crate) struct Page {
    header: NonNull<Header>,
    slots: NonNull<Slot>,
    memory: Memory,
}

/// Where a page lives.
enum Memory {
    /// Shared with forked children, and theirs.
    #[cfg(all(unix, not(leaseflake_loom)))]
    Shared { base: NonNull<libc::c_void>, length: usize },
    /// One process only: where there is no fork, and under loom.
    #[allow(dead_code)]
    Private { header: *mut Header, slots: *mut [Slot] },
}

// SAFETY: all that a page points to is made of atomics and lives until the page is dropped.
unsafe impl Send for Page {}
// SAFETY: as above.
unsafe impl Sync for Page {}

impl Page {
    /// A fresh page whose IDs will all be above `newest` (a word, relative to the epoch).
    ///
    /// # Errors
    ///
    /// `INTERNAL` when the system has no memory for it.
    pub(crate) fn new(newest: u64, stale_after_ms: u64) -> Result<Page, Error> {
        let page = if holds(Rule::ForkPage) { Page::shared()? } else { Page::private() };
        page.header().newest.store(newest, Ordering::Relaxed);
        page.header().stale_after_ms.store(stale_after_ms, Ordering::Relaxed);
        page.slot(0).retire();
        Ok(page)
    }

    #[cfg(all(unix, not(leaseflake_loom)))]
    fn shared() -> Result<Page, Error> {
        let length = size_of::<Header>() + SLOTS * size_of::<Slot>();
        // SAFETY: a fresh anonymous mapping touches no memory that exists.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        let base = NonNull::new(base).filter(|base| base.as_ptr() != libc::MAP_FAILED).ok_or_else(|| {
            Error::new(
                ErrorCode::Internal,
                format!("cannot map {length} bytes of shared memory: {}", std::io::Error::last_os_error()),
            )
        })?;
        let header: NonNull<Header> = base.cast();
        // SAFETY: the mapping is long enough for the header and the slots behind it, and the
        // header's size keeps the slots aligned.
        let slots: NonNull<Slot> = unsafe { header.add(1) }.cast();
        // All zeros, as the system gives it, is a valid header and valid unopened slots.
        Ok(Page { header, slots, memory: Memory::Shared { base, length } })
    }

    #[cfg(any(not(unix), leaseflake_loom))]
    fn shared() -> Result<Page, Error> {
        Ok(Page::private())
    }

    fn private() -> Page {
        let header = Box::into_raw(Box::new(Header::new()));
        let slots: Box<[Slot]> = (0..SLOTS).map(|_| Slot::unopened()).collect();
        let slots = Box::into_raw(slots);
        // SAFETY: both come from boxes just made.
        let (first, head) = unsafe { (NonNull::new_unchecked(slots.cast::<Slot>()), NonNull::new_unchecked(header)) };
        Page { header: head, slots: first, memory: Memory::Private { header, slots } }
    }

    /// The slot in use, to be remembered by a thread that falls asleep.
    #[cfg(all(test, not(leaseflake_loom)))]
    pub(crate) fn current_slot(&self) -> &Slot {
        self.current()
    }

    /// The fencing epoch of the lease under which a timestamp was issued here.
    #[cfg(all(test, not(leaseflake_loom)))]
    pub(crate) fn epoch_of(&self, prefix: u64, timestamp: u64, limits: &IssueLimits) -> u64 {
        let current = self.header().current.load(Ordering::Acquire) as usize;
        (1..=current)
            .rev()
            .map(|index| self.slot(index))
            .find(|slot| slot.prefix() == prefix && slot.newest() >> limits.sequence_bits == timestamp)
            .map_or(0, Slot::fencing_epoch)
    }

    /// A copy as a clone of the whole machine has it.
    #[cfg(all(test, not(leaseflake_loom)))]
    pub(crate) fn copied(&self) -> Page {
        let page = Page::shared().expect("memory for a page");
        let length = size_of::<Header>() + SLOTS * size_of::<Slot>();
        // SAFETY: two mappings of this length; the simulation has one thread.
        unsafe {
            std::ptr::copy_nonoverlapping(self.header.cast::<u8>().as_ptr(), page.header.cast::<u8>().as_ptr(), length)
        };
        page
    }

    #[inline]
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: valid for as long as the page.
        unsafe { self.header.as_ref() }
    }

    fn slot(&self, index: usize) -> &Slot {
        assert!(index < SLOTS, "slot {index} of {SLOTS}");
        // SAFETY: within the page by the line above; valid for as long as the page.
        unsafe { self.slots.add(index).as_ref() }
    }

    /// The slot in use; retired where there is none.
    #[inline]
    pub(crate) fn current(&self) -> &Slot {
        self.slot(self.header().current.load(Ordering::Acquire) as usize)
    }

    /// Opens the next slot and moves `current` on to it; the ceilings come with `raise`. The start
    /// is raised above whatever this process has issued. `false` when the page is full.
    pub(crate) fn open_slot(&self, mut lease: SlotLease, limits: &IssueLimits) -> bool {
        let index = self.header().current.load(Ordering::Acquire) as usize;
        let next = if holds(Rule::NoSlotReuse) { index + 1 } else { 1 };
        if next >= SLOTS {
            return false;
        }
        let newest = self.retire_current(limits);
        lease.start = lease.start.max((newest >> limits.sequence_bits) + u64::from(newest > 0));
        self.slot(next).open(&lease, limits);
        self.header().current.store(next as u32, Ordering::Release);
        true
    }

    /// Retires the slot in use and gives the newest word of this process, over all slots.
    pub(crate) fn retire_current(&self, limits: &IssueLimits) -> u64 {
        let slot = self.current();
        let first_time = !slot.is_retired();
        let newest = slot.retire();
        if first_time {
            // Two threads may both count here; the counter is for people.
            self.header().issued.fetch_add(slot.issued(limits), Ordering::Relaxed);
        }
        self.header().newest.fetch_max(newest, Ordering::AcqRel).max(newest)
    }

    /// Newest word ever issued in this process, over all slots.
    pub(crate) fn newest(&self) -> u64 {
        let slot = self.current().newest();
        self.header().newest.load(Ordering::Acquire).max(slot)
    }

    /// IDs issued over all slots.
    pub(crate) fn issued(&self, limits: &IssueLimits) -> u64 {
        let slot = self.current();
        let current = if slot.is_retired() { 0 } else { slot.issued(limits) };
        self.header().issued.load(Ordering::Relaxed).wrapping_add(current)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        match self.memory {
            #[cfg(all(unix, not(leaseflake_loom)))]
            Memory::Shared { base, length } => {
                // SAFETY: mapped by us with this length; nobody holds a reference into a page
                // that is being dropped. Other processes keep their own mapping.
                unsafe { libc::munmap(base.as_ptr(), length) };
            }
            Memory::Private { header, slots } => {
                // SAFETY: both come from boxes, and are freed here only.
                drop(unsafe { (Box::from_raw(header), Box::from_raw(slots)) });
            }
        }
    }
}

impl Header {
    fn new() -> Header {
        Header {
            current: AtomicU32::new(0),
            closed: AtomicU32::new(0),
            longest_wait: AtomicU64::new(0),
            wake_word: AtomicU32::new(0),
            wake_pending: AtomicU32::new(0),
            stamp_ms: AtomicU64::new(0),
            stale_after_ms: AtomicU64::new(0),
            newest: AtomicU64::new(0),
            issued: AtomicU64::new(0),
            state: AtomicU32::new(0),
            waits: AtomicU64::new(0),
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire) != 0
    }

    pub(crate) fn close(&self) {
        self.closed.store(1, Ordering::Release);
    }

    pub(crate) fn stamp(&self, boot_ms: u64) {
        self.stamp_ms.store(boot_ms.max(1), Ordering::Release);
    }

    /// Boot time of the keeper's last attempt, in ms.
    #[cfg(all(test, not(leaseflake_loom)))]
    pub(crate) fn stamp_ms(&self) -> u64 {
        self.stamp_ms.load(Ordering::Acquire)
    }

    /// Whether the keeper of this page is at work: it stamps before every attempt.
    pub(crate) fn keeper_lives(&self, boot_ms: u64) -> bool {
        let stamp = self.stamp_ms.load(Ordering::Acquire);
        let stale_after = self.stale_after_ms.load(Ordering::Relaxed);
        holds(Rule::KeeperStamp) && stamp != 0 && boot_ms.saturating_sub(stamp) <= stale_after
    }

    #[inline]
    pub(crate) fn longest_wait(&self) -> u64 {
        self.longest_wait.load(Ordering::Relaxed)
    }

    pub(crate) fn allow_wait(&self, max_wait_ms: u64) {
        self.longest_wait.fetch_max(max_wait_ms, Ordering::Relaxed);
    }

    pub(crate) fn set_state(&self, state: LeaseState) {
        self.state.store(state as u32, Ordering::Release);
    }

    pub(crate) fn state(&self) -> LeaseState {
        LeaseState::from_number(self.state.load(Ordering::Acquire))
    }

    /// Asks the keeper to look, from any process that shares the page. Cheap when asked often.
    pub(crate) fn wake(&self) {
        if self.wake_pending.swap(1, Ordering::AcqRel) == 0 {
            self.wake_word.fetch_add(1, Ordering::AcqRel);
            super::futex::wake(&self.wake_word);
        }
    }

    /// Wakes the keeper whatever it was called for before: for a close.
    pub(crate) fn wake_now(&self) {
        self.wake_word.fetch_add(1, Ordering::AcqRel);
        super::futex::wake(&self.wake_word);
    }

    /// Whether somebody has called for the keeper.
    pub(crate) fn is_called(&self) -> bool {
        self.wake_pending.load(Ordering::Acquire) != 0
    }

    /// Sleeps until somebody calls, the word has moved on from `seen`, or the time is over.
    pub(crate) fn sleep(&self, seen: u32, span: std::time::Duration) {
        super::futex::wait(&self.wake_word, seen, span);
    }

    /// The keeper has heard: the next call wakes it again.
    pub(crate) fn heard(&self) {
        self.wake_pending.store(0, Ordering::Release);
    }
}

const _: () = assert!(RETIRED == 1 << 63);
const _: () = assert!(cfg!(leaseflake_loom) || size_of::<Slot>() == 64);
