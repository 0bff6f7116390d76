//! `leaseflake decode`: what is in an ID.

use std::fmt;
use std::io::{self, BufRead, IsTerminal, Read, Write};

use clap::{Args, ValueEnum};
use leaseflake::{Id, Layout};

use crate::args::LayoutArgs;
use crate::failure::Failure;
use crate::{output, time};

/// A longer line is no ID; the rest of it is skipped unread.
const LONGEST_LINE: u64 = 4096;

/// Show what is in an ID: when it was made, and by which worker ID.
///
/// Reads IDs from the arguments, or one a line from standard input. A line that is no ID is reported
/// on standard error with its number, the others are decoded, and the exit code is 1. Blank lines
/// are skipped.
///
/// An ID does not tell its layout: unless --layout and --epoch-ms are given, the default layout
/// (41-5-5-12 from 2026-01-01T00:00:00Z) is meant.
#[derive(Args)]
#[command(after_help = "Examples:
  leaseflake decode 120932499337216007
  leaseflake decode --format json < ids.txt")]
pub(crate) struct Decode {
    /// IDs in decimal; none, or `-`, means one a line from standard input.
    #[arg(value_name = "ID", allow_negative_numbers = true)]
    ids: Vec<String>,
    /// How to show the fields.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten, next_help_heading = "Layout")]
    layout: LayoutArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table, one line for each ID.
    Text,
    /// One JSON object a line.
    Json,
}

impl Decode {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let options = self.layout.options()?;
        let layout = options.resolve_layout()?;
        if options.get("layout").is_none() && options.get("epoch_ms").is_none() {
            output::say(format_args!(
                "decoded by the default layout, {layout} from {}; --layout and --epoch-ms name another",
                time::utc_short(layout.epoch_ms())
            ));
        }
        let out = io::BufWriter::new(io::stdout().lock());
        let mut decoder = Decoder::new(layout, self.format, out, |complaint| output::say(complaint));
        let from_input = self.ids.is_empty() || self.ids == ["-"];
        let read = if from_input { decoder.read_stdin() } else { decoder.read_arguments(&self.ids) };
        // What was decoded before a fault is worth as much as ever.
        decoder.out.flush().map_err(Failure::of_output)?;
        read?;
        if decoder.bad > 0 { Err(Failure::Said) } else { Ok(()) }
    }
}

struct Decoder<W, C> {
    layout: Layout,
    format: Format,
    out: W,
    /// Hears of each line that is no ID.
    complain: C,
    header_due: bool,
    bad: u64,
}

impl<W: Write, C: FnMut(fmt::Arguments<'_>)> Decoder<W, C> {
    fn new(layout: Layout, format: Format, out: W, complain: C) -> Decoder<W, C> {
        Decoder { layout, format, out, complain, header_due: true, bad: 0 }
    }

    fn read_arguments(&mut self, ids: &[String]) -> Result<(), Failure> {
        ids.iter().enumerate().try_for_each(|(at, text)| self.decode(text, format_args!("argument {}", at + 1)))
    }

    fn read_stdin(&mut self) -> Result<(), Failure> {
        let interactive = io::stdin().is_terminal();
        if interactive {
            output::say("reading IDs from the terminal, one a line; Ctrl-D ends");
        }
        self.read_lines(io::stdin().lock(), interactive)
    }

    fn read_lines(&mut self, mut input: impl BufRead, interactive: bool) -> Result<(), Failure> {
        let mut line = Vec::new();
        for number in 1_u64.. {
            line.clear();
            let failed = |error| Failure::Io("standard input".to_owned(), error);
            let length = (&mut input).take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(failed)?;
            if length == 0 {
                break;
            }
            if length as u64 == LONGEST_LINE && line.last() != Some(&b'\n') {
                skip_line(&mut input).map_err(failed)?;
            }
            let text = String::from_utf8_lossy(&line);
            let text = text.strip_suffix('\n').unwrap_or(&text);
            let text = text.strip_suffix('\r').unwrap_or(text);
            if !text.is_empty() {
                self.decode(text, format_args!("line {number}"))?;
            }
            if interactive {
                self.out.flush().map_err(Failure::of_output)?;
            }
        }
        Ok(())
    }

    fn decode(&mut self, text: &str, place: fmt::Arguments<'_>) -> Result<(), Failure> {
        match text.parse::<Id>() {
            Ok(id) => self.show(id).map_err(Failure::of_output),
            Err(error) => {
                self.bad += 1;
                (self.complain)(format_args!("{place}: {}: {}", error.name(), error.message()));
                Ok(())
            }
        }
    }

    fn show(&mut self, id: Id) -> io::Result<()> {
        let parts = self.layout.decode(id);
        let utc = time::utc(parts.timestamp_ms);
        match self.format {
            Format::Text => {
                if std::mem::take(&mut self.header_due) {
                    writeln!(self.out, "{:<19}  {:<24}  datacenter  worker  sequence", "id", "time (UTC)")?;
                }
                let utc = utc.unwrap_or_else(|| format!("{} ms", parts.timestamp_ms));
                writeln!(
                    self.out,
                    "{id:<19}  {utc:<24}  {:>10}  {:>6}  {:>8}",
                    parts.datacenter_id, parts.worker_id, parts.sequence
                )
            }
            Format::Json => {
                let utc = utc.map_or_else(|| "null".to_owned(), |utc| format!("\"{utc}\""));
                writeln!(
                    self.out,
                    "{{\"id\":\"{id}\",\"timestamp\":{utc},\"timestamp_ms\":{},\"datacenter_id\":{},\"worker_id\":{},\
                     \"sequence\":{}}}",
                    parts.timestamp_ms, parts.datacenter_id, parts.worker_id, parts.sequence
                )
            }
        }
    }
}

/// Decodes the lines of an input as the command does, as JSON or as text; gives what it writes, and its complaints.
pub fn decode_lines(input: &[u8], layout: Layout, json: bool) -> (Vec<u8>, Vec<String>) {
    let (mut out, mut complaints) = (Vec::new(), Vec::new());
    let format = if json { Format::Json } else { Format::Text };
    let complain = |complaint: fmt::Arguments<'_>| complaints.push(complaint.to_string());
    let read = Decoder::new(layout, format, &mut out, complain).read_lines(input, false);
    assert!(read.is_ok(), "memory can be read and written");
    (out, complaints)
}

/// Reads to the end of the line and keeps nothing of it.
fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let chunk = input.fill_buf()?;
        let (used, ended) = match chunk.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (chunk.len(), chunk.is_empty()),
        };
        input.consume(used);
        if ended {
            return Ok(());
        }
    }
}
