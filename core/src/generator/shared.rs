//! One generator of a process: the page, the limits, and the way back from a refusal.

use super::link::Link;
use super::page::Page;
use super::slot::{IssueLimits, Reach, Refusal, Reservation, SlotLease, Want};
use super::{leave, wait};
use crate::clock::ClockSource;
use crate::error::Error;
use crate::fork;
use crate::lease::keeper::LeasePage;
use crate::options::Config;
use crate::rules::{Rule, holds};
use crate::sync::{Arc, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// What all handles of a generator share, and its keeper.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) clock: ClockSource,
    pub(crate) limits: IssueLimits,
    page: AtomicPtr<Page>,
    link: AtomicPtr<Link>,
    /// Which copy of the process the keeper of the page runs in.
    pub(crate) keeper_generation: AtomicU64,
    /// The same, as soon as a thread has begun to leave an inherited page.
    pub(crate) leaving: AtomicU64,
    /// When leaving may be tried again after a failure: boot time, in ms.
    pub(crate) leave_from_ms: AtomicU64,
    /// The page before this one, where there is one.
    replaced: AtomicPtr<Replaced>,
    /// Open handles.
    pub(crate) handles: AtomicUsize,
    pub(crate) host: Host,
}

/// A page that another one has replaced: a thread may still be in it, so it lives as long as the generator.
struct Replaced {
    page: Arc<Page>,
    before: *mut Replaced,
}

/// Where a generator lives: in this process, or in a simulated one.
#[derive(Debug)]
pub(crate) enum Host {
    /// In this process, with a thread for its keeper.
    Process,
    /// In a simulated process of this number; the simulation drives its keeper.
    #[cfg(all(test, not(leaseflake_loom)))]
    Simulated(u64),
}

impl Host {
    /// Which copy of the process we are.
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        match self {
            Host::Process => fork::generation(),
            #[cfg(all(test, not(leaseflake_loom)))]
            Host::Simulated(number) => *number,
        }
    }
}

impl Shared {
    /// A generator without a keeper yet, whose IDs will all be above `newest` (a word).
    pub(crate) fn new(config: Config, clock: ClockSource, newest: u64, host: Host) -> Result<Shared, Error> {
        let page = fresh_page(newest, &config, &clock)?;
        page.header().allow_wait(config.max_wait_ms);
        Ok(Shared::over(Arc::new(page), config, clock, host))
    }

    /// Another page for this generator, whose IDs will all be above `newest` (a word).
    pub(crate) fn next_page(&self, newest: u64) -> Result<Page, Error> {
        fresh_page(newest, &self.config, &self.clock)
    }

    fn over(page: Arc<Page>, config: Config, clock: ClockSource, host: Host) -> Shared {
        let now = clock.now();
        let generation = host.generation();
        Shared {
            limits: IssueLimits::new(&config.layout, config.sequence_jitter),
            page: AtomicPtr::new(Arc::into_raw(page).cast_mut()),
            link: AtomicPtr::new(Box::into_raw(Box::new(Link::new(now, config.store.name())))),
            keeper_generation: AtomicU64::new(generation),
            leaving: AtomicU64::new(generation),
            leave_from_ms: AtomicU64::new(0),
            replaced: AtomicPtr::new(std::ptr::null_mut()),
            handles: AtomicUsize::new(0),
            config,
            clock,
            host,
        }
    }

    /// The same generator as a forked child finds it: the page is shared, the keeper is not ours.
    #[cfg(all(test, not(leaseflake_loom)))]
    pub(crate) fn forked(&self, clock: ClockSource, number: u64) -> Shared {
        let child = Shared::over(self.page_handle(), self.config.clone(), clock, Host::Simulated(number));
        let inherited = self.keeper_generation.load(Ordering::Acquire);
        child.keeper_generation.store(inherited, Ordering::Release);
        child.leaving.store(inherited, Ordering::Release);
        child
    }

    /// The same generator as a clone of the whole machine finds it: nothing is shared.
    #[cfg(all(test, not(leaseflake_loom)))]
    pub(crate) fn cloned(&self, clock: ClockSource, number: u64) -> Shared {
        Shared::over(Arc::new(self.page().copied()), self.config.clone(), clock, Host::Simulated(number))
    }

    #[cfg(all(test, not(leaseflake_loom)))]
    pub(crate) fn page_handle(&self) -> Arc<Page> {
        let page = self.page.load(Ordering::Acquire);
        // SAFETY: made by `Arc::into_raw`, and alive for as long as `self`.
        unsafe {
            Arc::increment_strong_count(page);
            Arc::from_raw(page)
        }
    }

    #[inline]
    pub(crate) fn page(&self) -> &Page {
        // SAFETY: always an `Arc` of ours; a page that was replaced is never freed before `self`.
        unsafe { &*self.page.load(Ordering::Acquire) }
    }

    pub(crate) fn link(&self) -> &Link {
        // SAFETY: as for the page.
        unsafe { &*self.link.load(Ordering::Acquire) }
    }

    /// Puts another page in place. The old one stays mapped: threads may be in it.
    pub(crate) fn replace_page(&self, page: Page) {
        page.header().allow_wait(self.page().header().longest_wait());
        let before = self.replaced.load(Ordering::Acquire);
        let page = self.page.swap(Arc::into_raw(Arc::new(page)).cast_mut(), Ordering::AcqRel);
        // SAFETY: made by `Arc::into_raw`, and nobody else replaces a page meanwhile: the keeper does, or the one
        // thread that leaves for all of a child without one.
        let page = unsafe { Arc::from_raw(page) };
        self.replaced.store(Box::into_raw(Box::new(Replaced { page, before })), Ordering::Release);
    }

    /// The newest word that was issued from the page before this one.
    fn newest_before(&self) -> u64 {
        let replaced = self.replaced.load(Ordering::Acquire);
        // SAFETY: null or a box of ours, freed with `self`.
        unsafe { replaced.as_ref() }.map_or(0, |replaced| replaced.page.newest())
    }

    /// Puts a fresh link in place. The old one stays: it may be locked by a thread that did not
    /// come along through the fork.
    pub(crate) fn replace_link(&self) {
        self.link
            .store(Box::into_raw(Box::new(Link::new(self.clock.now(), self.config.store.name()))), Ordering::Release);
    }

    /// Whether the keeper of the page runs in this process, and not in one that forked us.
    pub(crate) fn owns_keeper(&self) -> bool {
        self.keeper_generation.load(Ordering::Acquire) == self.host.generation()
    }

    /// The bits of one ID where nothing has to be waited for, skipped or counted.
    #[inline(always)]
    pub(crate) fn take_now(&self) -> Option<u64> {
        // Before the epoch this is a number that no slot is at.
        let now = (self.clock.wall_ms() - self.config.layout.epoch_ms()) as u64;
        self.page().current().take_now(now, &self.limits).map(|(_, bits)| bits)
    }

    /// Takes IDs; they may be returned once the clock reaches them.
    #[inline(always)]
    pub(crate) fn reserve(self: &Arc<Self>, want: Want, max_wait_ms: u64) -> Result<Reservation, Refusal> {
        if !holds(Rule::ReserveBeforeWait) {
            return self.take_after_waiting(want, max_wait_ms);
        }
        match self.try_reserve(want, max_wait_ms) {
            Ok(reservation) => Ok(reservation),
            Err(refusal) => self.refused(refusal, want, max_wait_ms),
        }
    }

    #[inline(always)]
    fn try_reserve(&self, want: Want, max_wait: u64) -> Result<Reservation, Refusal> {
        let now = self.clock.wall_ms() - self.config.layout.epoch_ms();
        if now < 0 {
            return Err(Refusal::BeforeEpoch);
        }
        let now = now as u64;
        if now > self.limits.max_timestamp {
            return Err(Refusal::OutOfRange);
        }
        let page = self.page();
        let reach = Reach { now, max_wait, longest_wait: page.header().longest_wait() };
        page.current().reserve(want, &reach, &self.limits)
    }

    /// What the rule forbids: waiting first, and then taking if nobody else was faster.
    #[cold]
    fn take_after_waiting(self: &Arc<Self>, want: Want, max_wait_ms: u64) -> Result<Reservation, Refusal> {
        let began = self.clock.get().boot_ns();
        loop {
            match self.try_reserve(want, 0) {
                Err(Refusal::Exhausted) if self.clock.get().boot_ns() - began < max_wait_ms * 1_000_000 => {
                    self.clock.get().sleep(std::time::Duration::from_micros(100));
                }
                other => return other,
            }
        }
    }

    /// What can be done about a refusal: a newer slot, the keeper, or a page of our own.
    #[cold]
    fn refused(self: &Arc<Self>, mut refusal: Refusal, want: Want, max_wait: u64) -> Result<Reservation, Refusal> {
        // `current` may have moved on between the look and the refusal; and a thread that was put to
        // sleep after it read the clock finds the others far ahead of what it read.
        let mut looked_at = i64::MIN;
        for _ in 0..8 {
            let worth_it = match refusal {
                Refusal::Retired => !self.page().current().is_retired(),
                Refusal::Exhausted | Refusal::ClockBackwards => {
                    let before = std::mem::replace(&mut looked_at, self.clock.wall_ms());
                    looked_at > before
                }
                _ => false,
            };
            if !worth_it {
                break;
            }
            match self.try_reserve(want, max_wait) {
                Ok(reservation) => return Ok(reservation),
                Err(newer) => refusal = newer,
            }
        }
        match refusal {
            Refusal::Retired | Refusal::Suspended | Refusal::Untrusted => {
                fork::check_raw_clone();
                if !self.owns_keeper() && leave::leave_if_orphaned(self) {
                    return Err(Refusal::Retired);
                }
                if self.owns_keeper() && self.page().header().is_closed() {
                    return Err(Refusal::Closed);
                }
                self.page().header().wake();
            }
            _ => {}
        }
        Err(refusal)
    }

    /// Waits until the clock reaches a reservation; at once where it has.
    #[inline]
    pub(crate) fn wait_for(&self, reservation: &Reservation, max_wait_ms: u64) -> Result<(), Refusal> {
        if reservation.ahead { self.wait_long(reservation, max_wait_ms) } else { Ok(()) }
    }

    #[cold]
    fn wait_long(&self, reservation: &Reservation, max_wait_ms: u64) -> Result<(), Refusal> {
        self.page().header().waits.fetch_add(1, Ordering::Relaxed);
        wait::until(self.clock.get(), self.wall_ms_of(reservation), max_wait_ms, reservation.place(&self.limits))
    }

    /// The timestamp of a reservation, in ms since the Unix epoch.
    pub(crate) fn wall_ms_of(&self, reservation: &Reservation) -> i64 {
        self.to_wall(reservation.timestamp(&self.limits))
    }

    fn to_wall(&self, relative: u64) -> i64 {
        self.config.layout.epoch_ms().saturating_add(relative as i64)
    }

    /// ms since the Unix epoch to ms since the layout's, within the timestamp field or one past it.
    fn to_relative(&self, wall_ms: i64) -> u64 {
        let relative = wall_ms.saturating_sub(self.config.layout.epoch_ms());
        (relative.max(0) as u64).min(self.limits.max_timestamp + 1)
    }
}

/// A page whose keeper is at work or about to start: a child forked before its next attempt waits for it.
fn fresh_page(newest: u64, config: &Config, clock: &ClockSource) -> Result<Page, Error> {
    let page = Page::new(newest, 2 * config.heartbeat_interval_ms as u64)?;
    page.header().stamp(clock.get().boot_ns() / 1_000_000);
    Ok(page)
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: all are ours, and the last user is gone. Only the links that forks left behind are given up for good:
        // a thread that did not come along may hold their locks.
        unsafe {
            drop(Arc::from_raw(self.page.load(Ordering::Acquire)));
            drop(Box::from_raw(self.link.load(Ordering::Acquire)));
            let mut replaced = self.replaced.load(Ordering::Acquire);
            while !replaced.is_null() {
                replaced = Box::from_raw(replaced).before;
            }
        }
    }
}

/// The page of a generator, as its keeper moves it.
#[derive(Clone)]
pub(crate) struct KeptPage(pub(crate) Arc<Shared>);

impl std::fmt::Debug for KeptPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("KeptPage").field(self.0.page().current()).finish()
    }
}

impl LeasePage for KeptPage {
    fn open_slot(&self, datacenter_id: u32, worker_id: u32, fencing_epoch: u64, floor_ms: i64) {
        let shared = &self.0;
        let lease = SlotLease {
            prefix: shared.config.layout.worker_prefix(datacenter_id, worker_id),
            // A thread may have issued from the page before this one until a moment ago.
            start: shared.to_relative(floor_ms).max((shared.newest_before() >> shared.limits.sequence_bits) + 1),
            fencing_epoch,
        };
        if shared.page().open_slot(lease, &shared.limits) {
            return;
        }
        // The page is full: go on in another one. Children that still use this one find it closed.
        let newest = shared.page().retire_current(&shared.limits);
        match shared.next_page(newest) {
            Ok(page) => {
                page.open_slot(lease, &shared.limits);
                let old = shared.page();
                shared.replace_page(page);
                old.header().close();
            }
            Err(error) => tracing::error!("no page for another lease: {error}"),
        }
    }

    fn raise(&self, ceiling_ms: i64, cap_ms: i64, expiry_ms: i64) {
        let shared = &self.0;
        let expiry = expiry_ms.max(0) as u64;
        shared.page().current().raise(shared.to_relative(ceiling_ms), shared.to_relative(cap_ms), expiry);
    }

    fn retire(&self) -> i64 {
        let shared = &self.0;
        shared.to_wall(shared.page().retire_current(&shared.limits) >> shared.limits.sequence_bits)
    }

    fn newest_ms(&self) -> i64 {
        self.0.to_wall(self.0.page().newest() >> self.0.limits.sequence_bits)
    }

    fn is_retired(&self) -> bool {
        // A page that is closed stays so: a close has retired its slot, and nothing is opened after that.
        let page = self.0.page();
        page.current().is_retired() && !page.header().is_closed()
    }

    fn ceiling_ms(&self) -> i64 {
        self.0.to_wall(self.0.page().current().ceiling())
    }

    fn close(&self) {
        self.0.page().header().close();
    }
}
