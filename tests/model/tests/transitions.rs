//! The steps of the model, told as the rules tell them: what a process does with an answer, when
//! it stops issuing, and what it leaves behind.

use leaseflake_model::actions::{self, Action, Stays};
use leaseflake_model::bounds::{Bounds, Faults};
use leaseflake_model::properties::LeaseModel;
use leaseflake_model::rules::Rules;
use leaseflake_model::state::{State, Wrong};
use leaseflake_model::step;
use leaseflake_model::thread::Thread;

const FAULTS: Faults = Faults {
    clock_steps: 4,
    crashes: 1,
    clones: 1,
    forks: 2,
    doubles: 1,
    lost: 2,
    answers: 2,
    stops: 1,
    deletions: 1,
    restores: 1,
    fences: 1,
    elsewhere: 1,
    releases: 1,
    initialisations: 1,
};

struct World {
    model: LeaseModel,
    state: State,
}

impl World {
    /// Two processes with true clocks at 40 s, the third not running.
    fn new(rules: Rules) -> World {
        let bounds = Bounds { running: 2, sends: 4, faults: FAULTS, ..Bounds::calm(3) };
        World { model: LeaseModel { rules, bounds }, state: State::start(&bounds) }
    }

    fn may(&self, action: Action) -> bool {
        let mut enabled = Vec::new();
        actions::enabled(&self.state, &self.model.rules, &self.model.bounds, &mut enabled);
        enabled.contains(&action)
    }

    fn does(&mut self, action: Action) -> &mut World {
        assert!(self.may(action), "{action:?} cannot happen in {:#?}", self.state);
        self.state = step::next(&self.state, action, &self.model.rules, &self.model.bounds);
        self
    }

    fn delivers(&mut self, process: usize) -> &mut World {
        self.does(Action::Deliver { process, request: 0, stays: Stays::Nothing })
    }

    /// The process claims at this clock, and hears that it has the lease.
    fn acquires(&mut self, process: usize, clock: u8) -> &mut World {
        self.does(Action::Read { process }).does(Action::Claim { process, clock });
        self.delivers(process).does(Action::Receive { process })
    }

    fn expiry(&self) -> Option<u8> {
        self.state.registry.item.map(|item| item.expiry)
    }
}

#[test]
fn the_next_owner_starts_at_the_expiry_that_the_last_one_left() {
    let mut world = World::new(Rules::window());
    world.acquires(0, 4);
    assert_eq!((world.expiry(), world.state.page(0).ceiling), (Some(7), 6));
    world.does(Action::Read { process: 1 });
    assert!(!world.may(Action::Claim { process: 1, clock: 4 }), "the lease runs");
    world.does(Action::Time { to: 8 }).acquires(1, 8);
    assert_eq!(world.state.page(1).candidate(4, 9), Some(7));
    assert_eq!(world.state.page(1).ceiling, 10);
}

#[test]
fn a_heartbeat_raises_the_ceiling_only_when_it_is_confirmed() {
    let mut world = World::new(Rules::window());
    world.acquires(0, 4).does(Action::Time { to: 6 }).does(Action::Heartbeat { process: 0, clock: 6 });
    assert_eq!(world.state.page(0).ceiling, 6);
    world.delivers(0);
    assert_eq!(world.state.page(0).ceiling, 6);
    world.does(Action::Receive { process: 0 });
    assert_eq!(world.state.page(0).ceiling, 8);
}

#[test]
fn a_heartbeat_whose_answer_was_lost_is_recognised_by_its_renewal_id() {
    let mut world = World::new(Rules::window());
    world.acquires(0, 4).does(Action::Time { to: 6 }).does(Action::Heartbeat { process: 0, clock: 6 });
    world.delivers(0).does(Action::GiveUp { process: 0, lost: false });
    world.does(Action::Heartbeat { process: 0, clock: 6 }).delivers(0).does(Action::Receive { process: 0 });
    let lease = world.state.processes[0].lease.expect("the first heartbeat was its own");
    assert_eq!((lease.version, lease.expiry), (2, 9));
    assert!(!world.state.page(0).retired);
}

#[test]
fn an_answer_that_comes_twice_says_nothing_the_second_time() {
    for (answers_by_attempt, ceiling) in [(true, 6), (false, 10)] {
        let mut world = World::new(Rules { answers_by_attempt, ..Rules::window() });
        world.does(Action::Read { process: 0 }).does(Action::Claim { process: 0, clock: 4 });
        world.does(Action::Deliver { process: 0, request: 0, stays: Stays::Answer });
        let copy = world.state.processes[0].wire.stray;
        assert!(copy.is_some());
        world.does(Action::Receive { process: 0 });
        assert_eq!(world.state.page(0).ceiling, 6);
        world.does(Action::Time { to: 8 }).does(Action::Heartbeat { process: 0, clock: 8 });
        assert_eq!(world.may(Action::ReceiveStray { process: 0 }), !answers_by_attempt);
        // The model takes an answer off the wire that means nothing; here it arrives all the same.
        world.state.processes[0].wire.stray = copy;
        let arrived =
            step::next(&world.state, Action::ReceiveStray { process: 0 }, &world.model.rules, &world.model.bounds);
        assert_eq!(arrived.page(0).ceiling, ceiling, "the heartbeat has not reached the registry");
        assert_eq!(arrived.processes[0].waiting, answers_by_attempt);
    }
}

#[test]
fn a_late_answer_counts_for_its_own_attempt_after_the_next_was_sent() {
    let mut world = World::new(Rules::window());
    world.acquires(0, 4).does(Action::Time { to: 6 }).does(Action::Heartbeat { process: 0, clock: 6 });
    world.does(Action::GiveUp { process: 0, lost: false });
    world.does(Action::Deliver { process: 0, request: 0, stays: Stays::Answer });
    world.does(Action::Time { to: 8 }).does(Action::Heartbeat { process: 0, clock: 8 });
    world.does(Action::ReceiveStray { process: 0 });
    let lease = world.state.processes[0].lease.expect("the first heartbeat was written");
    assert_eq!((lease.version, lease.expiry), (2, 9));
    assert_eq!(world.state.page(0).ceiling, 8, "not what the second asks for");
    world.delivers(0);
    assert_eq!(world.expiry(), Some(9), "the second names a version that has gone by");
}

#[test]
fn an_operator_stops_all_at_once_and_their_requests_stay_on_the_way() {
    let mut world = World::new(Rules::window());
    world.acquires(0, 4).does(Action::Time { to: 6 }).does(Action::Heartbeat { process: 0, clock: 6 });
    world.does(Action::StopAll);
    assert!(world.state.processes.iter().all(|process| !process.running));
    world.delivers(0);
    assert_eq!(world.expiry(), Some(9));
    assert!(!world.may(Action::StopAll));
}

#[test]
fn all_together_send_no_more_than_they_may() {
    let mut world = World::new(Rules::window());
    world.state.sends_left = Some(1);
    world.acquires(0, 4);
    assert!(!world.may(Action::Heartbeat { process: 0, clock: 4 }));
}

#[test]
fn a_claim_whose_answer_was_lost_is_recognised_in_the_next_read() {
    let mut world = World::new(Rules::window());
    world.does(Action::Read { process: 0 }).does(Action::Claim { process: 0, clock: 4 });
    world.delivers(0).does(Action::GiveUp { process: 0, lost: false }).does(Action::Read { process: 0 });
    assert_eq!(world.state.processes[0].lease.map(|lease| lease.epoch), Some(1));
}

#[test]
fn a_holder_that_was_taken_over_stops_at_its_next_heartbeat() {
    let mut world = World::new(Rules::window());
    world.acquires(0, 4).does(Action::Time { to: 8 }).acquires(1, 8);
    world.does(Action::Heartbeat { process: 0, clock: 8 }).delivers(0).does(Action::Receive { process: 0 });
    assert_eq!(world.state.processes[0].lease, None);
    assert!(world.state.page(0).retired);
    assert!(!world.may(Action::Call { process: 0, clock: 8 }));
}

#[test]
fn a_release_retires_the_slot_and_leaves_one_past_the_newest_id() {
    let mut world = World::new(Rules::window());
    world.acquires(0, 4).does(Action::Call { process: 0, clock: 4 }).does(Action::Release { process: 0, clock: 0 });
    assert!(world.state.page(0).retired);
    assert_eq!(world.expiry(), Some(7), "it is still on its way");
    world.delivers(0);
    assert_eq!(world.expiry(), Some(5));
    assert_eq!(world.state.registry.item.map(|item| item.renewal), Some(0));
}

#[test]
fn a_parent_whose_slot_a_child_retired_goes_on_above_it() {
    let mut world = World::new(Rules::window());
    world.acquires(0, 4).does(Action::Fork { from: 0, to: 2 }).does(Action::Call { process: 2, clock: 4 });
    world.does(Action::Leave { process: 2 });
    assert!(!world.may(Action::Call { process: 0, clock: 4 }));
    assert_eq!(world.state.processes[2].lease, None, "the parent's lease is not the child's");
    world.does(Action::Reopen { process: 0 });
    assert_eq!(world.state.page(0).candidate(4, 1), Some(5));
}

#[test]
fn the_timestamp_that_was_checked_is_the_one_that_is_issued() {
    for (own_timestamp, issued) in [(true, 4), (false, 8)] {
        let mut world = World::new(Rules { own_timestamp, ..Rules::window() });
        world.model.bounds.pauses = true;
        world.acquires(0, 4).does(Action::ReadClock { process: 0, clock: 4 }).does(Action::Check { process: 0 });
        assert!(matches!(world.state.processes[0].thread, Thread::Checked { timestamp: 4, .. }));
        world.does(Action::Time { to: 8 }).does(Action::Issue { process: 0, clock: issued });
        assert_eq!(world.state.processes[0].last, issued);
    }
}

#[test]
fn a_thread_that_sleeps_over_a_release_wakes_up_to_a_refusal() {
    let mut world = World::new(Rules::window());
    world.model.bounds.pauses = true;
    world.acquires(0, 4).does(Action::ReadClock { process: 0, clock: 4 }).does(Action::Check { process: 0 });
    world.does(Action::Release { process: 0, clock: 0 });
    assert!(!world.may(Action::Issue { process: 0, clock: 4 }));
    assert_eq!((world.state.issued, world.state.wrong), (0, Wrong::Nothing));
}

#[test]
fn nobody_starts_between_a_restore_and_its_fence() {
    let mut world = World::new(Rules::window());
    world.does(Action::BackUp).acquires(0, 4);
    assert!(!world.may(Action::Restore), "the holders are stopped first");
    world.model.bounds.faults.crashes = 2;
    world.state.left.crashes = 2;
    world.does(Action::Crash { process: 0 }).does(Action::Crash { process: 1 }).does(Action::Restore);
    assert!(!world.may(Action::Start { process: 0 }));
    world.does(Action::Fence);
    assert!(world.may(Action::Start { process: 0 }));
    assert!(world.expiry() > Some(4));
}

#[test]
fn a_missing_item_is_not_claimed() {
    let mut world = World::new(Rules::window());
    world.does(Action::Delete).does(Action::Read { process: 0 });
    assert!(!world.may(Action::Claim { process: 0, clock: 4 }));
    world.does(Action::Initialise);
    assert_eq!(world.expiry(), None);
}
