//! Writes IDs of a server to a file, one a line: `count ADDRESS COUNT FILE`.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};

use leaseflake_server::client::Channel;
use leaseflake_server::proto::GenerateIdBatchRequest;

/// The most that one call gives.
const BATCH: usize = 1000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, count, path] = arguments.as_slice() else { return Err("usage: count ADDRESS COUNT FILE".into()) };
    let mut client = Channel::connect(address.parse()?).await?.client();
    let mut file = BufWriter::new(File::create(path)?);
    let mut left: usize = count.parse()?;
    while left > 0 {
        let count = left.min(BATCH);
        let request = GenerateIdBatchRequest { count: count as i32, caller_service: "count".to_owned() };
        for id in client.generate_id_batch(request).await?.into_inner().ids_str {
            writeln!(file, "{id}")?;
        }
        left -= count;
    }
    Ok(file.flush()?)
}
