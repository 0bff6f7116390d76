//! Answers of the metadata services of ECS and EC2, or of whoever stands in for them.
//!
//! The first line is `ecs` or `ec2`. The answers follow in turn, between lines of `--`: one that begins with `HTTP/` is
//! sent as it is, any other as the body of a good answer.

use std::cell::RefCell;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use leaseflake::discovered;

use crate::neighbour::{Answer, Neighbour};
use crate::scene;

/// Three questions of 300 ms at most; the rest is for a machine under load.
const LONGEST: Duration = Duration::from_secs(8);
/// How much of a place's name is kept, in characters.
const KEPT: usize = 256;

thread_local! {
    static NEIGHBOUR: RefCell<Option<Neighbour>> = const { RefCell::new(None) };
}

/// Finds out where a process runs whose neighbour gives these answers.
pub fn metadata(data: &[u8]) {
    scene::on(&NEIGHBOUR, Neighbour::new, |neighbour| check(neighbour, data));
}

fn check(neighbour: &Neighbour, data: &[u8]) {
    let (service, answers) = split_line(data);
    let answers: Vec<Vec<u8>> = sections(answers);
    let first = answers.first().cloned().unwrap_or_default();
    let mut next = answers.into_iter();
    neighbour.answer_by(move |_| Answer { bytes: next.next().map_or_else(Vec::new, sent), keep: false });
    let on_ec2 = service == b"ec2";
    let variable = if on_ec2 { "AWS_EC2_METADATA_SERVICE_ENDPOINT" } else { "ECS_CONTAINER_METADATA_URI_V4" };
    let url = neighbour.url().to_owned();
    let began = Instant::now();
    let (instance_id, ip_address) = discovered(&|name| (name == variable).then(|| url.clone()), on_ec2);
    assert!(began.elapsed() < LONGEST, "{:?}", began.elapsed());

    assert!(!instance_id.contains(char::is_control), "{instance_id:?}");
    let place = instance_id.split(&format!("-{}-", std::process::id())).next().expect("there is one always");
    assert!((1..=KEPT).contains(&place.chars().count()), "{instance_id:?}");
    assert!(ip_address.is_empty() || ip_address.parse::<IpAddr>().is_ok(), "{ip_address:?}");
    // What a task is called is what the registry shows, as far as it is fit to be shown.
    if let (false, Some(arn)) = (on_ec2 || first.starts_with(b"HTTP/"), arn_of(&first)) {
        let shown: String = arn.chars().filter(|c| !c.is_control()).take(KEPT).collect();
        assert!(shown.is_empty() || instance_id.starts_with(&shown), "{arn:?} is {instance_id:?}");
    }
}

fn arn_of(answer: &[u8]) -> Option<String> {
    let answer: serde_json::Value = serde_json::from_slice(answer).ok()?;
    answer["TaskARN"].as_str().map(str::to_owned)
}

fn sent(answer: Vec<u8>) -> Vec<u8> {
    if answer.starts_with(b"HTTP/") {
        return answer;
    }
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", answer.len());
    [head.as_bytes(), &answer].concat()
}

fn split_line(data: &[u8]) -> (&[u8], &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    (&data[..end], data.get(end + 1..).unwrap_or_default())
}

/// What is between lines of `--`.
fn sections(data: &[u8]) -> Vec<Vec<u8>> {
    let mut sections = vec![Vec::new()];
    for line in data.split_inclusive(|byte| *byte == b'\n') {
        match sections.last_mut() {
            _ if line == b"--\n" => sections.push(Vec::new()),
            Some(section) => section.extend_from_slice(line),
            None => {}
        }
    }
    sections
}
