//! Servers that are killed, stopped and restarted under load: clients that try again notice nothing, and
//! no ID is given twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use leaseflake_tests::member::assert_no_repeat;
use leaseflake_tests::serve::{PATIENCE, Retrying, Serve, ServeBuilder};
use tokio::task::JoinSet;

/// Clients that call as fast as they are answered, each for itself, until they are told to stop.
struct Load {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
    clients: JoinSet<(Vec<i64>, usize)>,
}

impl Load {
    fn start(servers: &[Serve]) -> Load {
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let mut clients = JoinSet::new();
        for client in 0..4 {
            let mut retrying = Retrying::new(servers.iter().map(|server| server.grpc));
            let (stop, done) = (Arc::clone(&stop), Arc::clone(&done));
            clients.spawn(async move {
                let mut ids = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    let count = if (ids.len() + client) % 3 == 0 { 1 } else { 7 };
                    ids.extend(retrying.ids(count).await.expect("a call failed in spite of its retries"));
                    done.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
                (ids, retrying.retries)
            });
        }
        Load { stop, done, clients }
    }

    /// Lets it run for so many more calls.
    async fn go_on(&mut self, calls: usize) {
        let until = self.done.load(Ordering::Relaxed) + calls;
        let deadline = Instant::now() + PATIENCE;
        while self.done.load(Ordering::Relaxed) < until {
            assert!(Instant::now() < deadline, "the load stands still");
            if let Some(ended) = self.clients.try_join_next() {
                panic!("a client gave up: {:?}", ended.map(|(ids, _)| ids.len()));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Ends it; gives how many attempts had to be made again.
    async fn end(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.clients.join_all().await;
        assert_no_repeat(ended.iter().flat_map(|(ids, _)| ids));
        assert!(ended.iter().all(|(ids, _)| !ids.is_empty()));
        ended.iter().map(|(_, retries)| retries).sum()
    }
}

fn registry(folder: &tempfile::TempDir) -> String {
    format!("sqlite:{}/registry.db", folder.path().display())
}

async fn servers(builder: &ServeBuilder, count: usize) -> Vec<Serve> {
    let mut servers: Vec<Serve> = (0..count).map(|_| builder.start()).collect();
    for server in &mut servers {
        server.ready().await;
    }
    servers
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_under_load_fails_no_call_and_repeats_no_id() {
    let folder = tempfile::tempdir().unwrap();
    let builder = ServeBuilder::new(&registry(&folder));
    let mut servers = servers(&builder, 2).await;
    let mut load = Load::start(&servers);
    for victim in [0, 1, 0] {
        load.go_on(300).await;
        servers[victim].signal(libc::SIGKILL);
        servers[victim].wait_for_end();
        load.go_on(300).await;
        servers[victim] = builder.clone().on(servers[victim].grpc).start();
        servers[victim].ready().await;
    }
    load.go_on(300).await;
    assert!(load.end().await > 0, "nobody noticed that a server was killed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_stopped_past_its_lease_fails_no_call_and_repeats_no_id() {
    let folder = tempfile::tempdir().unwrap();
    // Two worker IDs: whoever comes while one of the two is stopped gets its worker ID. The leases outlast what a busy
    // machine does to the other server, which would else be without one too.
    let builder = ServeBuilder::new(&registry(&folder)).option("layout", "41-5-1-16").option("datacenter-id", "0");
    let builder = builder.option("lease-ttl-ms", "12000").option("heartbeat-interval-ms", "1000");
    let builder = builder.option("safety-margin-ms", "1000");
    let mut servers = servers(&builder, 2).await;
    let mut load = Load::start(&servers);
    load.go_on(300).await;
    servers[0].signal(libc::SIGSTOP);
    let mut successor = builder.start();
    successor.ready().await;
    // Every other call begins at the stopped server, and takes an attempt's whole time there.
    load.go_on(40).await;
    servers[0].signal(libc::SIGCONT);
    load.go_on(300).await;
    // Its worker ID is somebody else's: it says so until it gets one back.
    successor.signal(libc::SIGTERM);
    assert!(successor.wait_for_end().success());
    servers[0].ready().await;
    load.go_on(300).await;
    assert!(load.end().await > 0, "nobody noticed that a server was stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_restart_of_four_servers_under_load_fails_no_call_and_repeats_no_id() {
    let folder = tempfile::tempdir().unwrap();
    // Five worker IDs would do; the layout has eight. A worker ID that were not given back would be missed.
    let builder = ServeBuilder::new(&registry(&folder)).option("layout", "41-5-3-14").option("datacenter-id", "0");
    let builder = builder.option("drain-ms", "300");
    let mut servers = servers(&builder, 4).await;
    let mut load = Load::start(&servers);
    for _ in 0..2 {
        for server in &mut servers {
            load.go_on(100).await;
            let (address, began) = (server.grpc, Instant::now());
            server.signal(libc::SIGTERM);
            assert!(server.wait_for_end().success(), "{:?}", server.log());
            assert!(began.elapsed() < Duration::from_secs(20), "longer than the grace time");
            *server = builder.clone().on(address).start();
            server.ready().await;
        }
    }
    load.go_on(100).await;
    load.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_event_of_a_lease_is_one_line_of_the_log_and_calls_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = ServeBuilder::new(&registry(&folder)).start();
    server.ready().await;
    let mut client = Retrying::new([server.grpc]);
    for _ in 0..200 {
        client.ids(1).await.unwrap();
    }
    // Health is looked after every tenth of a second.
    let deadline = Instant::now() + PATIENCE;
    while !server.log().iter().any(|line| line["message"] == "taking calls") {
        assert!(Instant::now() < deadline, "{:#?}", server.log());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server.signal(libc::SIGTERM);
    assert!(server.wait_for_end().success());
    let log = server.log();
    let entered = |state: &str| log.iter().filter(|line| line["to"] == state).count();
    assert_eq!((entered("active"), entered("closed")), (1, 1), "{log:#?}");
    assert!(log.len() < 25, "lines for calls: {log:#?}");
    for line in &log {
        assert!(line["timestamp"].is_string() && line["level"].is_string() && line["message"].is_string(), "{line}");
    }
    let said = |message: &str| log.iter().any(|line| line["message"].as_str().is_some_and(|text| text == message));
    assert!(said("taking calls") && said("not ready for calls") && said("the worker IDs are given back"), "{log:#?}");
}

#[test]
fn what_cannot_be_served_ends_the_command_with_the_code_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let ended = |builder: &ServeBuilder| {
        let output = builder.command().output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let good = ServeBuilder::new(&registry(&folder));
    let (code, said) = ended(&good.clone().option("workers", "0"));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("workers") && said.contains("1..=1024"), "{said}");
    let (code, said) = ended(&good.clone().option("tls-cert", "cert.pem"));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("tls_key"), "{said}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (code, said) = ended(&good.clone().on(taken.local_addr().unwrap()));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&taken.local_addr().unwrap().to_string()), "{said}");
    let broken = folder.path().join("broken.db");
    std::fs::write(&broken, "no registry at all").unwrap();
    let (code, said) = ended(&ServeBuilder::new(&format!("sqlite:{}", broken.display())));
    assert_eq!(code, Some(11), "{said}");
    assert!(said.contains("STORE_REJECTED") && said.contains("broken.db"), "{said}");
    // Open to the world and unencrypted is allowed, and said.
    let mut open = good.on(([0, 0, 0, 0], 0).into()).command();
    let mut open = open.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let mut lines = std::io::BufReader::new(open.stderr.take().unwrap());
    while !said.contains("anybody who reaches") {
        assert_ne!(
            std::io::BufRead::read_line(&mut lines, &mut said).unwrap(),
            0,
            "it ended without a warning: {said}"
        );
    }
    open.kill().unwrap();
    open.wait().unwrap();
}
