//! `leaseflake serve` as a process, and a client of several servers that tries again.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use leaseflake_server::client::Channel;
use leaseflake_server::proto::{GenerateIdBatchRequest, GenerateIdRequest};
use serde_json::Value;
use tonic::{Code, Status};

use crate::shim::ShimClock;

/// How long anything may take that has to happen, on a machine that is busy with something else.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// Cargo builds commands two folders above its tests.
///
/// # Panics
///
/// If it has not been built; the message holds the command.
pub fn command() -> PathBuf {
    let given = std::env::var_os("LEASEFLAKE_BIN").map(PathBuf::from);
    let found = given.unwrap_or_else(|| {
        let tests = std::env::current_exe().expect("a test is a file");
        tests.parent().and_then(|deps| deps.parent()).expect("two folders above").join("leaseflake")
    });
    assert!(found.exists(), "{} is missing: `cargo build --profile ci -p leaseflake-cli`", found.display());
    found
}

/// A server of its own process. Dropping it kills it.
#[derive(Debug)]
pub struct Serve {
    process: Child,
    /// Where gRPC listens.
    pub grpc: SocketAddr,
    /// Where probes are answered.
    pub http: SocketAddr,
    log: Arc<Mutex<VecDeque<Value>>>,
    reader: Option<JoinHandle<()>>,
}

/// How a server is started.
#[derive(Clone, Debug)]
pub struct ServeBuilder {
    store: String,
    listen: SocketAddr,
    options: Vec<(String, String)>,
}

impl ServeBuilder {
    /// A server on this registry, on a free port, that does not wait for balancers.
    pub fn new(store: &str) -> ServeBuilder {
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let builder = ServeBuilder { store: store.to_owned(), listen, options: Vec::new() };
        builder.option("drain-ms", "0").option("log-format", "json")
    }

    /// An option of the command, without its dashes; given again, the last one counts.
    #[must_use]
    pub fn option(mut self, name: &str, value: &str) -> ServeBuilder {
        self.options.retain(|(given, _)| given.trim_start_matches('-') != name);
        self.options.push((format!("--{name}"), value.to_owned()));
        self
    }

    /// On the port of a server that was there before.
    #[must_use]
    pub fn on(mut self, address: SocketAddr) -> ServeBuilder {
        self.listen = address;
        self
    }

    /// The command that starts it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(command());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("LEASEFLAKE_")) {
            command.env_remove(name);
        }
        command.arg("serve").args(["--store", &self.store, "--http-listen", "127.0.0.1:0"]);
        command.args(["--listen", &self.listen.to_string()]);
        for (name, value) in &self.options {
            command.args([name, value]);
        }
        command
    }

    /// Starts it and waits until it listens.
    ///
    /// # Panics
    ///
    /// If it ends instead.
    pub fn start(&self) -> Serve {
        Serve::spawn(self.command())
    }

    /// The same, with a wall clock that the test moves.
    ///
    /// # Panics
    ///
    /// If it ends instead.
    pub fn start_by(&self, clock: &ShimClock) -> Serve {
        let mut command = self.command();
        clock.apply(&mut command);
        Serve::spawn(command)
    }
}

impl Serve {
    fn spawn(mut command: Command) -> Serve {
        let mut process = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the command starts");
        let mut lines = BufReader::new(process.stderr.take().expect("piped above")).lines();
        let log = Arc::new(Mutex::new(VecDeque::new()));
        let listening = loop {
            let Some(Ok(line)) = lines.next() else { panic!("it ended: {:?}, {log:?}", process.wait()) };
            let line: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no line of JSON: {line}"));
            let found = line["message"] == "listening";
            lock(&log).push_back(line.clone());
            if found {
                break line;
            }
        };
        let address = |field: &str| listening[field].as_str().and_then(|text| text.parse().ok());
        let (Some(grpc), Some(http)) = (address("grpc"), address("http")) else { panic!("no addresses: {listening}") };
        let kept = Arc::clone(&log);
        let reader = thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap_or(Value::String(line));
                lock(&kept).push_back(line);
            }
        });
        Serve { process, grpc, http, log, reader: Some(reader) }
    }

    /// Its log so far.
    pub fn log(&self) -> Vec<Value> {
        lock(&self.log).iter().cloned().collect()
    }

    /// Sends a signal, such as `libc::SIGTERM`.
    pub fn signal(&self, signal: i32) {
        // SAFETY: our own child, not waited for yet.
        unsafe { libc::kill(self.process.id() as i32, signal) };
    }

    /// How it ended, if it has.
    ///
    /// # Panics
    ///
    /// Never: it is our own child.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().expect("our own child")
    }

    /// Waits until it has ended, and its whole log has been read.
    ///
    /// # Panics
    ///
    /// If it does not within a long time.
    pub fn wait_for_end(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.ended() {
                break status;
            }
            assert!(Instant::now() < deadline, "the server does not end: {:?}", self.log());
            thread::sleep(Duration::from_millis(10));
        };
        if let Some(reader) = self.reader.take() {
            reader.join().expect("it only reads");
        }
        status
    }

    /// Waits until it takes calls.
    ///
    /// # Panics
    ///
    /// If it does not within a long time.
    pub async fn ready(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        while !self.serves().await {
            assert!(self.ended().is_none(), "the server ended: {:?}", self.log());
            assert!(Instant::now() < deadline, "the server never takes calls: {:?}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn serves(&self) -> bool {
        let request = GenerateIdRequest::default();
        match Channel::connect(self.grpc).await {
            Ok(channel) => channel.client().generate_id(request).await.is_ok(),
            Err(_) => false,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Serve {
    fn drop(&mut self) {
        // It may be gone already; then there is nothing to end.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A client of several servers, as a gRPC library with a service config is one: each call goes to the next
/// server, and one that fails with a code that may be tried again goes to another.
pub struct Retrying {
    servers: Vec<(SocketAddr, Option<Channel>)>,
    turn: usize,
    /// How many attempts failed and were made good by another.
    pub retries: usize,
}

/// The budget of one call, as in `examples/grpc/service-config.json`.
const ATTEMPTS: u32 = 5;
/// How long one attempt may take: a stopped server does not answer, and does not break connections.
const ATTEMPT: Duration = Duration::from_millis(1000);

impl Retrying {
    /// A client of these servers.
    pub fn new(servers: impl IntoIterator<Item = SocketAddr>) -> Retrying {
        Retrying { servers: servers.into_iter().map(|address| (address, None)).collect(), turn: 0, retries: 0 }
    }

    /// A batch of so many IDs; one for 1.
    ///
    /// # Errors
    ///
    /// The last attempt's, when the budget is used up.
    pub async fn ids(&mut self, count: i32) -> Result<Vec<i64>, Status> {
        let mut pause = Duration::from_millis(50);
        for attempt in 1.. {
            let status = match self.attempt(count).await {
                Ok(ids) => return Ok(ids),
                Err(status) => status,
            };
            let may_help =
                matches!(status.code(), Code::Unavailable | Code::ResourceExhausted | Code::DeadlineExceeded);
            if !may_help || attempt == ATTEMPTS {
                return Err(status);
            }
            self.retries += 1;
            tokio::time::sleep(pause).await;
            pause = (pause * 3).min(Duration::from_secs(1));
        }
        unreachable!("the last attempt returns")
    }

    async fn attempt(&mut self, count: i32) -> Result<Vec<i64>, Status> {
        self.turn = (self.turn + 1) % self.servers.len();
        let (address, kept) = &mut self.servers[self.turn];
        let late = |_| Status::deadline_exceeded("the attempt took too long");
        let called = tokio::time::timeout(ATTEMPT, async {
            if kept.as_ref().is_none_or(Channel::is_closed) {
                let refused = |error: std::io::Error| Status::unavailable(error.to_string());
                *kept = Some(Channel::connect(*address).await.map_err(refused)?);
            }
            let mut client = kept.as_ref().map(Channel::client).ok_or_else(|| Status::internal("connected above"))?;
            if count == 1 {
                let answer = client.generate_id(GenerateIdRequest::default()).await?;
                return Ok(vec![answer.into_inner().id]);
            }
            let request = GenerateIdBatchRequest { count, ..Default::default() };
            Ok(client.generate_id_batch(request).await?.into_inner().ids)
        });
        let outcome = called.await.map_err(late).flatten();
        if outcome.as_ref().is_err_and(|status| status.code() != Code::ResourceExhausted) {
            *kept = None;
        }
        outcome
    }
}
