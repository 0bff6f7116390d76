//! The DynamoDB registry alone, over HTTP on an emulator, with and without faults between.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::Command;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use leaseflake::Layout;
use leaseflake::lease::record::{DatacenterView, LayoutPin, LeaseRecord};
use leaseflake::lease::store::dynamodb::{DynamoDbConfig, DynamoDbStore, REGIONS, TableCreation};
use leaseflake::lease::store::{FenceRequest, LeaseStore, LeaseWrite, Reply, Request, StoreError, StoreErrorKind};
use leaseflake_tests::emulator::{CREDENTIALS, Emulator, Table, give_credentials};
use leaseflake_tests::proxy::{DateFault, ErrorAnswer, Fault, FaultProxy};
use serde_json::json;

fn read(store: &mut DynamoDbStore, datacenter_id: u32) -> Result<DatacenterView, StoreError> {
    read_with(store, datacenter_id, Layout::default())
}

fn read_with(store: &mut DynamoDbStore, datacenter_id: u32, layout: Layout) -> Result<DatacenterView, StoreError> {
    match store.call(&Request::Read { datacenter_id, layout }).result? {
        Reply::View(view) => Ok(view),
        other => panic!("a read was answered with {other:?}"),
    }
}

/// Reads until there is an answer: a machine under load may be slower than a short time-out.
fn read_at_last(store: &mut DynamoDbStore) {
    let deadline = Instant::now() + Duration::from_secs(90);
    while let Err(error) = read(store, 0) {
        assert!(error.kind == StoreErrorKind::Unavailable && Instant::now() < deadline, "{error}");
    }
}

fn initialise(store: &mut DynamoDbStore, datacenter_id: u32) -> Result<Reply, StoreError> {
    store.call(&Request::Initialise { datacenter_id, layout: Layout::default() }).result
}

fn claim(item: &LeaseRecord, now_ms: i64, renewal_id: &str) -> LeaseWrite {
    LeaseWrite {
        datacenter_id: 0,
        expected_epoch: item.fencing_epoch,
        expected_version: item.version,
        expired_before: Some(now_ms),
        next: LeaseRecord {
            worker_id: item.worker_id,
            instance_id: "test".to_owned(),
            ip_address: "127.0.0.1".to_owned(),
            lease_expiry_ts: now_ms + 30_000,
            fencing_epoch: item.fencing_epoch + 1,
            version: item.version + 1,
            renewal_id: renewal_id.to_owned(),
        },
    }
}

fn heartbeat(held: &LeaseRecord, expiry: i64, renewal_id: &str) -> LeaseWrite {
    LeaseWrite {
        datacenter_id: 0,
        expected_epoch: held.fencing_epoch,
        expected_version: held.version,
        expired_before: None,
        next: LeaseRecord {
            lease_expiry_ts: expiry,
            version: held.version + 1,
            renewal_id: renewal_id.to_owned(),
            ..held.clone()
        },
    }
}

fn write(store: &mut DynamoDbStore, write: &LeaseWrite) -> Result<Reply, StoreError> {
    store.call(&Request::Write(write.clone())).result
}

fn now_ms() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// An emulator, a table in it whose datacenter 0 is initialised, and a proxy in front.
struct Bench {
    table: Table,
    proxy: FaultProxy,
    _emulator: Emulator,
}

impl Bench {
    fn new() -> Bench {
        let emulator = Emulator::start();
        let table = emulator.table();
        initialise(&mut table.store(), 0).unwrap();
        let proxy = FaultProxy::start(emulator.address());
        Bench { table, proxy, _emulator: emulator }
    }

    fn store(&self) -> DynamoDbStore {
        self.table.store_by(&self.proxy.endpoint())
    }
}

#[test]
fn a_table_is_created_once_with_the_keys_and_the_protection_of_the_schema() {
    let emulator = Emulator::start();
    let table = emulator.table();
    assert_eq!(table.store().create_table(), Ok(TableCreation::AlreadyThere));
    let described = table.raw("DescribeTable", json!({}));
    assert_eq!(described["Table"]["DeletionProtectionEnabled"], json!(true), "{described}");
    assert_eq!(described["Table"]["BillingModeSummary"]["BillingMode"], json!("PAY_PER_REQUEST"), "{described}");

    let foreign = Table { name: format!("{}-foreign", table.name), endpoint: table.endpoint.clone() };
    foreign.raw(
        "CreateTable",
        json!({
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        }),
    );
    for error in [foreign.store().create_table().unwrap_err(), read(&mut foreign.store(), 0).unwrap_err()] {
        assert_eq!(error.kind, StoreErrorKind::Rejected, "{error}");
        assert!(error.message.contains("PK and SK"), "{error}");
    }
}

#[test]
fn initialising_makes_every_worker_and_pins_the_layout_region_and_table() {
    let emulator = Emulator::start();
    let table = emulator.table();
    let mut store = table.store();
    assert_eq!(read(&mut store, 1).unwrap().layout, None);
    assert_eq!(initialise(&mut store, 1), Ok(Reply::Applied));
    assert_eq!(initialise(&mut store, 1), Ok(Reply::Applied), "once more changes nothing");
    let view = read(&mut store, 1).unwrap();
    assert_eq!(view.workers, (0..32).map(LeaseRecord::unused).collect::<Vec<_>>());
    assert_eq!(view.layout, Some(LayoutPin::new(&Layout::default(), &view.table)));
    assert_eq!(view.table.region, "us-east-1");
    assert!(!view.table.table_id.is_empty());
    assert!(view.warnings.is_empty(), "{:?}", view.warnings);
    assert_eq!(read(&mut store, 2).unwrap().workers, vec![], "another datacenter is another partition");

    let item = table.item("DC#01", "WORKER#04");
    for number in ["lease_expiry_ts", "fencing_epoch", "version"] {
        assert_eq!(item[number], json!({"N": "0"}), "{item}");
    }
    let pin = table.item("DC#01", "LAYOUT");
    assert_eq!(pin["layout"], json!({"S": "41-5-5-12"}));
    assert_eq!(pin["epoch_ms"], json!({"N": "1767225600000"}));
    assert_eq!(pin["region"], json!({"S": "us-east-1"}));
}

#[test]
fn a_datacenter_of_1024_workers_is_initialised_by_eight_at_once_without_a_gap() {
    let emulator = Emulator::start();
    let table = emulator.table();
    let layout = Layout::new(41, 5, 10, 7).unwrap();
    let start = Arc::new(Barrier::new(8));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (mut store, start) = (table.store(), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                let deadline = Instant::now() + Duration::from_secs(120);
                loop {
                    match store.call(&Request::Initialise { datacenter_id: 0, layout }).result {
                        Err(error) if error.kind == StoreErrorKind::Unavailable && Instant::now() < deadline => {}
                        other => return other,
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), Ok(Reply::Applied));
    }
    let view = read_with(&mut table.store(), 0, layout).unwrap();
    assert_eq!(view.workers, (0..1024).map(LeaseRecord::unused).collect::<Vec<_>>());
    assert_eq!(view.layout.map(|pin| pin.layout), Some("41-5-10-7".to_owned()));
}

#[test]
fn a_write_applies_only_on_the_epoch_and_version_it_names_and_a_claim_only_once_expired() {
    let bench = Bench::new();
    let mut store = bench.store();
    let now = now_ms();
    let unused = LeaseRecord::unused(4);
    let won = claim(&unused, now, "a");
    assert_eq!(write(&mut store, &won), Ok(Reply::Applied));
    assert_eq!(write(&mut store, &claim(&unused, now, "b")), Ok(Reply::Refused(Some(won.next.clone()))), "stale");
    let early = claim(&won.next, won.next.lease_expiry_ts, "c");
    assert_eq!(write(&mut store, &early), Ok(Reply::Refused(Some(won.next.clone()))), "expiry = now is not expired");

    let renewed = heartbeat(&won.next, now + 60_000, "d");
    assert_eq!(write(&mut store, &renewed), Ok(Reply::Applied));
    assert_eq!(write(&mut store, &renewed), Ok(Reply::Refused(Some(renewed.next.clone()))), "its own success");
    let late = claim(&renewed.next, renewed.next.lease_expiry_ts + 1, "e");
    assert_eq!(write(&mut store, &late), Ok(Reply::Applied));
    let item = read(&mut store, 0).unwrap().workers[4].clone();
    assert_eq!(item, late.next);
    assert_eq!((item.fencing_epoch, item.version), (2, 3));
}

#[test]
fn an_item_that_is_missing_or_broken_is_refused_without_an_item() {
    let bench = Bench::new();
    let mut store = bench.store();
    bench.table.delete("DC#00", "WORKER#07");
    assert_eq!(write(&mut store, &claim(&LeaseRecord::unused(7), now_ms(), "a")), Ok(Reply::Refused(None)));
    assert_eq!(bench.table.item("DC#00", "WORKER#07"), json!(null), "and not made anew");
    bench.table.set("DC#00", "WORKER#08", "version", json!({"S": "0"}));
    assert_eq!(write(&mut store, &claim(&LeaseRecord::unused(8), now_ms(), "a")), Ok(Reply::Refused(None)));
}

#[test]
fn foreign_and_broken_items_are_skipped_and_said() {
    let bench = Bench::new();
    bench.table.set("DC#00", "WORKER#01", "fencing_epoch", json!({"S": "seven"}));
    bench.table.put(json!({"PK": {"S": "DC#00"}, "SK": {"S": "SOMETHING"}, "x": {"M": {}}}));
    bench.table.put(json!({"PK": {"S": "DC#00"}, "SK": {"S": "WORKER#99"}}));
    bench.table.delete("DC#00", "WORKER#02");
    let view = read(&mut bench.store(), 0).unwrap();
    let ids: Vec<u32> = view.workers.iter().map(|item| item.worker_id).collect();
    assert_eq!(ids, [0].into_iter().chain(3..32).collect::<Vec<_>>());
    assert_eq!(view.warnings.len(), 3, "{:?}", view.warnings);
}

#[test]
fn a_datacenter_of_many_pages_is_read_whole() {
    let bench = Bench::new();
    for at in 0..10 {
        let filler = "x".repeat(300_000);
        bench.table.put(json!({"PK": {"S": "DC#00"}, "SK": {"S": format!("A{at}")}, "x": {"S": filler}}));
    }
    bench.proxy.forget();
    let view = read(&mut bench.store(), 0).unwrap();
    assert_eq!(view.workers.len(), 32, "they sort behind three pages of foreign items");
    assert!(view.layout.is_some());
    assert!(bench.proxy.count("Query") > 2, "{:?}", bench.proxy.counts());
}

#[test]
fn a_layout_that_was_deleted_or_broken_is_rejected_until_a_fence() {
    let bench = Bench::new();
    let mut store = bench.store();
    write(&mut store, &claim(&LeaseRecord::unused(0), now_ms(), "a")).unwrap();
    bench.table.delete("DC#00", "LAYOUT");
    let error = initialise(&mut store, 0).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Rejected);
    assert!(error.message.contains("registry fence"), "{error}");

    bench.table.put(json!({"PK": {"S": "DC#00"}, "SK": {"S": "LAYOUT"}, "layout": {"N": "1"}}));
    let error = read(&mut store, 0).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Rejected);
    assert!(error.message.contains("registry fence"), "{error}");
}

#[test]
fn a_fence_raises_every_floor_and_epoch_repairs_what_is_broken_and_pins_the_table_anew() {
    let bench = Bench::new();
    let mut store = bench.store();
    let now = now_ms();
    let held = claim(&LeaseRecord::unused(0), now, "a").next;
    write(&mut store, &claim(&LeaseRecord::unused(0), now, "a")).unwrap();
    bench.table.delete("DC#00", "WORKER#01");
    bench.table.set("DC#00", "WORKER#02", "version", json!({"S": "x"}));
    bench.table.set("DC#00", "LAYOUT", "table_id", json!({"S": "of the table that was backed up"}));
    let at_ms = now + 10_000;
    let fence = FenceRequest { datacenter_id: 0, layout: Layout::default(), at_ms, worker_id: None, lower: false };
    assert_eq!(store.call(&Request::Fence(fence)).result, Ok(Reply::Applied));
    let view = read(&mut store, 0).unwrap();
    assert_eq!(view.layout.unwrap().table_id, view.table.table_id);
    assert_eq!(view.workers.len(), 32);
    assert_eq!(view.workers[0].lease_expiry_ts, held.lease_expiry_ts, "a later expiry stays");
    assert_eq!(view.workers[0].fencing_epoch, 2);
    assert!(view.workers.iter().all(|item| item.version as i64 > at_ms), "above every version that was in use");
    assert_eq!(view.workers[0].renewal_id, "");
    for item in &view.workers[1..] {
        assert_eq!((item.lease_expiry_ts, item.fencing_epoch), (at_ms, 1), "{item:?}");
    }
    let late = write(&mut store, &heartbeat(&held, now + 90_000, "z")).unwrap();
    assert_eq!(late, Reply::Refused(Some(view.workers[0].clone())), "the old holder is fenced");

    let one = FenceRequest { datacenter_id: 0, layout: Layout::default(), at_ms: 7, worker_id: Some(3), lower: true };
    assert_eq!(store.call(&Request::Fence(one)).result, Ok(Reply::Applied));
    let after = read(&mut store, 0).unwrap();
    assert_eq!((after.workers[3].lease_expiry_ts, after.workers[3].fencing_epoch), (7, 2));
    assert_eq!(after.workers[4], view.workers[4], "only the one that was named");
}

#[test]
fn reading_asks_the_table_who_it_is_once_and_a_heartbeat_is_one_request() {
    let bench = Bench::new();
    let mut store = bench.store();
    bench.proxy.forget();
    read(&mut store, 0).unwrap();
    let won = claim(&LeaseRecord::unused(5), now_ms(), "a");
    write(&mut store, &won).unwrap();
    read(&mut store, 0).unwrap();
    write(&mut store, &heartbeat(&won.next, won.next.lease_expiry_ts, "b")).unwrap();
    let counts: Vec<(String, u64)> = bench.proxy.counts().into_iter().collect();
    let expected = [("DescribeTable", 1), ("Query", 2), ("UpdateItem", 2)];
    assert_eq!(counts, expected.map(|(operation, count)| (operation.to_owned(), count)));
}

#[test]
fn the_date_of_every_answer_is_handed_on_also_of_refusals_and_errors() {
    let bench = Bench::new();
    let mut store = bench.store();
    let read = Request::Read { datacenter_id: 0, layout: Layout::default() };
    let near = |date_ms: Option<i64>| date_ms.is_some_and(|date_ms| (now_ms() - date_ms).abs() < 10_000);
    let hour = 3_600_000;

    assert!(near(store.call(&read).date_ms));
    let stale = LeaseWrite { expected_epoch: 9, ..claim(&LeaseRecord::unused(0), now_ms(), "a") };
    let refused = store.call(&Request::Write(stale.clone()));
    assert!(near(refused.date_ms), "{refused:?}");
    bench.proxy.set(Fault::Error(ErrorAnswer::internal()));
    let failed = store.call(&Request::Write(stale));
    assert!(near(failed.date_ms) && failed.result.is_err(), "{failed:?}");
    bench.proxy.heal();

    bench.proxy.set_date(DateFault::Shift(hour));
    let ahead = store.call(&read).date_ms.unwrap();
    assert!((ahead - hour - now_ms()).abs() < 10_000, "{ahead}");
    bench.proxy.set_date(DateFault::Remove);
    assert_eq!(store.call(&read).date_ms, None);
    bench.proxy.set_date(DateFault::Fixed("Thu, 01 Jan 2026 00:00:00 GMT".to_owned()));
    assert_eq!(store.call(&read).date_ms, Some(1_767_225_600_000));
    bench.proxy.set_date(DateFault::Fixed("soon".to_owned()));
    assert_eq!(store.call(&read).date_ms, None);
}

#[test]
fn a_write_whose_answer_is_lost_is_unavailable_once_and_not_retried() {
    let bench = Bench::new();
    let mut store = bench.store();
    read(&mut store, 0).unwrap();
    bench.proxy.forget();
    bench.proxy.next(1, "UpdateItem", "", Fault::DropAnswer);
    let won = claim(&LeaseRecord::unused(6), now_ms(), "mine");
    let lost = write(&mut store, &won).unwrap_err();
    assert_eq!(lost.kind, StoreErrorKind::Unavailable, "{lost}");
    assert_eq!(bench.proxy.count("UpdateItem"), 1, "the keeper decides about another try");
    let again = write(&mut store, &won).unwrap();
    assert_eq!(again, Reply::Refused(Some(won.next)), "it had been applied, and the refusal shows whose it is");
}

#[test]
fn throttling_and_server_errors_are_unavailable_after_one_request() {
    let bench = Bench::new();
    let mut store = bench.store();
    for answer in [
        ErrorAnswer::throttled(),
        ErrorAnswer::internal(),
        ErrorAnswer::new(503, "ServiceUnavailable", ""),
        ErrorAnswer::new(400, "ProvisionedThroughputExceededException", ""),
    ] {
        bench.proxy.forget();
        bench.proxy.set_for("Query", Fault::Error(answer.clone()));
        let error = read(&mut store, 0).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
        assert!(error.message.contains(&answer.code), "{error}");
        assert_eq!(bench.proxy.count("Query"), 1);
    }
    bench.proxy.heal();
    read(&mut store, 0).expect("the same store goes on once the faults are over");
}

#[test]
fn a_registry_that_does_not_answer_is_unavailable_within_the_time_out() {
    let bench = Bench::new();
    give_credentials();
    let address = bench.table.address_by(&bench.proxy.endpoint());
    let config = DynamoDbConfig::parse(&address).unwrap().with_timeout(Duration::from_millis(300));
    let mut store = DynamoDbStore::new(config);
    read_at_last(&mut store);
    for fault in [Fault::Hold, Fault::Cut] {
        bench.proxy.set(fault.clone());
        let began = Instant::now();
        let error = read(&mut store, 0).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Unavailable, "{fault:?}: {error}");
        assert!(began.elapsed() < Duration::from_secs(20), "{fault:?}: {:?}", began.elapsed());
        bench.proxy.heal();
        bench.proxy.release();
        read_at_last(&mut store);
    }
}

#[test]
fn a_registry_that_refuses_connections_is_unavailable() {
    let emulator = Emulator::start();
    let table = emulator.table();
    let gone = FaultProxy::start(emulator.address()).endpoint();
    let error = read(&mut table.store_by(&gone), 0).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
}

#[test]
fn a_table_that_does_not_exist_is_rejected_with_the_command_that_creates_it() {
    let emulator = Emulator::start();
    let table = Table { name: "no-such-table".to_owned(), endpoint: emulator.endpoint().to_owned() };
    let error = read(&mut table.store(), 0).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Rejected);
    let command = format!("leaseflake registry create --store '{}'", table.url());
    assert!(error.message.contains(&command), "{error}");
}

#[test]
fn a_missing_permission_is_rejected_with_the_action_but_describing_is_only_a_warning() {
    let bench = Bench::new();
    let denied = || Fault::Error(ErrorAnswer::new(400, "AccessDeniedException", "User is not authorized"));
    bench.proxy.set_for("Query", denied());
    let error = read(&mut bench.store(), 0).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Rejected);
    assert!(error.message.contains("dynamodb:Query"), "{error}");

    bench.proxy.set(Fault::Pass);
    bench.proxy.set_for("DescribeTable", denied());
    let mut store = bench.store();
    let view = read(&mut store, 0).unwrap();
    assert_eq!((view.table.region.as_str(), view.table.table_id.as_str()), ("us-east-1", ""));
    assert!(view.warnings.iter().any(|warning| warning.contains("dynamodb:DescribeTable")), "{:?}", view.warnings);
    assert_eq!(store.auto_datacenters(&Layout::default()), Ok(vec![0]), "the region that we sign for");
}

#[test]
fn a_signature_refused_for_skew_is_the_clock_and_not_the_permissions() {
    let bench = Bench::new();
    let mut store = bench.store();
    let expired =
        "Signature expired: 20261129T120000Z is now earlier than 20261129T125500Z (20261129T130000Z - 5 min.)";
    bench.proxy.set(Fault::Error(ErrorAnswer::new(400, "InvalidSignatureException", expired)));
    let error = read(&mut store, 0).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::ClockUntrusted, "{error}");
}

#[test]
fn eventually_consistent_replicas_are_refused_and_strong_ones_are_not() {
    let bench = Bench::new();
    let replicas = r#""Replicas":[{"RegionName":"us-east-1"},{"RegionName":"eu-west-1","ReplicaStatus":"ACTIVE"}],"#;
    let rewrite = |more: &str| Fault::Rewrite {
        from: r#""TableStatus""#.to_owned(),
        to: format!(r#"{replicas}{more}"TableStatus""#),
    };
    for more in ["", r#""MultiRegionConsistency":"EVENTUAL","#] {
        bench.proxy.set_for("DescribeTable", rewrite(more));
        let error = read(&mut bench.store(), 0).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Rejected);
        assert!(error.message.contains("eu-west-1") && error.message.contains("MRSC"), "{error}");
    }
    bench.proxy.set_for("DescribeTable", rewrite(r#""MultiRegionConsistency":"STRONG","#));
    let mut store = bench.store();
    read(&mut store, 0).unwrap();

    // Such a table takes no transactions: it is initialised by a fence, which needs none.
    bench.proxy.forget();
    let error = initialise(&mut store, 7).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Rejected);
    assert!(
        error.message.contains("registry fence --at now") && error.message.contains("--datacenter-id 7"),
        "{error}"
    );
    let at_ms = now_ms();
    let fence = FenceRequest { datacenter_id: 7, layout: Layout::default(), at_ms, worker_id: None, lower: false };
    assert_eq!(store.call(&Request::Fence(fence)).result, Ok(Reply::Applied));
    assert_eq!(initialise(&mut store, 7), Ok(Reply::Applied));
    assert_eq!(bench.proxy.count("TransactWriteItems"), 0);
    let view = read(&mut store, 7).unwrap();
    assert!(view.workers.len() == 32 && view.workers.iter().all(|item| item.lease_expiry_ts == at_ms), "{view:?}");
}

#[test]
fn a_datacenter_is_read_with_strong_consistency() {
    // No emulator can answer a read of old, so the request itself is looked at.
    let bench = Bench::new();
    let mut store = bench.store();
    let internal = || Fault::Error(ErrorAnswer::internal());
    bench.proxy.next(1, "Query", r#""ConsistentRead":true"#, internal());
    assert_eq!(read(&mut store, 0).unwrap_err().kind, StoreErrorKind::Unavailable);
    read(&mut store, 0).unwrap();
}

#[test]
fn the_region_of_the_table_names_the_datacenter_whatever_region_we_sign_for() {
    let bench = Bench::new();
    let described = bench.table.raw("DescribeTable", json!({}));
    let arn = described["Table"]["TableArn"].as_str().unwrap().to_owned();
    let own_region = arn.split(':').nth(3).unwrap();
    let in_region = |region: &str| Fault::Rewrite {
        from: format!("arn:aws:dynamodb:{own_region}"),
        to: format!("arn:aws:dynamodb:{region}"),
    };
    bench.proxy.set_for("DescribeTable", in_region("eu-west-1"));
    assert_eq!(bench.store().auto_datacenters(&Layout::default()), Ok(vec![2]));
    bench.proxy.set_for("DescribeTable", in_region("mars-north-1"));
    let error = bench.store().auto_datacenters(&Layout::default()).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::InvalidArgument);
    assert!(error.message.contains("mars-north-1"), "{error}");
}

#[test]
fn the_frozen_table_of_regions_is_the_one_in_the_documentation() {
    let page = include_str!("../../docs/operations.md");
    let (_, after) = page.split_once("## Regions and datacenters").unwrap();
    let (section, _) = after.split_once("\n## ").unwrap();
    let cells: Vec<&str> = section.split('|').map(str::trim).collect();
    for (datacenter_id, region) in REGIONS.iter().enumerate() {
        let at = cells.iter().position(|cell| cell == region).unwrap_or_else(|| panic!("{region} is missing"));
        assert_eq!(cells[at + 1], datacenter_id.to_string(), "{region}");
    }
}

#[test]
fn answers_that_make_no_sense_are_errors_and_nothing_panics() {
    let bench = Bench::new();
    let mut store = bench.store();
    for (from, to) in [("{", "["), ("\"", ""), (":", ": \u{0}"), ("Items", "items"), ("\"N\"", "\"Q\"")] {
        bench.proxy.set(Fault::Rewrite { from: from.to_owned(), to: to.to_owned() });
        // Whether it is an error or a view without our items: it is an answer.
        let answer = read(&mut store, 0);
        if let Ok(view) = answer {
            assert!(view.workers.is_empty() && view.layout.is_none(), "{from:?} -> {to:?}: {view:?}");
        }
    }
    bench.proxy.heal();
    assert_eq!(read(&mut store, 0).unwrap().workers.len(), 32);
}

/// Runs one of the tests below in a process of its own, with another environment.
fn in_another_process(test: &str, environment: &[(&str, &str)]) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]);
    for (name, _) in CREDENTIALS {
        command.env_remove(name);
    }
    for name in [
        "AWS_PROFILE",
        "AWS_SESSION_TOKEN",
        "AWS_DEFAULT_REGION",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "NO_PROXY",
        "no_proxy",
    ] {
        command.env_remove(name);
    }
    command.env("AWS_CONFIG_FILE", "/nonexistent").env("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent");
    command.env("HOME", "/nonexistent").envs(environment.iter().copied());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn without_credentials_the_registry_is_rejected_with_the_way_out() {
    in_another_process("child_without_credentials", &[("AWS_EC2_METADATA_DISABLED", "true")]);
}

#[test]
#[ignore = "run by without_credentials_the_registry_is_rejected_with_the_way_out"]
fn child_without_credentials() {
    let config = DynamoDbConfig::parse("some-table?endpoint=http://127.0.0.1:9").unwrap();
    let began = Instant::now();
    let error = read(&mut DynamoDbStore::new(config), 0).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Rejected, "{error}");
    assert!(error.message.contains("AWS_ACCESS_KEY_ID"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(10), "within the time that `open` may take");
}

#[test]
fn without_a_region_the_option_is_asked_for() {
    in_another_process("child_without_region", &[("AWS_EC2_METADATA_DISABLED", "true")]);
}

#[test]
#[ignore = "run by without_a_region_the_option_is_asked_for"]
fn child_without_region() {
    let error = read(&mut DynamoDbStore::new(DynamoDbConfig::parse("some-table").unwrap()), 0).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::InvalidArgument, "{error}");
    assert!(error.message.contains("?region="), "{error}");
}

#[test]
fn https_goes_through_the_proxy_of_the_environment() {
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", proxy.local_addr().unwrap());
    let asked = thread::spawn(move || {
        let (stream, _) = proxy.accept().unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line
    });
    let mut environment = CREDENTIALS.to_vec();
    environment.push(("HTTPS_PROXY", &url));
    in_another_process("child_behind_a_proxy", &environment);
    assert!(asked.join().unwrap().starts_with("CONNECT dynamodb.us-east-1.amazonaws.com:443 "));
}

#[test]
#[ignore = "run by https_goes_through_the_proxy_of_the_environment"]
fn child_behind_a_proxy() {
    let mut store = DynamoDbStore::new(DynamoDbConfig::parse("some-table").unwrap());
    assert_eq!(read(&mut store, 0).unwrap_err().kind, StoreErrorKind::Unavailable, "the proxy hangs up");
}

#[test]
fn the_endpoint_variable_of_the_sdk_is_used() {
    let emulator = Emulator::start();
    let table = emulator.table();
    initialise(&mut table.store(), 0).unwrap();
    let mut environment = CREDENTIALS.to_vec();
    environment.push(("AWS_ENDPOINT_URL_DYNAMODB", emulator.endpoint()));
    environment.push(("TEST_TABLE", &table.name));
    in_another_process("child_with_endpoint_variable", &environment);
}

#[test]
#[ignore = "run by the_endpoint_variable_of_the_sdk_is_used"]
fn child_with_endpoint_variable() {
    let config = DynamoDbConfig::parse(&std::env::var("TEST_TABLE").unwrap()).unwrap();
    let config = config.with_timeout(Duration::from_secs(60));
    assert_eq!(read(&mut DynamoDbStore::new(config), 0).unwrap().workers.len(), 32);
}

#[test]
fn a_store_made_after_a_fork_works_in_the_child_while_the_parents_is_in_use() {
    let bench = Bench::new();
    let mut parent = bench.store();
    read(&mut parent, 0).unwrap();
    let held = claim(&LeaseRecord::unused(9), now_ms(), "parent");
    assert_eq!(write(&mut parent, &held), Ok(Reply::Applied));
    for _ in 0..5 {
        // SAFETY: the child uses only what it makes itself and leaves by `_exit`.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0, "fork");
        if pid == 0 {
            let view = read(&mut bench.store(), 0);
            let good = view.is_ok_and(|view| view.workers.len() == 32);
            // SAFETY: ends the child without the parent's destructors.
            unsafe { libc::_exit(i32::from(!good)) };
        }
        read(&mut parent, 0).expect("the parent's own connection is untouched");
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut status = 0;
        // SAFETY: waits for the child made above.
        while unsafe { libc::waitpid(pid, &raw mut status, libc::WNOHANG) } == 0 {
            if Instant::now() > deadline {
                // SAFETY: our own child, not reaped yet.
                unsafe { libc::kill(pid, libc::SIGKILL) };
                panic!("the forked child hangs");
            }
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(status, 0, "the child's store did not work");
    }
}
