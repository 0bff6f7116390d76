//! How many worker IDs are free, for the metrics: a look at the registry once a minute.

use std::sync::Arc;
use std::time::Duration;

use leaseflake::clock::SystemClock;
use leaseflake::lease::store::{Reply, Request};
use leaseflake::{Error, Options};

use crate::metrics::Metrics;
use crate::pool::Pool;

/// How often the registry is asked: one strongly consistent read of a datacenter.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// How soon after the start, and after a look that failed.
const LOOK_SOON: Duration = Duration::from_secs(1);

/// Looks for as long as the service runs.
pub(crate) async fn watch(pool: Arc<Pool>, options: Options, metrics: Arc<Metrics>) {
    loop {
        tokio::time::sleep(LOOK_SOON).await;
        let worker = pool.slots().iter().find_map(|slot| slot.worker());
        let Some((datacenter, _)) = worker else { continue };
        let options = options.clone();
        // The store waits for the registry: on a thread for that.
        let looked = tokio::task::spawn_blocking(move || free(&options, datacenter)).await;
        match looked {
            Ok(Ok(free)) => metrics.set_free(datacenter, free),
            Ok(Err(error)) => tracing::debug!("the free worker IDs are not known: {error}"),
            Err(panic) => tracing::error!("counting free worker IDs panicked: {panic}"),
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn free(options: &Options, datacenter_id: u32) -> Result<usize, Error> {
    let layout = options.resolve_layout()?;
    let answer = options.resolve_store()?.call(&Request::Read { datacenter_id, layout });
    let Reply::View(view) = answer.result? else { return Ok(0) };
    let now_ms = SystemClock::wall_ms();
    Ok(view.workers.iter().filter(|item| !item.is_leased_at(now_ms)).count())
}
