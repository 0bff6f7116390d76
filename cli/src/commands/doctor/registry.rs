//! The registry: reachable or not, its time, what it pins, and what is free.

use std::time::{Duration, Instant};

use leaseflake::clock::{ClockSource, Now};
use leaseflake::lease::store::{LeaseStore, Reply, Request, StoreError};
use leaseflake::lease::trust::{ClockTrust, Verdict as Trust};
use leaseflake::{Error, ErrorCode, Layout, Options};

use super::findings::Finding;
use crate::commands::registry::survey::{Datacenter, look, ranges};
use crate::time;

/// How many answers are timed, after one that opens the connection.
const ROUNDS: usize = 5;
/// Slower answers are told: a heartbeat must fit into its interval several times over.
const SLOW: Duration = Duration::from_millis(500);

/// All checks of the registry; where it cannot be reached, that alone.
pub(super) fn check(options: &Options) -> Result<Vec<Finding>, Error> {
    let layout = options.resolve_layout()?;
    let chosen = options.resolve_datacenters()?;
    let mut store = options.resolve_store()?;
    let datacenters = match chosen {
        Some(these) => these,
        None => match store.auto_datacenters(&layout) {
            Ok(these) => these,
            Err(error) => return Ok(vec![unreachable(&*store, &error)]),
        },
    };
    let first = datacenters.first().copied().unwrap_or_default();
    let (mut findings, trust) = match round_trips(&mut *store, first, layout) {
        Ok(timed) => timed,
        Err(error) => return Ok(vec![unreachable(&*store, &error)]),
    };
    findings.extend(trust);
    let mut looks = Vec::new();
    for id in datacenters {
        looks.push((id, look(&mut *store, id, layout, true)));
    }
    findings.push(pins(&looks, layout));
    findings.push(free(&looks, layout, time::now_ms()));
    Ok(findings)
}

fn unreachable(store: &dyn LeaseStore, error: &StoreError) -> Finding {
    let finding = Finding::wrong("registry", format!("{}: {}", store.name(), error.code()), error.message.clone());
    finding.figure("error", error.code().name())
}

/// Times a few answers and takes in their dates.
fn round_trips(
    store: &mut dyn LeaseStore,
    datacenter_id: u32,
    layout: Layout,
) -> Result<(Vec<Finding>, Option<Finding>), StoreError> {
    let request = Request::Read { datacenter_id, layout };
    let mut spans = Vec::new();
    let mut trust = ClockTrust::new();
    let mut dated = None;
    for round in 0..=ROUNDS {
        let (sent, started) = (now(), Instant::now());
        let answer = store.call(&request);
        let span = started.elapsed();
        if let Some(date_ms) = answer.date_ms {
            trust.answered(sent, now(), Some(date_ms));
            dated = Some(sent.wall_ms.saturating_sub(date_ms));
        }
        // The first one opens the connection.
        match answer.result {
            Ok(Reply::View(_)) if round > 0 => spans.push(span),
            Ok(_) => {}
            Err(error) => return Err(error),
        }
    }
    spans.sort();
    let median = spans[spans.len() / 2];
    let found = format!(
        "{} answers in {} (median of {ROUNDS}; {} to {})",
        store.name(),
        millis(median),
        millis(spans[0]),
        millis(spans[spans.len() - 1])
    );
    let reached = if median > SLOW {
        let advice =
            "an answer that takes longer than 2 s counts as none: look at the network, or use a registry nearby";
        Finding::warning("registry", found, advice)
    } else {
        Finding::ok("registry", found)
    };
    let reached = reached.figure("round_trip_ms", median.as_secs_f64() * 1000.0);
    Ok((vec![reached], dated.map(|offset_ms| judge_date(trust.verdict(), offset_ms))))
}

fn now() -> Now {
    ClockSource::System.now()
}

fn millis(span: Duration) -> String {
    format!("{:.1} ms", span.as_secs_f64() * 1000.0)
}

/// Our clock against the registry's, by the rule that the keeper goes by.
fn judge_date(trust: Trust, offset_ms: i64) -> Finding {
    const WHAT: &str = "date";
    let finding = match trust.describe() {
        None => {
            let found = "the registry's `Date` agrees with the clock, as far as a header of 1 s resolution can tell";
            Finding::ok(WHAT, found)
        }
        Some(said) => Finding::wrong(
            WHAT,
            said,
            "set the clock (or find out who wrote that `Date`): a process without a worker ID does not claim one \
             (CLOCK_UNTRUSTED)",
        ),
    };
    finding.figure("clock_minus_date_ms", offset_ms)
}

type Looks = [(u32, Result<Option<Datacenter>, Error>)];

/// Whether processes with these options may use what is pinned.
fn pins(looks: &Looks, layout: Layout) -> Finding {
    const WHAT: &str = "layout";
    for (id, look) in looks {
        let fault = match look {
            Ok(Some(datacenter)) => datacenter.problem.clone().map(Error::from),
            Ok(None) => None,
            Err(error) => Some(error.clone()),
        };
        if let Some(error) = fault {
            let found = format!("datacenter {id}: {}", error.name());
            return Finding::wrong(WHAT, found, error.message()).figure("error", error.name());
        }
    }
    let pinned: Vec<u32> = looks.iter().filter(|(_, look)| matches!(look, Ok(Some(_)))).map(|(id, _)| *id).collect();
    let epoch = time::utc_short(layout.epoch_ms());
    if pinned.is_empty() {
        return Finding::ok(
            WHAT,
            format!(
                "nothing is pinned yet; the first process pins {layout} from {epoch} (or `leaseflake registry init`)"
            ),
        );
    }
    Finding::ok(WHAT, format!("datacenter {} pins {layout} from {epoch}, as is meant here", ranges(&pinned)))
}

/// How many worker IDs a new process could have.
fn free(looks: &Looks, layout: Layout, now_ms: i64) -> Finding {
    const WHAT: &str = "worker IDs";
    let size = layout.max_worker_id() as usize + 1;
    let (mut free, mut missing, mut total) = (0, 0, 0);
    let mut usable = false;
    for (_, look) in looks {
        total += size;
        match look {
            Ok(Some(datacenter)) if datacenter.problem.is_none() => {
                usable = true;
                free += datacenter.free(now_ms);
                missing += datacenter.missing().len();
            }
            // Made by the first process that comes.
            Ok(None) => {
                usable = true;
                free += size;
            }
            _ => {}
        }
    }
    judge_free(usable, free, missing, total, WHAT)
}

fn judge_free(usable: bool, free: usize, missing: usize, total: usize, what: &'static str) -> Finding {
    let gone = if missing > 0 { format!(", {missing} missing") } else { String::new() };
    let found = format!("{free} of {total} free{gone}");
    let finding = if free == 0 && usable {
        let advice = "a new process gets NO_WORKER_ID: `leaseflake registry show` says who holds them; stop some, or give \
                      --datacenter-id another or a further datacenter";
        Finding::wrong(what, found, advice)
    } else if free == 0 {
        Finding::wrong(what, "none can be claimed while the registry is refused", "see above")
            .figure("error", ErrorCode::StoreRejected.name())
    } else if missing > 0 {
        let advice = "items were deleted or broken by somebody, and are claimed by nobody: stop the holders and run \
                      `leaseflake registry fence`, which makes them anew";
        Finding::warning(what, found, advice)
    } else if free * 4 < total {
        let advice = "below a half, leases stop growing; below what a deployment starts at once, processes wait: give \
                      --datacenter-id a further datacenter";
        Finding::warning(what, found, advice)
    } else {
        Finding::ok(what, found)
    };
    finding.figure("free", free).figure("total", total).figure("missing", missing)
}

#[cfg(test)]
mod tests {
    use super::super::findings::Verdict;
    use super::*;

    #[test]
    fn no_free_worker_id_is_wrong_and_few_are_a_warning() {
        let judged = |free, missing| judge_free(true, free, missing, 32, "worker IDs").verdict;
        assert_eq!(judged(0, 0), Verdict::Wrong);
        assert_eq!(judged(7, 0), Verdict::Warning);
        assert_eq!(judged(8, 0), Verdict::Ok);
        assert_eq!(judged(31, 1), Verdict::Warning);
    }

    #[test]
    fn a_clock_that_the_registry_proves_wrong_is_wrong() {
        assert_eq!(judge_date(Trust::Trusted, 400).verdict, Verdict::Ok);
        assert_eq!(judge_date(Trust::Ahead(5_000), 8_000).verdict, Verdict::Wrong);
        assert!(judge_date(Trust::Behind(5_000), -8_000).found.contains("5000 ms behind"));
    }
}
