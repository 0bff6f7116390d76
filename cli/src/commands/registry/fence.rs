//! `leaseflake registry fence`: raises the floors of a registry that was restored or copied.

use clap::Args;
use leaseflake::lease::store::{FenceRequest, LeaseStore, Request};
use leaseflake::{Error, ErrorCode, Layout, Options, number_within};

use super::survey::{apply, look, names_a_layout, survey};
use crate::args::RegistryArgs;
use crate::failure::Failure;
use crate::{output, time};

/// A clock may be this far ahead of another one; farther ahead is a mistake.
const LATEST_FROM_NOW_MS: i64 = 24 * 3600 * 1000;

/// Raise the floors of a registry, after a restore from a backup or a copy. Stop its holders first.
///
/// A restored registry has forgotten leases that were given out after the backup, and with them the
/// timestamps up to which IDs were issued. Processes refuse it (STORE_REJECTED) until it is fenced:
/// every worker ID gets `lease_expiry_ts` = the greater of what it has and T, so that no ID is issued
/// before T again, a new fencing epoch, so that an old holder is refused, and missing items are made
/// anew.
///
/// Fences every initialised datacenter of the registry, unless --datacenter-id or --worker names some.
///
/// T is the time at which the last holder of the registry was stopped, by the clock that was the
/// farthest ahead. Later is safe too, but no ID is issued before T comes.
#[derive(Args)]
#[command(after_help = "Examples:
  leaseflake registry fence --at now
  leaseflake registry fence --at 2026-11-29T19:10:11Z --store dynamodb://WorkerNodeRegistryTable
  leaseflake registry fence --at now --worker 1/4 --lower")]
pub(super) struct Fence {
    /// When the last holder was stopped: RFC 3339, milliseconds since 1970, or `now`.
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    at: String,
    /// Only this worker ID, datacenter/worker: its holder, and no other, is known to be dead
    #[arg(long, value_name = "D/W")]
    worker: Option<String>,
    /// Set the end of the lease to T even where that lowers it
    ///
    /// Frees the worker IDs of dead holders at once. IDs repeat if a holder still runs, or if it
    /// had issued IDs with timestamps after T.
    #[arg(long)]
    lower: bool,
    #[command(flatten)]
    registry: RegistryArgs,
}

impl Fence {
    pub(super) fn run(self) -> Result<(), Failure> {
        let options = self.registry.options()?;
        let layout = options.resolve_layout()?;
        let given = options.resolve_datacenters()?;
        let worker = self.worker.as_deref().map(parse_worker).transpose()?;
        if let (Some((datacenter_id, _)), Some(given)) = (worker, &given)
            && given != &[datacenter_id]
        {
            let shown = options.get("datacenter_id").unwrap_or_default();
            return Err(Error::invalid("datacenter_id", shown, "that of --worker, or none").into());
        }
        let at_ms = parse_at(&self.at, &layout)?;
        let named = worker.map(|(datacenter_id, _)| vec![datacenter_id]).or(given);
        let datacenters = match named {
            Some(these) => these,
            None => initialised(&options)?,
        };
        let mut store = options.resolve_store()?;
        for datacenter_id in datacenters {
            let layout = layout_for(&options, &mut *store, datacenter_id)?;
            if let Some((_, worker_id)) = worker
                && worker_id > layout.max_worker_id()
            {
                let allowed = format!("a worker from 0 to {}", layout.max_worker_id());
                return Err(Error::invalid("worker", worker_id, allowed).into());
            }
            let worker_id = worker.map(|(_, worker_id)| worker_id);
            let request = FenceRequest { datacenter_id, layout, at_ms, worker_id, lower: self.lower };
            apply(&mut *store, &Request::Fence(request))?;
            let what = match worker_id {
                Some(worker_id) => format!("worker {worker_id}"),
                None => format!("{} worker IDs", layout.max_worker_id() + 1),
            };
            let least = if self.lower { "" } else { "at least " };
            output::print(&format!(
                "datacenter {datacenter_id}: {what} fenced, to issue only from {least}{} on\n",
                time::utc_short(at_ms)
            ))?;
        }
        Ok(())
    }
}

/// A worker ID as people write it: datacenter/worker.
///
/// # Errors
///
/// `INVALID_ARGUMENT`.
pub fn parse_worker(text: &str) -> Result<(u32, u32), Error> {
    let wrong = || Error::invalid("worker", text, "datacenter/worker, such as 1/4");
    let (datacenter, worker) = text.split_once('/').ok_or_else(wrong)?;
    let one = |text: &str| number_within("worker", text, 0, 1023).map(|value| value as u32).map_err(|_| wrong());
    Ok((one(datacenter)?, one(worker)?))
}

/// A time in seconds instead of milliseconds would be a floor in 1970: no floor at all.
fn parse_at(text: &str, layout: &Layout) -> Result<i64, Error> {
    let at_ms = time::parse("at", text)?;
    let latest = time::now_ms().saturating_add(LATEST_FROM_NOW_MS);
    if (layout.epoch_ms()..=latest).contains(&at_ms) {
        return Ok(at_ms);
    }
    let allowed = format!(
        "from the epoch, {}, to a day from now: the time at which the last holder was stopped",
        time::utc_short(layout.epoch_ms())
    );
    Err(Error::invalid("at", text, allowed))
}

/// The datacenters that somebody has used.
fn initialised(options: &Options) -> Result<Vec<u32>, Error> {
    let found = survey(options).map_err(|error| match error.code() {
        ErrorCode::StoreRejected => Error::new(
            error.code(),
            format!(
                "{}; its datacenters cannot be listed before it is fenced: name them by --datacenter-id, and the \
                 layout of its processes by --layout",
                error.message()
            ),
        ),
        _ => error,
    })?;
    if found.datacenters.is_empty() {
        let message = format!(
            "{}: nothing is initialised, so there is nothing to fence; where a registry was lost altogether, name its \
             datacenters by --datacenter-id",
            found.store
        );
        return Err(Error::new(ErrorCode::StoreRejected, message));
    }
    Ok(found.datacenters.iter().map(|datacenter| datacenter.id).collect())
}

/// The layout to pin anew: the one that is pinned. Another one is refused, and none is guessed.
fn layout_for(options: &Options, store: &mut dyn LeaseStore, datacenter_id: u32) -> Result<Layout, Error> {
    let layout = options.resolve_layout()?;
    let is_given = names_a_layout(options);
    let unknown = |why: &str| {
        Error::new(
            ErrorCode::StoreRejected,
            format!(
                "{why}; the layout that its processes use cannot be read: name it by --layout ({} if they name none)",
                Layout::default()
            ),
        )
    };
    match look(store, datacenter_id, layout, is_given) {
        Ok(Some(datacenter)) => match datacenter.problem {
            Some(problem) if problem.code() == ErrorCode::LayoutMismatch => Err(problem.into()),
            _ if datacenter.view.layout.is_none() && !is_given => {
                Err(unknown(&format!("{}: datacenter {datacenter_id} has no LAYOUT item", store.name())))
            }
            _ => Ok(datacenter.layout),
        },
        Ok(None) => Ok(layout),
        // A registry that nobody may read, such as the copy of a file, is what a fence is for.
        Err(error) if error.code() == ErrorCode::StoreRejected && is_given => Ok(layout),
        Err(error) if error.code() == ErrorCode::StoreRejected => Err(unknown(error.message())),
        Err(error) => Err(error),
    }
}
