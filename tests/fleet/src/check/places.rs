//! Where the IDs that repeat were issued: a second reading of the streams.

use std::collections::BTreeMap;
use std::io;

use super::stream::{Record, Stream};

/// How many issues of one ID are named.
const SHOWN: usize = 4;

/// One issue of an ID: the stream's index and the number of the record in it, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Which of the streams, from 0.
    pub(super) stream: usize,
    /// Which record of it, from 1; in a decimal stream, the line.
    pub(super) position: u64,
}

/// Finds each of these IDs, which are sorted.
pub(super) fn find(streams: &[Stream], ids: &[i64]) -> io::Result<BTreeMap<i64, Vec<Place>>> {
    let mut found: BTreeMap<i64, Vec<Place>> = BTreeMap::new();
    for (index, stream) in streams.iter().enumerate() {
        let mut position = 0;
        stream.read(|record| {
            position += 1;
            if let Record::Id(id) = record
                && ids.binary_search(&id).is_ok()
            {
                let places = found.entry(id).or_default();
                // One more than is shown, to say that there are more.
                if places.len() <= SHOWN {
                    places.push(Place { stream: index, position });
                }
            }
            Ok(())
        })?;
    }
    Ok(found)
}

pub(super) fn in_words(streams: &[Stream], places: &[Place]) -> String {
    let shown: Vec<String> =
        places.iter().take(SHOWN).map(|place| streams[place.stream].place(place.position)).collect();
    let more = if places.len() > SHOWN { ", and more" } else { "" };
    format!("{}{more}", shown.join(", "))
}
