//! A proxy in front of an emulator that breaks what a network breaks, switched while it runs.

mod http;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use http::Message;

/// What happens to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing: it is passed on.
    Pass,
    /// It is passed on after this time, also when the client has given up by then.
    Delay(Duration),
    /// It waits, also past the client's patience, until [`FaultProxy::release`]; then it is passed on.
    Hold,
    /// The connection is cut, and the request reaches nobody.
    Cut,
    /// It is passed on and applied; then the connection is cut instead of the answer.
    DropAnswer,
    /// It reaches nobody; this error is the answer.
    Error(ErrorAnswer),
    /// It is passed on and applied; this error is the answer all the same.
    ErrorAfter(ErrorAnswer),
    /// It is passed on; in the answer's body every `from` becomes `to`.
    Rewrite {
        /// What is looked for.
        from: String,
        /// What takes its place.
        to: String,
    },
}

/// An error as DynamoDB words it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The error code, such as `ThrottlingException`.
    pub code: String,
    /// The text.
    pub message: String,
}

impl ErrorAnswer {
    /// An error answer.
    pub fn new(status: u16, code: &str, message: &str) -> ErrorAnswer {
        ErrorAnswer { status, code: code.to_owned(), message: message.to_owned() }
    }

    /// Too many requests.
    pub fn throttled() -> ErrorAnswer {
        ErrorAnswer::new(400, "ThrottlingException", "Rate exceeded")
    }

    /// The server failed.
    pub fn internal() -> ErrorAnswer {
        ErrorAnswer::new(500, "InternalServerError", "We encountered an internal error")
    }
}

/// What happens to the `Date` header of every answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DateFault {
    /// It stays as it is.
    #[default]
    Pass,
    /// It is taken away.
    Remove,
    /// It is moved by this many milliseconds.
    Shift(i64),
    /// It is always this text, as a cache would answer.
    Fixed(String),
}

/// Which requests a fault is for.
#[derive(Clone, Debug)]
struct Rule {
    operation: Option<String>,
    body_has: Option<String>,
    remaining: Option<u32>,
    fault: Fault,
}

#[derive(Debug, Default)]
struct State {
    rules: Vec<Rule>,
    date: DateFault,
    /// Raised by `release`; who waits goes on once it is past the value it saw.
    releases: u64,
    held: usize,
    counts: BTreeMap<String, u64>,
    connections: u64,
}

#[derive(Debug)]
struct Shared {
    upstream: SocketAddr,
    closing: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The proxy; ends when dropped. All methods may be called from any thread.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

impl FaultProxy {
    /// A proxy on a free local port that passes everything on.
    ///
    /// # Panics
    ///
    /// If the machine has no free port.
    pub fn start(upstream: SocketAddr) -> FaultProxy {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free local port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let shared = Arc::new(Shared {
            upstream,
            closing: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let for_thread = Arc::clone(&shared);
        let accepting = thread::spawn(move || {
            for client in listener.incoming() {
                if for_thread.closing.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(client) = client else { continue };
                for_thread.state().connections += 1;
                let shared = Arc::clone(&for_thread);
                // A connection that breaks is what this proxy is for.
                thread::spawn(move || drop(serve(&shared, client)));
            }
        });
        FaultProxy { address, shared, accepting: Some(accepting) }
    }

    /// Where it listens, such as `http://127.0.0.1:40000`.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on this happens to every request; rules that were set before are gone.
    pub fn set(&self, fault: Fault) {
        self.replace(vec![Rule { operation: None, body_has: None, remaining: None, fault }]);
    }

    /// From now on this happens to requests of this operation, such as `UpdateItem`. Newer rules
    /// come first.
    pub fn set_for(&self, operation: &str, fault: Fault) {
        self.add(Rule { operation: Some(operation.to_owned()), body_has: None, remaining: None, fault });
    }

    /// This happens to the next `times` requests of this operation whose body holds `body_has`
    /// (an empty text: any body).
    pub fn next(&self, times: u32, operation: &str, body_has: &str, fault: Fault) {
        let body_has = Some(body_has.to_owned()).filter(|text| !text.is_empty());
        self.add(Rule { operation: Some(operation.to_owned()), body_has, remaining: Some(times), fault });
    }

    /// Everything is passed on again; what is held stays held.
    pub fn heal(&self) {
        self.replace(Vec::new());
    }

    /// Passes on all that is held.
    pub fn release(&self) {
        self.shared.state().releases += 1;
        self.shared.changed.notify_all();
    }

    /// Waits until this many requests are held.
    ///
    /// # Panics
    ///
    /// If they are not within a minute.
    pub fn wait_held(&self, requests: usize) {
        let state = self.shared.state();
        let patience = Duration::from_secs(60);
        let (state, timeout) = self
            .shared
            .changed
            .wait_timeout_while(state, patience, |state| state.held < requests)
            .unwrap_or_else(PoisonError::into_inner);
        assert!(!timeout.timed_out(), "{} requests are held, not {requests}", state.held);
    }

    /// What happens to the `Date` header from now on.
    pub fn set_date(&self, date: DateFault) {
        self.shared.state().date = date;
    }

    /// How many requests of this operation came since the last `forget`.
    pub fn count(&self, operation: &str) -> u64 {
        self.shared.state().counts.get(operation).copied().unwrap_or(0)
    }

    /// How many requests came since the last `forget`, by operation.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.shared.state().counts.clone()
    }

    /// How many requests came since the last `forget`.
    pub fn total(&self) -> u64 {
        self.shared.state().counts.values().sum()
    }

    /// How many connections were made to it since it started.
    pub fn connections(&self) -> u64 {
        self.shared.state().connections
    }

    /// Counts requests from zero.
    pub fn forget(&self) {
        self.shared.state().counts.clear();
    }

    fn replace(&self, rules: Vec<Rule>) {
        self.shared.state().rules = rules;
    }

    fn add(&self, rule: Rule) {
        self.shared.state().rules.insert(0, rule);
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        self.release();
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

/// One client's connection, request after request, until somebody closes it.
fn serve(shared: &Shared, mut client: TcpStream) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut buffer = http::Buffer::default();
    let mut upstream: Option<(TcpStream, http::Buffer)> = None;
    while let Some(request) = buffer.read(&mut client)? {
        let operation = request.operation();
        let fault = fault_for(shared, &operation, &request);
        match &fault {
            Fault::Pass | Fault::DropAnswer | Fault::ErrorAfter(_) | Fault::Rewrite { .. } => {}
            Fault::Delay(time) => thread::sleep(*time),
            Fault::Hold => hold(shared),
            Fault::Cut => return client.shutdown(Shutdown::Both),
            Fault::Error(error) => {
                client.write_message(&error.message(&current_date()), &shared.state().date.clone())?;
                continue;
            }
        }
        let answer = forward(shared, &mut upstream, &request)?;
        match fault {
            Fault::DropAnswer => return client.shutdown(Shutdown::Both),
            Fault::ErrorAfter(error) => {
                let date = answer.header("date").map_or_else(current_date, str::to_owned);
                client.write_message(&error.message(&date), &shared.state().date.clone())?;
            }
            Fault::Rewrite { from, to } => {
                client.write_message(&answer.rewritten(&from, &to), &shared.state().date.clone())?;
            }
            _ => client.write_message(&answer, &shared.state().date.clone())?,
        }
    }
    Ok(())
}

fn fault_for(shared: &Shared, operation: &str, request: &Message) -> Fault {
    let mut state = shared.state();
    *state.counts.entry(operation.to_owned()).or_insert(0) += 1;
    let matching = state.rules.iter_mut().find(|rule| {
        rule.remaining != Some(0)
            && rule.operation.as_ref().is_none_or(|wanted| wanted == operation)
            && rule.body_has.as_ref().is_none_or(|text| request.body_has(text))
    });
    let Some(rule) = matching else {
        return Fault::Pass;
    };
    if let Some(remaining) = &mut rule.remaining {
        *remaining -= 1;
    }
    rule.fault.clone()
}

fn hold(shared: &Shared) {
    let mut state = shared.state();
    let seen = state.releases;
    state.held += 1;
    shared.changed.notify_all();
    let mut state =
        shared.changed.wait_while(state, |state| state.releases == seen).unwrap_or_else(PoisonError::into_inner);
    state.held -= 1;
}

fn forward(
    shared: &Shared,
    upstream: &mut Option<(TcpStream, http::Buffer)>,
    request: &Message,
) -> io::Result<Message> {
    // An emulator may have closed an idle connection: then once more on a new one. It had not
    // read the request, so it is not applied twice.
    if let Some((mut stream, mut buffer)) = upstream.take()
        && let Ok(Some(answer)) = exchange(&mut stream, &mut buffer, request)
    {
        *upstream = Some((stream, buffer));
        return Ok(answer);
    }
    let mut stream = TcpStream::connect(shared.upstream)?;
    stream.set_nodelay(true)?;
    let mut buffer = http::Buffer::default();
    let answer = exchange(&mut stream, &mut buffer, request)?
        .ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "the emulator closed the connection"))?;
    *upstream = Some((stream, buffer));
    Ok(answer)
}

fn exchange(stream: &mut TcpStream, buffer: &mut http::Buffer, request: &Message) -> io::Result<Option<Message>> {
    request.write(stream)?;
    buffer.read(stream)
}

fn current_date() -> String {
    http::format_date(std::time::SystemTime::now())
}

trait WriteMessage {
    fn write_message(&mut self, message: &Message, date: &DateFault) -> io::Result<()>;
}

impl WriteMessage for TcpStream {
    fn write_message(&mut self, message: &Message, date: &DateFault) -> io::Result<()> {
        message.with_date(date).write(self)
    }
}

impl ErrorAnswer {
    fn message(&self, date: &str) -> Message {
        let body = serde_json::json!({
            "__type": format!("com.amazonaws.dynamodb.v20120810#{}", self.code),
            "message": self.message,
        });
        Message::answer(self.status, date, body.to_string())
    }
}
