//! `leaseflake generate`: IDs on standard output, as fast as one worker ID may issue them.

mod format;
mod progress;
mod session;

use std::io::{self, Write};

use clap::Args;
use leaseflake::{Error, Id, IdGenerator, number_within};

use crate::args::GeneratorArgs;
use crate::failure::Failure;
use crate::output;
use format::{Format, Formatter};
use progress::Progress;
use session::Session;

/// So many IDs are written at once: a millisecond's of the default layout, so that the next
/// millisecond's are never late.
const CHUNK: usize = 4096;

/// Make IDs.
///
/// Takes a worker ID in the registry, writes IDs to standard output, one a line, in strictly
/// increasing order, and gives the worker ID back: also on Ctrl-C and SIGTERM, and when the reader of
/// a pipe goes away. Waits for the clock where a millisecond's IDs are used up: one worker ID of the
/// default layout makes 4,096,000 IDs a second.
#[derive(Args)]
#[command(after_help = "Examples:
  leaseflake generate
  leaseflake generate --count 1000000 --format csv > ids.csv
  leaseflake generate --store dynamodb://WorkerNodeRegistryTable
  leaseflake generate --count unlimited | head -n 5")]
pub(crate) struct Generate {
    /// How many IDs, or `unlimited`.
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true)]
    count: String,
    /// Take the IDs in batches of N, 1..=1000: the IDs of a batch are of one millisecond, one after the other
    ///
    /// The last batch is what is left of the count. Without this, IDs are taken as they come.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    batch: Option<String>,
    /// How to write them.
    #[arg(long, value_enum, default_value_t = Format::Decimal)]
    format: Format,
    #[command(flatten)]
    generator: GeneratorArgs,
}

impl Generate {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let count = match self.count.as_str() {
            "unlimited" => None,
            text => Some(
                number_within("count", text, 1, i64::MAX as u64)
                    .map_err(|_| Error::invalid("count", text, "an integer from 1 on, or unlimited"))?,
            ),
        };
        let options = self.generator.options()?;
        let most = options.resolve_layout()?.max_batch() as u64;
        let batch = match &self.batch {
            Some(text) => Some(number_within("batch", text, 1, most)? as usize),
            None => None,
        };
        let session = Session::begin()?;
        let ids = session.hold(IdGenerator::open(options)?);
        let outcome = stream(ids, count, batch, self.format, &session);
        session.end();
        outcome
    }
}

/// Writes IDs until there are enough of them, or until the session is told to stop.
fn stream(
    ids: &IdGenerator,
    count: Option<u64>,
    batch: Option<usize>,
    format: Format,
    session: &Session,
) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let mut formatter = Formatter::new(format, *ids.layout());
    let mut progress = Progress::new(count);
    let mut chunk = vec![Id::from_i64(1)?; batch.unwrap_or(CHUNK)];
    let mut done = 0;
    while count.is_none_or(|count| done < count) && !session.is_stopping() {
        let left = count.map_or(u64::MAX, |count| count - done);
        let wanted = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let taken = &mut chunk[..wanted];
        let result = match batch {
            Some(_) => ids.batch_into(taken).map_err(|error| (0, error)),
            None => ids.fill(taken),
        };
        // What was issued before an error is as good as any other ID.
        let issued = result.as_ref().map_or_else(|(written, _)| *written, |()| wanted);
        out.write_all(formatter.lines(&taken[..issued])).map_err(Failure::of_output)?;
        done += issued as u64;
        if let Err((_, error)) = result {
            progress.end();
            if session.is_stopping() {
                break;
            }
            if done > 0 {
                output::say(format_args!("stopped after {done} IDs"));
            }
            return Err(error.into());
        }
        progress.now_at(done);
    }
    progress.end();
    out.flush().map_err(Failure::of_output)
}
