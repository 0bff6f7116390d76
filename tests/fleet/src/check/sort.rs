//! Counts repeats among more numbers than fit in memory: sorted runs in one temporary file, then
//! a merge of them all.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// All runs together may buffer this much while they are merged.
const MERGE_BYTES: usize = 64 << 20;

/// Takes numbers, then says which repeat.
pub(super) struct Sorter<'a> {
    run: Vec<i64>,
    ids_in_memory: usize,
    temporary: Option<&'a Path>,
    file: Option<File>,
    /// Where each run ends in the file, in bytes.
    ends: Vec<u64>,
}

/// The numbers that came more than once.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Repeats {
    /// How many numbers came again.
    pub(super) count: u64,
    /// The smallest of them, each once.
    pub(super) first: Vec<i64>,
}

impl Repeats {
    /// Goes through sorted numbers, and keeps at most `limit` of those that repeat.
    fn among(limit: usize, mut next: impl FnMut() -> io::Result<Option<i64>>) -> io::Result<Repeats> {
        let mut repeats = Repeats { count: 0, first: Vec::new() };
        let mut previous = None;
        while let Some(id) = next()? {
            if previous == Some(id) {
                repeats.count += 1;
                if repeats.first.len() < limit && repeats.first.last() != Some(&id) {
                    repeats.first.push(id);
                }
            }
            previous = Some(id);
        }
        Ok(repeats)
    }
}

impl<'a> Sorter<'a> {
    pub(super) fn new(ids_in_memory: usize, temporary: Option<&'a Path>) -> Sorter<'a> {
        Sorter { run: Vec::new(), ids_in_memory: ids_in_memory.max(1), temporary, file: None, ends: Vec::new() }
    }

    #[inline]
    pub(super) fn push(&mut self, id: i64) -> io::Result<()> {
        if self.run.len() == self.ids_in_memory {
            self.write_run()?;
        }
        self.run.push(id);
        Ok(())
    }

    fn write_run(&mut self) -> io::Result<()> {
        self.run.sort_unstable();
        let file = match &mut self.file {
            Some(file) => file,
            // Without a name: nothing is left behind, however this process ends.
            None => self.file.insert(match self.temporary {
                Some(folder) => tempfile::tempfile_in(folder)?,
                None => tempfile::tempfile()?,
            }),
        };
        let mut bytes = Vec::with_capacity(1 << 20);
        for part in self.run.chunks(1 << 17) {
            bytes.clear();
            bytes.extend(part.iter().flat_map(|id| id.to_ne_bytes()));
            file.write_all(&bytes)?;
        }
        let start = self.ends.last().copied().unwrap_or(0);
        self.ends.push(start + 8 * self.run.len() as u64);
        self.run.clear();
        Ok(())
    }

    /// Which numbers came more than once; at most `limit` are named.
    pub(super) fn repeats(mut self, limit: usize) -> io::Result<Repeats> {
        if self.file.is_none() {
            self.run.sort_unstable();
            let mut ids = self.run.iter();
            return Repeats::among(limit, || Ok(ids.next().copied()));
        }
        self.write_run()?;
        self.run = Vec::new();
        let file = self.file.take().ok_or_else(|| io::Error::other("no temporary file"))?;
        let ids_each = (MERGE_BYTES / 8 / self.ends.len()).clamp(1 << 10, 1 << 17);
        let mut start = 0;
        let mut heap = BinaryHeap::with_capacity(self.ends.len());
        for &end in &self.ends {
            let mut run = Run { file: &file, at: start, end, ids: Vec::new(), used: 0 };
            start = end;
            if let Some(id) = run.next(ids_each)? {
                heap.push(Reverse(Head { id, run }));
            }
        }
        Repeats::among(limit, || {
            let Some(mut least) = heap.peek_mut() else { return Ok(None) };
            let id = least.0.id;
            match least.0.run.next(ids_each)? {
                Some(next) => least.0.id = next,
                None => drop(PeekMut::pop(least)),
            }
            Ok(Some(id))
        })
    }
}

/// What is left of one sorted run in the temporary file.
struct Run<'a> {
    file: &'a File,
    at: u64,
    end: u64,
    ids: Vec<i64>,
    used: usize,
}

impl Run<'_> {
    #[inline]
    fn next(&mut self, ids_each: usize) -> io::Result<Option<i64>> {
        if self.used == self.ids.len() && !self.read(ids_each)? {
            return Ok(None);
        }
        self.used += 1;
        Ok(Some(self.ids[self.used - 1]))
    }

    fn read(&mut self, ids_each: usize) -> io::Result<bool> {
        let length = (self.end - self.at).min(8 * ids_each as u64);
        let mut bytes = vec![0; length as usize];
        self.file.read_exact_at(&mut bytes, self.at)?;
        self.at += length;
        self.ids.clear();
        self.ids.extend(bytes.as_chunks::<8>().0.iter().map(|bytes| i64::from_ne_bytes(*bytes)));
        self.used = 0;
        Ok(length > 0)
    }
}

/// The least number of a run that is not merged yet.
struct Head<'a> {
    id: i64,
    run: Run<'a>,
}

impl PartialEq for Head<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Head<'_> {}

impl PartialOrd for Head<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.id.cmp(&other.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_in_a_file_find_the_repeats_that_memory_finds(
            ids in prop::collection::vec(1_i64..200, 0..600),
            ids_in_memory in 1_usize..700,
        ) {
            let mut sorted = ids.clone();
            sorted.sort_unstable();
            let mut expected: Vec<i64> = sorted.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
            let count = expected.len() as u64;
            expected.dedup();
            expected.truncate(5);
            let mut sorter = Sorter::new(ids_in_memory, None);
            for id in ids {
                sorter.push(id).unwrap();
            }
            prop_assert_eq!(sorter.repeats(5).unwrap(), Repeats { count, first: expected });
        }
    }
}
