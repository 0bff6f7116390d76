//! The checker: reads streams of IDs and says whether any ID repeats.
//!
//! Memory is constant: IDs are sorted through a temporary file. Only when an ID repeats are the
//! streams read a second time, to name the files and the positions of its issues.

mod places;
mod sort;
mod stream;

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

pub use stream::{Format, Stream};

use sort::Sorter;
use stream::Record;

/// How many faults of each kind are described; all are counted.
const SHOWN: usize = 10;

/// How the checker works; the defaults are right for files of any size.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many IDs are sorted in memory at once, 8 bytes each.
    pub ids_in_memory: usize,
    /// Where the temporary file goes (8 bytes for each ID); `None` is the system's folder.
    pub temporary: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { ids_in_memory: 8 << 20, temporary: None }
    }
}

/// What the checker found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many IDs were read.
    pub ids: u64,
    /// How many processes wrote them: see [`Stream::process`].
    pub processes: u64,
    /// How many faults were injected while they wrote. The checker cannot know: zero until its
    /// caller sets it.
    pub faults: u64,
    /// How many issues are of an ID that had been issued before.
    pub duplicates: u64,
    /// How many IDs of ordered streams are not greater than the one before.
    pub out_of_order: u64,
    /// How many records are no IDs: zero, negative, not a number.
    pub invalid: u64,
    /// How many streams end within a record, as a killed process leaves them. Not a fault: the
    /// torn record is left out.
    pub torn: u64,
    /// The first faults in words, with files and positions.
    pub details: Vec<String>,
}

impl Report {
    /// Whether nothing is wrong: no duplicate, no stream out of order, no record that is no ID.
    pub fn is_clean(&self) -> bool {
        self.duplicates == 0 && self.out_of_order == 0 && self.invalid == 0
    }
}

/// One line of counts, and one more for each fault that is described.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { ids, processes, faults, duplicates, out_of_order, invalid, torn, details } = self;
        write!(
            f,
            "ids={ids} processes={processes} faults={faults} duplicates={duplicates} \
             out_of_order={out_of_order} invalid={invalid} torn={torn}"
        )?;
        details.iter().try_for_each(|detail| write!(f, "\n{detail}"))
    }
}

/// Reads all streams and reports what is wrong with them.
///
/// # Errors
///
/// A stream or the temporary file cannot be read or written, or two streams are one file: the
/// message names the file.
pub fn check(streams: &[Stream], settings: &Settings) -> io::Result<Report> {
    stream::refuse_repeated_files(streams)?;
    let processes: BTreeSet<PathBuf> = streams.iter().map(Stream::process).collect();
    let mut report = Report { processes: processes.len() as u64, ..Report::default() };
    let mut sorter = Sorter::new(settings.ids_in_memory, settings.temporary.as_deref());
    for stream in streams {
        read_one(stream, &mut report, &mut sorter)?;
    }
    let repeats = sorter.repeats(SHOWN)?;
    report.duplicates = repeats.count;
    if !repeats.first.is_empty() {
        for (id, places) in places::find(streams, &repeats.first)? {
            report.details.push(format!("duplicate {id}: {}", places::in_words(streams, &places)));
        }
    }
    Ok(report)
}

fn read_one(stream: &Stream, report: &mut Report, sorter: &mut Sorter) -> io::Result<()> {
    let mut previous = 0;
    let mut position = 0;
    let (mut unordered, mut invalid) = (0, 0);
    let mut details = Vec::new();
    let torn = stream.read(|record| {
        position += 1;
        match record {
            Record::Id(id) => {
                if stream.ordered && id <= previous {
                    unordered += 1;
                    if unordered <= SHOWN {
                        details.push(format!("not increasing: {id} after {previous} at {}", stream.place(position)));
                    }
                }
                previous = id;
                report.ids += 1;
                sorter.push(id)
            }
            Record::Invalid(shown) => {
                invalid += 1;
                if invalid <= SHOWN {
                    details.push(format!("not an ID: {shown} at {}", stream.place(position)));
                }
                Ok(())
            }
        }
    })?;
    report.torn += u64::from(torn);
    report.out_of_order += unordered as u64;
    report.invalid += invalid as u64;
    let room = SHOWN.saturating_sub(report.details.len());
    report.details.extend(details.into_iter().take(room));
    Ok(())
}

/// Adds to an I/O error which file it is about.
fn about(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
