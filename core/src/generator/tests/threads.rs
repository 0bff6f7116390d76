//! Many threads at the limit, on the real clock.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::{ErrorCode, Id, IdGenerator, Options};

fn open(name: &str) -> IdGenerator {
    IdGenerator::open(Options::new().store(format!("memory:{name}"))).expect("a memory store opens")
}

/// Runs threads at the limit; every ID must be unique, each thread's own increasing, no call refused.
fn at_the_limit(name: &str, threads: usize, batch: Option<usize>, each: usize) {
    let generator = open(name);
    let ids: Vec<Vec<Id>> = std::thread::scope(|scope| {
        let takers: Vec<_> = (0..threads)
            .map(|taker| {
                let generator = &generator;
                scope.spawn(move || {
                    let mut ids = Vec::with_capacity(each);
                    while ids.len() < each {
                        match batch.filter(|_| taker == 0) {
                            Some(count) => ids.extend(generator.next_batch(count).expect("no batch is refused")),
                            None => ids.push(generator.next_id().expect("no call is refused")),
                        }
                    }
                    ids
                })
            })
            .collect();
        takers.into_iter().map(|taker| taker.join().expect("a taker lives")).collect()
    });
    let mut all = HashSet::new();
    for own in &ids {
        assert!(own.windows(2).all(|pair| pair[0] < pair[1]), "a thread's own IDs increase");
        assert!(own.iter().all(|id| all.insert(*id)), "an ID was given twice");
    }
}

#[test]
fn eight_threads_at_the_limit_get_unique_ids_and_no_refusal() {
    at_the_limit("eight", 8, None, 40_000);
}

#[test]
fn two_hundred_threads_at_the_limit_get_unique_ids_and_no_refusal() {
    at_the_limit("two-hundred", 200, None, 1_500);
}

#[test]
fn a_batch_caller_among_thirty_two_threads_is_never_starved() {
    at_the_limit("batch", 32, Some(1_000), 10_000);
}

#[test]
fn close_while_eight_threads_generate_ends_each_with_an_id_or_closed() {
    for round in 0..20 {
        let generator = Arc::new(open(&format!("close-{round}")));
        let began = Arc::new(AtomicBool::new(false));
        let takers: Vec<_> = (0..8)
            .map(|_| {
                let (generator, began) = (Arc::clone(&generator), Arc::clone(&began));
                std::thread::spawn(move || {
                    let mut newest = None;
                    loop {
                        match generator.next_id() {
                            Ok(id) => {
                                assert!(newest < Some(id));
                                newest = Some(id);
                                began.store(true, Ordering::Relaxed);
                            }
                            Err(error) => {
                                assert_eq!(error.code(), ErrorCode::Closed, "{error}");
                                return newest;
                            }
                        }
                    }
                })
            })
            .collect();
        while !began.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
        generator.close();
        let newest = takers.into_iter().filter_map(|taker| taker.join().expect("a taker lives")).max();
        // The release says one past the newest issued: nothing was issued after it.
        let next = IdGenerator::open(Options::new().store(format!("memory:close-{round}"))).expect("opens again");
        assert!(Some(next.next_id().expect("issues again")) > newest, "the process goes on above its past");
    }
}

#[test]
fn dropping_the_last_handle_in_the_middle_of_an_async_wait_is_sound() {
    // 256 IDs a millisecond, so that taking them all makes the next call wait.
    let generator =
        Arc::new(IdGenerator::open(Options::new().store("memory:drop").layout("53-1-1-8")).expect("a store opens"));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let started = Instant::now();
    let mut dropped = 0;
    while dropped < 50 {
        assert!(started.elapsed() < Duration::from_secs(60), "only {dropped} calls had to wait");
        generator.next_batch(256).expect("a batch");
        let mut waiting = Box::pin(generator.next_id_async());
        if std::future::Future::poll(waiting.as_mut(), &mut context).is_pending() {
            dropped += 1;
        }
        drop(waiting);
    }
    drop(generator);
}

#[test]
fn a_thousand_opens_of_one_process_take_one_worker_id() {
    let first = open("thousand");
    let worker = (first.status().datacenter_id, first.status().worker_id);
    let handles: Vec<IdGenerator> = (0..1000).map(|_| open("thousand")).collect();
    assert!(handles.iter().all(|handle| (handle.status().datacenter_id, handle.status().worker_id) == worker));
    assert_eq!(first.status().counters.leases_acquired, 1);
    handles[0].close();
    assert_eq!(handles[0].next_id().expect_err("closed").code(), ErrorCode::Closed);
    handles[1].next_id().expect("closing one handle closes no other");
}

#[test]
fn options_that_differ_from_the_open_generator_are_refused_with_both_values() {
    let _first = IdGenerator::open(Options::new().store("memory:differ").lease_ttl_ms(31_000)).expect("opens");
    let error = IdGenerator::open(Options::new().store("memory:differ").lease_ttl_ms(32_000)).expect_err("differs");
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert!(error.message().contains("31000") && error.message().contains("32000"), "{error}");
    IdGenerator::open(Options::new().store("memory:differ")).expect("left out = adopted");
    let other =
        IdGenerator::open(Options::new().store("memory:differ").slot(1).lease_ttl_ms(32_000)).expect("another slot");
    assert_ne!(other.status().worker_id, _first.status().worker_id);
}

#[test]
fn an_open_while_the_last_handle_closes_gets_a_new_lease_and_goes_on_above() {
    let mut newest = None;
    for _ in 0..200 {
        let generator = open("reopen");
        let id = generator.next_id().expect("issues");
        assert!(newest < Some(id), "went back across leases");
        newest = Some(id);
        std::thread::spawn(move || generator.close());
    }
}

#[test]
fn async_calls_wait_on_any_executor() {
    let generator = open("async");
    let ids: Vec<Id> = pollster(async {
        let mut ids = Vec::new();
        for _ in 0..30_000 {
            ids.push(generator.next_id_async().await.expect("issues"));
        }
        ids
    });
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(generator.status().waits == 0, "async waits do not block");
    pollster(async {
        let other = IdGenerator::open_async(Options::new().store("memory:async-2")).await.expect("opens");
        other.next_id().expect("issues");
        other.close_async().await;
        assert_eq!(other.next_id().expect_err("closed").code(), ErrorCode::Closed);
    });
}

/// The smallest executor: parks the thread until it is woken.
pub(super) fn pollster<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(value) => return value,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}
