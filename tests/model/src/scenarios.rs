//! What is asked of the model: which protocol in which world, and what must come out.

use crate::bounds::{Bounds, Clocks, Excuse, Faults, START};
use crate::rules::{Condition, Rules};

/// What must come out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// All states are visited, and nothing goes wrong.
    Nothing,
    /// A timestamp is issued twice.
    Repeat,
    /// A process's own timestamps go back.
    Disorder,
}

/// Which question a run belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The protocol of Leaseflake, whole.
    Window,
    /// The usual protocol.
    WallClock,
    /// What the protocol of Leaseflake does not cover.
    Uncovered,
    /// The protocol of Leaseflake without one rule.
    Dropped,
}

/// One run of the checker.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Which question it belongs to.
    pub part: Part,
    /// Short, for the table.
    pub name: &'static str,
    /// What this run is about, in a sentence.
    pub about: &'static str,
    /// The rules.
    pub rules: Rules,
    /// The world.
    pub bounds: Bounds,
    /// What must come out.
    pub expected: Expected,
}

/// No fault at all.
const NONE: Faults = Bounds::calm(1).faults;
/// A clock may run fast, or be stepped back, by more than a lease.
const STEPPED: Clocks = Clocks::Stepped(&[-4, 0, 4]);
/// Every reading says anything; a claim is possible from 10 s on, and again after 40 s.
const ANYTHING: Clocks = Clocks::Anything(6);
/// Every reading says 10 s, at which a first claim is possible, or 50 s, at which one after it is.
const FEW: Clocks = Clocks::AnyOf(&[1, 5]);
/// One of each fault that messages have.
const NETWORK: Faults = Faults { lost: 1, doubles: 1, answers: 1, ..NONE };
const WINDOW: Rules = Rules::window();
const WALL: Rules = Rules::wall_clock();

/// The protocol of Leaseflake, in the worst worlds that can be exhausted.
fn window() -> Vec<Scenario> {
    let two = Bounds { clocks: ANYTHING, ..Bounds::calm(2) };
    let one = Bounds { running: 1, ..two };
    let three = Bounds { clocks: ANYTHING, ..Bounds::calm(3) };
    let family = Bounds { running: 1, clocks: Clocks::Anything(5), sends: 1, ..three };
    let true_clocks = Bounds { running: 1, ..Bounds::calm(2) };
    vec![
        holds(
            "crash, release, lost and late messages",
            "a crash and a restart, a release, a request or answer that is lost or late",
            Bounds { clocks: Clocks::Anything(5), faults: Faults { crashes: 1, lost: 1, releases: 1, ..NONE }, ..two },
        ),
        holds(
            "paused threads, crash, lost and late",
            "threads that sleep between any two steps, a crash and a restart, a message that is lost or late",
            Bounds { faults: Faults { crashes: 1, lost: 1, ..NONE }, pauses: true, ..two },
        ),
        holds(
            "doubled, lost and late messages",
            "a request that arrives twice, and one that is lost or late",
            Bounds { faults: Faults { doubles: 1, lost: 1, ..NONE }, ..two },
        ),
        holds(
            "fork, crash",
            "a child in the shared slot, which leaves at any moment; parent or child dies and starts again",
            Bounds { faults: Faults { forks: 1, crashes: 1, ..NONE }, ..one },
        ),
        holds(
            "fork, release",
            "a child in the shared slot, which leaves at any moment; a lease is released",
            Bounds { faults: Faults { forks: 1, releases: 1, ..NONE }, ..one },
        ),
        holds(
            "fork, paused threads, another worker ID",
            "a child in the shared slot, which leaves at any moment, and threads of both that sleep in it",
            Bounds { faults: Faults { forks: 1, elsewhere: 1, ..NONE }, pauses: true, ..one },
        ),
        holds(
            "clone, lost and late messages",
            "a process is copied with its memory; only windows that were asked for before may repeat",
            Bounds { faults: Faults { clones: 1, lost: 1, ..NONE }, ..one },
        ),
        holds(
            "restore, fence, late messages",
            "all stop, the registry is restored and fenced, and requests from before arrive late",
            Bounds { faults: Faults { restores: 1, fences: 1, crashes: 1, lost: 1, ..NONE }, ..true_clocks },
        ),
        holds(
            "deletion, fence, late messages",
            "the item is deleted, all stop, the fence creates it again, and requests from before arrive late",
            Bounds { faults: Faults { deletions: 1, fences: 1, crashes: 1, lost: 1, ..NONE }, ..true_clocks },
        ),
        holds(
            "every fault of the network",
            "requests and answers that are lost, late and doubled, a crash and a release in one history",
            Bounds {
                clocks: FEW,
                sends: 3,
                sends_in_all: Some(4),
                faults: Faults { crashes: 1, releases: 1, ..NETWORK },
                ..two
            },
        ),
        holds(
            "many faults at once",
            "messages lost, late and doubled, a crash, a fork, a clone, a release, a deletion and a fence in one history",
            Bounds {
                clocks: FEW,
                sends_in_all: Some(2),
                faults: Faults {
                    crashes: 1,
                    forks: 1,
                    clones: 1,
                    releases: 1,
                    deletions: 1,
                    stops: 1,
                    fences: 1,
                    ..NETWORK
                },
                ..one
            },
        ),
        holds(
            "three owners in turn",
            "each of three takes over from the one before",
            Bounds { clocks: Clocks::Anything(9), sends: 1, ..three },
        ),
        holds(
            "two children",
            "two forks, of the parent or of a child, which leave at any moment",
            Bounds { faults: Faults { forks: 2, ..NONE }, ..family },
        ),
        holds(
            "a fork and a clone",
            "of the parent or of the child, in either order",
            Bounds { faults: Faults { forks: 1, clones: 1, ..NONE }, ..family },
        ),
        holds(
            "fork beside another process",
            "a family and a stranger that takes over from it",
            Bounds { running: 2, sends: 1, faults: Faults { forks: 1, ..NONE }, ..three },
        ),
        holds(
            "three: messages, crash",
            "a crash and a restart, and messages that are lost, late and doubled, among three owners in turn",
            Bounds {
                clocks: Clocks::AnyOf(&[1, 5, 9]),
                sends_in_all: Some(3),
                faults: Faults { crashes: 1, ..NETWORK },
                ..three
            },
        ),
        holds(
            "three: deletion, messages, crash",
            "the item is deleted under three, one of which dies and starts again, and messages are lost or late",
            Bounds {
                clocks: FEW,
                sends_in_all: Some(3),
                faults: Faults { crashes: 1, deletions: 1, doubles: 0, ..NETWORK },
                ..three
            },
        ),
        holds(
            "three: deletion, fence, late messages",
            "the item is deleted, all are stopped, the fence creates it again, and messages from before arrive late",
            Bounds {
                clocks: FEW,
                sends_in_all: Some(3),
                faults: Faults { deletions: 1, stops: 1, fences: 1, answers: 1, ..NONE },
                ..three
            },
        ),
        holds(
            "three: restore, deletion, fence",
            "the registry is restored or its item deleted, all are stopped, the fence mends it; messages are lost or late",
            Bounds {
                clocks: FEW,
                sends_in_all: Some(2),
                faults: Faults { restores: 1, deletions: 1, stops: 1, fences: 1, lost: 1, ..NONE },
                ..three
            },
        ),
    ]
}

/// The worlds that break the wall-clock protocol, with the rules of Leaseflake.
fn same_worlds() -> Vec<Scenario> {
    let broken = wall_clock().into_iter().filter(|scenario| scenario.expected != Expected::Nothing);
    broken
        .map(|scenario| Scenario {
            part: Part::Window,
            rules: WINDOW,
            bounds: Bounds { excuse: Excuse::WindowsAskedFor, ..scenario.bounds },
            expected: Expected::Nothing,
            ..scenario
        })
        .collect()
}

const fn holds(name: &'static str, about: &'static str, bounds: Bounds) -> Scenario {
    Scenario { part: Part::Window, name, about, rules: WINDOW, bounds, expected: Expected::Nothing }
}

const fn repeats(name: &'static str, about: &'static str, rules: Rules, bounds: Bounds) -> Scenario {
    let part = if rules.window { Part::Dropped } else { Part::WallClock };
    Scenario { part, name, about, rules, bounds, expected: Expected::Repeat }
}

/// The usual protocol: where it holds, and the known ways in which it breaks.
fn wall_clock() -> Vec<Scenario> {
    let two = Bounds { sends: 2, ..Bounds::calm(2) };
    let one = Bounds { running: 1, ..two };
    let stepped = Bounds { clocks: STEPPED, ..two };
    let by_epoch = Rules { heartbeat: Condition::Epoch, ..WALL };
    vec![
        Scenario {
            part: Part::WallClock,
            name: "good clocks, no pauses",
            about: "no clock is wrong by more than the margin, no thread pauses, nothing is cloned",
            rules: WALL,
            bounds: Bounds {
                clocks: Clocks::Stepped(&[0, 1]),
                faults: Faults { clock_steps: 2, crashes: 1, ..NONE },
                ..two
            },
            expected: Expected::Nothing,
        },
        repeats(
            "fast clock",
            "a claimant's clock runs fast, and is set right after the claim",
            WALL,
            Bounds { faults: Faults { clock_steps: 2, ..NONE }, clocks: Clocks::Stepped(&[0, 4]), ..stepped },
        ),
        repeats(
            "own ghost",
            "a process crashes, starts again, claims its own item after it has expired, and its clock steps back",
            WALL,
            Bounds {
                processes: 1,
                running: 1,
                faults: Faults { clock_steps: 1, crashes: 1, ..NONE },
                clocks: Clocks::Stepped(&[-4, 0]),
                ..stepped
            },
        ),
        repeats(
            "late heartbeat",
            "a heartbeat that is conditional on the epoch only arrives late and lowers the expiry; all clocks are true",
            by_epoch,
            Bounds { sends: 3, faults: Faults { lost: 1, ..NONE }, ..two },
        ),
        repeats(
            "doubled answer",
            "the copy of an earlier answer is taken for the answer to the heartbeat that is on its way; all clocks are true",
            Rules { answers_by_attempt: false, ..WALL },
            Bounds { faults: Faults { answers: 1, ..NONE }, ..two },
        ),
        repeats(
            "slow clock",
            "a holder's clock steps back by more than a lease, and its heartbeat lowers the expiry",
            WALL,
            Bounds {
                faults: Faults { clock_steps: 1, ..NONE },
                clocks: Clocks::Stepped(&[-4, 0]),
                last_tick: 7,
                ..stepped
            },
        ),
        repeats(
            "pause",
            "a thread is paused between the check and the issue, and reads the clock again; all clocks are true",
            Rules { own_timestamp: false, ..WALL },
            Bounds { pauses: true, ..two },
        ),
        repeats(
            "deleted item",
            "the item is deleted, and a claim on absence knows no predecessor",
            Rules { refuse_missing: false, ..WALL },
            Bounds { faults: Faults { deletions: 1, ..NONE }, ..two },
        ),
        repeats(
            "one epoch twice",
            "claims compare only the expiry, so two processes write the same epoch; all clocks are true",
            Rules { version_in_claim: false, ..by_epoch },
            Bounds { sends: 3, faults: Faults { ..NONE }, ..two },
        ),
        repeats(
            "one name twice",
            "heartbeats are conditional on the owner's name, and two processes have the same",
            Rules { heartbeat: Condition::Name, ..WALL },
            two,
        ),
        repeats(
            "clone",
            "a process is copied with its lease",
            WALL,
            Bounds { faults: Faults { clones: 1, ..NONE }, excuse: Excuse::Nothing, ..one },
        ),
        repeats(
            "restore",
            "the registry is restored from a backup while a holder lives",
            Rules { fence: false, ..WALL },
            Bounds { faults: Faults { restores: 1, ..NONE }, ..two },
        ),
    ]
}

/// What the protocol of Leaseflake does not cover, so that nobody has to guess.
fn uncovered() -> Vec<Scenario> {
    let one = Bounds { running: 1, faults: Faults { clones: 1, ..NONE }, ..Bounds::calm(2) };
    let uncovered = |name, about, bounds| Scenario { part: Part::Uncovered, ..repeats(name, about, WINDOW, bounds) };
    vec![
        uncovered(
            "a clone within one lease",
            "a process is copied with its lease: both copies are right until one of them has renewed",
            Bounds { excuse: Excuse::Nothing, ..one },
        ),
        uncovered(
            "a clone while a write is in flight",
            "both copies know the renewal id of the write, and take its window for their own",
            Bounds { excuse: Excuse::WindowConfirmed, ..one },
        ),
    ]
}

/// The protocol of Leaseflake with one rule dropped each.
fn dropped() -> Vec<Scenario> {
    let two = Bounds { sends: 2, ..Bounds::calm(2) };
    let still = Bounds { last_tick: START, ..two };
    let back = Bounds { clocks: Clocks::Stepped(&[-4, 0]), ..two };
    let either = Bounds { clocks: STEPPED, ..two };
    let alone = Bounds { processes: 1, running: 1, clocks: Clocks::Stepped(&[0, 4]), ..two };
    let forked = Bounds { running: 1, last_tick: START, faults: Faults { forks: 1, ..NONE }, ..back };
    vec![
        repeats(
            "floor",
            "a new owner issues below the expiry that the old one left",
            Rules { floor: false, ..WINDOW },
            Bounds { faults: Faults { clock_steps: 2, ..NONE }, clocks: Clocks::Stepped(&[0, 4]), ..either },
        ),
        repeats(
            "monotone expiry",
            "a heartbeat writes the clock plus the lease, whatever the item had",
            Rules { monotone_expiry: false, ..WINDOW },
            Bounds { faults: Faults { clock_steps: 1, ..NONE }, ..back },
        ),
        repeats(
            "min() at release, newest issued",
            "a release writes its clock",
            Rules { release_newest: false, ..WINDOW },
            Bounds { faults: Faults { clock_steps: 1, releases: 1, ..NONE }, ..back },
        ),
        repeats(
            "the ID's own timestamp checked",
            "the clock is read again after the check",
            Rules { own_timestamp: false, ..WINDOW },
            Bounds { pauses: true, ..two },
        ),
        repeats(
            "version in the heartbeat's condition",
            "heartbeats are conditional on the epoch only",
            Rules { heartbeat: Condition::Epoch, ..WINDOW },
            Bounds { sends: 3, faults: Faults { lost: 1, ..NONE }, ..two },
        ),
        repeats(
            "version in the claim's condition",
            "claims compare only the expiry, and heartbeats only the epoch",
            Rules { version_in_claim: false, ..WINDOW },
            Bounds { faults: Faults { clock_steps: 1, ..NONE }, ..back },
        ),
        repeats(
            "renewal id",
            "a refused write counts as made if the epoch is ours",
            Rules { renewal_id: false, ..WINDOW },
            still,
        ),
        repeats(
            "kernel randomness",
            "renewal ids come from a generator in memory, which the clone copies",
            Rules { kernel_randomness: false, ..WINDOW },
            Bounds { faults: Faults { clones: 1, ..NONE }, running: 1, ..still },
        ),
        repeats(
            "an answer counts for its own attempt",
            "the copy of an earlier answer is taken for the answer that is waited for",
            Rules { answers_by_attempt: false, ..WINDOW },
            Bounds { faults: Faults { answers: 1, ..NONE }, ..two },
        ),
        repeats(
            "confirmed ceilings only",
            "the ceiling rises when the heartbeat is sent",
            Rules { confirmed_ceiling: false, ..WINDOW },
            two,
        ),
        Scenario {
            expected: Expected::Disorder,
            ..repeats(
                "retire before leaving",
                "a child leaves the shared slot without retiring it",
                Rules { retire_before_leaving: false, ..WINDOW },
                Bounds { pauses: true, faults: Faults { elsewhere: 1, clock_steps: 1, ..forked.faults }, ..forked },
            )
        },
        repeats(
            "retire before release",
            "a release says what was newest while threads still issue",
            Rules { retire_before_release: false, ..WINDOW },
            Bounds { faults: Faults { releases: 1, ..NONE }, ..still },
        ),
        repeats(
            "no slot reuse",
            "the word of a released slot is revived for the next lease",
            Rules { slot_per_lease: false, ..WINDOW },
            Bounds { pauses: true, faults: Faults { releases: 1, elsewhere: 1, ..NONE }, ..still },
        ),
        repeats(
            "a slot starts above the newest issued",
            "after a child has left, the parent opens a new slot at its floor",
            Rules { start_above_newest: false, ..WINDOW },
            Bounds { faults: Faults { clock_steps: 1, ..forked.faults }, ..forked },
        ),
        repeats(
            "deleted item refused",
            "a missing item is claimed, without a floor",
            Rules { refuse_missing: false, ..WINDOW },
            Bounds { faults: Faults { deletions: 1, ..NONE }, ..still },
        ),
        repeats(
            "initialised once",
            "an initialisation that arrives late creates a deleted item again, without a floor",
            Rules { initialise_once: false, ..WINDOW },
            Bounds { faults: Faults { deletions: 1, initialisations: 1, ..NONE }, ..still },
        ),
        repeats(
            "fence after a restore",
            "the registry is restored from a backup while a holder lives",
            Rules { fence: false, ..WINDOW },
            Bounds { faults: Faults { restores: 1, ..NONE }, ..still },
        ),
        repeats(
            "a fence above every clock",
            "the fence's time is the true time, and a holder's clock ran fast",
            Rules { fence_above_clocks: false, ..WINDOW },
            Bounds { faults: Faults { restores: 1, fences: 1, crashes: 1, clock_steps: 1, ..NONE }, ..alone },
        ),
        repeats(
            "a fence writes a fresh version",
            "the fence counts the item's version up from nothing, and a heartbeat from before the deletion fits",
            Rules { fence_fresh_version: false, ..WINDOW },
            Bounds { sends: 4, faults: Faults { deletions: 1, fences: 1, crashes: 1, lost: 1, ..NONE }, ..alone },
        ),
    ]
}

/// The protocol of Leaseflake in smaller worlds, for the quick form.
fn small_window() -> Vec<Scenario> {
    let two = Bounds::calm(2);
    let one = Bounds { running: 1, ..two };
    vec![
        holds(
            "paused threads",
            "clocks that say anything, and threads that sleep",
            Bounds { clocks: ANYTHING, pauses: true, ..two },
        ),
        holds(
            "lost and late messages",
            "a request or answer that is lost or late",
            Bounds { faults: Faults { lost: 1, ..NONE }, ..two },
        ),
        holds(
            "fork",
            "a child in the shared slot, which leaves at any moment",
            Bounds { faults: Faults { forks: 1, elsewhere: 1, ..NONE }, ..one },
        ),
        holds(
            "doubled and late messages",
            "requests that arrive twice, and answers that arrive twice or late",
            Bounds { clocks: FEW, faults: NETWORK, ..two },
        ),
        holds(
            "three processes, messages",
            "three, of which one dies and starts again, and messages that are lost, late and doubled",
            Bounds { clocks: FEW, sends_in_all: Some(2), faults: Faults { crashes: 1, ..NETWORK }, ..Bounds::calm(3) },
        ),
        holds(
            "three processes, deletion, fence",
            "the item is deleted, all are stopped, and the fence creates it again",
            Bounds {
                clocks: FEW,
                sends_in_all: Some(2),
                faults: Faults { deletions: 1, stops: 1, fences: 1, ..NONE },
                ..Bounds::calm(3)
            },
        ),
        holds("clone", "a process is copied", Bounds { faults: Faults { clones: 1, ..NONE }, ..one }),
        holds("three processes", "clocks that say anything", Bounds { clocks: Clocks::Anything(4), ..Bounds::calm(3) }),
    ]
}

/// Every run, in the order of the table; in smaller worlds where it is to be quick.
pub fn all(short: bool) -> Vec<Scenario> {
    let broken = [wall_clock(), uncovered(), dropped()].concat();
    if short {
        let broken = broken.into_iter().filter(|scenario| scenario.expected != Expected::Nothing);
        return small_window().into_iter().chain(broken).collect();
    }
    [window(), same_worlds(), broken].concat()
}
