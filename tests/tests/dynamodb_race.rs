//! More processes than worker IDs, all at once.

use std::collections::BTreeMap;

use leaseflake::Layout;
use leaseflake_tests::member::{Member, assert_no_repeat};
use leaseflake_tests::scene::Scene;

#[path = "common/processes.rs"]
#[allow(dead_code, unused_macros, unused_imports)]
mod processes;

use processes::open_all;

const PROGRAM: &str = env!("CARGO_BIN_EXE_leaseflake-test-member");

#[test]
fn of_64_processes_32_get_a_worker_id_each_and_32_are_told_that_there_is_none() {
    let scene = Scene::new(PROGRAM);
    // The leases outlast the test on any machine; the losers wait long enough for the slowest.
    let member = || scene.member().option("lease_ttl_ms", 600_000).option("acquire_timeout_ms", 40_000).start();
    let mut members: Vec<Member> = (0..64).map(|_| member()).collect();
    scene.proxy.forget();
    let (open, refused) = open_all(&mut members);
    assert_eq!((open.len(), refused.len()), (32, 32), "{refused:?}");
    for failure in &refused {
        assert_eq!(failure.name, "NO_WORKER_ID", "{failure:?}");
    }
    let counts = scene.proxy.counts();

    let mut ids = Vec::new();
    let mut owners = BTreeMap::new();
    let mut rounds = Vec::new();
    for at in &open {
        let member = &mut members[*at];
        let worker = (member.number("datacenter_id"), member.number("worker_id"));
        assert_eq!(owners.insert(worker, *at), None, "{worker:?} has two owners");
        rounds.push(member.number("claims_lost") + 1);
        let issued = member.issue(200).unwrap();
        for id in &issued {
            let parts = member.decode(*id);
            assert_eq!((i64::from(parts.datacenter_id), i64::from(parts.worker_id)), worker);
        }
        ids.extend(issued);
    }
    assert_no_repeat(&ids);
    assert_eq!(scene.claimed(&Layout::default()), 32);

    // Re-reading settles 32 claimants in 4 rounds on average; 64 take a few more.
    let mean = rounds.iter().sum::<i64>() as f64 / rounds.len() as f64;
    println!("rounds: {rounds:?}, mean {mean:.1}; requests: {counts:?}");
    assert!(mean <= 12.0 && rounds.iter().all(|rounds| *rounds <= 40), "{rounds:?}");
    let asked = |operation: &str| counts.get(operation).copied().unwrap_or(0);
    // Each asks once who the table is (twice where that failed), and the claims of all rounds are
    // few: a winner's and its lost ones, and as many for each loser until all were taken.
    assert!(asked("DescribeTable") <= 2 * 64, "{counts:?}");
    assert!(asked("UpdateItem") <= 64 * 16, "{counts:?}");
    // The losers look again about once a second for 40 s, and once for every claim.
    assert!(asked("Query") <= asked("UpdateItem") + 64 * (40 + 10), "{counts:?}");

    // All that was released is free at once, and nothing repeats under the next owners.
    for at in &open {
        members[*at].ask("close").unwrap();
    }
    let mut rest: Vec<Member> = (0..32).map(|_| member()).collect();
    let (open, refused) = open_all(&mut rest);
    assert_eq!((open.len(), refused), (32, Vec::new()));
    for member in &mut rest {
        assert_eq!(member.number("fencing_epoch"), 2);
        ids.extend(member.issue(200).unwrap());
    }
    assert_no_repeat(&ids);
}
