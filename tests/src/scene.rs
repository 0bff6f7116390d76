//! What most process tests need: an emulator, a table, and a proxy on the way to it.

use leaseflake::Layout;
use serde_json::Value;

use crate::emulator::{Emulator, Table};
use crate::member::MemberBuilder;
use crate::proxy::FaultProxy;

/// An emulator with a table of its own, and a proxy in front.
#[derive(Debug)]
pub struct Scene {
    /// The way to the registry that a test breaks.
    pub proxy: FaultProxy,
    /// The table, without the proxy.
    pub table: Table,
    emulator: Emulator,
    program: &'static str,
}

impl Scene {
    /// A scene whose processes are of this program.
    pub fn new(program: &'static str) -> Scene {
        let emulator = Emulator::start();
        let table = emulator.table();
        let proxy = FaultProxy::start(emulator.address());
        Scene { proxy, table, emulator, program }
    }

    /// A process that reaches the registry through the proxy.
    pub fn member(&self) -> MemberBuilder {
        self.member_by(&self.proxy)
    }

    /// A process that reaches the registry through a proxy of its own.
    pub fn member_by(&self, proxy: &FaultProxy) -> MemberBuilder {
        MemberBuilder::new(self.program, &self.table.url_by(&proxy.endpoint()))
    }

    /// A process that nothing comes between.
    pub fn direct(&self) -> MemberBuilder {
        MemberBuilder::new(self.program, &self.table.url())
    }

    /// Another proxy on the way to the registry.
    pub fn another_proxy(&self) -> FaultProxy {
        FaultProxy::start(self.emulator.address())
    }

    /// A worker item of datacenter 0 as it is in the table.
    pub fn worker(&self, worker_id: u32) -> Value {
        self.table.item("DC#00", &format!("WORKER#{worker_id:02}"))
    }

    /// A number of a worker item of datacenter 0.
    ///
    /// # Panics
    ///
    /// If it is none.
    pub fn worker_number(&self, worker_id: u32, attribute: &str) -> i64 {
        let item = self.worker(worker_id);
        let number = item[attribute]["N"].as_str().and_then(|number| number.parse().ok());
        number.unwrap_or_else(|| panic!("{attribute} of {item}"))
    }

    /// How many of these worker items of datacenter 0 have ever been claimed.
    pub fn claimed(&self, layout: &Layout) -> u32 {
        (0..=layout.max_worker_id())
            .filter(|worker_id| self.worker_number(*worker_id, "fencing_epoch") > 0)
            .count()
            .try_into()
            .expect("at most 1024")
    }
}

/// A layout with one worker ID in each datacenter: whoever comes next takes over from the last.
pub fn one_worker() -> Layout {
    Layout::new(41, 5, 0, 17).expect("41 + 5 + 0 + 17 = 63")
}
