//! `leaseflake registry show`: who holds which worker ID, and until when.

use std::fmt::Write;

use clap::Args;
use leaseflake::lease::record::LeaseRecord;
use serde_json::{Value, json};

use super::Format;
use super::survey::{Datacenter, State, Survey, ranges, survey};
use crate::args::RegistryArgs;
use crate::failure::Failure;
use crate::output::{self, one_line, shortened};
use crate::time;

/// Columns before the holder.
const BEFORE_HOLDER: usize = 59;
/// The holder gets at least these, however narrow the terminal.
const LEAST_HOLDER: usize = 10;

/// Show who holds which worker ID, until when, and how many are free.
///
/// Looks at every datacenter of the registry unless --datacenter-id names some, and reads each by
/// the layout that is pinned there. Changes nothing.
///
/// A worker ID is `leased` (somebody owns it), `released` (its last owner gave it back), `expired` (its
/// last owner was killed or cut off, and the lease has ended) or unused. Its time is the end of the
/// lease: whoever owns the worker ID next issues only timestamps from there on.
#[derive(Args)]
pub(super) struct Show {
    /// How to show it.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    registry: RegistryArgs,
}

impl Show {
    pub(super) fn run(self) -> Result<(), Failure> {
        let survey = survey(&self.registry.options()?)?;
        let now_ms = time::now_ms();
        match self.format {
            Format::Text => output::print(&text(&survey, now_ms, output::columns())),
            Format::Json => output::print(&format!("{:#}\n", json(&survey, now_ms))),
        }
    }
}

fn text(survey: &Survey, now_ms: i64, columns: Option<usize>) -> String {
    let mut text = format!("{}\nat {} by this machine's clock\n", one_line(&survey.store), time::utc_short(now_ms));
    for (at, datacenter) in survey.datacenters.iter().enumerate() {
        // One layout for all is the rule: said once.
        if at == 0 || pinned(datacenter) != pinned(&survey.datacenters[at - 1]) {
            let _ = writeln!(text, "{}", pinned(datacenter));
        }
        let _ = write!(text, "\n{}", datacenter_text(datacenter, now_ms, columns));
    }
    if survey.datacenters.is_empty() {
        text.push_str("\nnothing is initialised yet: the first process does it, or `leaseflake registry init`\n");
    } else if !survey.unused.is_empty() {
        let _ = write!(text, "\nnot initialised: datacenter {}\n", ranges(&survey.unused));
    }
    text
}

fn pinned(datacenter: &Datacenter) -> String {
    match &datacenter.view.layout {
        Some(pin) => format!("layout {} from {}", one_line(&pin.layout), time::utc_short(pin.epoch_ms)),
        None => "no LAYOUT item".to_owned(),
    }
}

fn datacenter_text(datacenter: &Datacenter, now_ms: i64, columns: Option<usize>) -> String {
    let in_state = |state| datacenter.view.workers.iter().filter(|item| State::of(item, now_ms) == state).count();
    let mut text = format!(
        "datacenter {}: {} of {} worker IDs free, {} leased\n",
        datacenter.id,
        datacenter.free(now_ms),
        datacenter.size(),
        in_state(State::Leased),
    );
    let (unused, used): (Vec<_>, Vec<_>) =
        datacenter.view.workers.iter().partition(|item| State::of(item, now_ms) == State::Unused);
    if !used.is_empty() {
        text.push_str("worker  state     lease ends (UTC)                  epoch  holder\n");
        for item in used {
            text.push_str(&row(item, now_ms, columns));
        }
    }
    let unused: Vec<u32> = unused.iter().map(|item| item.worker_id).collect();
    if !unused.is_empty() {
        let _ = writeln!(text, "unused: {}", ranges(&unused));
    }
    let missing = datacenter.missing();
    if !missing.is_empty() {
        let _ = writeln!(
            text,
            "missing: {}, deleted or broken by somebody and so claimed by nobody; `registry fence` makes them anew",
            ranges(&missing)
        );
    }
    for warning in &datacenter.view.warnings {
        let _ = writeln!(text, "warning: {}", one_line(warning));
    }
    if let Some(problem) = &datacenter.problem {
        let _ = writeln!(text, "refused by every process: {}", one_line(&problem.to_string()));
    }
    text
}

fn row(item: &LeaseRecord, now_ms: i64, columns: Option<usize>) -> String {
    let holder = match (item.instance_id.as_str(), item.ip_address.as_str()) {
        (instance, "") => one_line(instance),
        (instance, ip) => one_line(&format!("{instance} {ip}")),
    };
    let holder = match columns {
        // A table that wraps cannot be read; in a pipe or a file nothing is cut.
        Some(columns) => shortened(&holder, columns.saturating_sub(BEFORE_HOLDER).max(LEAST_HOLDER)),
        None => holder,
    };
    let row = format!(
        "{:>6}  {:<8}  {:<19}  {:<11}  {:>5}  {holder}",
        item.worker_id,
        State::of(item, now_ms).name(),
        time::utc_seconds(item.lease_expiry_ts),
        time::relative(item.lease_expiry_ts.saturating_sub(now_ms)),
        item.fencing_epoch,
    );
    format!("{}\n", row.trim_end())
}

fn json(survey: &Survey, now_ms: i64) -> Value {
    json!({
        "store": survey.store,
        "now_ms": now_ms,
        "datacenters": survey.datacenters.iter().map(|datacenter| datacenter_json(datacenter, now_ms)).collect::<Vec<_>>(),
        "not_initialised": survey.unused,
    })
}

fn datacenter_json(datacenter: &Datacenter, now_ms: i64) -> Value {
    let pin = datacenter.view.layout.as_ref();
    let workers = datacenter.view.workers.iter().map(|item| {
        json!({
            "worker_id": item.worker_id,
            "state": State::of(item, now_ms).name(),
            "instance_id": item.instance_id,
            "ip_address": item.ip_address,
            "lease_expiry_ts": item.lease_expiry_ts,
            "lease_expiry": time::utc(item.lease_expiry_ts),
            "fencing_epoch": item.fencing_epoch,
            "version": item.version,
        })
    });
    json!({
        "datacenter_id": datacenter.id,
        "layout": pin.map(|pin| &pin.layout),
        "epoch_ms": pin.map(|pin| pin.epoch_ms),
        "region": pin.map(|pin| &pin.region),
        "table_id": pin.map(|pin| &pin.table_id),
        "free": datacenter.free(now_ms),
        "leased": datacenter.view.workers.iter().filter(|item| State::of(item, now_ms) == State::Leased).count(),
        "workers": workers.collect::<Vec<_>>(),
        "missing": datacenter.missing(),
        "warnings": datacenter.view.warnings,
        "problem": datacenter.problem.as_ref().map(ToString::to_string),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use leaseflake::Layout;
    use leaseflake::lease::record::{DatacenterView, LayoutPin, TableIdentity};

    const NOW_MS: i64 = 1_800_000_000_000;

    fn datacenter() -> Datacenter {
        let layout = Layout::default();
        let mut workers: Vec<LeaseRecord> = (0..32).map(LeaseRecord::unused).collect();
        workers[7] = LeaseRecord {
            instance_id: "arn:aws:ecs:us-east-1:123456789012:task/cluster/0123456789abcdef".to_owned(),
            ip_address: "10.20.30.40".to_owned(),
            lease_expiry_ts: NOW_MS + 29_000,
            fencing_epoch: 12_345,
            version: 9,
            renewal_id: "r".to_owned(),
            ..LeaseRecord::unused(7)
        };
        workers[9] = LeaseRecord {
            instance_id: "evil\u{1b}[2J\nname".to_owned(),
            lease_expiry_ts: NOW_MS - 7_199_000,
            fencing_epoch: 1,
            ..LeaseRecord::unused(9)
        };
        workers.remove(3);
        let table = TableIdentity::default();
        let layout_pin = Some(LayoutPin::new(&layout, &table));
        Datacenter {
            id: 0,
            layout,
            view: DatacenterView { layout: layout_pin, workers, warnings: vec![], table },
            problem: None,
        }
    }

    #[test]
    fn the_table_fits_80_columns_and_cuts_nothing_elsewhere() {
        let narrow = datacenter_text(&datacenter(), NOW_MS, Some(80));
        for line in narrow.lines().filter(|line| !line.starts_with("missing")) {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(narrow.contains("30 of 32 worker IDs free, 1 leased"), "{narrow}");
        assert!(
            narrow.contains("     7  leased    2027-01-15 08:00:29  in 29 s      12345  arn:aws:ecs:us-east-"),
            "{narrow}"
        );
        assert!(narrow.contains("unused: 0-2, 4-6, 8, 10-31"), "{narrow}");
        assert!(narrow.contains("missing: 3,"), "{narrow}");
        let wide = datacenter_text(&datacenter(), NOW_MS, None);
        assert!(wide.contains("0123456789abcdef 10.20.30.40"), "{wide}");
        assert!(!wide.contains('\u{1b}'), "what others wrote does not reach the terminal as it is");
    }
}
