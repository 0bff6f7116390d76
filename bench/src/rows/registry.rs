//! What the registry costs: the time of an open, the round trips, the writes.

use std::time::{Duration, Instant};

use leaseflake::{IdGenerator, Options};

use crate::report::{Budget, Report};

pub(crate) fn measure(report: &mut Report) {
    let mut opens = Vec::new();
    for _ in 0..10 {
        let folder = tempfile::tempdir().expect("a folder");
        let store = format!("sqlite:{}", folder.path().join("ids.db").display());
        let began = Instant::now();
        let ids = IdGenerator::open(Options::new().store(&store)).expect("opens");
        ids.next_id().expect("issues");
        opens.push(began.elapsed().as_secs_f64() * 1e3);
    }
    report.row("open on a fresh SQLite file, first ID included", "ms", Budget::AtMost(50.0), opens);

    let all = |slot: u32| {
        let options = Options::new().store("memory:full").datacenter_id(0).slot(slot);
        IdGenerator::open(options.heartbeat_interval_ms(100)).expect("opens")
    };
    let _taken: Vec<IdGenerator> = (0..31).map(all).collect();
    let last = all(31);
    let requests = last.status().counters.requests;
    report.row("round trips to acquire with 31 of 32 taken", "requests", Budget::AtMost(2.0), vec![requests as f64]);

    let before = last.status().counters;
    std::thread::sleep(Duration::from_secs(3));
    let after = last.status().counters;
    let beats = (after.heartbeats_sent - before.heartbeats_sent).max(1) as f64;
    let writes = (after.requests - before.requests) as f64 / beats;
    report.row("requests per heartbeat", "requests", Budget::AtMost(1.0), vec![writes]);
}
