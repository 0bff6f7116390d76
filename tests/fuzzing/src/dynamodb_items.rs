//! Answers of DynamoDB, or of whoever stands in for it: whatever they hold, an answer or an error.
//!
//! The first line is what is asked for (`read`, `write`, `initialise` or `fence`) and the `Date` of the answers, if they
//! have one. Then come the answers, each after a line `--OPERATION STATUS` such as `--Query 200`; an operation that has
//! none of its own gets the last one.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use leaseflake::Layout;
use leaseflake::lease::pin;
use leaseflake::lease::record::LeaseRecord;
use leaseflake::lease::store::dynamodb::{DynamoDbConfig, DynamoDbStore};
use leaseflake::lease::store::{Answer as StoreAnswer, FenceRequest, LeaseStore, LeaseWrite, Reply, Request};

use crate::message::is_fit_to_read;
use crate::neighbour::{Answer, Neighbour, Question};
use crate::scene;

/// An answer to a question that is not answered in time is one more of these, and nobody waits for that here.
const LONGEST: Duration = Duration::from_secs(10);
const DATACENTER: u32 = 0;
const WORKER: u32 = 3;

thread_local! {
    static NEIGHBOUR: RefCell<Option<(Neighbour, DynamoDbStore)>> = const { RefCell::new(None) };
}

/// Asks a store one question whose requests get these answers.
pub fn dynamodb_items(data: &[u8]) {
    scene::on(&NEIGHBOUR, make, |(neighbour, store)| check(neighbour, store, data));
}

fn make() -> (Neighbour, DynamoDbStore) {
    // SAFETY: the first of all that reads or writes the environment in its process, by the rule that tests of this one
    // have a process of their own.
    unsafe {
        std::env::set_var("AWS_ACCESS_KEY_ID", "test");
        std::env::set_var("AWS_SECRET_ACCESS_KEY", "test");
        std::env::set_var("AWS_CONFIG_FILE", "/dev/null");
        std::env::set_var("AWS_SHARED_CREDENTIALS_FILE", "/dev/null");
    }
    let neighbour = Neighbour::new();
    let store = store(&neighbour);
    (neighbour, store)
}

fn store(neighbour: &Neighbour) -> DynamoDbStore {
    let address = format!("fuzz?endpoint={}&region=us-east-1", neighbour.url());
    DynamoDbStore::new(DynamoDbConfig::parse(&address).expect("an address"))
}

/// One answer of the input.
struct Scripted {
    operation: String,
    status: u16,
    body: Vec<u8>,
}

fn check(neighbour: &Neighbour, kept: &mut DynamoDbStore, data: &[u8]) {
    let mut lines = data.split_inclusive(|byte| *byte == b'\n');
    let first = String::from_utf8_lossy(lines.next().unwrap_or_default());
    let (asked, date) = first.trim_end_matches('\n').split_once(' ').unwrap_or((first.trim_end_matches('\n'), ""));
    let answers = scripted(lines);
    let describes = answers.iter().any(|answer| answer.operation == "DescribeTable");
    // As a header takes it; an empty one is not sent.
    let date: String = date.chars().filter(|c| ('\u{20}'..'\u{7f}').contains(c)).collect();
    let is_dated = !date.is_empty();
    neighbour.answer_by(move |question| answer(&answers, &date, &question));

    let request = request(asked);
    // A store asks a table only once who it is, so one that is told has to be new.
    let mut own = describes.then(|| store(neighbour));
    let store = own.as_mut().unwrap_or(kept);
    let began = Instant::now();
    let answer = store.call(&request);
    assert!(began.elapsed() < LONGEST, "{:?}", began.elapsed());
    check_date(&answer, is_dated);
    match answer.result {
        Ok(Reply::View(view)) => {
            assert!(matches!(request, Request::Read { .. }));
            for item in &view.workers {
                assert!(item.worker_id <= Layout::default().max_worker_id() && item.is_well_formed(), "{item:?}");
            }
            assert!(view.workers.is_sorted_by(|one, next| one.worker_id < next.worker_id), "{view:?}");
            view.warnings.iter().for_each(|warning| is_fit_to_read(warning));
            if let Err(error) = pin::check(&view, DATACENTER, &Layout::default(), &store.name()) {
                is_fit_to_read(&error.message);
            }
        }
        Ok(Reply::Refused(Some(item))) => assert!(item.is_well_formed(), "{item:?}"),
        Ok(Reply::Applied | Reply::Refused(None)) => assert!(!matches!(request, Request::Read { .. })),
        Err(error) => {
            is_fit_to_read(&error.message);
            assert!(error.message.contains("fuzz"), "which table? {error}");
        }
    }
}

/// A date is one that the calendar has, and nothing is one where there is none.
fn check_date(answer: &StoreAnswer, is_dated: bool) {
    let Some(date_ms) = answer.date_ms else { return };
    assert!(is_dated, "{answer:?}");
    // Years 1 to 9999 after Christ.
    assert!((-62_135_596_800_000..253_402_300_800_000).contains(&date_ms), "{answer:?}");
}

fn request(asked: &str) -> Request {
    let layout = Layout::default();
    match asked {
        "write" => {
            let next = LeaseRecord { fencing_epoch: 1, version: 2, ..LeaseRecord::unused(WORKER) };
            Request::Write(LeaseWrite {
                datacenter_id: DATACENTER,
                expected_epoch: 1,
                expected_version: 1,
                expired_before: None,
                next,
            })
        }
        "initialise" => Request::Initialise { datacenter_id: DATACENTER, layout },
        "fence" => Request::Fence(FenceRequest {
            datacenter_id: DATACENTER,
            layout,
            at_ms: 1_800_000_000_000,
            worker_id: Some(WORKER),
            lower: false,
        }),
        _ => Request::Read { datacenter_id: DATACENTER, layout },
    }
}

fn scripted<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Vec<Scripted> {
    let mut answers: Vec<Scripted> = Vec::new();
    for line in lines {
        if let Some(head) = line.strip_prefix(b"--") {
            let head = String::from_utf8_lossy(head);
            let mut words = head.split_whitespace();
            let operation = words.next().unwrap_or_default().to_owned();
            let status = words.next().and_then(|status| status.parse().ok()).unwrap_or(200);
            answers.push(Scripted { operation, status, body: Vec::new() });
        } else if let Some(answer) = answers.last_mut() {
            answer.body.extend_from_slice(line);
        }
    }
    answers
}

fn answer(answers: &[Scripted], date: &str, question: &Question<'_>) -> Answer {
    let asked = question.head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("x-amz-target").then(|| value.trim().rsplit('.').next().unwrap_or_default())
    });
    let found = answers.iter().find(|answer| Some(answer.operation.as_str()) == asked).or(answers.last());
    let (status, body) = found.map_or((200, &[][..]), |answer| (answer.status.clamp(200, 599), &answer.body[..]));
    let date = if date.is_empty() { String::new() } else { format!("Date: {date}\r\n") };
    let head = format!(
        "HTTP/1.1 {status} Said\r\n{date}Content-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    // Those that have no body by definition: their connection is in a state that nobody knows.
    let keep = !matches!(status, 204 | 205 | 304) || body.is_empty();
    Answer { bytes: [head.as_bytes(), body].concat(), keep }
}
