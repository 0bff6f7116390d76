//! An interleaving in plain words.

use crate::actions::{Action, Stays};
use crate::bounds::TICK_S;
use crate::process::{Lease, Outcome, Seen};
use crate::properties::LeaseModel;
use crate::registry::{Answer, Kind, Write};
use crate::state::{State, Wrong};
use crate::thread::Thread;

/// What a process is called.
fn name(process: usize) -> char {
    ['A', 'B', 'C'][process]
}

/// A time or timestamp.
fn at(ticks: u8) -> String {
    format!("{} s", u32::from(ticks) * TICK_S)
}

/// The steps of an interleaving, one sentence each, and what is wrong at its end. A step is a
/// state and what happens in it; the last state has nothing after it.
pub fn tell(model: &LeaseModel, steps: &[(State, Option<Action>)]) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut index = 0;
    while index + 1 < steps.len() {
        let (before, action) = &steps[index];
        let Some(action) = *action else { break };
        let after = &steps[index + 1].0;
        // A write that is made and whose answer arrives at once is one sentence.
        if let (
            Action::Deliver { process, request, stays: Stays::Nothing },
            Some((_, Some(Action::Receive { process: to }))),
        ) = (action, steps.get(index + 1))
            && process == *to
            && after.processes[process].wire.answer != before.processes[process].wire.answer
        {
            let last = &steps[index + 2].0;
            sentences.push(format!(
                "{}, and {}.",
                delivered(before, after, process, request),
                received(after, last, process, model)
            ));
            index += 2;
            continue;
        }
        sentences.push(format!("{}.", sentence(model, before, action, after)));
        index += 1;
    }
    if let Some(end) = ending(steps) {
        sentences.push(end);
    }
    sentences
}

fn sentence(model: &LeaseModel, before: &State, action: Action, after: &State) -> String {
    match action {
        Action::Time { to } => format!("It is {} by now", at(to)),
        Action::StepClock { process, .. } => stepped(before, after, process),
        Action::Read { process } => read(before, after, process),
        Action::Claim { process, .. } | Action::Heartbeat { process, .. } => sent(after, process),
        Action::Release { process, .. } => {
            let left = after.processes[process].wire.in_flight().last().map_or(0, |(_, write)| write.expiry);
            let retired = if model.rules.retire_before_release {
                "retires its slot and"
            } else {
                "does not retire its slot, but"
            };
            format!("{} {retired} sends a release that leaves the expiry at {}", name(process), at(left))
        }
        Action::RetireLate { process } => format!("{} retires its slot, too late", name(process)),
        Action::Deliver { process, request, stays } => {
            let copy = match stays {
                Stays::Nothing => "",
                Stays::Request => "; a copy of it is still on its way",
                Stays::Answer if after.processes[process].wire.answer.is_some() => {
                    "; the answer is on its way, and so is a copy of it"
                }
                Stays::Answer => "; the answer is on its way, though nobody waits for it",
            };
            format!("{}{copy}", delivered(before, after, process, request))
        }
        Action::Receive { process } => upper(&received(before, after, process, model)),
        Action::ReceiveStray { process } => {
            let taken =
                if model.rules.answers_by_attempt { "" } else { ", which takes it for the answer that it waits for" };
            format!(
                "The {} answer reaches {}{taken}: {}",
                if before.processes[process].waiting { "copy of an earlier" } else { "late" },
                name(process),
                received(before, after, process, model)
            )
        }
        Action::StopAll => "All processes are stopped".to_owned(),
        Action::GiveUp { process, lost } => {
            let fate = if lost {
                "its request is lost"
            } else if before.processes[process].wire.in_flight().count() > 0 {
                "its request is still on its way"
            } else {
                "the answer is lost"
            };
            format!("{} gives up waiting; {fate}", name(process))
        }
        Action::Reopen { process } => {
            let first = after.page(process).word + 1;
            format!(
                "{} finds its slot retired and opens a new one under its lease, from {} on",
                name(process),
                at(first)
            )
        }
        Action::Elsewhere { process, .. } => format!("{} takes a lease of another worker ID", name(process)),
        Action::ReadClock { process, .. } => match after.processes[process].thread {
            Thread::Read { clock, .. } => {
                format!("A thread of {} reads the clock ({}) and is paused", name(process), at(clock))
            }
            thread => checked(process, thread, model),
        },
        Action::Check { process } => checked(process, after.processes[process].thread, model),
        Action::Issue { process, clock } | Action::Call { process, clock } => {
            issued(model, before, after, process, clock, matches!(action, Action::Issue { .. }))
        }
        Action::Crash { process } => format!("{} dies", name(process)),
        Action::Start { process } => format!("{} starts, remembering nothing", name(process)),
        Action::Clone { from, to } => format!("{} is cloned with its memory; the copy is {}", name(from), name(to)),
        Action::Fork { from, to } => format!("{} forks {}, which goes on in the shared slot", name(from), name(to)),
        Action::Leave { process } => {
            let retired = if model.rules.retire_before_leaving {
                "retires the shared slot and leaves it"
            } else {
                "leaves the shared slot without retiring it"
            };
            format!("{} takes its parent for gone, {retired}, and keeps a lease of its own from now on", name(process))
        }
        Action::Delete => "The item is deleted".to_owned(),
        Action::Initialise => match (before.registry.item, after.registry.item) {
            (None, Some(_)) => {
                "An initialisation from long ago arrives and creates the item again, with expiry 0".to_owned()
            }
            _ => "An initialisation from long ago arrives and changes nothing".to_owned(),
        },
        Action::BackUp => "The registry is backed up".to_owned(),
        Action::Restore => format!("The registry is restored from the backup: {}", item(after)),
        Action::Fence => format!("The registry is fenced: {}", item(after)),
    }
}

/// A sentence begins with a capital letter.
pub fn upper(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

fn item(state: &State) -> String {
    state.registry.item.map_or_else(
        || "there is no item".to_owned(),
        |item| format!("epoch {}, version {}, expiry {}", item.epoch, item.version, at(item.expiry)),
    )
}

fn stepped(before: &State, after: &State, process: usize) -> String {
    let (old, new) = (before.processes[process].offset, after.processes[process].offset);
    let by = u32::from(new.abs_diff(old)) * TICK_S;
    let way = if new > old { "forward" } else { "back" };
    let clock = after.now.saturating_add_signed(new);
    let right = if new == 0 { "; it is right now" } else { "" };
    format!("The clock of {} is stepped {way} by {by} s and says {}{right}", name(process), at(clock))
}

fn read(before: &State, after: &State, process: usize) -> String {
    if after.processes[process].lease.is_some() {
        return format!("{} reads the item, finds that its own claim was made, and has the lease", name(process));
    }
    match after.processes[process].seen {
        Some(Seen::Item(_)) => format!("{} reads the item: {}", name(process), item(before)),
        _ => format!("{} reads, and there is no item", name(process)),
    }
}

fn sent(after: &State, process: usize) -> String {
    let Some(write) = after.processes[process].wire.in_flight().last().map(|(_, write)| write) else {
        return format!("{} sends a request", name(process));
    };
    let expiry = at(write.expiry);
    match write.kind {
        Kind::Claim if write.absent => format!("{} sends a claim of the missing item, expiry {expiry}", name(process)),
        Kind::Claim => {
            format!(
                "{}, whose clock says {}, sends a claim: epoch {}, expiry {expiry}",
                name(process),
                at(write.now),
                write.epoch + 1
            )
        }
        _ => format!("{} sends a heartbeat, expiry {expiry}", name(process)),
    }
}

fn delivered(before: &State, after: &State, process: usize, request: usize) -> String {
    let write: Option<Write> = before.processes[process].wire.requests[request];
    let what = match write.map(|write| write.kind) {
        Some(Kind::Claim) => "claim",
        Some(Kind::Release) => "release",
        _ => "heartbeat",
    };
    if before.registry.item == after.registry.item {
        return format!("The {what} of {} is refused", name(process));
    }
    format!("The {what} of {} is written ({})", name(process), item(after))
}

fn window(state: &State, process: usize, lease: Lease, model: &LeaseModel) -> String {
    if !model.rules.window {
        return format!("{} has the lease up to {}", name(process), at(lease.expiry));
    }
    let page = state.page(process);
    let from = if page.word == 0 { String::new() } else { format!("from {} to ", at(page.word + 1)) };
    format!("{} may issue {from}below {}", name(process), at(page.ceiling))
}

fn received(before: &State, after: &State, process: usize, model: &LeaseModel) -> String {
    let ours = match before.processes[process].wire.answer {
        Some(answer @ Answer::Refused(_)) => before.processes[process].judge(answer, &model.rules) != Outcome::Lost,
        _ => false,
    };
    let why = if ours { ", taking the item for its own" } else { "" };
    match after.processes[process].lease {
        Some(lease) => format!("{}{why}", window(after, process, lease, model)),
        None => format!("{} knows that it has no lease", name(process)),
    }
}

fn checked(process: usize, thread: Thread, model: &LeaseModel) -> String {
    match thread {
        Thread::Checked { timestamp, .. } if model.rules.own_timestamp => {
            format!("A thread of {} checks the timestamp {} and is paused", name(process), at(timestamp))
        }
        Thread::Checked { .. } => format!("A thread of {} has checked its lease and is paused", name(process)),
        _ => format!("The call of {} is refused", name(process)),
    }
}

fn issued(model: &LeaseModel, before: &State, after: &State, process: usize, clock: u8, resumed: bool) -> String {
    let elsewhere = match before.processes[process].thread {
        Thread::Checked { elsewhere, .. } => elsewhere,
        _ => before.page(process).elsewhere,
    };
    if after.processes[process].last == before.processes[process].last && after.wrong == Wrong::Nothing {
        return format!("The call of {} fails", name(process));
    }
    let who = match (resumed, model.rules.own_timestamp) {
        (true, true) => format!("The thread of {} goes on and", name(process)),
        (true, false) => format!("The thread of {} goes on, reads the clock again ({}), and", name(process), at(clock)),
        (false, _) => format!("{}, whose clock says {},", name(process), at(clock)),
    };
    let under = if elsewhere { ", under the other worker ID" } else { "" };
    format!("{who} issues timestamp {}{under}", at(after.processes[process].last))
}

fn ending(steps: &[(State, Option<Action>)]) -> Option<String> {
    let (last, _) = steps.last()?;
    let (Action::Issue { process, .. } | Action::Call { process, .. }) = steps.iter().rev().find_map(|step| step.1)?
    else {
        return None;
    };
    let timestamp = last.processes[process].last;
    match last.wrong {
        Wrong::Nothing => None,
        Wrong::Repeat => Some(format!("Timestamp {} has been issued twice under the worker ID.", at(timestamp))),
        Wrong::Disorder => Some(format!(
            "The timestamps of {} no longer increase: {} is not above its last.",
            name(process),
            at(timestamp)
        )),
    }
}
