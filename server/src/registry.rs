//! How many worker IDs are free, for the metrics: a look at the registry once a minute.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use leaseflake::clock::SystemClock;
use leaseflake::lease::store::{LeaseStore, Reply, Request};
use leaseflake::{Error, Layout, Options};

use crate::metrics::Metrics;
use crate::pool::Pool;

/// How often the registry is asked: one strongly consistent read of each datacenter of ours.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// How soon it is looked whether we have a worker ID yet.
const LOOK_SOON: Duration = Duration::from_secs(1);

/// Looks for as long as the service runs.
pub(crate) async fn watch(pool: Arc<Pool>, options: Options, metrics: Arc<Metrics>) {
    let mut registry = None;
    loop {
        let mut datacenters: Vec<u32> =
            pool.slots().iter().filter_map(|slot| slot.worker()).map(|(datacenter, _)| datacenter).collect();
        if datacenters.is_empty() {
            tokio::time::sleep(LOOK_SOON).await;
            continue;
        }
        datacenters.sort_unstable();
        datacenters.dedup();
        let (options, kept) = (options.clone(), registry.take());
        // The store waits for the registry: on a thread for that.
        let looked = tokio::task::spawn_blocking(move || {
            let mut registry = kept.map_or_else(|| Registry::open(&options), Ok)?;
            registry.free(&datacenters).map(|free| (registry, free))
        })
        .await;
        let free = match looked {
            Ok(Ok((opened, free))) => {
                registry = Some(opened);
                free
            }
            Ok(Err(error)) => {
                tracing::debug!("the free worker IDs are not known: {error}");
                BTreeMap::new()
            }
            Err(panic) => {
                tracing::error!("counting free worker IDs panicked: {panic}");
                BTreeMap::new()
            }
        };
        metrics.set_free(&free);
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// The registry, with a connection of its own that is kept from look to look.
struct Registry {
    store: Box<dyn LeaseStore>,
    layout: Layout,
}

impl Registry {
    fn open(options: &Options) -> Result<Registry, Error> {
        Ok(Registry { store: options.resolve_store()?, layout: options.resolve_layout()? })
    }

    /// How many worker IDs of each datacenter nobody holds.
    fn free(&mut self, datacenters: &[u32]) -> Result<BTreeMap<u32, usize>, Error> {
        let mut free = BTreeMap::new();
        for &datacenter_id in datacenters {
            let answer = self.store.call(&Request::Read { datacenter_id, layout: self.layout });
            let Reply::View(view) = answer.result? else { continue };
            let now_ms = SystemClock::wall_ms();
            let of_this_one = view.workers.iter().filter(|item| !item.is_leased_at(now_ms)).count();
            free.insert(datacenter_id, of_this_one);
        }
        Ok(free)
    }
}
