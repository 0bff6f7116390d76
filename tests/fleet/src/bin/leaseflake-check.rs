//! `leaseflake-check`: reads files of IDs and says whether any ID repeats.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use leaseflake_fleet::check::{Format, Report, Settings, Stream, check};

/// Reads files of IDs and says whether any ID repeats.
///
/// Memory is constant, whatever the files hold. Prints one line of counts, then a line for each
/// of the first faults, with the files and the numbers of the records (the lines, in decimal
/// files). Exits with 1 if an ID repeats, if a record is no ID, or if a stream that declares
/// itself ordered does not increase strictly; with 2 if a file cannot be read.
#[derive(Parser)]
#[command(name = "leaseflake-check", version)]
struct Arguments {
    /// Files of IDs; of a folder, all the files in it. A name with a part `.ordered` declares
    /// that the IDs in it increase strictly. The process is the name up to the first dot.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// How the IDs are written: little-endian 64-bit integers, or decimal lines. By default a
    /// file that begins with digits alone is decimal.
    #[arg(long)]
    format: Option<FormatName>,
    /// Every file must increase strictly, whatever its name.
    #[arg(long)]
    ordered: bool,
    /// How many faults were injected, for the line of counts.
    #[arg(long, default_value_t = 0)]
    faults: u64,
    /// Where the temporary file goes: 8 bytes for each ID.
    #[arg(long)]
    temporary: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum FormatName {
    Binary,
    Decimal,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(report) => {
            println!("{report}");
            ExitCode::from(u8::from(!report.is_clean()))
        }
        Err(error) => {
            eprintln!("leaseflake-check: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> io::Result<Report> {
    let format = arguments.format.map(|name| match name {
        FormatName::Binary => Format::Binary,
        FormatName::Decimal => Format::Decimal,
    });
    let mut streams = Vec::new();
    for file in &arguments.files {
        for path in files_of(file)? {
            let mut stream = Stream::named(path);
            stream.format = format;
            stream.ordered |= arguments.ordered;
            streams.push(stream);
        }
    }
    let settings = Settings { temporary: arguments.temporary.clone(), ..Settings::default() };
    Ok(Report { faults: arguments.faults, ..check(&streams, &settings)? })
}

/// The file itself, or what is in the folder, by name.
fn files_of(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}
