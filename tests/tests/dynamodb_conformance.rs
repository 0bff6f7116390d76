//! The rules of every registry, kept by a DynamoDB table.

use leaseflake::lease::store::LeaseStore;
use leaseflake_tests::emulator::{Emulator, Table};

#[path = "../../core/tests/common/store_conformance.rs"]
mod store_conformance;

/// A table of its own in an emulator of its own.
struct Registry {
    table: Table,
    _emulator: Emulator,
}

impl Registry {
    fn new() -> Registry {
        let emulator = Emulator::start();
        Registry { table: emulator.table(), _emulator: emulator }
    }
}

impl store_conformance::Registry for Registry {
    fn client(&self) -> Box<dyn LeaseStore> {
        Box::new(self.table.store())
    }

    fn delete_item(&self, datacenter_id: u32, worker_id: u32) {
        self.table.delete(&format!("DC#{datacenter_id:02}"), &format!("WORKER#{worker_id:02}"));
    }

    fn delete_layout(&self, datacenter_id: u32) {
        self.table.delete(&format!("DC#{datacenter_id:02}"), "LAYOUT");
    }
}

store_conformance::suite!(dynamodb, Registry::new());
