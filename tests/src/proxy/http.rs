//! As much HTTP/1.1 as stands between the SDK and an emulator.

use std::io::{self, Read, Write};
use std::time::{Duration, SystemTime};

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;

use super::DateFault;

/// A request or an answer: its first line, its headers, its body.
#[derive(Clone, Debug)]
pub(super) struct Message {
    first_line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Message {
    /// An answer with a JSON body.
    pub(super) fn answer(status: u16, date: &str, body: String) -> Message {
        Message {
            first_line: format!("HTTP/1.1 {status} Error"),
            headers: vec![
                ("content-type".to_owned(), "application/x-amz-json-1.0".to_owned()),
                ("date".to_owned(), date.to_owned()),
            ],
            body: body.into_bytes(),
        }
    }

    /// A header's value; names in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// What DynamoDB is asked, such as `UpdateItem`; empty if this is no such request.
    pub(super) fn operation(&self) -> String {
        let target = self.header("x-amz-target").unwrap_or_default();
        target.rsplit('.').next().unwrap_or_default().to_owned()
    }

    pub(super) fn body_has(&self, text: &str) -> bool {
        String::from_utf8_lossy(&self.body).contains(text)
    }

    /// The same with another text in its body. A checksum of the old body is left out.
    pub(super) fn rewritten(&self, from: &str, to: &str) -> Message {
        let mut changed = self.clone();
        changed.headers.retain(|(name, _)| name != "x-amz-crc32");
        changed.body = String::from_utf8_lossy(&self.body).replace(from, to).into_bytes();
        changed
    }

    /// The same with another `Date`.
    pub(super) fn with_date(&self, fault: &DateFault) -> Message {
        let mut changed = self.clone();
        let set = |message: &mut Message, date: String| {
            message.headers.retain(|(name, _)| name != "date");
            message.headers.push(("date".to_owned(), date));
        };
        match fault {
            DateFault::Pass => {}
            DateFault::Remove => changed.headers.retain(|(name, _)| name != "date"),
            DateFault::Shift(by_ms) => {
                let shifted = by_ms.unsigned_abs();
                let by = Duration::from_millis(shifted);
                let now = SystemTime::now();
                set(&mut changed, format_date(if *by_ms < 0 { now - by } else { now + by }));
            }
            DateFault::Fixed(date) => set(&mut changed, date.clone()),
        }
        changed
    }

    /// Writes it whole.
    pub(super) fn write(&self, stream: &mut impl Write) -> io::Result<()> {
        let mut bytes = format!("{}\r\n", self.first_line).into_bytes();
        for (name, value) in &self.headers {
            // The length is ours, and the body is in one piece.
            if name != "content-length" && name != "transfer-encoding" {
                bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
            }
        }
        bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", self.body.len()).as_bytes());
        bytes.extend_from_slice(&self.body);
        stream.write_all(&bytes)
    }
}

/// `Thu, 01 Jan 2026 00:00:00 GMT`.
pub(super) fn format_date(time: SystemTime) -> String {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    DateTime::from_secs(i64::try_from(seconds).unwrap_or(0)).fmt(Format::HttpDate).expect("a date of our age")
}

/// What was read beyond the end of a message.
#[derive(Debug, Default)]
pub(super) struct Buffer(Vec<u8>);

impl Buffer {
    /// Reads one message; `None` if the other side closed the connection before it began.
    pub(super) fn read(&mut self, stream: &mut impl Read) -> io::Result<Option<Message>> {
        let end = loop {
            if let Some(at) = find(&self.0, b"\r\n\r\n") {
                break at;
            }
            if !self.fill(stream)? {
                return if self.0.is_empty() { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
            }
        };
        let head = String::from_utf8_lossy(&self.0[..end]).into_owned();
        self.0.drain(..end + 4);
        let mut lines = head.split("\r\n");
        let first_line = lines.next().unwrap_or_default().to_owned();
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let mut message = Message { first_line, headers, body: Vec::new() };
        if message.header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
            message.body = self.read_chunks(stream)?;
        } else {
            let length = message.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
            message.body = self.take(stream, length)?;
        }
        Ok(Some(message))
    }

    fn read_chunks(&mut self, stream: &mut impl Read) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let end = loop {
                match find(&self.0, b"\r\n") {
                    Some(at) => break at,
                    None if self.fill(stream)? => {}
                    None => return Err(io::ErrorKind::UnexpectedEof.into()),
                }
            };
            let line = String::from_utf8_lossy(&self.0[..end]).into_owned();
            self.0.drain(..end + 2);
            let size = line.split(';').next().unwrap_or_default().trim();
            let length = usize::from_str_radix(size, 16).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
            let chunk = self.take(stream, length + 2)?;
            body.extend_from_slice(&chunk[..length]);
            if length == 0 {
                return Ok(body);
            }
        }
    }

    fn take(&mut self, stream: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
        while self.0.len() < length {
            if !self.fill(stream)? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(self.0.drain(..length).collect())
    }

    fn fill(&mut self, stream: &mut impl Read) -> io::Result<bool> {
        let mut chunk = [0_u8; 16 * 1024];
        let read = stream.read(&mut chunk)?;
        self.0.extend_from_slice(&chunk[..read]);
        Ok(read > 0)
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_one_by_one_however_their_bytes_arrive() {
        let wire = b"HTTP/1.1 200 OK\r\nDate: x\r\nContent-Length: 2\r\n\r\n{}\
                     HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n0\r\n\r\n";
        /// One byte at a time.
        struct Slow<'a>(&'a [u8]);
        impl Read for Slow<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let Some((&first, rest)) = self.0.split_first() else { return Ok(0) };
                buffer[0] = first;
                self.0 = rest;
                Ok(1)
            }
        }
        let mut stream = Slow(wire);
        let mut buffer = Buffer::default();
        let first = buffer.read(&mut stream).unwrap().unwrap();
        assert_eq!((first.header("date"), &first.body[..]), (Some("x"), &b"{}"[..]));
        let second = buffer.read(&mut stream).unwrap().unwrap();
        assert_eq!(second.body, b"abcd");
        assert!(buffer.read(&mut stream).unwrap().is_none());
    }
}
