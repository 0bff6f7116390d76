//! One file of IDs, read block by block.
//!
//! Two formats. *Binary*: signed 64-bit integers, little-endian, nothing between them. *Decimal*:
//! one ID a line, as an ID is written everywhere. A last record that is cut short (a binary one
//! of fewer than 8 bytes, a line without its newline) is what a killed process leaves: it is left
//! out and counted as torn.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::about;

const BLOCK: usize = 1 << 20;
/// A decimal ID has 19 digits; anything much longer is shown cut.
const LONGEST_LINE: usize = 64;

/// How the IDs of a stream are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Signed 64-bit integers, little-endian.
    Binary,
    /// One decimal ID a line.
    Decimal,
}

/// A file of IDs, and what it declares about itself.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The file.
    pub path: PathBuf,
    /// How the IDs are written; `None` looks at the first bytes: digits and line ends alone are
    /// decimal.
    pub format: Option<Format>,
    /// Whether each ID must be greater than the one before.
    pub ordered: bool,
}

pub(super) enum Record {
    Id(i64),
    Invalid(String),
}

impl Stream {
    /// A stream that declares itself by its file name: `NAME.ordered` or `NAME.ordered.EXT` is
    /// strictly increasing.
    pub fn named(path: impl Into<PathBuf>) -> Stream {
        let path = path.into();
        let ordered = file_name(&path).split('.').skip(1).any(|part| part == "ordered");
        Stream { path, format: None, ordered }
    }

    /// The process that wrote the stream: its path up to the file name's first dot. A process
    /// may write several streams, `p7.1.ordered` and `p7.2.ordered`.
    pub fn process(&self) -> PathBuf {
        let name = file_name(&self.path);
        self.path.with_file_name(name.split('.').next().unwrap_or(&name))
    }

    /// Names a record by its number, from 1: in decimal files that is the line.
    pub(super) fn place(&self, position: u64) -> String {
        format!("{}:{position}", self.path.display())
    }

    /// Hands over every record in turn; true if the last one was torn.
    pub(super) fn read(&self, mut each: impl FnMut(Record) -> io::Result<()>) -> io::Result<bool> {
        let mut reader = BlockReader::open(&self.path)?;
        let mut torn = false;
        let mut decimal = self.format.map(|format| format == Format::Decimal);
        while let Some(block) = reader.next()? {
            let used = if *decimal.get_or_insert_with(|| looks_decimal(block)) {
                read_lines(block, &mut each)?
            } else {
                read_numbers(block, &mut each)?
            };
            torn = reader.keep_from(used);
        }
        Ok(torn)
    }
}

/// The same file read twice would make each of its IDs a duplicate.
pub(super) fn refuse_repeated_files(streams: &[Stream]) -> io::Result<()> {
    let mut seen = HashMap::new();
    for stream in streams {
        let status = fs::metadata(&stream.path).map_err(|error| about(&stream.path, error))?;
        if !status.is_file() {
            return Err(about(&stream.path, io::Error::other("not a regular file (streams are read twice)")));
        }
        if let Some(other) = seen.insert((status.dev(), status.ino()), &stream.path) {
            let message = format!("is the same file as {}", other.display());
            return Err(about(&stream.path, io::Error::new(io::ErrorKind::InvalidInput, message)));
        }
    }
    Ok(())
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The first bytes of a binary stream are never all digits and line ends: 24 of them hold three
/// IDs, and an ID that begins and ends in digits is decades away or from an unusual epoch.
fn looks_decimal(block: &[u8]) -> bool {
    block.iter().take(24).all(|byte| byte.is_ascii_digit() || matches!(byte, b'\n' | b'\r'))
}

fn read_numbers(block: &[u8], each: &mut impl FnMut(Record) -> io::Result<()>) -> io::Result<usize> {
    let (numbers, rest) = block.as_chunks::<8>();
    for &bytes in numbers {
        let number = i64::from_le_bytes(bytes);
        each(if number > 0 { Record::Id(number) } else { Record::Invalid(number.to_string()) })?;
    }
    Ok(block.len() - rest.len())
}

fn read_lines(block: &[u8], each: &mut impl FnMut(Record) -> io::Result<()>) -> io::Result<usize> {
    let mut used = 0;
    while let Some(length) = block[used..].iter().position(|&byte| byte == b'\n') {
        let line = &block[used..used + length];
        each(parse_line(line.strip_suffix(b"\r").unwrap_or(line)))?;
        used += length + 1;
    }
    // A line that never ends must not fill the memory.
    if used == 0 && block.len() >= BLOCK {
        each(parse_line(block))?;
        return Ok(block.len());
    }
    Ok(used)
}

/// 1 to 19 digits without a leading zero, at most 2^63 - 1.
fn parse_line(line: &[u8]) -> Record {
    let strict = matches!(line.first(), Some(b'1'..=b'9')) && line.len() <= 19;
    let number = line.iter().try_fold(0_i64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| i64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    });
    match number {
        Some(number) if strict => Record::Id(number),
        _ => Record::Invalid(format!("{:?}", String::from_utf8_lossy(&line[..line.len().min(LONGEST_LINE)]))),
    }
}

/// Gives a file in blocks; what one block leaves unused stands before the next.
struct BlockReader<'a> {
    path: &'a Path,
    file: File,
    buffer: Vec<u8>,
    filled: usize,
}

impl BlockReader<'_> {
    fn open(path: &Path) -> io::Result<BlockReader<'_>> {
        let file = File::open(path).map_err(|error| about(path, error))?;
        Ok(BlockReader { path, file, buffer: vec![0; 2 * BLOCK], filled: 0 })
    }

    /// What is unused and what the file gives next; `None` once the file gives nothing.
    fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let before = self.filled;
        // Full, so that detection and long lines see all there is.
        while self.filled < before + BLOCK {
            match self.file.read(&mut self.buffer[self.filled..before + BLOCK]) {
                Ok(0) => break,
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(about(self.path, error)),
            }
        }
        Ok((self.filled > before).then(|| &self.buffer[..self.filled]))
    }

    /// Drops the first `used` bytes; true if some are left.
    fn keep_from(&mut self, used: usize) -> bool {
        self.buffer.copy_within(used..self.filled, 0);
        self.filled -= used;
        self.filled > 0
    }
}
