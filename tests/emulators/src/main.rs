//! A DynamoDB emulator in memory, for the tests and the demo:
//! `leaseflake-emulator [--port N] [--table NAME] [--exit-with-stdin]`.
//!
//! Prints its endpoint on standard output once it accepts connections. `--table` makes a registry
//! table of that name at the start. With `--exit-with-stdin` it ends when its standard input does,
//! so that it never outlives the test that started it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use serde_json::json;

struct Arguments {
    port: u16,
    table: Option<String>,
    exit_with_stdin: bool,
}

fn arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments { port: 0, table: None, exit_with_stdin: false };
    let mut given = std::env::args().skip(1);
    while let Some(word) = given.next() {
        match word.as_str() {
            "--port" => {
                let value = given.next().unwrap_or_default();
                arguments.port =
                    value.parse().map_err(|_| format!("--port: {value:?} is no port (0 = any free one)"))?;
            }
            "--table" => arguments.table = Some(given.next().ok_or("--table: a name is missing")?),
            "--exit-with-stdin" => arguments.exit_with_stdin = true,
            _ => return Err(format!("unknown argument {word:?}; allowed: --port N, --table NAME, --exit-with-stdin")),
        }
    }
    Ok(arguments)
}

#[tokio::main]
async fn main() -> ExitCode {
    match serve().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("leaseflake-emulator: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// A registry table, as `leaseflake registry create` makes it.
fn create_table(database: &dynoxide::Database, name: &str) -> Result<(), String> {
    let request = json!({
        "TableName": name,
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
        "AttributeDefinitions": [
            {"AttributeName": "PK", "AttributeType": "S"},
            {"AttributeName": "SK", "AttributeType": "S"},
        ],
        "BillingMode": "PAY_PER_REQUEST",
    });
    let request = serde_json::from_value(request).map_err(|error| error.to_string())?;
    database.create_table(request).map(|_| ()).map_err(|error| format!("--table {name}: {error}"))
}

async fn serve() -> Result<(), String> {
    let arguments = arguments()?;
    let database = dynoxide::Database::memory().map_err(|error| error.to_string())?;
    if let Some(name) = &arguments.table {
        create_table(&database, name)?;
    }
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port));
    let listener = tokio::net::TcpListener::bind(address).await.map_err(|error| format!("{address}: {error}"))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    // Whoever started us may have closed its end already; the server is there all the same.
    let _ = writeln!(std::io::stdout(), "http://{address}").and_then(|()| std::io::stdout().flush());
    if arguments.exit_with_stdin {
        std::thread::spawn(|| {
            let _ = std::io::copy(&mut std::io::stdin().lock().by_ref(), &mut std::io::sink());
            std::process::exit(0);
        });
    }
    let stop = async {
        // Without a signal handler we run until we are killed.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    dynoxide::server::serve_with_shutdown(listener, database, stop).await
}
