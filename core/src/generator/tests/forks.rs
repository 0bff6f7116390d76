//! Real forks: children go on under the parent's worker ID and repeat nothing.
//!
//! A child does as little as possible before it ends by `_exit`: this process has other threads,
//! and a lock that one of them held at the fork stays held.

use std::collections::HashSet;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Waker};

use crate::clock::ClockSource;
use crate::generator::leave::leave_if_orphaned;
use crate::testing::{FakeClock, generator};
use crate::{DEFAULT_EPOCH_MS, IdGenerator, Options};

/// IDs that one process takes.
const EACH: usize = 20_000;

/// Memory that this process and its children write into, one part each.
fn shared_ids(parts: usize) -> &'static [AtomicI64] {
    let length = parts * EACH * size_of::<AtomicI64>();
    // SAFETY: a fresh anonymous mapping touches no memory that exists, and is never unmapped.
    unsafe {
        let base = libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        assert_ne!(base, libc::MAP_FAILED);
        std::slice::from_raw_parts(base.cast::<AtomicI64>(), parts * EACH)
    }
}

/// Takes IDs into a part; the number of calls that were refused.
fn take(generator: &IdGenerator, part: &[AtomicI64]) -> i32 {
    let mut refused = 0;
    for place in part {
        match generator.next_id_or_code() {
            Ok(id) => place.store(id.as_i64(), Ordering::Relaxed),
            Err(_) => refused += 1,
        }
    }
    refused
}

/// Forks a child that takes IDs into a part and ends; with a grandchild that does so, too.
fn fork_taker(generator: &IdGenerator, part: &[AtomicI64], grandchilds: Option<&[AtomicI64]>) -> libc::pid_t {
    // SAFETY: the child calls the generator, waitpid and _exit, none of which takes a lock here.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        // SAFETY: a child that hangs is ended by the kernel, and the test fails.
        unsafe { libc::alarm(60) };
        let grandchild = grandchilds.map(|part| fork_taker(generator, part, None));
        let refused = take(generator, part);
        let mut status = 0;
        if let Some(grandchild) = grandchild {
            // SAFETY: our own child.
            unsafe { libc::waitpid(grandchild, &mut status, 0) };
        }
        // SAFETY: ends this process without running the parent's exit handlers.
        unsafe { libc::_exit(i32::from(refused > 0 || status != 0)) };
    }
    pid
}

#[test]
fn parent_four_children_and_a_grandchild_generate_at_once_and_repeat_nothing() {
    let generator = IdGenerator::open(Options::new().store("memory:forks")).expect("a memory store opens");
    let ids = shared_ids(6);
    let parts: Vec<&[AtomicI64]> = ids.chunks(EACH).collect();
    let children: Vec<_> =
        (0..4).map(|child| fork_taker(&generator, parts[child], (child == 0).then_some(parts[4]))).collect();
    assert_eq!(take(&generator, parts[5]), 0, "the parent was refused");
    for pid in children {
        let mut status = 0;
        // SAFETY: a child of ours.
        unsafe { libc::waitpid(pid, &mut status, 0) };
        assert_eq!(status, 0, "a child was refused, or hung");
    }
    let all: HashSet<i64> = ids.iter().map(|id| id.load(Ordering::Relaxed)).collect();
    assert!(!all.contains(&0), "every place is filled");
    assert_eq!(all.len(), 6 * EACH, "an ID was given twice");
    assert_eq!(generator.status().counters.leases_acquired, 1, "children share the parent's worker ID");
    assert_eq!(generator.status().issued, 6 * EACH as u64, "the counter is shared, too");
}

#[test]
fn an_open_in_a_child_waits_for_what_its_parents_keeper_comes_to() {
    let one_worker = Options::new().store("memory:fork-opens").layout("43-0-0-20").acquire_timeout_ms(60_000);
    let holder = IdGenerator::open(one_worker.clone()).expect("the worker ID is free");
    let second = one_worker.slot(1);
    // Begun, and waiting for a worker ID that nobody gives back yet.
    let mut opening = pin!(IdGenerator::open_async(second.clone()));
    assert!(opening.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    // SAFETY: the child opens what it has inherited, and ends by _exit.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        // SAFETY: a child that hangs is ended by the kernel, and the test fails.
        unsafe { libc::alarm(60) };
        let opened = IdGenerator::open(second);
        let code = opened.as_ref().map_or(1, |generator| i32::from(generator.next_id_or_code().is_err()));
        // SAFETY: ends this process without running the parent's exit handlers, or dropping its generators.
        unsafe { libc::_exit(code) };
    }
    holder.close();
    let mut status = 0;
    // SAFETY: a child of ours.
    unsafe { libc::waitpid(pid, &mut status, 0) };
    assert_eq!(status, 0, "the child's open failed, or hung");
}

#[test]
fn a_child_leaves_though_a_thread_was_about_to_where_it_was_forked() {
    let clock = FakeClock::at_ms(DEFAULT_EPOCH_MS + 1_000_000_000);
    let parent = generator(Options::new(), &clock);
    let child = Arc::new(parent.forked(ClockSource::Injected(clock), 3));
    // The process between the two, number 2, was in the midst of it.
    child.leaving.store(2, Ordering::SeqCst);
    parent.page().header().close();
    assert!(leave_if_orphaned(&child));
    assert!(child.owns_keeper());
}
