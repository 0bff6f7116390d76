//! A registry in memory, for tests: same rules, no persistence.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Answer, FenceRequest, LeaseStore, LeaseWrite, Reply, Request, StoreError, StoreErrorKind};
use crate::fork;
use crate::layout::Layout;
use crate::lease::record::{DatacenterView, LayoutPin, LeaseRecord, TableIdentity};
use crate::rules::{Rule, holds};

/// The items of a registry in memory, by datacenter.
#[derive(Clone, Debug, Default)]
pub struct MemoryRegistry {
    /// Who we say we are.
    pub table: TableIdentity,
    datacenters: BTreeMap<u32, Datacenter>,
}

#[derive(Clone, Debug, Default)]
struct Datacenter {
    layout: Option<LayoutPin>,
    workers: BTreeMap<u32, LeaseRecord>,
}

impl MemoryRegistry {
    /// An empty registry.
    pub fn new() -> MemoryRegistry {
        MemoryRegistry::default()
    }

    /// The item of a worker ID.
    pub fn item(&self, datacenter_id: u32, worker_id: u32) -> Option<&LeaseRecord> {
        self.datacenters.get(&datacenter_id)?.workers.get(&worker_id)
    }

    /// Deletes an item, as an operator by mistake would.
    pub fn delete_item(&mut self, datacenter_id: u32, worker_id: u32) -> Option<LeaseRecord> {
        self.datacenters.get_mut(&datacenter_id)?.workers.remove(&worker_id)
    }

    /// Deletes LAYOUT, as an operator by mistake would.
    pub fn delete_layout(&mut self, datacenter_id: u32) -> Option<LayoutPin> {
        self.datacenters.get_mut(&datacenter_id)?.layout.take()
    }

    /// Does what a request asks, at once.
    ///
    /// # Errors
    ///
    /// `STORE_REJECTED` for what no registry would do.
    pub fn apply(&mut self, request: &Request) -> Result<Reply, StoreError> {
        match request {
            Request::Read { datacenter_id, layout } => Ok(Reply::View(self.view(*datacenter_id, layout))),
            Request::Initialise { datacenter_id, layout } => self.initialise(*datacenter_id, layout),
            Request::Write(write) => Ok(self.write(write)),
            Request::Fence(fence) => self.fence(fence),
        }
    }

    fn view(&self, datacenter_id: u32, layout: &Layout) -> DatacenterView {
        let datacenter = self.datacenters.get(&datacenter_id).cloned().unwrap_or_default();
        DatacenterView {
            layout: datacenter.layout,
            workers: datacenter.workers.into_values().filter(|item| item.worker_id <= layout.max_worker_id()).collect(),
            warnings: Vec::new(),
            table: self.table.clone(),
        }
    }

    fn initialise(&mut self, datacenter_id: u32, layout: &Layout) -> Result<Reply, StoreError> {
        let pin = LayoutPin::new(layout, &self.table);
        let datacenter = self.datacenters.entry(datacenter_id).or_default();
        if datacenter.layout.is_some() {
            return Ok(Reply::Applied);
        }
        if datacenter.workers.values().any(|item| item.fencing_epoch > 0) {
            return Err(StoreError::new(
                StoreErrorKind::Rejected,
                format!(
                    "datacenter {datacenter_id} has used worker items but no LAYOUT: run `leaseflake registry fence`"
                ),
            ));
        }
        for worker_id in 0..=layout.max_worker_id() {
            datacenter.workers.entry(worker_id).or_insert_with(|| LeaseRecord::unused(worker_id));
        }
        datacenter.layout = Some(pin);
        Ok(Reply::Applied)
    }

    fn write(&mut self, write: &LeaseWrite) -> Reply {
        let item = self
            .datacenters
            .get_mut(&write.datacenter_id)
            .and_then(|datacenter| datacenter.workers.get_mut(&write.next.worker_id));
        let Some(item) = item else {
            if !holds(Rule::DeletedItemRefused)
                && let Some(datacenter) = self.datacenters.get_mut(&write.datacenter_id)
            {
                datacenter.workers.insert(write.next.worker_id, write.next.clone());
                return Reply::Applied;
            }
            return Reply::Refused(None);
        };
        if write.allows(item) {
            *item = write.next.clone();
            Reply::Applied
        } else {
            Reply::Refused(Some(item.clone()))
        }
    }

    fn fence(&mut self, fence: &FenceRequest) -> Result<Reply, StoreError> {
        let pin = LayoutPin::new(&fence.layout, &self.table);
        let datacenter = self.datacenters.entry(fence.datacenter_id).or_default();
        for worker_id in fence.workers() {
            let item = datacenter.workers.entry(worker_id).or_insert_with(|| LeaseRecord::unused(worker_id));
            *item = fence.fenced(item);
        }
        if fence.worker_id.is_none() {
            datacenter.layout = Some(pin);
        }
        Ok(Reply::Applied)
    }
}

/// The `memory:` store of one process, and of no other: it does not cross a fork.
pub struct MemoryStore {
    registry: Arc<Mutex<MemoryRegistry>>,
    name: String,
    generation: u64,
}

/// A registry and the generation of the process that made it.
type Named = (Arc<Mutex<MemoryRegistry>>, u64);

/// The registries of this process, by the name behind `memory:`.
static NAMED: Mutex<BTreeMap<String, Named>> = Mutex::new(BTreeMap::new());

impl MemoryStore {
    /// A store over a registry that others share.
    pub fn new(registry: Arc<Mutex<MemoryRegistry>>, name: &str) -> MemoryStore {
        MemoryStore { registry, name: name.to_owned(), generation: fork::generation() }
    }

    /// The store of this name: one registry for the whole process.
    pub fn named(name: &str) -> MemoryStore {
        let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
        // A copy that a fork made keeps the generation of its original, and so is refused.
        let (registry, generation) =
            named.entry(name.to_owned()).or_insert_with(|| (Arc::default(), fork::generation()));
        MemoryStore { registry: Arc::clone(registry), name: name.to_owned(), generation: *generation }
    }

    fn lock(&self) -> Result<MutexGuard<'_, MemoryRegistry>, StoreError> {
        if self.generation != fork::generation() {
            // A forked copy of the registry would give the same worker IDs once more.
            return Err(StoreError::new(
                StoreErrorKind::Rejected,
                format!("{}: a registry in memory belongs to one process; use sqlite: across forks", self.name()),
            ));
        }
        Ok(self.registry.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl LeaseStore for MemoryStore {
    fn call(&mut self, request: &Request) -> Answer {
        Answer::undated(self.lock().and_then(|mut registry| registry.apply(request)))
    }

    fn describe(&mut self) -> Result<TableIdentity, StoreError> {
        Ok(self.lock()?.table.clone())
    }

    fn auto_datacenters(&mut self, layout: &Layout) -> Result<Vec<u32>, StoreError> {
        Ok((0..=layout.max_datacenter_id()).collect())
    }

    fn name(&self) -> String {
        format!("memory:{}", self.name)
    }
}
