//! The registry in memory keeps the rules that every registry keeps.

use std::sync::{Arc, Mutex};

use leaseflake::lease::store::LeaseStore;
use leaseflake::lease::store::memory::{MemoryRegistry, MemoryStore};

#[path = "common/store_conformance.rs"]
mod store_conformance;

#[derive(Default)]
struct Memory(Arc<Mutex<MemoryRegistry>>);

impl store_conformance::Registry for Memory {
    fn client(&self) -> Box<dyn LeaseStore> {
        Box::new(MemoryStore::new(self.0.clone(), "test"))
    }

    fn delete_item(&self, datacenter_id: u32, worker_id: u32) {
        self.0.lock().unwrap().delete_item(datacenter_id, worker_id).expect("the item");
    }

    fn delete_layout(&self, datacenter_id: u32) {
        self.0.lock().unwrap().delete_layout(datacenter_id).expect("LAYOUT");
    }
}

store_conformance::suite!(memory, Memory::default());
