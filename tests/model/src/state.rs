//! The whole world at one moment, and what its parts do to each other.

use crate::bounds::{Bounds, Excuse, Faults, MAX_PROCESSES, START};
use crate::page::Page;
use crate::process::Process;
use crate::registry::{Registry, allows};
use crate::rules::{Condition, Rules};
use crate::thread::Thread;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wrong {
    /// Nothing.
    Nothing,
    /// A timestamp was issued twice under the worker ID.
    Repeat,
    /// A process issued a timestamp that is not above its last.
    Disorder,
}

/// One state of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// True time.
    pub now: u8,
    /// The registry.
    pub registry: Registry,
    /// The processes.
    pub processes: [Process; MAX_PROCESSES],
    /// The shared pages. A child that leaves needs one more than there are processes.
    pub pages: [Page; MAX_PROCESSES + 1],
    /// The timestamps issued under the worker ID, one bit each.
    pub issued: u32,
    /// Timestamps below this may repeat: a clone was made while their windows were asked for.
    pub excused: u8,
    /// The faults that may still happen.
    pub left: Faults,
    /// The claims and heartbeats that all together may still send, if that is bounded.
    pub sends_left: Option<u8>,
    /// What went wrong; history ends there.
    pub wrong: Wrong,
}

impl State {
    /// The beginning.
    pub fn start(bounds: &Bounds) -> State {
        let mut state = State {
            now: START,
            registry: Registry::new(),
            processes: std::array::from_fn(Process::stopped),
            pages: [Page::after(0); MAX_PROCESSES + 1],
            issued: 0,
            excused: 0,
            left: bounds.faults,
            sends_left: bounds.sends_in_all,
            wrong: Wrong::Nothing,
        };
        for process in 0..bounds.running {
            state.run(process);
        }
        state
    }

    /// Starts a process with nothing in its memory.
    pub fn run(&mut self, process: usize) {
        let page = self.free_page();
        let process = &mut self.processes[process];
        process.running = true;
        process.keeper = true;
        process.page = page;
    }

    /// The page of a process.
    pub fn page(&self, process: usize) -> &Page {
        &self.pages[self.processes[process].page as usize]
    }

    /// The page of a process, to change.
    pub fn page_mut(&mut self, process: usize) -> &mut Page {
        &mut self.pages[self.processes[process].page as usize]
    }

    fn page_in_use(&self, page: usize) -> bool {
        self.processes.iter().any(|process| {
            process.running && (process.page as usize == page || process.thread.page() == Some(page as u8))
        })
    }

    /// A page that nobody uses.
    pub fn free_page(&self) -> u8 {
        let free = (0..self.pages.len()).find(|page| !self.page_in_use(*page));
        free.expect("there are more pages than processes") as u8
    }

    /// Gives back the pages that nobody uses any more.
    pub fn drop_pages(&mut self) {
        for page in 0..self.pages.len() {
            if !self.page_in_use(page) {
                self.pages[page] = Page::after(0);
            }
        }
    }

    /// Retires the slot of a page. Whoever sleeps in it can only fail from now on, so it is put
    /// out of the call at once; where slots are reused, it sleeps on.
    pub fn retire(&mut self, page: u8, rules: &Rules) {
        self.pages[page as usize].retired = true;
        if rules.window && rules.slot_per_lease {
            for process in &mut self.processes {
                if process.thread.page() == Some(page) {
                    process.thread = Thread::Idle;
                }
            }
        }
    }

    /// Takes off the wire what can change nothing any more: requests whose answer nobody waits for and
    /// whose version has gone by (under the rules versions only grow, and one fence writes a fresh one, unless
    /// the item is restored or created again), and answers whose attempt nobody remembers. This loses no history.
    pub fn drop_dead_messages(&mut self, rules: &Rules, bounds: &Bounds) {
        for process in &mut self.processes {
            if process.wire.stray.is_some_and(|stray| !process.may_heed(stray.renewal, rules)) {
                process.wire.stray = None;
            }
        }
        let created_again = bounds.faults.initialisations > 0 && !rules.initialise_once;
        let fenced_low = bounds.faults.fences > u8::from(rules.fence_fresh_version);
        let item_may_return = bounds.faults.restores > 0 || created_again || fenced_low;
        let exact = rules.heartbeat == Condition::EpochAndVersion && rules.version_in_claim && rules.refuse_missing;
        if item_may_return || !exact {
            return;
        }
        let item = self.registry.item;
        for process in &mut self.processes {
            let awaited = process.newest_attempt().filter(|_| process.waiting).map(|attempt| attempt.renewal);
            let strays = self.left.answers > 0 && process.running;
            for index in (0..process.wire.requests.len()).rev() {
                let alive = process.wire.requests[index].is_some_and(|write| {
                    awaited == Some(write.renewal)
                        || strays && process.may_heed(write.renewal, rules)
                        || item.is_some_and(|item| allows(&write, &item, rules))
                });
                if !alive {
                    process.wire.take(index);
                }
            }
        }
    }

    /// A process issues a timestamp.
    pub fn issue(&mut self, process: usize, timestamp: u8, elsewhere: bool) {
        let bit = 1u32 << timestamp;
        if !elsewhere {
            if self.issued & bit != 0 && timestamp >= self.excused {
                self.wrong = Wrong::Repeat;
            }
            self.issued |= bit;
        }
        let last = &mut self.processes[process].last;
        if timestamp <= *last && self.wrong == Wrong::Nothing {
            self.wrong = Wrong::Disorder;
        }
        *last = timestamp;
    }

    /// Copies a process with all its memory into another that does not run: a VM snapshot that
    /// is started twice. What the copy waits for never comes, for its connections are gone.
    pub fn clone_process(&mut self, from: usize, to: usize, bounds: &Bounds, rules: &Rules) {
        let original = self.processes[from];
        let page = *self.page(from);
        self.excused = self.excused.max(match bounds.excuse {
            Excuse::Nothing => 0,
            Excuse::WindowConfirmed => original.confirmed_reach(),
            Excuse::WindowsAskedFor => original.reach(),
        });
        let number = self.free_page();
        self.pages[number as usize] = page;
        let mut copy = original;
        copy.page = number;
        copy.waiting = false;
        copy.thread = match copy.thread {
            Thread::Read { clock, elsewhere, .. } => Thread::Read { clock, page: number, elsewhere },
            Thread::Checked { timestamp, word, elsewhere, .. } => {
                Thread::Checked { timestamp, word, page: number, elsewhere }
            }
            Thread::Idle => Thread::Idle,
        };
        self.become_copy(to, copy, rules);
    }

    /// Forks a process. The child shares the page and goes on under the same worker ID; it has
    /// one thread, and nothing of the parent's keeper.
    pub fn fork_process(&mut self, from: usize, to: usize, rules: &Rules) {
        let parent = self.processes[from];
        let child = Process {
            running: true,
            page: parent.page,
            offset: parent.offset,
            last: parent.last,
            seed: parent.seed,
            drawn: parent.drawn,
            ..Process::stopped(to)
        };
        self.become_copy(to, child, rules);
    }

    fn become_copy(&mut self, to: usize, copy: Process, rules: &Rules) {
        let own = self.processes[to];
        let (seed, drawn) = if rules.kernel_randomness { (own.seed, own.drawn) } else { (copy.seed, copy.drawn) };
        let mut wire = own.wire;
        wire.answer = None;
        self.processes[to] = Process { seed, drawn, sent: own.sent.max(copy.sent), wire, ..copy };
    }

    /// A child leaves the shared slot for a page and a keeper of its own.
    pub fn leave(&mut self, process: usize, rules: &Rules) {
        let old = self.processes[process].page;
        if rules.retire_before_leaving {
            self.retire(old, rules);
        }
        let number = self.free_page();
        self.pages[number as usize] = Page::after(self.pages[old as usize].word);
        self.processes[process].page = number;
        self.processes[process].keeper = true;
        self.drop_pages();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Attempt, Lease};
    use crate::registry::{Item, Kind};

    const RULES: Rules = Rules::window();

    fn holder() -> State {
        let bounds = Bounds { running: 1, ..Bounds::calm(3) };
        let mut state = State::start(&bounds);
        state.processes[0].lease = Some(Lease { epoch: 1, version: 1, expiry: 8 });
        state.page_mut(0).open(0, 7, false, &RULES);
        state
    }

    #[test]
    fn the_second_issue_of_a_timestamp_is_a_repeat_unless_excused_or_elsewhere() {
        let mut state = holder();
        state.issue(0, 5, false);
        state.issue(1, 5, true);
        assert_eq!(state.wrong, Wrong::Nothing);
        let mut excused = State { excused: 6, ..state };
        excused.issue(2, 5, false);
        assert_eq!(excused.wrong, Wrong::Nothing);
        state.issue(2, 5, false);
        assert_eq!(state.wrong, Wrong::Repeat);
    }

    #[test]
    fn a_process_that_goes_back_is_disorder() {
        let mut state = holder();
        state.issue(0, 5, false);
        state.issue(0, 4, true);
        assert_eq!(state.wrong, Wrong::Disorder);
    }

    #[test]
    fn parent_and_child_share_one_word_and_a_clone_has_its_own() {
        let mut state = holder();
        state.fork_process(0, 1, &RULES);
        state.clone_process(0, 2, &Bounds::calm(3), &RULES);
        state.page_mut(1).word = 6;
        assert_eq!(state.page(0).word, 6);
        assert_eq!(state.page(2).word, 0);
        assert!(!state.processes[1].keeper, "only the parent has the keeper");
        assert_eq!(state.processes[1].lease, None);
    }

    #[test]
    fn a_clone_is_excused_up_to_the_windows_that_were_asked_for_before_it() {
        let mut state = holder();
        let lease = Lease { epoch: 1, version: 2, expiry: 10 };
        state.processes[0].attempts[0] = Some(Attempt { renewal: 1, lease, floor: 0 });
        state.clone_process(0, 1, &Bounds::calm(3), &RULES);
        assert_eq!(state.excused, 9);
        assert!(!state.processes[1].waiting);
    }

    #[test]
    fn a_child_retires_the_slot_before_it_leaves_and_starts_above_its_word() {
        let mut state = holder();
        state.fork_process(0, 1, &RULES);
        state.page_mut(0).word = 5;
        state.processes[0].thread = Thread::Checked { timestamp: 6, word: 5, page: 0, elsewhere: false };
        state.leave(1, &RULES);
        assert!(state.page(0).retired);
        assert_eq!(state.processes[0].thread, Thread::Idle, "its swap fails");
        assert_eq!(*state.page(1), Page::after(5));
        assert!(state.processes[1].keeper);
    }

    #[test]
    fn only_requests_that_can_change_nothing_are_dropped() {
        let bounds = Bounds::calm(2);
        let mut state = holder();
        state.registry.item = Some(Item { expiry: 8, epoch: 1, version: 1, renewal: 1 });
        state.processes[0].send(Kind::Heartbeat, 9, 0);
        state.processes[0].waiting = false;
        state.drop_dead_messages(&RULES, &bounds);
        assert_eq!(state.processes[0].wire.in_flight().count(), 1, "it may still be written");
        state.registry.item = Some(Item { expiry: 9, epoch: 1, version: 2, renewal: 2 });
        let mut waits = state;
        waits.processes[0].waiting = true;
        waits.drop_dead_messages(&RULES, &bounds);
        assert_eq!(waits.processes[0].wire.in_flight().count(), 1, "its answer is awaited");
        let mut restorable = state;
        let faults = Faults { restores: 1, ..bounds.faults };
        restorable.drop_dead_messages(&RULES, &Bounds { faults, ..bounds });
        assert_eq!(restorable.processes[0].wire.in_flight().count(), 1, "the old version may come back");
        state.drop_dead_messages(&RULES, &bounds);
        assert_eq!(state.processes[0].wire.in_flight().count(), 0);
    }

    #[test]
    fn a_copied_generator_repeats_only_where_the_rule_is_dropped() {
        let copied = Rules { kernel_randomness: false, ..RULES };
        for (rules, same) in [(RULES, false), (copied, true)] {
            let mut state = holder();
            state.clone_process(0, 1, &Bounds::calm(3), &rules);
            let drawn = state.processes[0].draw_renewal();
            assert_eq!(state.processes[1].draw_renewal() == drawn, same);
        }
    }

    #[test]
    fn a_page_lives_as_long_as_somebody_uses_it() {
        let mut state = holder();
        state.fork_process(0, 1, &RULES);
        state.processes[0] = state.processes[0].crashed();
        state.drop_pages();
        assert!(!state.page(1).retired, "the child goes on in the page of its dead parent");
        state.processes[1] = state.processes[1].crashed();
        state.drop_pages();
        assert_eq!(state.pages[0], Page::after(0));
    }
}
