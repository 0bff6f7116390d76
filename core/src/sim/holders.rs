//! Who holds which worker ID, as the registry has it: nobody claims more than one.

use std::collections::{BTreeMap, BTreeSet};

use super::world::World;
use crate::layout::Layout;
use crate::lease::store::{LeaseWrite, Reply, Request};

/// Datacenter and worker.
type WorkerId = (u32, u32);

/// The last write that each worker item took.
#[derive(Default)]
pub(super) struct Holders(BTreeMap<WorkerId, Holder>);

struct Holder {
    process: usize,
    expiry_ms: i64,
    /// It landed when its sender had given it up: nobody knows of it.
    late: bool,
}

impl Holders {
    /// A write was applied. A process that claims must hold nothing that it knows of.
    pub(super) fn wrote(&mut self, process: usize, write: &LeaseWrite, late: bool, true_ms: i64) -> Result<(), String> {
        let worker = (write.datacenter_id, write.next.worker_id);
        let holds = |(other, holder): &(&WorkerId, &Holder)| {
            **other != worker && holder.process == process && !holder.late && holder.expiry_ms > true_ms
        };
        if write.expired_before.is_some()
            && !late
            && let Some((other, _)) = self.0.iter().find(holds)
        {
            return Err(format!("process {process} claims {worker:?} while it holds {other:?}"));
        }
        if write.next.is_released() {
            self.0.remove(&worker);
        } else {
            self.0.insert(worker, Holder { process, expiry_ms: write.next.lease_expiry_ts, late });
        }
        Ok(())
    }
}

impl World<'_> {
    /// The worker IDs that are leased at a time, as the registry itself says.
    pub(super) fn leased_at(&mut self, true_ms: i64) -> Result<BTreeSet<WorkerId>, String> {
        let layout = Layout::default();
        let mut leased = BTreeSet::new();
        for datacenter_id in self.datacenters() {
            match self.registry.call(&Request::Read { datacenter_id, layout }).result {
                Ok(Reply::View(view)) => leased.extend(
                    view.workers
                        .iter()
                        .filter(|item| item.is_leased_at(true_ms))
                        .map(|item| (datacenter_id, item.worker_id)),
                ),
                other => return Err(format!("datacenter {datacenter_id} cannot be read: {other:?}")),
            }
        }
        Ok(leased)
    }

    /// Once all leases of the dead have ended: each generator has one worker ID, as far as there are enough, and nobody
    /// else has any.
    pub(super) fn each_has_its_own(&mut self) -> Result<(), String> {
        let leased = self.leased_at(self.true_ms())?;
        let mut held = Vec::new();
        for process in self.processes.iter().filter(|process| process.alive) {
            if let Some(lease) = process.keeper.as_ref().and_then(|keeper| keeper.status().lease.as_ref()) {
                held.push((lease.datacenter_id, lease.worker_id));
            }
        }
        let (generators, all) = (self.generators(), self.capacity());
        let distinct: BTreeSet<WorkerId> = held.iter().copied().collect();
        if distinct.len() != held.len() {
            return Err(format!("two processes believe to hold one worker ID: {held:?}"));
        }
        if distinct != leased {
            return Err(format!("the registry leases {leased:?}, processes hold {distinct:?}"));
        }
        if held.len() != generators.min(all) {
            return Err(format!("{generators} generators hold {} of {all} worker IDs", held.len()));
        }
        Ok(())
    }
}

mod tests {
    use super::*;
    use crate::lease::record::LeaseRecord;

    fn claim(worker_id: u32) -> LeaseWrite {
        let next = LeaseRecord {
            lease_expiry_ts: 30_000,
            fencing_epoch: 1,
            renewal_id: "fresh".to_owned(),
            ..LeaseRecord::unused(worker_id)
        };
        LeaseWrite { datacenter_id: 0, expected_epoch: 0, expected_version: 0, expired_before: Some(0), next }
    }

    #[test]
    fn a_second_worker_id_of_one_process_is_found_unless_nobody_knew_of_the_first() {
        let mut holders = Holders::default();
        holders.wrote(1, &claim(4), false, 0).expect("its first");
        holders.wrote(2, &claim(5), false, 0).expect("another process");
        assert!(holders.wrote(1, &claim(6), false, 0).is_err());
        holders.wrote(1, &claim(6), true, 0).expect("one that came late");
        holders.wrote(2, &claim(7), false, 30_000).expect("its first has run out");
        assert!(holders.wrote(2, &claim(8), false, 29_999).is_err());
        let mut given_back = claim(7);
        given_back.next.renewal_id.clear();
        given_back.expired_before = None;
        holders.wrote(2, &given_back, false, 30_000).expect("a release");
        holders.wrote(2, &claim(8), false, 30_000).expect("its only one");
    }
}
