//! Real forks: children go on under the parent's worker ID and repeat nothing.
//!
//! A child does as little as possible before it ends by `_exit`: this process has other threads,
//! and a lock that one of them held at the fork stays held.

use std::collections::HashSet;
use std::io::Read;
use std::os::fd::FromRawFd;

use crate::{Id, IdGenerator, Options};

/// IDs that one process takes.
const EACH: usize = 20_000;

/// Forks a child that takes IDs into a buffer made before, writes them to a pipe and ends.
fn fork_taker(generator: &IdGenerator, nested: bool) -> (libc::pid_t, std::fs::File) {
    let mut ends = [0; 2];
    let mut ids = vec![Id::from_issued(1); EACH];
    // SAFETY: a place for two descriptors.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    // SAFETY: the child calls the generator, write and _exit, none of which takes a lock here.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        // SAFETY: as above.
        let grandchild = if nested { unsafe { libc::fork() } } else { -1 };
        let mut well = true;
        for id in &mut ids {
            match generator.next_id_or_code() {
                Ok(taken) => *id = taken,
                Err(_) => well = false,
            }
        }
        let bytes = EACH * size_of::<Id>();
        let mut written = 0;
        while written < bytes {
            // SAFETY: within the buffer; parallel writers are kept apart by records of 8 bytes in
            // writes of at most PIPE_BUF.
            let count = unsafe {
                libc::write(ends[1], ids.as_ptr().cast::<u8>().add(written).cast(), (bytes - written).min(4096))
            };
            if count <= 0 {
                well = false;
                break;
            }
            written += count as usize;
        }
        let mut status = 0;
        if grandchild > 0 {
            // SAFETY: our own child.
            unsafe { libc::waitpid(grandchild, &mut status, 0) };
        }
        // SAFETY: ends this process without running the parent's exit handlers.
        unsafe { libc::_exit(if well && status == 0 { 0 } else { 1 }) };
    }
    // SAFETY: the parent's copy of the writing end, and the reading end that is ours alone.
    unsafe {
        libc::close(ends[1]);
        (pid, std::fs::File::from_raw_fd(ends[0]))
    }
}

#[test]
fn parent_four_children_and_a_grandchild_generate_at_once_and_repeat_nothing() {
    let generator = IdGenerator::open(Options::new().store("memory:forks")).expect("a memory store opens");
    let children: Vec<_> = (0..4).map(|child| fork_taker(&generator, child == 0)).collect();
    let mut all = HashSet::new();
    for _ in 0..EACH {
        all.insert(generator.next_id().expect("the parent issues").as_i64());
    }
    let mut processes = 1;
    for (pid, mut pipe) in children {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("the child writes");
        let mut status = 0;
        // SAFETY: a child of ours.
        unsafe { libc::waitpid(pid, &mut status, 0) };
        assert_eq!(status, 0, "a child was refused");
        processes += bytes.len() / (EACH * 8);
        for record in bytes.chunks_exact(8) {
            let id = i64::from_ne_bytes(record.try_into().expect("8 bytes"));
            assert!(all.insert(id), "{id} was given twice");
        }
    }
    assert_eq!(processes, 6);
    assert_eq!(all.len(), 6 * EACH);
    assert_eq!(generator.status().counters.leases_acquired, 1, "children share the parent's worker ID");
    assert_eq!(generator.status().issued, 6 * EACH as u64, "the counter is shared, too");
}
