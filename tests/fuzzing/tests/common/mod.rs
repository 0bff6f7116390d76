//! The short form of fuzzing: the seeds, and mutations of them that are the same in every run.

use std::fs;
use std::path::PathBuf;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// As long as an input of cargo-fuzz.
const LONGEST: usize = 4096;

/// What parsers trip over, put in at any place.
const TOKENS: [&[u8]; 24] = [
    b"\n",
    b"\r\n",
    b"\0",
    b" ",
    b"-",
    b"+",
    b"=",
    b"/",
    b"#",
    b"\"",
    b"--\n",
    b"\xff\xfe",
    "\u{1b}[2J".as_bytes(),
    "\u{e9}\u{1f600}\u{202e}".as_bytes(),
    b"0",
    b"-1",
    b"1e3",
    b"null",
    b"2147483648",
    b"4294967296",
    b"4611686018427387904",
    b"9223372036854775807",
    b"9223372036854775808",
    b"18446744073709551616",
];

/// One change of an input. Places and lengths are shares of it, whatever its length.
#[derive(Clone, Debug)]
enum Edit {
    Insert(Index, Vec<u8>),
    Overwrite(Index, u8),
    Flip(Index, u8),
    Delete(Index, usize),
    Repeat(Index, usize),
    /// A line of another seed, as a line.
    Line(Index, Vec<u8>, Index),
}

fn edit(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Edit> {
    let place = any::<Index>;
    prop_oneof![
        (place(), select(&TOKENS)).prop_map(|(at, token)| Edit::Insert(at, token.to_vec())),
        (place(), vec(any::<u8>(), 1..6)).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        (place(), any::<u8>()).prop_map(|(at, byte)| Edit::Overwrite(at, byte)),
        (place(), 0_u8..8).prop_map(|(at, bit)| Edit::Flip(at, bit)),
        (place(), 1_usize..24).prop_map(|(at, length)| Edit::Delete(at, length)),
        (place(), prop_oneof![1_usize..24, Just(2000)]).prop_map(|(at, length)| Edit::Repeat(at, length)),
        (place(), select(seeds), place()).prop_map(|(at, other, line)| Edit::Line(at, other, line)),
    ]
}

fn apply(mut input: Vec<u8>, edit: &Edit) -> Vec<u8> {
    let end = |at: usize, length: usize, input: &[u8]| at.saturating_add(length).min(input.len());
    match edit {
        Edit::Insert(at, bytes) => {
            let at = at.index(input.len() + 1);
            input.splice(at..at, bytes.iter().copied());
        }
        Edit::Line(at, other, line) => {
            let lines: Vec<&[u8]> = other.split_inclusive(|byte| *byte == b'\n').collect();
            let starts = [0].into_iter().chain((0..input.len()).filter(|at| input[*at] == b'\n').map(|at| at + 1));
            let starts: Vec<usize> = starts.collect();
            let at = starts[at.index(starts.len())];
            let line = lines.get(line.index(lines.len().max(1))).copied().unwrap_or_default();
            input.splice(at..at, line.iter().copied());
        }
        _ if input.is_empty() => {}
        Edit::Overwrite(at, byte) => {
            let at = at.index(input.len());
            input[at] = *byte;
        }
        Edit::Flip(at, bit) => {
            let at = at.index(input.len());
            input[at] ^= 1 << bit;
        }
        Edit::Delete(at, length) => {
            let at = at.index(input.len());
            input.drain(at..end(at, *length, &input));
        }
        Edit::Repeat(at, length) => {
            let at = at.index(input.len());
            let part = input[at..end(at, *length, &input)].to_vec();
            input.splice(at..at, part);
        }
    }
    input.truncate(LONGEST);
    input
}

fn folder(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target)
}

/// The seeds of a target, in the order of their names.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = folder(target);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    names.sort();
    assert!(!names.is_empty(), "{target} has no seeds");
    names.iter().map(|name| fs::read(name).expect("a seed")).collect()
}

/// Gives the seeds to a target, then so many mutations of them. `LEASEFLAKE_FUZZ_CASES` times as many are for a closer
/// look.
pub(crate) fn holds(target: &str, body: fn(&[u8]), cases: u32) {
    let seeds = seeds(target);
    seeds.iter().for_each(|seed| body(seed));
    let times: u32 = std::env::var("LEASEFLAKE_FUZZ_CASES").map_or(1, |text| text.parse().expect("a number"));
    let config =
        Config { cases: cases * times, failure_persistence: None, max_shrink_iters: 2000, ..Config::default() };
    let mutations =
        (select(seeds.clone()), vec(edit(seeds), 0..6)).prop_map(|(seed, edits)| edits.iter().fold(seed, apply));
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&mutations, |input| {
        body(&input);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{target}: {failure}");
    }
}
