//! What hosts with an event loop of their own rely on.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::threads::pollster;
use crate::{ErrorCode, IdGenerator, LeaseState, Options};

fn options(name: &str) -> Options {
    Options::new().store(format!("memory:{name}"))
}

#[test]
fn an_opening_that_is_given_up_leaves_the_worker_id_to_others() {
    let one_worker_id = || options("given-up").layout("51-0-0-12");
    let holder = IdGenerator::open(one_worker_id()).expect("opens");
    let mut context = Context::from_waker(Waker::noop());
    {
        let mut waiting = pin!(IdGenerator::open_async(one_worker_id().slot(1)));
        assert!(waiting.as_mut().poll(&mut context).is_pending(), "the one worker ID is taken");
    }
    holder.close();
    let next = IdGenerator::open(one_worker_id().slot(2)).expect("the worker ID is free again");
    next.next_id().expect("issues");
}

#[test]
fn a_listener_hears_the_end_and_then_nothing_more() {
    let ids = IdGenerator::open(options("listener")).expect("opens");
    let heard = |seen| pollster(poll_fn(|context| ids.poll_state_changes(seen, context)));
    let opening = heard(0);
    let seen = opening.last().expect("it became active").number;
    assert_eq!(opening.last().map(|change| change.to), Some(LeaseState::Active));
    let mut context = Context::from_waker(Waker::noop());
    assert!(ids.poll_state_changes(seen, &mut context).is_pending());
    ids.close_soon();
    let last = heard(seen);
    assert_eq!(last.last().map(|change| change.to), Some(LeaseState::Closed));
    let end = last.last().map_or(0, |change| change.number);
    assert_eq!(heard(end), Vec::new());
    assert!(matches!(ids.poll_state_changes(end, &mut context), Poll::Ready(none) if none.is_empty()));
}

#[test]
fn numbers_are_filled_as_ids_are_and_a_closed_handle_writes_none() {
    let ids = IdGenerator::open(options("numbers")).expect("opens");
    let mut numbers = vec![0; 10_000];
    ids.fill_i64(&mut numbers).expect("fills");
    assert!(numbers[0] > 0 && numbers.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(ids.next_id().expect("issues").as_i64() > numbers[9_999]);
    ids.close();
    assert_eq!(ids.fill_i64(&mut numbers), Err((0, ErrorCode::Closed)));
}
