//! A DynamoDB emulator for one test, and a way around the product to look into it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use leaseflake::lease::store::dynamodb::{DynamoDbConfig, DynamoDbStore};
use serde_json::{Value, json};

/// Names the endpoint of an emulator that runs already, such as ministack's.
pub const ENDPOINT_VARIABLE: &str = "LEASEFLAKE_TEST_ENDPOINT";
/// Names the emulator's binary, where it is not in its usual place.
pub const BINARY_VARIABLE: &str = "LEASEFLAKE_EMULATOR_BIN";

/// An emulator: a process of our own, ended with this value, or one that runs already.
#[derive(Debug)]
pub struct Emulator {
    endpoint: String,
    process: Option<Child>,
}

impl Emulator {
    /// Starts an emulator on a free port, or uses the one that `LEASEFLAKE_TEST_ENDPOINT` names.
    ///
    /// # Panics
    ///
    /// If the emulator has not been built; the message holds the command.
    pub fn start() -> Emulator {
        if let Some(endpoint) = std::env::var(ENDPOINT_VARIABLE).ok().filter(|endpoint| !endpoint.is_empty()) {
            return Emulator { endpoint, process: None };
        }
        let binary = std::env::var_os(BINARY_VARIABLE).map_or_else(
            || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/emulators/target/ci/leaseflake-emulator")),
            PathBuf::from,
        );
        let mut process = Command::new(&binary)
            .args(["--port", "0", "--exit-with-stdin"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| {
                panic!(
                    "the emulator {} does not start: {error}; build it with \
                     `cargo build --profile ci --manifest-path tests/emulators/Cargo.toml`",
                    binary.display()
                )
            });
        let mut line = String::new();
        let stdout = process.stdout.take().expect("piped above");
        BufReader::new(stdout).read_line(&mut line).expect("the emulator says its endpoint");
        let endpoint = line.trim().to_owned();
        assert!(endpoint.starts_with("http://"), "the emulator said {line:?}");
        Emulator { endpoint, process: Some(process) }
    }

    /// Where it listens, such as `http://127.0.0.1:8000`.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The address behind the endpoint.
    pub fn address(&self) -> SocketAddr {
        self.endpoint.trim_start_matches("http://").parse().expect("an IP address and a port")
    }

    /// A table that no other test knows, made by the product.
    pub fn table(&self) -> Table {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mut random = [0_u8; 8];
        getrandom::fill(&mut random).expect("the kernel gives randomness");
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("leaseflake-test-{number}-{:016x}", u64::from_le_bytes(random));
        let table = Table { name, endpoint: self.endpoint.clone() };
        table.store().create_table().expect("the emulator makes a table");
        table
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // It may be gone already; then there is nothing to end.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// One table of an emulator.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// The emulator's endpoint.
    pub endpoint: String,
}

impl Table {
    /// The text after `dynamodb://`, by way of this endpoint (a proxy's, say).
    pub fn address_by(&self, endpoint: &str) -> String {
        format!("{}?endpoint={endpoint}", self.name)
    }

    /// The `store` option.
    pub fn url(&self) -> String {
        self.url_by(&self.endpoint)
    }

    /// The `store` option, by way of this endpoint (a proxy's, say).
    pub fn url_by(&self, endpoint: &str) -> String {
        format!("dynamodb://{}", self.address_by(endpoint))
    }

    /// A store on the table.
    pub fn store(&self) -> DynamoDbStore {
        self.store_by(&self.endpoint)
    }

    /// A store on the table, by way of this endpoint.
    pub fn store_by(&self, endpoint: &str) -> DynamoDbStore {
        give_credentials();
        let config = DynamoDbConfig::parse(&self.address_by(endpoint)).expect("a table name and an endpoint");
        // The product's 2 s are for DynamoDB, not for an emulator on a machine under load.
        DynamoDbStore::new(config.with_timeout(Duration::from_secs(60)))
    }

    /// Asks the emulator itself, without the product or its SDK.
    ///
    /// # Panics
    ///
    /// If the emulator refuses.
    pub fn raw(&self, operation: &str, mut body: Value) -> Value {
        body["TableName"] = json!(self.name);
        let (status, answer) = post(&self.endpoint, operation, &body.to_string());
        assert_eq!(status, 200, "{operation}: {answer}");
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{operation}: {error}: {answer}"))
    }

    /// An item as it is, attributes in DynamoDB's JSON; null if there is none.
    pub fn item(&self, partition: &str, sort: &str) -> Value {
        let key = json!({"PK": {"S": partition}, "SK": {"S": sort}});
        self.raw("GetItem", json!({"Key": key, "ConsistentRead": true}))["Item"].take()
    }

    /// Deletes an item, as somebody by hand would.
    pub fn delete(&self, partition: &str, sort: &str) {
        self.raw("DeleteItem", json!({"Key": {"PK": {"S": partition}, "SK": {"S": sort}}}));
    }

    /// Puts an item, as somebody by hand would.
    pub fn put(&self, item: Value) {
        self.raw("PutItem", json!({"Item": item}));
    }

    /// Sets one attribute of an item, as somebody by hand would.
    pub fn set(&self, partition: &str, sort: &str, attribute: &str, value: Value) {
        self.raw(
            "UpdateItem",
            json!({
                "Key": {"PK": {"S": partition}, "SK": {"S": sort}},
                "UpdateExpression": "SET #a = :v",
                "ExpressionAttributeNames": {"#a": attribute},
                "ExpressionAttributeValues": {":v": value},
            }),
        );
    }
}

/// The credentials that every emulator takes, for processes that a test starts.
pub const CREDENTIALS: [(&str, &str); 4] = [
    ("AWS_ACCESS_KEY_ID", "test"),
    ("AWS_SECRET_ACCESS_KEY", "test"),
    ("AWS_REGION", "us-east-1"),
    ("AWS_EC2_METADATA_DISABLED", "true"),
];

/// Gives this process the credentials that every emulator takes.
pub fn give_credentials() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        for (name, value) in CREDENTIALS {
            // SAFETY: before the first store of this process; tests read the environment only
            // through stores and through `std`, which takes the same lock.
            unsafe { std::env::set_var(name, value) };
        }
    });
}

fn post(endpoint: &str, operation: &str, body: &str) -> (u16, String) {
    let host = endpoint.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).expect("the emulator listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time-out above zero");
    let request = format!(
        "POST / HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/x-amz-json-1.0\r\n\
         x-amz-target: DynamoDB_20120810.{operation}\r\nx-amz-date: 20260101T000000Z\r\n\
         authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, \
         SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=00\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("the emulator reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the emulator answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("an HTTP answer");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, body.to_owned())
}
