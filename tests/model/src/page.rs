//! The page that a process shares with its forked children: the current slot and its word.

use crate::rules::Rules;

/// A shared page and its current slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Page {
    /// The newest timestamp issued through this page, or one below the slot's first.
    pub word: u8,
    /// The slot's ceiling.
    pub ceiling: u8,
    /// Whether the slot is retired.
    pub retired: bool,
    /// Whether the slot is of another worker ID than the model's.
    pub elsewhere: bool,
    /// The slot's floor; kept only where the rule is dropped that makes it needless.
    pub floor: u8,
}

impl Page {
    /// A page without a slot that starts above `newest`.
    pub const fn after(newest: u8) -> Page {
        Page { word: newest, ceiling: 0, retired: true, elsewhere: false, floor: 0 }
    }

    /// Opens the slot of a new lease.
    pub fn open(&mut self, floor: u8, ceiling: u8, elsewhere: bool, rules: &Rules) {
        let floor = if rules.floor { floor } else { 0 };
        let (newest, kept) = if rules.start_above_newest { (self.word, 0) } else { (0, floor) };
        *self = Page { word: newest.max(floor.saturating_sub(1)), ceiling, retired: false, elsewhere, floor: kept };
    }

    /// Raises the ceiling; it never falls within a lease.
    pub fn raise(&mut self, ceiling: u8) {
        self.ceiling = self.ceiling.max(ceiling);
    }

    /// The timestamp that a call with this clock would issue, if the window and the clock allow it.
    pub fn candidate(&self, clock: u8, ahead: u8) -> Option<u8> {
        let timestamp = (self.word + 1).max(clock);
        (!self.retired && timestamp < self.ceiling && timestamp <= clock + ahead).then_some(timestamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(floor: u8, ceiling: u8) -> Page {
        let mut page = Page::after(0);
        page.open(floor, ceiling, false, &Rules::window());
        page
    }

    #[test]
    fn a_slot_issues_from_its_floor_to_below_its_ceiling() {
        let page = page(7, 10);
        assert_eq!(page.candidate(5, 9), Some(7));
        assert_eq!(page.candidate(9, 0), Some(9));
        assert_eq!(page.candidate(10, 0), None, "the ceiling itself is outside");
    }

    #[test]
    fn a_call_does_not_run_further_ahead_of_its_clock_than_it_may() {
        assert_eq!(page(7, 10).candidate(5, 1), None);
        assert_eq!(page(7, 10).candidate(5, 2), Some(7));
    }

    #[test]
    fn a_new_slot_starts_above_all_that_the_page_issued() {
        let mut page = page(3, 10);
        page.word = 8;
        page.retired = true;
        assert_eq!(page.candidate(9, 0), None, "a retired slot issues nothing");
        page.open(5, 12, false, &Rules::window());
        assert_eq!(page.candidate(0, 20), Some(9));
        page.open(5, 12, false, &Rules { start_above_newest: false, ..Rules::window() });
        assert_eq!(page.candidate(0, 20), Some(5));
    }

    #[test]
    fn a_ceiling_never_falls() {
        let mut page = page(0, 10);
        page.raise(8);
        assert_eq!(page.ceiling, 10);
        page.raise(12);
        assert_eq!(page.ceiling, 12);
    }
}
