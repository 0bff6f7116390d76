//! Children are made here with `fork` and `clone` and say what they saw by their exit status; they
//! use nothing but atomics, sleep and `_exit`, since another test's thread may hold any lock.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::*;

/// Runs `child` in a copy of the process made by `copy` (which answers 0 in the child) and gives
/// its exit status; a child that hangs is killed by its own alarm and fails the test.
fn status_of_child(copy: fn() -> libc::pid_t, child: impl Fn() -> i32) -> i32 {
    let pid = copy();
    assert!(pid >= 0, "{}", std::io::Error::last_os_error());
    if pid == 0 {
        // SAFETY: both are async-signal-safe, and the child never returns into the test harness.
        unsafe {
            libc::alarm(60);
            libc::_exit(child());
        }
    }
    let mut status = 0;
    // SAFETY: `status` outlives the call, and the child is ours.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    assert!(libc::WIFEXITED(status), "the child did not end by itself: wait status {status:#x}");
    libc::WEXITSTATUS(status)
}

fn hooked_fork() -> libc::pid_t {
    // SAFETY: the child does only what is allowed after a fork of many threads (see above).
    unsafe { libc::fork() }
}

#[cfg(target_os = "linux")]
fn bare_clone() -> libc::pid_t {
    // SAFETY: as `fork`, without hooks: a copy of the memory, no new stack, SIGCHLD at its end.
    // The zeros stand for pointers that are unused without their flags.
    unsafe { libc::syscall(libc::SYS_clone, libc::c_long::from(libc::SIGCHLD), 0, 0, 0, 0) as libc::pid_t }
}

/// A thread that stays in the section until told to leave.
struct Occupant {
    leave: mpsc::Sender<()>,
    thread: std::thread::JoinHandle<()>,
}

impl Occupant {
    fn enter() -> Occupant {
        let (leave, told) = mpsc::channel::<()>();
        let (entered, is_in) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let _section = sqlite_section();
            entered.send(()).unwrap();
            let _ = told.recv();
        });
        is_in.recv().unwrap();
        Occupant { leave, thread }
    }

    fn leave(self) {
        self.leave.send(()).unwrap();
        self.thread.join().unwrap();
    }
}

#[test]
fn a_forked_child_has_another_generation_and_the_parent_keeps_its_own() {
    let before = generation();
    assert_ne!(before, 0);
    let child = status_of_child(hooked_fork, || {
        let first = generation();
        check_raw_clone();
        // The hook noticed it: the wiped word must not count the same copy twice.
        i32::from(first == before) + 2 * i32::from(generation() != first)
    });
    assert_eq!(child, 0);
    assert_eq!(generation(), before);
}

#[test]
#[cfg(target_os = "linux")]
fn a_bare_clone_is_noticed_once_by_the_wiped_word() {
    let before = generation();
    let child = status_of_child(bare_clone, || {
        let unnoticed = generation();
        check_raw_clone();
        let noticed = generation();
        check_raw_clone();
        i32::from(unnoticed != before) + 2 * i32::from(noticed == before) + 4 * i32::from(generation() != noticed)
    });
    assert_eq!(child, 0);
    check_raw_clone();
    assert_eq!(generation(), before);
}

#[test]
fn a_fork_waits_for_the_section_and_the_child_finds_it_free_and_whole() {
    let occupant = Occupant::enter();
    let (forked, is_forked) = mpsc::channel();
    let forker = std::thread::spawn(move || {
        let child = status_of_child(hooked_fork, || i32::from(sqlite_section().is_cut()));
        forked.send(child).unwrap();
    });
    let deadline = Instant::now() + Duration::from_secs(60);
    while FORKS_WAITING.load(SeqCst) == 0 {
        assert!(Instant::now() < deadline, "the fork did not wait for the section");
        std::thread::yield_now();
    }
    assert!(is_forked.try_recv().is_err(), "forked while a thread was in the section");
    occupant.leave();
    assert_eq!(is_forked.recv_timeout(Duration::from_secs(60)), Ok(0));
    forker.join().unwrap();
}

#[test]
fn a_thread_in_the_section_may_fork_and_enter_again_without_waiting_for_itself() {
    let section = sqlite_section();
    let child = status_of_child(hooked_fork, || i32::from(!sqlite_section().is_cut()));
    assert_eq!(child, 0, "a child that was cut out of the middle of the section must know it");
    let inner = sqlite_section();
    assert!(!inner.is_cut());
    drop(inner);
    drop(section);
    Occupant::enter().leave();
}

#[test]
#[cfg(target_os = "linux")]
fn a_bare_clone_while_another_thread_was_in_the_section_is_told_and_does_not_hang() {
    let occupant = Occupant::enter();
    let child = status_of_child(bare_clone, || {
        let cut = sqlite_section().is_cut();
        i32::from(!cut) + 2 * i32::from(!sqlite_section().is_cut())
    });
    occupant.leave();
    assert_eq!(child, 0);
    assert!(!sqlite_section().is_cut());
}

#[test]
fn only_one_thread_is_in_the_section_at_a_time_while_others_fork() {
    static INSIDE: AtomicU32 = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let _section = sqlite_section();
                    assert_eq!(INSIDE.fetch_add(1, SeqCst), 0);
                    std::thread::yield_now();
                    INSIDE.fetch_sub(1, SeqCst);
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..50 {
                // No thread is in the section at the moment of a fork, so the copy says 0 too.
                assert_eq!(status_of_child(hooked_fork, || INSIDE.load(SeqCst) as i32), 0);
            }
        });
    });
}
