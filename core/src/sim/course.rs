//! The course of a run: faults, a calm in which clocks are right, and an end at which all must be well.

use super::outcome::Outcome;
use super::world::World;
use crate::error::ErrorCode;
use crate::generator::Want;
use crate::lease::keeper::LOOK_AGAIN_MS;

/// How long clocks are right and nobody stands still before the other faults end, too: longer than the longest pause and
/// the largest step.
const CALM_MS: u64 = 720_000;

/// How long after the faults IDs must flow: two heartbeats.
const RECOVERED_MS: u64 = 20_000;

/// How often a process that found no worker ID looks again, at least: its longest pause, and two messages on their way.
const LOOKS_EVERY_MS: i64 = 2 * LOOK_AGAIN_MS as i64 + 150;

impl World<'_> {
    /// Runs the faults, then a quiet end, and checks that IDs flow again and that nobody holds too much.
    pub(super) fn run(mut self) -> Result<Outcome, String> {
        let end_ms = self.now_ms + self.scenario.hours * 3_600_000;
        self.run_until(end_ms - CALM_MS)?;
        self.clock_faults = false;
        self.machines.fill(0);
        self.run_until(end_ms)?;
        self.faulty = false;
        self.outage_until_ms = self.now_ms;
        self.run_until(end_ms + RECOVERED_MS)?;
        self.everybody_issues("two heartbeats after the faults ended", true)?;
        self.run_until(end_ms + 10 * RECOVERED_MS)?;
        self.everybody_issues("long after the faults ended", false)?;
        // The longest lease that a clock which was 300 s ahead can have taken, and a request that was on its way.
        self.run_until(end_ms + self.lease_ttl_max_ms + 500_000)?;
        self.everybody_issues("after all leases of the dead ended", false)?;
        self.each_has_its_own()?;
        self.ledger.windows_are_disjoint()?;
        self.outcome.ids = self.ledger.ids;
        self.outcome.excused_repeats = self.ledger.excused_repeats;
        self.outcome.trace = self.ledger.trace;
        Ok(self.outcome)
    }

    /// Every living process gets an ID; but for orphans, where those may be about to find out that they are.
    fn everybody_issues(&mut self, when: &str, orphans_may_leave: bool) -> Result<(), String> {
        for index in 0..self.processes.len() {
            let process = &self.processes[index];
            if !process.alive || process.keeper.as_ref().is_some_and(|keeper| keeper.is_closing()) {
                continue;
            }
            let orphan = process.keeper.is_none() && self.keeper_of(index).is_none();
            self.set_clock(index);
            let shared = std::sync::Arc::clone(&self.processes[index].shared);
            match shared.reserve(Want::Exactly(1), super::process::MAX_WAIT_MS) {
                Ok(taken) => self.enter(index, &taken, self.processes[index].clock.wall_ms())?,
                Err(_) if orphan && orphans_may_leave => self.begin_keeper(index)?,
                Err(_) if self.there_is_none_for(index)? => {}
                Err(refusal) => {
                    let status = self.processes[index].keeper.as_ref().map(|keeper| keeper.status().clone());
                    return Err(format!("process {index} is refused {when}: {refusal:?}, keeper {status:?}"));
                }
            }
        }
        Ok(())
    }

    /// Whether a process is refused because the registry has no worker ID for it, and says so.
    fn there_is_none_for(&mut self, index: usize) -> Result<bool, String> {
        let owner = self.keeper_of(index).and_then(|owner| self.processes[owner].keeper.as_ref());
        let said = owner
            .and_then(|keeper| keeper.status().last_error.as_ref())
            .is_some_and(|(error, _)| error.code() == ErrorCode::NoWorkerId);
        // One whose lease ended since it looked is found at its next look.
        Ok(said && self.leased_at(self.true_ms() - LOOKS_EVERY_MS)?.len() == self.capacity())
    }

    /// The datacenters that the processes look in.
    pub(super) fn datacenters(&self) -> std::ops::Range<u32> {
        0..if self.scenario.scarce { 1 } else { 2 }
    }

    /// How many worker IDs there are.
    pub(super) fn capacity(&self) -> usize {
        self.datacenters().len() * 32
    }
}
