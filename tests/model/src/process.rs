//! A process: what its keeper knows of the registry, what it has asked for, and what it makes of
//! the answers.

use crate::bounds::{LEASE, MARGIN};
use crate::network::{Stray, Wire};
use crate::registry::{Answer, Item, Kind, Write};
use crate::rules::Rules;
use crate::thread::Thread;

/// How many unconfirmed attempts a process can have: as many as it may send in any bounds.
pub const MAX_SENDS: usize = 4;

/// A lease that the registry confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// Its `fencing_epoch`.
    pub epoch: u8,
    /// The `version` of the newest confirmed write.
    pub version: u8,
    /// The `lease_expiry_ts` of the newest confirmed write.
    pub expiry: u8,
}

/// A claim or heartbeat that was sent since the last confirmed write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attempt {
    /// Its `renewal_id`.
    pub renewal: u8,
    /// What the lease is if the write was made.
    pub lease: Lease,
    /// The expiry that the previous owner left, as read before this attempt.
    pub floor: u8,
}

/// What the last read showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Seen {
    /// The item.
    Item(Item),
    /// That there is none.
    Missing,
}

/// What an answer means to the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The lease is ours up to its expiry; `floor` counts where it is a new one.
    Confirmed {
        /// The lease.
        lease: Lease,
        /// The floor noted at the attempt.
        floor: u8,
    },
    /// Somebody else's, or nobody's.
    Lost,
}

/// One process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Process {
    /// Whether it runs.
    pub running: bool,
    /// Whether it has a keeper; a forked child has none until it leaves.
    pub keeper: bool,
    /// The shared page that it uses.
    pub page: u8,
    /// Its clock, ahead of true time by this.
    pub offset: i8,
    /// The newest timestamp that it issued, under whatever worker ID.
    pub last: u8,
    /// Where its `renewal_id`s come from.
    pub seed: u8,
    /// How many `renewal_id`s were drawn from there.
    pub drawn: u8,
    /// How many writes it has sent.
    pub sent: u8,
    /// The item as last read, while it has no lease.
    pub seen: Option<Seen>,
    /// The lease it has.
    pub lease: Option<Lease>,
    /// Whether it waits for the answer to its newest attempt.
    pub waiting: bool,
    /// The attempts since the last confirmed write, oldest first.
    pub attempts: [Option<Attempt>; MAX_SENDS],
    /// A release was sent, and the slot is still to be retired (never so under the rules).
    pub retires_late: bool,
    /// The thread that makes IDs.
    pub thread: Thread,
    /// Its wire to the registry.
    pub wire: Wire,
}

impl Process {
    /// The process with this number, not running.
    pub fn stopped(number: usize) -> Process {
        Process {
            running: false,
            keeper: false,
            page: 0,
            offset: 0,
            last: 0,
            seed: number as u8,
            drawn: 0,
            sent: 0,
            seen: None,
            lease: None,
            waiting: false,
            attempts: [None; MAX_SENDS],
            retires_late: false,
            thread: Thread::Idle,
            wire: Wire::default(),
        }
    }

    /// The process after a crash: its memory is gone; its clock and its requests in flight stay.
    pub fn crashed(&self) -> Process {
        Process {
            offset: self.offset,
            seed: self.seed,
            drawn: self.drawn,
            sent: self.sent,
            wire: Wire { answer: None, ..self.wire },
            ..Process::stopped(0)
        }
    }

    /// A fresh `renewal_id`: no two processes and no two draws have the same, unless they share
    /// a generator.
    pub fn draw_renewal(&mut self) -> u8 {
        self.drawn += 1;
        self.seed * 16 + self.drawn
    }

    /// The newest attempt since the last confirmed write.
    pub fn newest_attempt(&self) -> Option<Attempt> {
        self.attempts.iter().rev().find_map(|attempt| *attempt)
    }

    /// Notes an attempt and puts its write on the wire.
    pub fn send(&mut self, kind: Kind, expiry: u8, now: u8) {
        let renewal = self.draw_renewal();
        let (epoch, version, floor, absent) = match (self.lease, self.seen) {
            (Some(lease), _) => (lease.epoch, lease.version, 0, false),
            (None, Some(Seen::Item(item))) => (item.epoch, item.version, item.expiry, false),
            (None, _) => (0, 0, 0, true),
        };
        self.sent += 1;
        self.waiting = true;
        self.wire.send(Write { kind, epoch, version, expiry, now, renewal, absent });
        let epoch = epoch + u8::from(kind == Kind::Claim);
        let attempt = Attempt { renewal, lease: Lease { epoch, version: version + 1, expiry }, floor };
        let free = self.attempts.iter_mut().find(|attempt| attempt.is_none());
        *free.expect("there is a place for every write that may be sent") = Some(attempt);
    }

    /// Puts a release on the wire and forgets the lease; nobody waits for its answer.
    pub fn send_release(&mut self, expiry: u8) {
        if let Some(lease) = self.lease {
            self.sent += 1;
            let Lease { epoch, version, .. } = lease;
            let write = Write { kind: Kind::Release, epoch, version, expiry, now: 0, renewal: 0, absent: false };
            self.wire.send(write);
        }
        self.forget();
    }

    /// Has neither a lease nor any claim to one.
    pub fn forget(&mut self) {
        self.lease = None;
        self.seen = None;
        self.waiting = false;
        self.wire.answer = None;
        self.attempts = [None; MAX_SENDS];
    }

    /// What an answer to the newest attempt means. A refused write carries the item; if its epoch
    /// is ours and its `renewal_id` is of an attempt since the last confirmed write, it was ours.
    pub fn judge(&self, answer: Answer, rules: &Rules) -> Outcome {
        self.newest_attempt().map_or(Outcome::Lost, |attempt| self.judge_attempt(attempt, answer, rules))
    }

    fn judge_attempt(&self, attempt: Attempt, answer: Answer, rules: &Rules) -> Outcome {
        match answer {
            Answer::Applied => Outcome::Confirmed { lease: attempt.lease, floor: attempt.floor },
            Answer::Refused(item) => self.recognise(&item, rules),
            Answer::Missing => Outcome::Lost,
        }
    }

    /// What an answer means that arrives again, or late; `None` = nothing. The product's keeper heeds
    /// only the answer of the call that it waits for. The model's may heed any whose attempt is still
    /// open, which is more: whether it does is up to when the answer arrives, if ever.
    pub fn judge_stray(&self, stray: &Stray, rules: &Rules) -> Option<Outcome> {
        if !rules.answers_by_attempt {
            return self.waiting.then(|| self.judge(stray.answer, rules));
        }
        let mut attempts = self.attempts.iter().flatten();
        let attempt = attempts.find(|attempt| attempt.renewal == stray.renewal)?;
        Some(self.judge_attempt(*attempt, stray.answer, rules))
    }

    /// Whether an answer to this attempt can still mean anything, now or later.
    pub fn may_heed(&self, renewal: u8, rules: &Rules) -> bool {
        !rules.answers_by_attempt || self.attempts.iter().flatten().any(|attempt| attempt.renewal == renewal)
    }

    /// Whether the item is what one of our attempts wrote.
    pub fn recognise(&self, item: &Item, rules: &Rules) -> Outcome {
        let lease = Lease { epoch: item.epoch, version: item.version, expiry: item.expiry };
        self.attempts
            .iter()
            .flatten()
            .find(|attempt| attempt.lease.epoch == item.epoch && (attempt.renewal == item.renewal || !rules.renewal_id))
            .map_or(Outcome::Lost, |attempt| Outcome::Confirmed { lease, floor: attempt.floor })
    }

    /// The expiry that a heartbeat asks for.
    pub fn heartbeat_expiry(&self, clock: u8, rules: &Rules) -> u8 {
        let old = self.lease.map_or(0, |lease| lease.expiry);
        if rules.monotone_expiry { old.max(clock + LEASE) } else { clock + LEASE }
    }

    /// The expiry that a release leaves, when `newest` is the newest timestamp issued.
    pub fn release_expiry(&self, newest: u8, clock: u8, rules: &Rules) -> u8 {
        let old = self.lease.map_or(0, |lease| lease.expiry);
        if rules.release_newest { old.min(newest + 1) } else { old.min(clock) }
    }

    /// The end of the window that is confirmed to this process.
    pub fn confirmed_reach(&self) -> u8 {
        self.lease.map_or(0, |lease| ceiling_of(lease.expiry))
    }

    /// The end of the windows that are confirmed to this process or that it has asked for.
    pub fn reach(&self) -> u8 {
        let asked = self.attempts.iter().flatten().map(|attempt| ceiling_of(attempt.lease.expiry)).max();
        self.confirmed_reach().max(asked.unwrap_or(0))
    }
}

/// The ceiling of a lease.
pub fn ceiling_of(expiry: u8) -> u8 {
    expiry.saturating_sub(MARGIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder() -> Process {
        let lease = Lease { epoch: 2, version: 5, expiry: 9 };
        Process { running: true, keeper: true, lease: Some(lease), ..Process::stopped(1) }
    }

    #[test]
    fn a_heartbeat_never_asks_for_less_than_the_lease_has() {
        let rules = Rules::window();
        assert_eq!(holder().heartbeat_expiry(7, &rules), 10);
        assert_eq!(holder().heartbeat_expiry(2, &rules), 9, "a clock that stepped back renews to the old value");
        assert_eq!(holder().heartbeat_expiry(2, &Rules { monotone_expiry: false, ..rules }), 5);
    }

    #[test]
    fn a_release_leaves_one_past_the_newest_id_and_never_more_than_the_lease_had() {
        let rules = Rules::window();
        assert_eq!(holder().release_expiry(6, 3, &rules), 7);
        assert_eq!(holder().release_expiry(12, 3, &rules), 9);
        assert_eq!(holder().release_expiry(6, 3, &Rules { release_newest: false, ..rules }), 3);
    }

    #[test]
    fn a_refused_write_is_ours_only_by_epoch_and_renewal_id() {
        let rules = Rules::window();
        let mut process = holder();
        process.send(Kind::Heartbeat, 10, 0);
        let attempt = process.newest_attempt().expect("it was just sent");
        assert_eq!(attempt.lease, Lease { epoch: 2, version: 6, expiry: 10 });
        process.send(Kind::Heartbeat, 11, 0);
        let item = Item { expiry: 10, epoch: 2, version: 6, renewal: attempt.renewal };
        let ours = Outcome::Confirmed { lease: attempt.lease, floor: 0 };
        assert_eq!(process.judge(Answer::Refused(item), &rules), ours);
        for foreign in [Item { epoch: 3, ..item }, Item { renewal: 40, ..item }, Item { renewal: 0, ..item }] {
            assert_eq!(process.judge(Answer::Refused(foreign), &rules), Outcome::Lost);
        }
        let by_epoch = Rules { renewal_id: false, ..rules };
        assert_ne!(process.judge(Answer::Refused(Item { renewal: 40, ..item }), &by_epoch), Outcome::Lost);
        assert_eq!(process.judge(Answer::Missing, &rules), Outcome::Lost);
    }

    #[test]
    fn a_claim_that_was_made_after_all_keeps_the_floor_of_its_own_attempt() {
        let mut process = Process { running: true, keeper: true, ..Process::stopped(0) };
        process.seen = Some(Seen::Item(Item { expiry: 5, epoch: 1, version: 2, renewal: 30 }));
        process.send(Kind::Claim, 9, 6);
        process.seen = Some(Seen::Item(Item { expiry: 7, epoch: 2, version: 3, renewal: 31 }));
        process.send(Kind::Claim, 12, 8);
        let first = process.attempts[0].expect("two attempts were sent");
        let item = Item { expiry: 9, epoch: 2, version: 3, renewal: first.renewal };
        let outcome = process.judge(Answer::Refused(item), &Rules::window());
        assert_eq!(outcome, Outcome::Confirmed { lease: first.lease, floor: 5 });
    }

    #[test]
    fn renewal_ids_differ_between_processes_and_draws() {
        let (mut a, mut b) = (Process::stopped(0), Process::stopped(1));
        let drawn = [a.draw_renewal(), a.draw_renewal(), b.draw_renewal(), b.draw_renewal()];
        let mut distinct = drawn.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), drawn.len());
        assert!(!drawn.contains(&0), "0 is a released item");
    }
}
