//! The `leaseflake` command on a DynamoDB registry, as operators use it.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use leaseflake_tests::emulator::{CREDENTIALS, Emulator, Table};
use leaseflake_tests::scene::Scene;
use serde_json::json;

const PROGRAM: &str = env!("CARGO_BIN_EXE_leaseflake-test-member");

/// Cargo builds commands two folders above its tests.
fn command() -> PathBuf {
    let given = std::env::var_os("LEASEFLAKE_BIN").map(PathBuf::from);
    let found = given.unwrap_or_else(|| {
        let tests = std::env::current_exe().unwrap();
        tests.parent().and_then(|deps| deps.parent()).unwrap().join("leaseflake")
    });
    assert!(
        found.exists(),
        "{} is missing: build it with `cargo build --profile ci -p leaseflake-cli`",
        found.display()
    );
    found
}

struct Ended {
    code: Option<i32>,
    text: String,
}

fn run(store: &str, arguments: &[&str]) -> Ended {
    let mut command = Command::new(command());
    command.args(arguments).env("LEASEFLAKE_STORE", store).env("AWS_CONFIG_FILE", "/dev/null").envs(CREDENTIALS);
    let deadline = Instant::now() + Duration::from_secs(90);
    let mut ended = command.output().unwrap();
    // STORE_UNAVAILABLE: an emulator on a machine under load may be slower than DynamoDB.
    while ended.status.code() == Some(10) && Instant::now() < deadline {
        ended = command.output().unwrap();
    }
    let Output { status, stdout, stderr } = ended;
    let text = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    Ended { code: status.code(), text }
}

impl Ended {
    fn done(self, parts: &[&str]) -> Ended {
        self.with(0, parts)
    }

    fn with(self, code: i32, parts: &[&str]) -> Ended {
        assert_eq!(self.code, Some(code), "{}", self.text);
        for part in parts {
            assert!(self.text.contains(part), "{part:?} is not in: {}", self.text);
        }
        self
    }
}

#[test]
fn a_registry_is_created_initialised_used_and_shown() {
    let emulator = Emulator::start();
    let other = emulator.table();
    let table = Table { name: format!("{}-by-command", other.name), endpoint: other.endpoint.clone() };
    let store = table.url();
    let missing = run(&store, &["generate"]).with(11, &["STORE_REJECTED"]).text;
    // The message holds the very command: run what it says.
    let (_, said) = missing.split_once("`leaseflake ").unwrap();
    let (said, _) = said.split_once('`').unwrap();
    let said: Vec<&str> = said.split(' ').map(|word| word.trim_matches('\'')).collect();
    run("memory:", &said).done(&["created"]);
    run(&store, &["registry", "create"]).done(&["already"]);
    let described = table.raw("DescribeTable", json!({}));
    assert_eq!(described["Table"]["DeletionProtectionEnabled"], json!(true));

    run(&store, &["registry", "init"]).done(&["datacenter 0", "32"]);
    let ids = run(&store, &["generate", "--count", "1000"]).done(&[]).text;
    let mut ids: Vec<i64> = ids.lines().map(|line| line.parse().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 1000);
    run(&store, &["registry", "show"]).done(&["released", "41-5-5-12"]);
    run(&store, &["doctor"]).done(&["registry", "layout"]);
}

#[test]
fn a_fence_shuts_out_a_holder_that_is_known_dead_and_frees_its_worker_id_when_told() {
    let scene = Scene::new(PROGRAM);
    let mut dead = scene.direct().option("lease_ttl_ms", 600_000).start();
    dead.open().unwrap();
    dead.issue(10).unwrap();
    let worker = dead.number("worker_id");
    dead.signal(libc::SIGKILL);
    dead.wait_for_end();
    let name = format!("0/{worker}");
    let fence = ["registry", "fence", "--worker", &name, "--at", "now", "--lower"];
    run(&scene.table.url(), &fence).done(&[]);
    let expiry = scene.worker_number(worker as u32, "lease_expiry_ts");
    assert_eq!(scene.worker_number(worker as u32, "fencing_epoch"), 2);
    assert!(expiry > 1_767_225_600_000 && scene.worker(worker as u32)["renewal_id"]["S"] == "", "{expiry}");
}

#[test]
fn a_restored_table_is_refused_until_the_fence_and_then_used_above_its_time() {
    let scene = Scene::new(PROGRAM);
    let mut member = scene.direct().start();
    member.open().unwrap();
    let before = member.issue(10).unwrap();
    member.ask("close").unwrap();
    scene.table.set("DC#00", "LAYOUT", "table_id", json!({"S": "the-table-that-was-backed-up"}));
    let store = scene.table.url();
    run(&store, &["generate"]).with(11, &["STORE_REJECTED", "registry fence"]);
    run(&store, &["doctor"]).with(1, &["fence"]);
    run(&store, &["registry", "fence", "--at", "now"]).done(&[]);
    let after = run(&store, &["generate"]).done(&[]).text;
    assert!(after.trim().parse::<i64>().unwrap() >> 22 >= before[9] >> 22, "not below what was issued before");
    run(&store, &["doctor"]).done(&[]);
}
