//! The checker finds what is planted, names it, and says nothing about clean streams.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use leaseflake_fleet::check::{Format, Report, Settings, Stream, check};
use tempfile::TempDir;

fn binary(dir: &TempDir, name: &str, ids: impl IntoIterator<Item = i64>) -> PathBuf {
    let path = dir.path().join(name);
    fs::write(&path, ids.into_iter().flat_map(i64::to_le_bytes).collect::<Vec<u8>>()).unwrap();
    path
}

fn text(dir: &TempDir, name: &str, lines: &str) -> PathBuf {
    let path = dir.path().join(name);
    fs::write(&path, lines).unwrap();
    path
}

fn report(files: &[&Path]) -> Report {
    let streams: Vec<Stream> = files.iter().map(|&file| Stream::named(file)).collect();
    check(&streams, &Settings::default()).unwrap()
}

/// Sorts through the temporary file, in many runs.
fn small() -> Settings {
    Settings { ids_in_memory: 1000, temporary: None }
}

#[test]
fn one_repeat_among_a_hundred_thousand_is_found_and_named_with_both_files_and_positions() {
    let dir = TempDir::new().unwrap();
    let even = binary(&dir, "p0.ordered.i64", (0..50_000).map(|n| (1 << 40) + 2 * n));
    let odd = binary(&dir, "p1.ordered.i64", (0..50_000).map(|n| (1 << 40) + 2 * n + 1));
    let streams = [Stream::named(&even), Stream::named(&odd)];
    let clean = check(&streams, &small()).unwrap();
    assert_eq!(clean, Report { ids: 100_000, processes: 2, ..Report::default() });

    // The 30,001st of the second process issues what the first one issued as its 777th.
    let stolen = (1 << 40) + 2 * 776;
    binary(&dir, "p1.ordered.i64", (0..50_000).map(|n| if n == 30_000 { stolen } else { (1 << 40) + 2 * n + 1 }));
    for settings in [small(), Settings::default()] {
        let found = check(&streams, &settings).unwrap();
        assert_eq!((found.ids, found.duplicates, found.out_of_order), (100_000, 1, 1));
        assert!(!found.is_clean());
        let named = format!("duplicate {stolen}: {}:777, {}:30001", even.display(), odd.display());
        assert!(found.details.contains(&named), "{named} is not in {:?}", found.details);
    }
}

#[test]
fn a_repeat_across_formats_and_within_one_file_is_found() {
    let dir = TempDir::new().unwrap();
    let numbers = binary(&dir, "a.i64", [1000, 2000, 3000]);
    let lines = text(&dir, "b.txt", "4000\r\n3000\n4000\n4000\n");
    let found = report(&[&numbers, &lines]);
    assert_eq!((found.ids, found.processes, found.duplicates), (7, 2, 3));
    let at = |position: u32| format!("{}:{position}", lines.display());
    assert_eq!(
        found.details,
        [
            format!("duplicate 3000: {}:3, {}", numbers.display(), at(2)),
            format!("duplicate 4000: {}, {}, {}", at(1), at(3), at(4)),
        ]
    );
}

#[test]
fn only_a_stream_that_declares_itself_ordered_must_increase() {
    let dir = TempDir::new().unwrap();
    let shuffled = binary(&dir, "p0.i64", [30, 10, 20]);
    assert!(report(&[&shuffled]).is_clean());
    let declared = binary(&dir, "p1.ordered.i64", [130, 110, 120, 115]);
    let found = report(&[&shuffled, &declared]);
    assert_eq!((found.out_of_order, found.duplicates), (2, 0));
    let place = declared.display();
    assert_eq!(
        found.details,
        [format!("not increasing: 110 after 130 at {place}:2"), format!("not increasing: 115 after 120 at {place}:4")]
    );
}

#[test]
fn what_a_killed_process_leaves_is_read_up_to_its_torn_record() {
    let dir = TempDir::new().unwrap();
    let mut bytes: Vec<u8> = [500_i64, 600].into_iter().flat_map(i64::to_le_bytes).collect();
    bytes.extend(&700_i64.to_le_bytes()[..5]);
    let numbers = dir.path().join("p0.ordered.i64");
    fs::write(&numbers, bytes).unwrap();
    let lines = text(&dir, "p1.ordered.txt", "501\n601\n70");
    let empty = text(&dir, "p2.ordered", "");
    let found = report(&[&numbers, &lines, &empty]);
    assert_eq!(found, Report { ids: 4, processes: 3, torn: 2, ..Report::default() });
}

#[test]
fn what_is_no_id_is_a_fault_with_its_place() {
    let dir = TempDir::new().unwrap();
    let numbers = binary(&dir, "a.i64", [0, -1, i64::MIN, 7]);
    let lines = text(&dir, "b.txt", "0\n-5\n007\n12x\n\n9223372036854775808\n9223372036854775807\n");
    let streams = [
        Stream { format: Some(Format::Binary), ..Stream::named(&numbers) },
        Stream { format: Some(Format::Decimal), ..Stream::named(&lines) },
    ];
    let found = check(&streams, &small()).unwrap();
    assert_eq!((found.ids, found.invalid, found.duplicates), (2, 9, 0));
    assert!(found.details.contains(&format!("not an ID: \"12x\" at {}:4", lines.display())), "{:?}", found.details);
}

#[test]
fn lines_longer_than_any_block_are_refused_without_filling_the_memory() {
    let dir = TempDir::new().unwrap();
    let lines = text(&dir, "a.txt", &format!("{}\n123\n", "1".repeat(5 << 20)));
    let found = report(&[&lines]);
    assert_eq!(found.ids, 1);
    assert!((1..=6).contains(&found.invalid), "{found}");
    assert!(found.details.iter().all(|detail| detail.len() < 1000));
}

#[test]
fn several_streams_of_one_process_count_as_one_process() {
    let dir = TempDir::new().unwrap();
    let first = binary(&dir, "p7.1.ordered.i64", [1 << 40]);
    let second = binary(&dir, "p7.2.ordered.i64", [2 << 40]);
    let other = binary(&dir, "p8.1.ordered.i64", [3 << 40]);
    assert_eq!(report(&[&first, &second, &other]).processes, 2);
}

fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_leaseflake-check")).args(arguments).output().unwrap();
    (status.code(), String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr))
}

#[test]
fn the_command_reads_a_folder_and_its_exit_code_says_what_it_found() {
    let dir = TempDir::new().unwrap();
    let folder = dir.path().to_str().unwrap();
    text(&dir, "p0.txt", "100\n200\n");
    text(&dir, "p1.txt", "150\n250\n");
    let (code, said) = run(&["--faults", "12", folder]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(said, "ids=4 processes=2 faults=12 duplicates=0 out_of_order=0 invalid=0 torn=0\n");

    let repeat = text(&dir, "p2.txt", "300\n200\n");
    let (code, said) = run(&[folder]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("duplicates=1") && said.contains("duplicate 200: "), "{said}");
    assert_eq!(run(&[repeat.to_str().unwrap()]).0, Some(0), "order is not checked where it is not declared");
    let (code, said) = run(&["--ordered", repeat.to_str().unwrap()]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("out_of_order=1"), "{said}");
}

#[test]
fn the_command_names_a_file_that_it_cannot_read_or_was_given_twice() {
    let dir = TempDir::new().unwrap();
    let file = text(&dir, "p0.txt", "100\n");
    let file = file.to_str().unwrap();
    let absent = format!("{file}.absent");
    let (code, said) = run(&[file, &absent]);
    assert_eq!(code, Some(2));
    assert!(said.contains("p0.txt.absent"), "{said}");
    let (code, said) = run(&[file, file]);
    assert_eq!(code, Some(2));
    assert!(said.contains("is the same file as"), "{said}");
    assert_eq!(run(&["/dev/null"]).0, Some(2));
    assert_eq!(run(&[]).0, Some(2));
}
