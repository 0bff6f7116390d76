//! `leaseflake generate`: the stream, its formats, and that the worker ID is given back.

mod common;

use common::{ONE_WORKER, Place, Running, bare, run};
use leaseflake::{Id, Layout};

/// A lease that outlasts any test: its worker ID is free before only if it was given back.
const AN_HOUR: [&str; 2] = ["--lease-ttl-ms", "3600000"];

fn ids(text: &str) -> Vec<Id> {
    text.lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn as_many_ids_as_asked_for_come_in_increasing_order() {
    let place = Place::new();
    assert_eq!(ids(&place.run(&["generate"]).good()).len(), 1);
    let many = ids(&place.run(&["generate", "--count", "100001"]).good());
    assert_eq!(many.len(), 100_001);
    assert!(many.is_sorted_by(|earlier, later| earlier < later));
}

#[test]
fn the_ids_of_a_batch_are_of_one_millisecond_and_the_last_batch_is_the_rest() {
    let place = Place::new();
    let many = ids(&place.run(&["generate", "--count", "2500", "--batch", "1000"]).good());
    assert_eq!(many.len(), 2500);
    let layout = Layout::default();
    for batch in many.chunks(1000) {
        let first = layout.decode(batch[0]);
        for (at, id) in batch.iter().enumerate() {
            let parts = layout.decode(*id);
            assert_eq!((parts.timestamp_ms, parts.sequence), (first.timestamp_ms, first.sequence + at as u32));
        }
    }
}

#[test]
fn json_and_csv_say_what_the_layout_says_of_the_id() {
    let place = Place::new();
    let layout = "42-4-5-12";
    let with_layout = ["--layout", layout, "--epoch-ms", "1500000000000"];
    let parts_of = |id: &str| {
        let layout: Layout = layout.parse().unwrap();
        layout.with_epoch_ms(1_500_000_000_000).unwrap().decode(id.parse().unwrap())
    };
    let csv = place.run(&[&["generate", "--count", "3", "--format", "csv"][..], &with_layout].concat()).good();
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("id,timestamp_ms,datacenter_id,worker_id,sequence"));
    let rows: Vec<&str> = lines.collect();
    assert_eq!(rows.len(), 3);
    for row in rows {
        let parts = parts_of(row.split(',').next().unwrap());
        let tail = format!(",{},{},{},{}", parts.timestamp_ms, parts.datacenter_id, parts.worker_id, parts.sequence);
        assert!(row.ends_with(&tail), "{row} {tail}");
    }
    let json = place.run(&[&["generate", "--count", "3", "--format", "json"][..], &with_layout].concat()).good();
    assert_eq!(json.lines().count(), 3);
    for line in json.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let parts = parts_of(value["id"].as_str().expect("an ID in JSON is a string"));
        assert_eq!(value["timestamp_ms"], parts.timestamp_ms);
        assert_eq!(value["worker_id"], parts.worker_id);
        assert_eq!(value["datacenter_id"], parts.datacenter_id);
        assert_eq!(value["sequence"], parts.sequence);
    }
}

#[test]
fn without_a_store_the_default_is_used_and_named() {
    let place = Place::new();
    let mut command = bare(&["generate"]);
    command.env("XDG_STATE_HOME", place.path("state"));
    let ended = run(command, "");
    let file = place.path("state/leaseflake/registry.db");
    assert!(ended.err.contains(&format!("using sqlite:{}", file.display())), "{ended:?}");
    assert!(file.exists());
    ended.good();
    // And one that is given is not commented on.
    assert_eq!(place.run(&["generate"]).err, "");
}

#[test]
fn without_a_store_and_a_home_the_way_out_is_named() {
    run(bare(&["generate"]), "").refused(1, &["INVALID_ARGUMENT", "store", "HOME"]);
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly_and_frees_the_worker_id() {
    let place = Place::new();
    let arguments = [&["generate", "--count", "unlimited"][..], &ONE_WORKER, &AN_HOUR].concat();
    let mut child = place.command(&arguments).spawn().unwrap();
    let mut reader = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut reader, &mut line).unwrap();
    drop(reader);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
    let next = place.run(&[&["generate"][..], &ONE_WORKER].concat()).good();
    assert!(ids(&next)[0] > ids(&line)[0]);
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error_with_a_code_of_its_own() {
    let place = Place::new();
    let mut command = place.command(&["generate", "--count", "10"]);
    command.stdout(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    run(command, "").refused(74, &["standard output", "No space left"]);
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_after_a_whole_line_and_frees_the_worker_id_at_once() {
    use std::os::unix::process::ExitStatusExt;
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        let place = Place::new();
        let arguments = [&["generate", "--count", "unlimited"][..], &ONE_WORKER, &AN_HOUR].concat();
        let mut running = Running::start(place.command(&arguments));
        let first: Id = running.line().unwrap().parse().unwrap();
        running.signal(signal);
        let (rest, status) = running.rest();
        assert_eq!(status.signal(), Some(signal), "{status:?}");
        let newest = rest.last().map_or(first, |line| line.parse().expect("the last line is whole"));
        let next = place.run(&[&["generate"][..], &ONE_WORKER].concat()).good();
        assert!(ids(&next)[0] > newest);
    }
}

#[cfg(unix)]
#[test]
fn a_signal_frees_the_worker_id_even_when_nobody_reads_the_pipe() {
    use std::os::unix::process::ExitStatusExt;
    let place = Place::new();
    let arguments = [&["generate", "--count", "unlimited"][..], &ONE_WORKER, &AN_HOUR].concat();
    let mut running = Running::start(place.command(&arguments));
    running.line().unwrap();
    // It fills the pipe within a few milliseconds and waits in the write.
    running.signal(libc::SIGTERM);
    assert_eq!(running.child.wait().unwrap().signal(), Some(libc::SIGTERM));
    place.run(&[&["generate"][..], &ONE_WORKER].concat()).good();
}

#[cfg(unix)]
#[test]
fn a_killed_one_keeps_its_worker_id_until_the_lease_ends() {
    let place = Place::new();
    let lease = ["--lease-ttl-ms", "20000", "--heartbeat-interval-ms", "1000", "--safety-margin-ms", "1000"];
    let arguments = [&["generate", "--count", "unlimited"][..], &ONE_WORKER, &lease].concat();
    let mut running = Running::start(place.command(&arguments));
    let first: Id = running.line().unwrap().parse().unwrap();
    running.signal(libc::SIGKILL);
    let (rest, _) = running.rest();
    // The kill may have cut the last line.
    let newest = rest.iter().rev().nth(1).map_or(first, |line| line.parse().unwrap());
    let hasty = [&["generate", "--acquire-timeout-ms", "3000"][..], &ONE_WORKER].concat();
    place.run(&hasty).refused(13, &["NO_WORKER_ID"]);
    let patient = [&["generate", "--acquire-timeout-ms", "60000"][..], &ONE_WORKER].concat();
    assert!(ids(&place.run(&patient).good())[0] > newest);
}

#[cfg(unix)]
#[test]
fn a_signal_that_was_to_be_ignored_ends_nothing() {
    let place = Place::new();
    let mut command = std::process::Command::new("nohup");
    let inner = place.command(&["generate", "--count", "unlimited"]);
    command.arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
    let mut running = Running::start(command);
    running.line().unwrap();
    running.signal(libc::SIGHUP);
    // Many more lines than a pipe and its reader hold: it goes on.
    for _ in 0..100_000 {
        running.line().expect("nohup keeps it alive");
    }
    running.signal(libc::SIGTERM);
    running.rest();
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_while_it_still_waits_for_a_worker_id() {
    let place = Place::new();
    let arguments = [&["generate", "--count", "unlimited"][..], &ONE_WORKER, &AN_HOUR].concat();
    let mut holder = Running::start(place.command(&arguments));
    holder.line().unwrap();
    let mut waiting = place.command(&[&arguments[..], &["--acquire-timeout-ms", "3600000"]].concat());
    let mut waiting = waiting.env("LEASEFLAKE_LOG", "debug").spawn().unwrap();
    // Its log tells that it has begun.
    let mut log = std::io::BufReader::new(waiting.stderr.take().unwrap());
    std::io::BufRead::read_line(&mut log, &mut String::new()).unwrap();
    // SAFETY: a signal to a child that has not been waited for.
    assert_eq!(unsafe { libc::kill(waiting.id() as i32, libc::SIGTERM) }, 0);
    std::io::copy(&mut log, &mut std::io::sink()).unwrap();
    assert_eq!(waiting.wait().unwrap().code(), Some(128 + libc::SIGTERM));
}
