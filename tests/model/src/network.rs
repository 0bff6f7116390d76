//! What is between a process and the registry: requests and answers that may be lost, delayed
//! and doubled.

use crate::registry::{Answer, Write};

/// How many requests of one process may be in flight.
const IN_FLIGHT: usize = 2;

/// The wire of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Wire {
    /// Requests on their way, oldest first. They outlive their sender.
    pub requests: [Option<Write>; IN_FLIGHT],
    /// The answer to the newest attempt, on its way back.
    pub answer: Option<Answer>,
    /// An answer that arrives a second time, or when nobody waits for it any more.
    pub stray: Option<Stray>,
}

/// An answer that has outlived the wait for it. The registry's answers bear no number: which attempt
/// one answers is what its connection says, and what the rules make of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stray {
    /// The `renewal_id` of the attempt that it answers.
    pub renewal: u8,
    /// What it says.
    pub answer: Answer,
}

impl Wire {
    /// Whether one more request fits.
    pub fn has_room(&self) -> bool {
        self.requests[IN_FLIGHT - 1].is_none()
    }

    /// Sends a request.
    pub fn send(&mut self, write: Write) {
        let free = self.requests.iter_mut().find(|request| request.is_none());
        *free.expect("asked for room before") = Some(write);
        self.answer = None;
    }

    /// Takes a request out: it has arrived, or it is lost.
    pub fn take(&mut self, index: usize) -> Option<Write> {
        let request = self.requests[index].take();
        self.requests[index..].rotate_left(1);
        request
    }

    /// The place of the request with this `renewal_id`.
    pub fn find(&self, renewal: u8) -> Option<usize> {
        self.requests.iter().position(|request| request.is_some_and(|write| write.renewal == renewal))
    }

    /// The requests in flight, with their places.
    pub fn in_flight(&self) -> impl Iterator<Item = (usize, Write)> + '_ {
        self.requests.iter().enumerate().filter_map(|(index, request)| request.map(|write| (index, write)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Kind;

    fn request(renewal: u8) -> Write {
        Write { kind: Kind::Heartbeat, epoch: 1, version: 1, expiry: 7, now: 0, renewal, absent: false }
    }

    #[test]
    fn requests_are_delivered_in_any_order_and_the_rest_stays() {
        let mut wire = Wire::default();
        wire.send(request(1));
        wire.send(request(2));
        assert!(!wire.has_room());
        assert_eq!(wire.find(2), Some(1));
        assert_eq!(wire.take(0), Some(request(1)));
        assert_eq!(wire.find(2), Some(0));
        assert!(wire.has_room());
        assert_eq!(wire.in_flight().count(), 1);
    }

    #[test]
    fn a_new_request_forgets_the_answer_to_the_last_one() {
        let mut wire = Wire { answer: Some(Answer::Missing), ..Wire::default() };
        wire.send(request(1));
        assert_eq!(wire.answer, None);
    }
}
