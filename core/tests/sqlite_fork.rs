//! Forks while the embedded registry is being written: no child may inherit a lock and hang.
//!
//! One test in a program of its own, since it copies the whole process many times.
#![cfg(all(unix, feature = "sqlite"))]

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use leaseflake::Layout;
use leaseflake::lease::store::sqlite::SqliteStore;
use leaseflake::lease::store::{Reply, Request};

#[path = "common/store_conformance.rs"]
#[allow(dead_code, unused_macros, unused_imports)]
mod store_conformance;

use store_conformance::{initialise, insist, item_of, renew};

/// What a child does; its exit status says how far it came. One in four writes: reading is over
/// sooner, so that the next fork finds the writer at work again.
fn child(path: &Path, writes: bool) -> i32 {
    let mut store = SqliteStore::new(path.to_owned());
    let read = Request::Read { datacenter_id: 0, layout: Layout::default() };
    let Ok(Reply::View(view)) = insist(&mut store, &read) else { return 1 };
    let Some(item) = view.workers.iter().find(|item| item.worker_id == 1) else { return 2 };
    if !writes {
        return 0;
    }
    match insist(&mut store, &Request::Write(renew(0, item, item.lease_expiry_ts + 1))) {
        Ok(Reply::Applied) => 0,
        _ => 3,
    }
}

#[test]
fn children_forked_in_the_midst_of_writes_use_the_registry_and_never_hang() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registry.db");
    let mut store = SqliteStore::new(path.clone());
    initialise(&mut store, 0, Layout::default()).unwrap();

    static STOP: AtomicBool = AtomicBool::new(false);
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let writer = std::thread::spawn(move || {
        let mut item = item_of(&mut store, 0, 0).unwrap();
        while !STOP.load(SeqCst) {
            let request = renew(0, &item, item.lease_expiry_ts + 1);
            assert_eq!(insist(&mut store, &Request::Write(request.clone())), Ok(Reply::Applied));
            item = request.next;
            WRITES.fetch_add(1, SeqCst);
            std::thread::sleep(Duration::from_millis(1));
        }
        item
    });

    let mut longest = Duration::ZERO;
    let rounds = 100;
    for round in 0..rounds {
        // At another moment of the next write each time.
        let seen = WRITES.load(SeqCst);
        while WRITES.load(SeqCst) == seen {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(700 * (round as u64 % 20)));
        let started = Instant::now();
        // SAFETY: glibc and musl make the allocator whole in a child, the section does so for
        // SQLite, and the child calls nothing else that another thread could have locked.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0);
        if pid == 0 {
            // SAFETY: a hanging child is killed by its own alarm, and never returns to the harness.
            unsafe {
                libc::alarm(60);
                libc::_exit(child(&path, round % 4 == 0));
            }
        }
        longest = longest.max(started.elapsed());
        let mut status = 0;
        // SAFETY: `status` outlives the call, and the child is ours.
        assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "wait status {status:#x}");
    }
    STOP.store(true, SeqCst);
    let last = writer.join().unwrap();

    let mut store = SqliteStore::new(path);
    assert_eq!(item_of(&mut store, 0, 0), Some(last));
    assert_eq!(item_of(&mut store, 0, 1).unwrap().lease_expiry_ts, rounds / 4, "one write of each child that writes");
    println!("{rounds} forks amid {} writes, the slowest took {longest:?}", WRITES.load(SeqCst));
}
