//! IDs as lines of text, without an allocation per ID.

use clap::ValueEnum;
use leaseflake::{Id, Layout};

/// How IDs are written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// The number alone.
    Decimal,
    /// One JSON object a line; the ID is a string, since JavaScript loses digits above 2^53.
    Json,
    /// id,timestamp_ms,datacenter_id,worker_id,sequence, with a header.
    Csv,
}

/// Turns IDs into lines, in a buffer that it keeps.
pub(super) struct Formatter {
    format: Format,
    layout: Layout,
    digits: itoa::Buffer,
    text: Vec<u8>,
    header_due: bool,
}

impl Formatter {
    pub(super) fn new(format: Format, layout: Layout) -> Formatter {
        let header_due = format == Format::Csv;
        Formatter { format, layout, digits: itoa::Buffer::new(), text: Vec::new(), header_due }
    }

    /// The lines of these IDs; with the first ones the header.
    pub(super) fn lines(&mut self, ids: &[Id]) -> &[u8] {
        self.text.clear();
        if std::mem::take(&mut self.header_due) {
            self.text.extend_from_slice(b"id,timestamp_ms,datacenter_id,worker_id,sequence\n");
        }
        let pieces: [&[u8]; 6] = match self.format {
            Format::Decimal => [b"", b"\n", b"", b"", b"", b""],
            Format::Json => [
                b"{\"id\":\"",
                b"\",\"timestamp_ms\":",
                b",\"datacenter_id\":",
                b",\"worker_id\":",
                b",\"sequence\":",
                b"}\n",
            ],
            Format::Csv => [b"", b",", b",", b",", b",", b"\n"],
        };
        for &id in ids {
            self.text.extend_from_slice(pieces[0]);
            self.push(id.as_i64());
            self.text.extend_from_slice(pieces[1]);
            if self.format == Format::Decimal {
                continue;
            }
            let parts = self.layout.decode(id);
            self.push(parts.timestamp_ms);
            self.text.extend_from_slice(pieces[2]);
            self.push(parts.datacenter_id.into());
            self.text.extend_from_slice(pieces[3]);
            self.push(parts.worker_id.into());
            self.text.extend_from_slice(pieces[4]);
            self.push(parts.sequence.into());
            self.text.extend_from_slice(pieces[5]);
        }
        &self.text
    }

    fn push(&mut self, number: i64) {
        self.text.extend_from_slice(self.digits.format(number).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(format: Format) -> String {
        let ids = [4_194_304_131_079, 4_194_304_131_080].map(|number| Id::from_i64(number).unwrap());
        let mut formatter = Formatter::new(format, Layout::default());
        let mut text = formatter.lines(&ids[..1]).to_vec();
        text.extend_from_slice(formatter.lines(&ids[1..]));
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn each_format_writes_the_fields_that_the_layout_gives() {
        assert_eq!(lines(Format::Decimal), "4194304131079\n4194304131080\n");
        assert_eq!(
            lines(Format::Csv),
            "id,timestamp_ms,datacenter_id,worker_id,sequence\n\
             4194304131079,1767226600000,1,0,7\n4194304131080,1767226600000,1,0,8\n"
        );
        let json = lines(Format::Json);
        let first: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
        assert_eq!(
            first,
            serde_json::json!({"id": "4194304131079", "timestamp_ms": 1_767_226_600_000_i64, "datacenter_id": 1,
                "worker_id": 0, "sequence": 7})
        );
    }
}
