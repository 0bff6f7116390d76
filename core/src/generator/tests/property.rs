//! Random clocks, layouts, jitters and batch sizes: unique, increasing, inside the window, never
//! returned ahead of the clock, and no error changes anything.

use std::time::Duration;

use proptest::prelude::*;

use crate::generator::slot::{Refusal, Want};
use crate::options::Options;
use crate::testing::{FakeClock, generator, open_window};
use crate::{DEFAULT_EPOCH_MS, Id};

/// A time well inside the default layout, from which tests start.
const START_MS: i64 = DEFAULT_EPOCH_MS + 1_000_000_000;

/// What the world does between two calls.
#[derive(Clone, Debug)]
enum Act {
    Pass(u64),
    Step(i64),
    Stick(bool),
    Take(u64),
    TryTake,
    Fill(u64),
    Raise(i64),
    Reopen,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0u64..3_000_000).prop_map(Act::Pass),
        1 => (1u64..100_000_000_000).prop_map(Act::Pass),
        // The steps that the foundation must survive: 1 ms, 5 ms and 1 h back, 1 h forward.
        2 => prop_oneof![Just(-1i64), Just(-5), Just(-3_600_000), Just(3_600_000)].prop_map(Act::Step),
        1 => any::<bool>().prop_map(Act::Stick),
        8 => (1u64..=256).prop_map(Act::Take),
        4 => Just(Act::TryTake),
        2 => (1u64..20_000).prop_map(Act::Fill),
        3 => (0i64..40_000).prop_map(Act::Raise),
        1 => Just(Act::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn ids_are_unique_increasing_inside_the_window_and_never_ahead_of_the_clock(
        sequence_bits in prop_oneof![Just(8u8), Just(12), Just(20)],
        jitter_share in prop_oneof![Just(0u32), Just(3), Just(1)],
        acts in prop::collection::vec(act(), 1..120),
    ) {
        let layout = format!("{}-1-1-{sequence_bits}", 61 - sequence_bits);
        let jitter = ((1u32 << sequence_bits) - 1).checked_div(jitter_share).unwrap_or(0);
        let options = Options::new().layout(layout).sequence_jitter(jitter);
        let clock = FakeClock::at_ms(START_MS);
        clock.set_look_ns(1_000);
        let shared = generator(options, &clock);
        let mut floor_ms = START_MS - 1;
        let mut ceiling_ms = START_MS + 30_000;
        open_window(&shared, 1, floor_ms, ceiling_ms);
        let mut newest = 0i64;
        for act in acts {
            let (want, wait) = match act {
                Act::Pass(nanos) => { clock.pass(Duration::from_nanos(nanos)); continue }
                Act::Step(by_ms) => { clock.step_ms(by_ms); continue }
                Act::Stick(stuck) => { clock.set_stuck(stuck); continue }
                Act::Raise(by_ms) => {
                    ceiling_ms = ceiling_ms.max(clock.wall_ms() + by_ms);
                    use crate::lease::keeper::LeasePage;
                    crate::generator::KeptPage(shared.clone()).raise(ceiling_ms, ceiling_ms, ceiling_ms);
                    continue
                }
                Act::Reopen => {
                    floor_ms = ceiling_ms;
                    ceiling_ms = floor_ms + 30_000;
                    open_window(&shared, 0, floor_ms, ceiling_ms);
                    continue
                }
                Act::Take(count) => (Want::Exactly(count), 10),
                Act::TryTake => (Want::Exactly(1), 0),
                Act::Fill(count) => (Want::UpTo(count), 10),
            };
            let before = shared.page().newest();
            match shared.reserve(want, wait) {
                Err(refusal) => {
                    prop_assert_eq!(shared.page().newest(), before, "an error changed the state");
                    prop_assert_ne!(refusal, Refusal::Retired);
                }
                Ok(taken) => {
                    let (least, most) = match want { Want::Exactly(n) => (n, n), Want::UpTo(n) => (1, n) };
                    prop_assert!((least..=most).contains(&taken.count));
                    let first = Id::from_issued(taken.first_bits(&shared.limits));
                    let last = Id::from_issued(taken.first_bits(&shared.limits) + taken.count - 1);
                    let (first_parts, last_parts) = (shared.config.layout.decode(first), shared.config.layout.decode(last));
                    prop_assert_eq!(first_parts.timestamp_ms, last_parts.timestamp_ms, "a batch stays in one millisecond");
                    prop_assert!(first_parts.timestamp_ms >= floor_ms, "below the floor");
                    prop_assert!(first_parts.timestamp_ms < ceiling_ms, "not below the ceiling");
                    prop_assert!(timestamp_order(first, &shared) > newest, "not above what was issued before");
                    newest = timestamp_order(last, &shared);
                    if shared.wait_for(&taken, wait).is_ok() {
                        prop_assert!(first_parts.timestamp_ms <= clock.wall_ms(), "returned ahead of the clock");
                    }
                }
            }
        }
    }
}

/// Orders IDs of one generator over its worker IDs: timestamp, then sequence.
fn timestamp_order(id: Id, shared: &crate::generator::Shared) -> i64 {
    let parts = shared.config.layout.decode(id);
    let since = parts.timestamp_ms - shared.config.layout.epoch_ms();
    (since << shared.config.layout.sequence_bits()) | i64::from(parts.sequence)
}

proptest! {
    #[test]
    fn the_counter_of_issued_ids_is_exact(
        jitter in 0u32..200,
        takes in prop::collection::vec((1u64..=50, 0u64..3), 1..200),
    ) {
        let clock = FakeClock::at_ms(START_MS);
        let shared = generator(Options::new().layout("53-1-1-8").sequence_jitter(jitter), &clock);
        open_window(&shared, 1, START_MS, START_MS + 1_000_000);
        let mut issued = 0;
        for (count, pass_ms) in takes {
            clock.pass(Duration::from_millis(pass_ms));
            if let Ok(taken) = shared.reserve(Want::Exactly(count), 10) {
                issued += taken.count;
            }
            prop_assert_eq!(shared.page().issued(&shared.limits), issued);
        }
        open_window(&shared, 0, START_MS, START_MS + 1_000_000);
        prop_assert_eq!(shared.page().issued(&shared.limits), issued, "lost with the old slot");
    }
}

#[test]
fn jitter_spreads_the_first_of_a_millisecond_over_all_that_it_may_be() {
    let clock = FakeClock::at_ms(START_MS);
    let shared = generator(Options::new().sequence_jitter(7), &clock);
    open_window(&shared, 1, START_MS, START_MS + 10_000_000);
    let mut seen = [0u32; 8];
    for _ in 0..4_000 {
        clock.pass(Duration::from_millis(1));
        let taken = shared.reserve(Want::Exactly(1), 0).expect("a fresh millisecond has room");
        seen[(taken.first & 4095) as usize] += 1;
    }
    // 4000 draws of 8 values: 500 each; 100 is 18 standard deviations away.
    assert!(seen.iter().all(|count| *count > 400 && *count < 600), "{seen:?}");
}
