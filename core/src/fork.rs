//! Forks: who notices that this process is a copy, and the section that no fork cuts in two.
//!
//! Three things live here, because all of them hang on the same `pthread_atfork` hooks:
//!
//! - [`generation`]: a number that differs between a process and its forked children.
//! - [`check_raw_clone`]: notices a copy made by a bare `clone()`, which runs no hooks.
//! - [`sqlite_section`]: the lock around every use of SQLite. A fork waits for it, so that no
//!   connection, no POSIX lock and no mutex inside SQLite is ever copied half-way: a child that
//!   inherits one is locked out for ever.
//!
//! Everything is built from atomics: a mutex or a `Once` that another thread held at the moment of
//! a bare `clone()` would stay held in the child.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// 0 = hooks not installed yet; every copy of the process counts on.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// 0 = the section is free, else the generation of the process whose thread is in it.
static HOLDER: AtomicU64 = AtomicU64::new(0);

/// Forks that wait for the section; who wants to enter it lets them pass first.
static FORKS_WAITING: AtomicU32 = AtomicU32::new(0);

/// This process was copied while one of its threads was in the section.
static CUT: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// How often this thread is in the section. Constant and without a destructor, so that it can
    /// be read in hooks and signal handlers.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// The number of this process among its copies: never 0, and another one in each forked child.
///
/// Cheap (one atomic load), so that slow paths may compare it as often as they like. The first
/// call installs the hooks; a fork before that is nobody's business.
#[inline]
pub(crate) fn generation() -> u64 {
    match GENERATION.load(SeqCst) {
        0 => install(),
        generation => generation,
    }
}

/// Notices that this process was made by a bare `clone()`, which runs no fork hooks, and counts
/// the generation on. Looks at one word of memory that the kernel wipes in a child.
///
/// Linux only; elsewhere it does nothing.
pub(crate) fn check_raw_clone() {
    generation();
    wiped::check(copied);
}

/// Enters the section in which SQLite is opened, used and closed; waits while another thread is in
/// it or wants to fork.
///
/// Stay in it for one short transaction: `fork()` in any thread of the process waits as long. A
/// thread may enter it again while it is in it.
pub(crate) fn sqlite_section() -> SectionGuard {
    check_raw_clone();
    enter(Caller::Section);
    SectionGuard { _not_send: PhantomData }
}

/// The calling thread is in the section until this is dropped.
pub(crate) struct SectionGuard {
    // The thread that entered must be the one that leaves: its depth is in a thread-local.
    _not_send: PhantomData<*mut ()>,
}

impl SectionGuard {
    /// Whether this process was copied in the middle of somebody's section. SQLite's own mutexes
    /// may be held for ever then and its idea of file locks is wrong: do not call it.
    pub(crate) fn is_cut(&self) -> bool {
        CUT.load(SeqCst)
    }
}

impl Drop for SectionGuard {
    fn drop(&mut self) {
        leave();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Caller {
    Section,
    Fork,
}

fn enter(caller: Caller) {
    let depth = DEPTH.get();
    DEPTH.set(depth + 1);
    // Also a fork by the very thread that is in the section, which would wait for itself.
    if depth > 0 {
        return;
    }
    if caller == Caller::Fork {
        FORKS_WAITING.fetch_add(1, SeqCst);
    }
    let mut pause = Duration::from_micros(20);
    while !try_enter(caller) {
        // No wake-up call: its lock would be one more thing that a fork can cut in two.
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(1));
    }
    if caller == Caller::Fork {
        FORKS_WAITING.fetch_sub(1, SeqCst);
    }
}

fn try_enter(caller: Caller) -> bool {
    if caller == Caller::Section && FORKS_WAITING.load(SeqCst) > 0 {
        return false;
    }
    let generation = generation();
    match HOLDER.compare_exchange(0, generation, SeqCst, SeqCst) {
        Ok(_) => true,
        Err(holder) if holder == generation => false,
        // The holder is a thread of the process that we were copied from: it never comes back.
        Err(holder) => {
            let taken = HOLDER.compare_exchange(holder, generation, SeqCst, SeqCst).is_ok();
            if taken {
                CUT.store(true, SeqCst);
            }
            taken
        }
    }
}

fn leave() {
    let depth = DEPTH.get() - 1;
    DEPTH.set(depth);
    if depth == 0 {
        HOLDER.store(0, SeqCst);
    }
}

/// What a fresh copy of the process sets right; it has one thread.
fn copied() {
    FORKS_WAITING.store(0, SeqCst);
    GENERATION.fetch_add(1, SeqCst);
}

/// Installs the hooks. Threads that get here together may install them more than once, which does
/// no harm: depth is counted, and a generation only has to differ.
#[cold]
fn install() -> u64 {
    #[cfg(unix)]
    {
        wiped::map();
        // SAFETY: the hooks are functions of the 'static program text, take no argument, never
        // unwind and touch only atomics and a thread-local without a destructor.
        let failed = unsafe { libc::pthread_atfork(Some(before_fork), Some(after_in_parent), Some(after_in_child)) };
        // Out of memory. A fork is then found like a bare clone(), by the wiped word.
        let _ = failed;
    }
    match GENERATION.compare_exchange(0, 1, SeqCst, SeqCst) {
        Ok(_) => 1,
        Err(generation) => generation,
    }
}

#[cfg(unix)]
extern "C" fn before_fork() {
    check_raw_clone();
    enter(Caller::Fork);
}

#[cfg(unix)]
extern "C" fn after_in_parent() {
    leave();
}

#[cfg(unix)]
extern "C" fn after_in_child() {
    wiped::settle();
    copied();
    // Deeper than this hook's own entry: the forking thread itself (in a signal handler, say) was in
    // the section or on its way in. It goes on from there; a stale holder is taken over.
    if DEPTH.get() > 1 {
        CUT.store(true, SeqCst);
    }
    leave();
}

/// A word in a page that the kernel wipes in every child, however it was made.
#[cfg(target_os = "linux")]
mod wiped {
    use std::ptr;
    use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::SeqCst};

    /// The page as it comes from the kernel: nobody has looked at it in this process.
    const WIPED: u32 = 0;
    const BEING_SETTLED: u32 = 1;
    const SETTLED: u32 = 2;

    static WORD: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());

    fn word() -> Option<&'static AtomicU32> {
        // SAFETY: null, or a page that `map` mapped, aligned and zeroed by the kernel, that is
        // never unmapped and only ever used as this one atomic.
        unsafe { WORD.load(SeqCst).as_ref() }
    }

    /// Maps the page. Without it (an old kernel, no memory) only hooks notice copies.
    pub(super) fn map() {
        if word().is_some() {
            return;
        }
        let len = size_of::<AtomicU32>();
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice; `len` is rounded
        // up to a page, by mmap, madvise and munmap alike.
        let page = unsafe {
            libc::mmap(
                ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if page == libc::MAP_FAILED {
            return;
        }
        let fresh = page.cast::<AtomicU32>();
        // SAFETY: `page` is the mapping just made, which nobody else knows.
        let wipes = unsafe { libc::madvise(page, len, libc::MADV_WIPEONFORK) } == 0;
        if wipes {
            // SAFETY: as above; page-aligned, and zeroed memory is a valid atomic.
            unsafe { (*fresh).store(SETTLED, SeqCst) };
        }
        if !wipes || WORD.compare_exchange(ptr::null_mut(), fresh, SeqCst, SeqCst).is_err() {
            // SAFETY: as above: the page was not published, so no reference to it exists.
            unsafe { libc::munmap(page, len) };
        }
    }

    /// Runs `copied` once in a process whose word is wiped, before anybody there goes on.
    pub(super) fn check(copied: fn()) {
        let Some(word) = word() else { return };
        while word.load(SeqCst) != SETTLED {
            if word.compare_exchange(WIPED, BEING_SETTLED, SeqCst, SeqCst).is_ok() {
                copied();
                word.store(SETTLED, SeqCst);
            } else {
                // Another thread of this process is between the two lines above.
                std::thread::yield_now();
            }
        }
    }

    /// A hook noticed this copy already.
    pub(super) fn settle() {
        if let Some(word) = word() {
            word.store(SETTLED, SeqCst);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod wiped {
    #[cfg(unix)]
    pub(super) fn map() {}

    pub(super) fn check(_copied: fn()) {}

    #[cfg(unix)]
    pub(super) fn settle() {}
}

#[cfg(all(test, unix))]
mod tests;
