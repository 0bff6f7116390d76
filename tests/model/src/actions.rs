//! What can happen next.

use crate::bounds::{Bounds, Clocks, MAX_PROCESSES};
use crate::process::{Process, Seen};
use crate::registry::Kind;
use crate::rules::Rules;
use crate::state::{State, Wrong};
use crate::thread::Thread;

/// One step of somebody. `process` is a number; `clock` is what that process's clock says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant says what its fields are")]
pub enum Action {
    /// True time goes on.
    Time { to: u8 },
    /// A clock is stepped.
    StepClock { process: usize, offset: i8 },
    /// A process without a lease reads the item.
    Read { process: usize },
    /// It claims what it read.
    Claim { process: usize, clock: u8 },
    /// A holder renews.
    Heartbeat { process: usize, clock: u8 },
    /// A holder gives its lease back.
    Release { process: usize, clock: u8 },
    /// It retires the slot, after it has given back (only where that rule is dropped).
    RetireLate { process: usize },
    /// A request reaches the registry.
    Deliver { process: usize, request: usize, stays: Stays },
    /// An answer reaches the process that waits for it.
    Receive { process: usize },
    /// An answer reaches the process again, or late.
    ReceiveStray { process: usize },
    /// A process stops waiting. Its request, if still on the wire, stays there or is lost.
    GiveUp { process: usize, lost: bool },
    /// A holder whose slot was retired by a child opens a new slot under its lease.
    Reopen { process: usize },
    /// A process takes a lease of another worker ID.
    Elsewhere { process: usize, clock: u8 },
    /// A thread reads the clock.
    ReadClock { process: usize, clock: u8 },
    /// It checks the timestamp (or the lease).
    Check { process: usize },
    /// It issues; `clock` counts only where the clock is read again.
    Issue { process: usize, clock: u8 },
    /// All three at once.
    Call { process: usize, clock: u8 },
    /// A process dies.
    Crash { process: usize },
    /// A process starts.
    Start { process: usize },
    /// A process is copied with its memory.
    Clone { from: usize, to: usize },
    /// A process forks.
    Fork { from: usize, to: usize },
    /// A child takes its parent for gone and leaves the shared slot.
    Leave { process: usize },
    /// An operator stops all processes.
    StopAll,
    /// Somebody deletes the item.
    Delete,
    /// An initialisation that was sent long ago arrives.
    Initialise,
    /// The registry is backed up.
    BackUp,
    /// The registry is restored from the backup.
    Restore,
    /// `leaseflake registry fence`.
    Fence,
}

/// What stays on the wire when a request has reached the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    /// Only its answer, if somebody waits for it.
    Nothing,
    /// A copy of the request.
    Request,
    /// A copy of the answer; the answer itself where nobody waits for it.
    Answer,
}

/// What the clock of a process may say when it is read now.
fn readings(state: &State, process: usize, bounds: &Bounds) -> impl Iterator<Item = u8> + use<> {
    let values: u32 = match bounds.clocks {
        Clocks::Anything(last) => (1 << (last + 1)) - 1,
        Clocks::AnyOf(values) => values.iter().fold(0, |all, value| all | 1 << value),
        Clocks::Stepped(_) => 1 << state.now.saturating_add_signed(state.processes[process].offset),
    };
    (0..u32::BITS as u8).filter(move |value| values >> value & 1 == 1)
}

/// Everything that can happen next.
pub fn enabled(state: &State, rules: &Rules, bounds: &Bounds, actions: &mut Vec<Action>) {
    if state.wrong != Wrong::Nothing {
        return;
    }
    for number in 0..bounds.processes {
        let process = &state.processes[number];
        deliveries(state, number, rules, actions);
        if process.running {
            if process.keeper {
                keeper(state, number, rules, bounds, actions);
            } else {
                actions.push(Action::Leave { process: number });
            }
            caller(state, number, rules, bounds, actions);
            lives(state, number, bounds, actions);
        } else if !state.registry.restored || !rules.fence {
            actions.push(Action::Start { process: number });
        }
    }
    if let Clocks::Stepped(offsets) = bounds.clocks {
        time(state, bounds, offsets, actions);
    }
    operators(state, rules, actions);
}

fn deliveries(state: &State, number: usize, rules: &Rules, actions: &mut Vec<Action>) {
    let process = &state.processes[number];
    for (request, write) in process.wire.in_flight() {
        actions.push(Action::Deliver { process: number, request, stays: Stays::Nothing });
        if state.left.doubles > 0 {
            actions.push(Action::Deliver { process: number, request, stays: Stays::Request });
        }
        let answered = write.kind != Kind::Release && process.running && process.may_heed(write.renewal, rules);
        if state.left.answers > 0 && answered && process.wire.stray.is_none() {
            actions.push(Action::Deliver { process: number, request, stays: Stays::Answer });
        }
    }
    if process.running
        && let Some(stray) = process.wire.stray
        && process.judge_stray(&stray, rules).is_some()
    {
        actions.push(Action::ReceiveStray { process: number });
    }
}

fn keeper(state: &State, number: usize, rules: &Rules, bounds: &Bounds, actions: &mut Vec<Action>) {
    let process = &state.processes[number];
    let page = state.page(number);
    if process.retires_late {
        actions.push(Action::RetireLate { process: number });
        return;
    }
    if process.waiting {
        if process.wire.answer.is_some() {
            actions.push(Action::Receive { process: number });
        }
        if state.left.lost > 0 {
            actions.push(Action::GiveUp { process: number, lost: false });
            if on_the_wire(process) {
                actions.push(Action::GiveUp { process: number, lost: true });
            }
        }
        return;
    }
    let may_send = process.sent < bounds.sends && state.sends_left != Some(0) && process.wire.has_room();
    if process.lease.is_some() {
        if rules.window && page.retired {
            actions.push(Action::Reopen { process: number });
        }
        if may_send {
            for clock in readings(state, number, bounds) {
                actions.push(Action::Heartbeat { process: number, clock });
            }
        }
        if state.left.releases > 0 && process.wire.has_room() {
            for clock in release_readings(state, number, rules, bounds) {
                actions.push(Action::Release { process: number, clock });
            }
        }
    } else if page.retired || !page.elsewhere {
        actions.push(Action::Read { process: number });
        for clock in readings(state, number, bounds) {
            let free = match process.seen {
                Some(Seen::Item(item)) => item.expiry < clock,
                Some(Seen::Missing) => !rules.refuse_missing,
                None => false,
            };
            if free && may_send {
                actions.push(Action::Claim { process: number, clock });
            }
            if state.left.elsewhere > 0 {
                actions.push(Action::Elsewhere { process: number, clock });
            }
        }
    }
}

/// A release under the rules does not look at the clock.
fn release_readings(state: &State, number: usize, rules: &Rules, bounds: &Bounds) -> impl Iterator<Item = u8> + use<> {
    let (looks, one) = if rules.release_newest { (false, Some(0)) } else { (true, None) };
    readings(state, number, bounds).filter(move |_| looks).chain(one)
}

fn on_the_wire(process: &Process) -> bool {
    process.newest_attempt().is_some_and(|attempt| process.wire.find(attempt.renewal).is_some())
}

fn caller(state: &State, number: usize, rules: &Rules, bounds: &Bounds, actions: &mut Vec<Action>) {
    let open = if rules.window { !state.page(number).retired } else { state.processes[number].lease.is_some() };
    match state.processes[number].thread {
        Thread::Idle if open => {
            for clock in readings(state, number, bounds) {
                if bounds.pauses {
                    actions.push(Action::ReadClock { process: number, clock });
                } else {
                    actions.push(Action::Call { process: number, clock });
                }
            }
        }
        Thread::Idle => {}
        Thread::Read { .. } => actions.push(Action::Check { process: number }),
        Thread::Checked { timestamp, .. } if rules.own_timestamp => {
            actions.push(Action::Issue { process: number, clock: timestamp });
        }
        Thread::Checked { .. } => {
            for clock in readings(state, number, bounds) {
                actions.push(Action::Issue { process: number, clock });
            }
        }
    }
}

fn lives(state: &State, number: usize, bounds: &Bounds, actions: &mut Vec<Action>) {
    if state.left.crashes > 0 {
        actions.push(Action::Crash { process: number });
    }
    let Some(to) = (0..bounds.processes).find(|other| !state.processes[*other].running) else {
        return;
    };
    if state.left.clones > 0 && state.processes[number].keeper {
        actions.push(Action::Clone { from: number, to });
    }
    if state.left.forks > 0 {
        actions.push(Action::Fork { from: number, to });
    }
}

fn time(state: &State, bounds: &Bounds, offsets: &[i8], actions: &mut Vec<Action>) {
    for to in state.now + 1..=bounds.last_tick {
        actions.push(Action::Time { to });
    }
    if state.left.clock_steps > 0 {
        for process in 0..bounds.processes {
            for &offset in offsets.iter().filter(|offset| **offset != state.processes[process].offset) {
                if state.processes[process].running {
                    actions.push(Action::StepClock { process, offset });
                }
            }
        }
    }
}

fn operators(state: &State, rules: &Rules, actions: &mut Vec<Action>) {
    let all_stopped = (0..MAX_PROCESSES).all(|process| !state.processes[process].running);
    if state.left.stops > 0 && !all_stopped {
        actions.push(Action::StopAll);
    }
    if state.left.deletions > 0 && state.registry.item.is_some() {
        actions.push(Action::Delete);
    }
    if state.left.initialisations > 0 {
        actions.push(Action::Initialise);
    }
    if state.left.restores > 0 {
        if state.registry.backup.is_none() && state.registry.item.is_some() {
            actions.push(Action::BackUp);
        }
        if state.registry.backup.is_some() && (all_stopped || !rules.fence) {
            actions.push(Action::Restore);
        }
    }
    if state.left.fences > 0 && all_stopped {
        actions.push(Action::Fence);
    }
}
