//! `leaseflake registry init`: the items of a datacenter, made before the first process needs them.

use clap::Args;
use leaseflake::Error;
use leaseflake::lease::store::Request;

use super::survey::{apply, look};
use crate::args::RegistryArgs;
use crate::failure::Failure;
use crate::output;

/// Make the items of a datacenter, and pin the layout.
///
/// The first process does the same by itself where it is permitted to. Initialising a datacenter once
/// more changes nothing. Initialises the datacenters that --datacenter-id names; with `auto`, the one
/// that a process would try first. For DynamoDB the table must exist: `leaseflake registry create`.
#[derive(Args)]
pub(super) struct Init {
    #[command(flatten)]
    registry: RegistryArgs,
}

impl Init {
    pub(super) fn run(self) -> Result<(), Failure> {
        let options = self.registry.options()?;
        let layout = options.resolve_layout()?;
        let chosen = options.resolve_datacenters()?;
        let mut store = options.resolve_store()?;
        let datacenters = match chosen {
            Some(these) => these,
            None => store.auto_datacenters(&layout).map_err(Error::from)?.into_iter().take(1).collect(),
        };
        for id in datacenters {
            // The layout counts as given: pinning one and meaning another helps nobody.
            let before = look(&mut *store, id, layout, true)?;
            apply(&mut *store, &Request::Initialise { datacenter_id: id, layout })?;
            let after = look(&mut *store, id, layout, true)?;
            if let Some(problem) = after.and_then(|datacenter| datacenter.problem) {
                return Err(Error::from(problem).into());
            }
            let what = if before.is_none() { "initialised" } else { "was initialised already" };
            output::print(&format!(
                "datacenter {id} {what}: {} worker IDs, layout {layout}\n",
                layout.max_worker_id() + 1
            ))?;
        }
        Ok(())
    }
}
