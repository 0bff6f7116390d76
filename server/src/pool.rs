//! The worker IDs of this server, one generator each, and which of them a call goes to.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use leaseflake::{Error, ErrorCode, IdGenerator, Options, Reserved};
use tokio::task::JoinSet;

use crate::answer::Worker;

/// How long a slot whose registry refuses it waits before it asks again, while others serve.
const AFTER_REFUSAL: Duration = Duration::from_secs(30);
/// A worker ID that is not known yet.
const NO_WORKER: u64 = u64::MAX;

/// All slots.
pub(crate) struct Pool {
    slots: Box<[Slot]>,
    next: AtomicUsize,
}

/// One worker ID: a generator, once there is one.
pub(crate) struct Slot {
    /// The `slot` option of its generator.
    pub(crate) number: u32,
    generator: OnceLock<IdGenerator>,
    /// Why there is no generator yet.
    failure: Mutex<Error>,
    /// Whether calls should come here: kept by whoever watches the lease.
    ready: AtomicBool,
    /// The clock has refused a call and none has succeeded since.
    clock_refuses: AtomicBool,
    /// A call was refused because the window is used up, since the last look.
    suspended: AtomicBool,
    /// The worker ID last held: datacenter above, worker below.
    worker: AtomicU64,
    /// So many of the next calls panic, for tests of what becomes of them.
    #[cfg(test)]
    panics: AtomicUsize,
}

impl Slot {
    fn new(number: u32) -> Slot {
        let begun = "no worker ID has been acquired yet: the server has just started";
        Slot {
            number,
            generator: OnceLock::new(),
            failure: Mutex::new(Error::new(ErrorCode::NoWorkerId, begun)),
            ready: AtomicBool::new(false),
            clock_refuses: AtomicBool::new(false),
            suspended: AtomicBool::new(false),
            worker: AtomicU64::new(NO_WORKER),
            #[cfg(test)]
            panics: AtomicUsize::new(0),
        }
    }

    /// The generator, once there is one.
    pub(crate) fn generator(&self) -> Option<&IdGenerator> {
        self.generator.get()
    }

    /// The worker ID last held.
    pub(crate) fn worker(&self) -> Option<Worker> {
        let bits = self.worker.load(Ordering::Relaxed);
        (bits != NO_WORKER).then_some(((bits >> 32) as u32, bits as u32))
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    /// What a watcher saw: whether calls should come here, and the worker ID.
    pub(crate) fn note(&self, ready: bool, worker: Option<Worker>) {
        self.ready.store(ready, Ordering::Relaxed);
        if let Some((datacenter, worker)) = worker {
            self.worker.store(u64::from(datacenter) << 32 | u64::from(worker), Ordering::Relaxed);
        }
    }

    /// Whether the clock refuses calls. Looks again, by an ID, where it did at the last one.
    pub(crate) fn clock_refuses(&self) -> bool {
        if self.clock_refuses.load(Ordering::Relaxed)
            && let Some(generator) = self.generator()
            && !generator.try_next_id_or_code().is_err_and(is_of_the_clock)
        {
            self.clock_refuses.store(false, Ordering::Relaxed);
        }
        self.clock_refuses.load(Ordering::Relaxed)
    }

    /// Whether a call has met a window that is used up since this was last asked: it may have been short.
    pub(crate) fn take_suspended(&self) -> bool {
        self.suspended.swap(false, Ordering::Relaxed)
    }

    /// Why there is no generator yet.
    pub(crate) fn failure(&self) -> Error {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn fail(&self, error: &Error) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = error.clone();
    }

    #[cfg(test)]
    pub(crate) fn panic_next(&self, calls: usize) {
        self.panics.store(calls, Ordering::SeqCst);
    }

    fn reserve(&self, count: usize) -> Result<Taken<'_>, Error> {
        #[cfg(test)]
        if self.panics.load(Ordering::SeqCst) > 0 {
            self.panics.fetch_sub(1, Ordering::SeqCst);
            panic!("a test asked for it");
        }
        let Some(generator) = self.generator() else { return Err(self.failure()) };
        match generator.reserve_ids(count) {
            Ok(reserved) => Ok(Taken { slot: self, generator, reserved }),
            Err(error) => {
                if is_of_the_clock(error.code()) {
                    self.clock_refuses.store(true, Ordering::Relaxed);
                }
                if error.code() == ErrorCode::LeaseSuspended {
                    self.suspended.store(true, Ordering::Relaxed);
                }
                Err(error)
            }
        }
    }

    /// Opens the generator; tries again for as long as a retry may help.
    async fn open(&self, options: &Options, is_only_hope: impl Fn() -> bool) -> Result<(), Error> {
        loop {
            let error = match IdGenerator::open_async(options.clone().slot(self.number)).await {
                Ok(generator) => {
                    let status = generator.status();
                    // Nobody else opens this slot.
                    let _ = self.generator.set(generator);
                    self.note(true, status.datacenter_id.zip(status.worker_id));
                    return Ok(());
                }
                Err(error) => error,
            };
            self.fail(&error);
            if !error.retryable() && is_only_hope() {
                return Err(error);
            }
            tracing::warn!(slot = self.number, code = error.name(), "no worker ID yet: {}", error.message());
            tokio::time::sleep(error.retry_after().unwrap_or(AFTER_REFUSAL)).await;
        }
    }
}

fn is_of_the_clock(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::ClockBackwards | ErrorCode::ClockUntrusted)
}

/// IDs that are taken already, and perhaps have to be waited for.
pub(crate) struct Taken<'a> {
    slot: &'a Slot,
    pub(crate) generator: &'a IdGenerator,
    reserved: Reserved,
}

/// Why there are none, and whose fault it is.
pub(crate) struct Refused {
    pub(crate) error: Error,
    pub(crate) worker: Option<Worker>,
}

impl Taken<'_> {
    /// Waits, without blocking a thread, until the IDs may be used; gives the first of them.
    pub(crate) async fn first(&self) -> Result<leaseflake::Id, Refused> {
        if self.reserved.is_ahead() {
            let waited = self.generator.wait_async(&self.reserved).await;
            waited.map_err(|error| Refused { error, worker: self.slot.worker() })?;
        }
        Ok(self.generator.first_of(&self.reserved))
    }
}

impl Pool {
    /// Slots for this many worker IDs, from this number on.
    pub(crate) fn new(first: u32, workers: u32) -> Pool {
        Pool { slots: (first..first + workers).map(Slot::new).collect(), next: AtomicUsize::new(0) }
    }

    /// Opens all slots, each by itself. Ends when all are open, or with the first error that no retry
    /// mends, if none is open by then.
    pub(crate) async fn open(self: Arc<Pool>, options: Options) -> Result<(), Error> {
        let mut opening = JoinSet::new();
        for index in 0..self.slots.len() {
            let (pool, options) = (Arc::clone(&self), options.clone());
            opening.spawn(async move { pool.slots[index].open(&options, || !pool.has_any()).await });
        }
        while let Some(opened) = opening.join_next().await {
            opened.map_err(|panic| Error::new(ErrorCode::Internal, format!("opening panicked: {panic}")))??;
        }
        Ok(())
    }

    /// The slots.
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Whether any slot has a generator.
    pub(crate) fn has_any(&self) -> bool {
        self.slots.iter().any(|slot| slot.generator().is_some())
    }

    /// Whether any slot takes calls.
    pub(crate) fn is_ready(&self) -> bool {
        self.slots.iter().any(Slot::is_ready)
    }

    /// Takes IDs: from the slots in turn, first from those that are ready.
    pub(crate) fn reserve(&self, count: usize) -> Result<Taken<'_>, Refused> {
        let turn = if self.slots.len() == 1 { 0 } else { self.next.fetch_add(1, Ordering::Relaxed) };
        let in_turn = |offset: usize| &self.slots[turn.wrapping_add(offset) % self.slots.len()];
        let mut first = None;
        for ready in [true, false] {
            for slot in (0..self.slots.len()).map(in_turn).filter(|slot| slot.is_ready() == ready) {
                match slot.reserve(count) {
                    Ok(taken) => return Ok(taken),
                    Err(error) if error.code() == ErrorCode::InvalidArgument => {
                        return Err(Refused { error, worker: None });
                    }
                    Err(error) => drop(first.get_or_insert(Refused { error, worker: slot.worker() })),
                }
            }
        }
        // A slot may have changed between the two rounds, and so have been passed over in both.
        Err(first.unwrap_or_else(|| Refused { error: self.slots[0].failure(), worker: None }))
    }

    /// Gives all worker IDs back, all at once.
    pub(crate) async fn close(self: Arc<Pool>) {
        let mut closing = JoinSet::new();
        for index in 0..self.slots.len() {
            let pool = Arc::clone(&self);
            closing.spawn(async move {
                if let Some(generator) = pool.slots[index].generator() {
                    generator.close_async().await;
                }
            });
        }
        closing.join_all().await;
    }
}
