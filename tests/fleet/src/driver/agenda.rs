//! What is to be done, and when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use super::script::Event;

/// What is to be done at a time.
#[derive(Debug)]
pub(super) enum Task {
    Fault(Event),
    Start { place: usize },
    Open { place: usize, incarnation: u32 },
    Continue { place: usize, incarnation: u32 },
    ContinueChild { place: usize, child: u64 },
    StepBack { place: usize },
    Mend { place: usize },
    EndOutage,
}

/// Tasks in the order of their times.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    tasks: BinaryHeap<Reverse<Due>>,
    added: u64,
}

impl Agenda {
    pub(super) fn add(&mut self, at: Instant, task: Task) {
        self.added += 1;
        self.tasks.push(Reverse(Due { at, number: self.added, task }));
    }

    /// When the next task is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.tasks.peek().map(|due| due.0.at)
    }

    /// Takes the next task if it is due, with the time that it was set for.
    pub(super) fn due(&mut self, now: Instant) -> Option<(Instant, Task)> {
        self.next().filter(|at| *at <= now)?;
        self.tasks.pop().map(|Reverse(due)| (due.at, due.task))
    }

    /// All tasks, in order.
    pub(super) fn into_tasks(self) -> impl Iterator<Item = (Instant, Task)> {
        self.tasks.into_sorted_vec().into_iter().rev().map(|Reverse(due)| (due.at, due.task))
    }
}

/// A task and its time; of equal times the one that was set first comes first.
#[derive(Debug)]
struct Due {
    at: Instant,
    number: u64,
    task: Task,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}
