//! What each action does to the world.

use crate::actions::{Action, Stays};
use crate::bounds::{Bounds, LEASE};
use crate::network::Stray;
use crate::process::{Outcome, Seen, ceiling_of};
use crate::registry::{Answer, Kind};
use crate::rules::Rules;
use crate::state::State;
use crate::thread::Thread;

/// The world after an action that is enabled.
pub fn next(state: &State, action: Action, rules: &Rules, bounds: &Bounds) -> State {
    let mut next = *state;
    let world = &mut next;
    match action {
        Action::Time { to } => world.now = to,
        Action::StepClock { process, offset } => {
            world.left.clock_steps -= 1;
            world.processes[process].offset = offset;
        }
        Action::Read { process } => read(world, process, rules),
        Action::Claim { process, clock } => send(world, process, Kind::Claim, clock + LEASE, clock),
        Action::Heartbeat { process, clock } => heartbeat(world, process, clock, rules),
        Action::Release { process, clock } => release(world, process, clock, rules),
        Action::RetireLate { process } => {
            world.processes[process].retires_late = false;
            world.retire(world.processes[process].page, rules);
        }
        Action::Deliver { process, request, stays } => deliver(world, process, request, stays, rules),
        Action::Receive { process } => receive(world, process, rules),
        Action::ReceiveStray { process } => receive_stray(world, process, rules),
        Action::GiveUp { process, lost } => give_up(world, process, lost),
        Action::Reopen { process } => reopen(world, process, rules),
        Action::Elsewhere { process, clock } => {
            world.left.elsewhere -= 1;
            world.processes[process].forget();
            world.page_mut(process).open(0, ceiling_of(clock + LEASE), true, rules);
        }
        Action::ReadClock { process, clock } => {
            let (page, elsewhere) = (world.processes[process].page, world.page(process).elsewhere);
            world.processes[process].thread = Thread::Read { clock, page, elsewhere };
            // A clock that may say anything may say so as well at the moment of the check.
            if !bounds.clocks.follow_time() {
                check(world, process, rules, bounds);
            }
        }
        Action::Check { process } => check(world, process, rules, bounds),
        Action::Issue { process, clock } => issue(world, process, clock, rules),
        Action::Call { process, clock } => {
            let (page, elsewhere) = (world.processes[process].page, world.page(process).elsewhere);
            world.processes[process].thread = Thread::Read { clock, page, elsewhere };
            check(world, process, rules, bounds);
            issue(world, process, clock, rules);
        }
        Action::Crash { process } => {
            world.left.crashes -= 1;
            world.processes[process] = world.processes[process].crashed();
            world.drop_pages();
        }
        Action::StopAll => {
            world.left.stops -= 1;
            for process in &mut world.processes {
                *process = process.crashed();
            }
            world.drop_pages();
        }
        Action::Start { process } => world.run(process),
        Action::Clone { from, to } => {
            world.left.clones -= 1;
            world.clone_process(from, to, bounds, rules);
        }
        Action::Fork { from, to } => {
            world.left.forks -= 1;
            world.fork_process(from, to, rules);
        }
        Action::Leave { process } => world.leave(process, rules),
        Action::Delete => {
            world.left.deletions -= 1;
            world.registry.item = None;
        }
        Action::Initialise => {
            world.left.initialisations -= 1;
            world.registry.initialise(rules);
        }
        Action::BackUp => world.registry.backup = world.registry.item,
        Action::Restore => {
            world.left.restores -= 1;
            world.registry.item = world.registry.backup.take();
            world.registry.restored = true;
        }
        Action::Fence => {
            world.left.fences -= 1;
            world.registry.fence(world.now, rules, bounds);
        }
    }
    next.drop_dead_messages(rules, bounds);
    next
}

/// A consistent read. It is one step: whatever changes after the registry has looked is the same
/// as a process that pauses with what it has read. An item that one of our own attempts wrote is
/// our lease.
fn read(world: &mut State, process: usize, rules: &Rules) {
    let item = world.registry.item;
    if let Some(item) = item
        && let outcome @ Outcome::Confirmed { .. } = world.processes[process].recognise(&item, rules)
    {
        settle(world, process, outcome, rules);
        return;
    }
    world.processes[process].seen = Some(item.map_or(Seen::Missing, Seen::Item));
}

fn send(world: &mut State, process: usize, kind: Kind, expiry: u8, now: u8) {
    world.sends_left = world.sends_left.map(|left| left - 1);
    world.processes[process].send(kind, expiry, now);
}

fn heartbeat(world: &mut State, process: usize, clock: u8, rules: &Rules) {
    let expiry = world.processes[process].heartbeat_expiry(clock, rules);
    send(world, process, Kind::Heartbeat, expiry, 0);
    if !rules.confirmed_ceiling {
        world.page_mut(process).raise(ceiling_of(expiry));
    }
}

fn release(world: &mut State, process: usize, clock: u8, rules: &Rules) {
    world.left.releases -= 1;
    if rules.retire_before_release {
        world.retire(world.processes[process].page, rules);
    } else {
        world.processes[process].retires_late = true;
    }
    let expiry = world.processes[process].release_expiry(world.page(process).word, clock, rules);
    world.processes[process].send_release(expiry);
}

fn deliver(world: &mut State, process: usize, request: usize, stays: Stays, rules: &Rules) {
    let wire = &mut world.processes[process].wire;
    let write = if stays == Stays::Request { wire.requests[request] } else { wire.take(request) };
    let write = write.expect("only requests in flight are delivered");
    world.left.doubles -= u8::from(stays == Stays::Request);
    world.left.answers -= u8::from(stays == Stays::Answer);
    let answer = world.registry.write(&write, rules);
    let process = &mut world.processes[process];
    if stays == Stays::Answer {
        process.wire.stray = Some(Stray { renewal: write.renewal, answer });
    }
    let newest = process.newest_attempt().map(|attempt| attempt.renewal);
    if process.waiting && newest == Some(write.renewal) {
        process.wire.answer = Some(answer);
    }
}

fn receive(world: &mut State, process: usize, rules: &Rules) {
    let answer = world.processes[process].wire.answer.take();
    let outcome = world.processes[process].judge(answer.unwrap_or(Answer::Missing), rules);
    settle(world, process, outcome, rules);
}

fn receive_stray(world: &mut State, process: usize, rules: &Rules) {
    let stray = world.processes[process].wire.stray.take();
    if let Some(outcome) = stray.and_then(|stray| world.processes[process].judge_stray(&stray, rules)) {
        settle(world, process, outcome, rules);
    }
}

/// Acts on what an answer means.
fn settle(world: &mut State, number: usize, outcome: Outcome, rules: &Rules) {
    let had_lease = world.processes[number].lease.is_some();
    world.processes[number].forget();
    match outcome {
        Outcome::Confirmed { lease, floor } => {
            world.processes[number].lease = Some(lease);
            let page = world.page_mut(number);
            if had_lease {
                page.raise(ceiling_of(lease.expiry));
            } else {
                page.open(floor, ceiling_of(lease.expiry), false, rules);
            }
        }
        Outcome::Lost => world.retire(world.processes[number].page, rules),
    }
}

fn give_up(world: &mut State, number: usize, lost: bool) {
    world.left.lost -= 1;
    let process = &mut world.processes[number];
    process.waiting = false;
    process.wire.answer = None;
    if lost
        && let Some(attempt) = process.newest_attempt()
        && let Some(request) = process.wire.find(attempt.renewal)
    {
        process.wire.take(request);
    }
}

fn reopen(world: &mut State, process: usize, rules: &Rules) {
    if let Some(lease) = world.processes[process].lease {
        let page = world.page_mut(process);
        let floor = page.floor;
        page.open(floor, ceiling_of(lease.expiry), false, rules);
    }
}

/// A thread checks: the timestamp against the window, or the lease against the clock.
fn check(world: &mut State, number: usize, rules: &Rules, bounds: &Bounds) {
    let process = &world.processes[number];
    let Thread::Read { clock, page, elsewhere } = process.thread else {
        return;
    };
    let slot = world.pages[page as usize];
    let timestamp = if rules.window {
        slot.candidate(clock, bounds.ahead)
    } else {
        let valid = process.lease.is_some_and(|lease| clock < ceiling_of(lease.expiry));
        valid.then_some(clock)
    };
    let word = if rules.window { slot.word } else { 0 };
    world.processes[number].thread =
        timestamp.map_or(Thread::Idle, |timestamp| Thread::Checked { timestamp, word, page, elsewhere });
}

/// A thread issues what it checked: one compare-and-swap of the word, which fails if somebody
/// else issued or the slot was retired. The wall-clock protocol has no such word, only the
/// process's last timestamp.
fn issue(world: &mut State, number: usize, clock: u8, rules: &Rules) {
    let Thread::Checked { timestamp, word, page, elsewhere } = world.processes[number].thread else {
        return;
    };
    world.processes[number].thread = Thread::Idle;
    let slot = &mut world.pages[page as usize];
    let allowed = if rules.window { slot.word == word && !slot.retired } else { true };
    let timestamp = match (rules.own_timestamp, rules.window) {
        (true, _) => timestamp,
        (false, true) => clock.max(slot.word + 1),
        (false, false) => clock,
    };
    if allowed && timestamp > slot.word {
        slot.word = timestamp;
        world.issue(number, timestamp, elsewhere);
    }
    world.drop_pages();
}
