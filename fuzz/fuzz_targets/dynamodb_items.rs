//! Answers of DynamoDB, or of whoever stands in for it: whatever they hold, an answer or an error.
//! The first byte picks the status, the rest is the body of every answer.
#![no_main]

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use leaseflake::Layout;
use leaseflake::lease::record::LeaseRecord;
use leaseflake::lease::store::dynamodb::{DynamoDbConfig, DynamoDbStore};
use leaseflake::lease::store::{LeaseStore, LeaseWrite, Reply, Request};
use libfuzzer_sys::fuzz_target;

const STATUSES: [&str; 3] = ["200 OK", "400 Bad Request", "500 Internal Server Error"];

/// The answer to everything that is asked.
type Answer = Arc<Mutex<(&'static str, Vec<u8>)>>;

fn serve(stream: TcpStream, answer: &Answer) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    loop {
        let (mut length, mut line) = (0, String::new());
        while reader.read_line(&mut line)? > 0 && line.trim_end() != "" {
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
            line.clear();
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let (status, text) = answer.lock().expect("the answer").clone();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\n\r\n",
            text.len()
        );
        // In one piece: two small ones would wait for each other's acknowledgement.
        writer.write_all(&[head.as_bytes(), &text].concat())?;
    }
}

fn scene() -> (DynamoDbStore, Answer) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
    let answer: Answer = Arc::new(Mutex::new((STATUSES[0], Vec::new())));
    let shared = Arc::clone(&answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = Arc::clone(&shared);
            std::thread::spawn(move || serve(stream, &answer));
        }
    });
    // SAFETY: before the first call; no other thread reads the environment yet.
    unsafe {
        std::env::set_var("AWS_ACCESS_KEY_ID", "test");
        std::env::set_var("AWS_SECRET_ACCESS_KEY", "test");
        std::env::set_var("AWS_CONFIG_FILE", "/dev/null");
    }
    let address = format!("fuzz?endpoint={endpoint}&region=us-east-1");
    (DynamoDbStore::new(DynamoDbConfig::parse(&address).expect("an address")), answer)
}

thread_local! {
    static SCENE: RefCell<(DynamoDbStore, Answer)> = RefCell::new(scene());
}

fuzz_target!(|data: &[u8]| {
    let Some((status, body)) = data.split_first() else { return };
    SCENE.with_borrow_mut(|(store, answer)| {
        *answer.lock().expect("the answer") = (STATUSES[usize::from(*status) % STATUSES.len()], body.to_vec());
        let (layout, datacenter_id) = (Layout::default(), 0);
        let next = LeaseRecord { fencing_epoch: 1, version: 2, ..LeaseRecord::unused(3) };
        let heartbeat =
            LeaseWrite { datacenter_id, expected_epoch: 1, expected_version: 1, expired_before: None, next };
        for request in [Request::Read { datacenter_id, layout }, Request::Write(heartbeat)] {
            match store.call(&request).result {
                Ok(Reply::View(view)) => {
                    for item in &view.workers {
                        assert!(item.worker_id <= layout.max_worker_id() && item.is_well_formed(), "{item:?}");
                    }
                }
                Ok(Reply::Refused(Some(item))) => assert!(item.is_well_formed(), "{item:?}"),
                Ok(_) => {}
                Err(error) => assert!(!error.message.is_empty()),
            }
        }
    });
});
