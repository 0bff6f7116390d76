//! The embedded registry among real processes: races, kills, and a file that cannot be written.
//!
//! A test starts this very program again with a role; what the role has to say it prints in lines
//! that begin with `SAYS`.
#![cfg(all(unix, feature = "sqlite"))]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{env, fs, io};

use leaseflake::Layout;
use leaseflake::lease::record::LeaseRecord;
use leaseflake::lease::store::sqlite::SqliteStore;
use leaseflake::lease::store::{LeaseStore, Reply, Request, StoreError};

#[path = "common/store_conformance.rs"]
#[allow(dead_code, unused_macros, unused_imports)]
mod store_conformance;

use store_conformance::{claim, insist, item_of, renew, write};

const NOW_MS: i64 = 1_800_000_000_000;
const ROLE: &str = "LEASEFLAKE_TEST_ROLE";

fn role(name: &str, path: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "plays_its_role", "--ignored", "--nocapture"]);
    command.env(ROLE, name).env("LEASEFLAKE_TEST_PATH", path);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    // The harness does not end its own line before a test prints.
    lines.filter_map(|line| line.split_once("SAYS ").map(|(_, says)| says.to_owned()))
}

/// What a role says until it ends, which it must do well.
fn said_by(mut command: Command) -> Vec<String> {
    let mut child = command.spawn().unwrap();
    let said = lines(&mut child).collect();
    assert!(child.wait().unwrap().success(), "{said:?}");
    said
}

#[test]
#[ignore = "not a test: what the tests below start as processes of their own"]
fn plays_its_role() {
    let Ok(role) = env::var(ROLE) else { return };
    let path = PathBuf::from(env::var_os("LEASEFLAKE_TEST_PATH").unwrap());
    let mut store = SqliteStore::new(path.clone());
    match role.as_str() {
        "claim any" => claim_any(&mut store),
        "claim 4" => {
            wait_for_start();
            let item = item_of(&mut store, 0, 4).unwrap();
            let now_ms = NOW_MS + i64::from(std::process::id());
            let reply = insist(&mut store, &Request::Write(claim(0, &item, now_ms, &std::process::id().to_string())));
            println!("SAYS {}", reply == Ok(Reply::Applied));
        }
        "renew for ever" => renew_for_ever(&mut store),
        "default path" => match SqliteStore::default_path() {
            Ok(path) => {
                insist(&mut SqliteStore::new(path.clone()), &initialise_request()).unwrap();
                println!("SAYS {}", path.display());
            }
            Err(error) => println!("SAYS {error}"),
        },
        "initialise" => {
            insist(&mut store, &initialise_request()).unwrap();
            println!("SAYS {}", item_of(&mut store, 0, 31).is_some());
        }
        "write as nobody" => {
            drop_privileges();
            report(&mut store);
        }
        "write with a size limit" => {
            limit_file_size(512);
            report(&mut store);
        }
        "write on a read-only mount" => match private_mount(&path, None) {
            Ok(()) => report(&mut store),
            Err(error) => println!("SAYS skipped: {error}"),
        },
        "initialise on a full disk" => match private_mount(&path, Some("size=256k")) {
            Ok(()) => on_a_full_disk(&mut store),
            Err(error) => println!("SAYS skipped: {error}"),
        },
        unknown => panic!("no role {unknown:?}"),
    }
}

fn initialise_request() -> Request {
    Request::Initialise { datacenter_id: 0, layout: Layout::default() }
}

/// Says that it is ready and waits until its standard input is closed.
fn wait_for_start() {
    println!("SAYS ready");
    io::copy(&mut io::stdin(), &mut io::sink()).unwrap();
}

/// Initialises and claims whatever is unused, as the keeper does, until nothing is.
fn claim_any(store: &mut SqliteStore) {
    wait_for_start();
    let request = Request::Read { datacenter_id: 0, layout: Layout::default() };
    loop {
        let Ok(Reply::View(view)) = insist(store, &request) else { panic!("a read gives a view") };
        if view.layout.is_none() {
            assert_eq!(insist(store, &initialise_request()), Ok(Reply::Applied));
            continue;
        }
        assert_eq!(view.workers.len(), 32, "a registry half made was seen");
        let unused: Vec<_> = view.workers.iter().filter(|item| item.fencing_epoch == 0).collect();
        if unused.is_empty() {
            println!("SAYS none");
            return;
        }
        let item = unused[std::process::id() as usize % unused.len()];
        let owner = std::process::id().to_string();
        if insist(store, &Request::Write(claim(0, item, NOW_MS, &owner))) == Ok(Reply::Applied) {
            println!("SAYS {}", item.worker_id);
            return;
        }
    }
}

/// Says every version that the registry has confirmed.
fn renew_for_ever(store: &mut SqliteStore) {
    let mut held = item_of(store, 0, 4).unwrap();
    loop {
        let request = renew(0, &held, held.lease_expiry_ts + 1);
        match insist(store, &Request::Write(request.clone())) {
            Ok(Reply::Applied) => println!("SAYS {}", request.next.version),
            other => panic!("{other:?}"),
        }
        held = request.next;
    }
}

/// Tries to renew worker 4 and says how it went.
fn report(store: &mut SqliteStore) {
    let before = match store.call(&Request::Read { datacenter_id: 0, layout: Layout::default() }).result {
        Ok(Reply::View(view)) => view.workers.into_iter().find(|item| item.worker_id == 4),
        _ => None,
    };
    // Where even reading is refused, the condition does not matter.
    let held = before.unwrap_or_else(|| LeaseRecord::unused(4));
    let result = store.call(&Request::Write(renew(0, &held, NOW_MS + 90_000))).result;
    println!("SAYS {}", outcome(&result));
}

fn outcome(result: &Result<Reply, StoreError>) -> String {
    match result {
        Ok(reply) => format!("{reply:?}"),
        Err(error) => error.to_string(),
    }
}

fn on_a_full_disk(store: &mut SqliteStore) {
    let path = PathBuf::from(env::var_os("LEASEFLAKE_TEST_PATH").unwrap());
    let filler = path.with_file_name("filler");
    let full = io::copy(&mut io::repeat(1), &mut fs::File::create(&filler).unwrap()).unwrap_err();
    assert_eq!(full.kind(), io::ErrorKind::StorageFull);
    println!("SAYS {}", outcome(&store.call(&initialise_request()).result));
    // With room again, the same store goes on as if nothing had been.
    fs::remove_file(filler).unwrap();
    println!("SAYS {}", outcome(&store.call(&initialise_request()).result));
    println!("SAYS {}", item_of(store, 0, 31).is_some());
}

/// Root may write everything: go on as `nobody`. A test by an ordinary user stays who it is.
fn drop_privileges() {
    const NOBODY: u32 = 65_534;
    // SAFETY: plain system calls on this process.
    unsafe {
        if libc::geteuid() == 0 {
            assert_eq!(libc::setgroups(0, std::ptr::null()), 0);
            assert_eq!(libc::setgid(NOBODY), 0);
            assert_eq!(libc::setuid(NOBODY), 0);
        }
    }
}

fn limit_file_size(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: `limit` outlives the call; without the signal a write beyond it fails with EFBIG.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit), 0);
    }
}

/// Puts a tmpfs, or a read-only view of itself, over the file's folder, for this process only.
#[cfg(target_os = "linux")]
fn private_mount(path: &Path, tmpfs: Option<&str>) -> io::Result<()> {
    use std::ffi::CString;
    use std::ptr::null;
    let folder = CString::new(path.parent().unwrap().as_os_str().as_encoded_bytes()).unwrap();
    let options = CString::new(tmpfs.unwrap_or_default()).unwrap();
    let done = |code: libc::c_int| if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    // SAFETY: every pointer is null where the call allows it, or a string that outlives the call.
    // This thread alone enters the new namespace, and it is the one that goes on.
    unsafe {
        done(libc::unshare(libc::CLONE_NEWNS))?;
        done(libc::mount(null(), c"/".as_ptr(), null(), libc::MS_REC | libc::MS_PRIVATE, null()))?;
        if tmpfs.is_some() {
            let data = options.as_ptr().cast();
            return done(libc::mount(c"tmpfs".as_ptr(), folder.as_ptr(), c"tmpfs".as_ptr(), 0, data));
        }
        done(libc::mount(folder.as_ptr(), folder.as_ptr(), null(), libc::MS_BIND, null()))?;
        let read_only = libc::MS_BIND | libc::MS_REMOUNT | libc::MS_RDONLY;
        done(libc::mount(null(), folder.as_ptr(), null(), read_only, null()))
    }
}

#[cfg(not(target_os = "linux"))]
fn private_mount(_path: &Path, _tmpfs: Option<&str>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Starts that many processes in a role, lets them go at the same moment, and gives what each says.
fn all_at_once(name: &str, path: &Path, count: usize) -> Vec<String> {
    let mut children: Vec<_> = (0..count).map(|_| role(name, path).spawn().unwrap()).collect();
    let mut said: Vec<_> = children.iter_mut().map(lines).collect();
    for lines in &mut said {
        assert_eq!(lines.next().as_deref(), Some("ready"));
    }
    for child in &mut children {
        drop(child.stdin.take());
    }
    let said = said.iter_mut().map(|lines| lines.next().expect("an outcome")).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    said
}

/// A file whose worker 4 is held.
fn held(folder: &Path) -> (PathBuf, LeaseRecord) {
    let path = folder.join("registry.db");
    let mut store = SqliteStore::new(path.clone());
    assert_eq!(insist(&mut store, &initialise_request()), Ok(Reply::Applied));
    let item = item_of(&mut store, 0, 4).unwrap();
    let claim = claim(0, &item, NOW_MS, "holder");
    assert_eq!(write(&mut store, &claim), Reply::Applied);
    (path, claim.next)
}

#[test]
fn forty_processes_make_one_fresh_registry_and_share_its_32_worker_ids() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made/by/nobody/yet/registry.db");
    let said = all_at_once("claim any", &path, 40);
    let workers: BTreeSet<u32> = said.iter().filter_map(|says| says.parse().ok()).collect();
    assert_eq!(workers, (0..32).collect(), "{said:?}");
    assert_eq!(said.iter().filter(|says| *says == "none").count(), 8, "{said:?}");
}

#[test]
fn of_sixteen_processes_one_wins_a_worker_id() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registry.db");
    insist(&mut SqliteStore::new(path.clone()), &initialise_request()).unwrap();
    let said = all_at_once("claim 4", &path, 16);
    // One who reads after the winner may take over again, an expired lease later: epochs count it.
    let won = said.iter().filter(|says| *says == "true").count();
    let item = item_of(&mut SqliteStore::new(path), 0, 4).unwrap();
    assert_eq!(item.fencing_epoch, won as u64, "{said:?}");
    assert!(won >= 1);
}

#[test]
fn a_writer_killed_at_any_moment_loses_nothing_that_was_confirmed_and_blocks_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let (path, held) = held(folder.path());
    let mut confirmed = held.version;
    for round in 0..20 {
        let mut child = role("renew for ever", &path).spawn().unwrap();
        let mut said = lines(&mut child);
        // Killed after a few writes, somewhere within the next.
        for _ in 0..=round % 4 {
            confirmed = said.next().expect("a version").parse().unwrap();
        }
        child.kill().unwrap();
        confirmed = said.last().map_or(confirmed, |version| version.parse().unwrap());
        child.wait().unwrap();
        let item = item_of(&mut SqliteStore::new(path.clone()), 0, 4).unwrap();
        // The write that the kill interrupted may have been made, and no more than that one.
        assert!((confirmed..=confirmed + 1).contains(&item.version), "{confirmed} {item:?}");
        assert_eq!(item.lease_expiry_ts - held.lease_expiry_ts, (item.version - held.version) as i64);
    }
}

#[test]
fn a_path_works_without_any_environment() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registry.db");
    let mut command = role("initialise", &path);
    command.env_clear().env(ROLE, "initialise").env("LEASEFLAKE_TEST_PATH", &path);
    assert_eq!(said_by(command), ["true"]);
}

#[test]
fn without_a_path_the_state_directory_is_used_or_the_missing_variables_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let unused = Path::new("unused");
    let bare = || {
        let mut command = role("default path", unused);
        command.env_remove("HOME").env_remove("XDG_STATE_HOME");
        command
    };
    let said = said_by(bare());
    assert!(said[0].starts_with("INVALID_ARGUMENT: store:") && said[0].contains("HOME"), "{said:?}");
    let mut at_home = bare();
    at_home.env("HOME", folder.path());
    let file = folder.path().join(".local/state/leaseflake/registry.db");
    assert_eq!(said_by(at_home), [file.display().to_string()]);
    assert!(file.exists());
    let mut in_state = bare();
    in_state.env("HOME", folder.path()).env("XDG_STATE_HOME", folder.path().join("state"));
    let file = folder.path().join("state/leaseflake/registry.db");
    assert_eq!(said_by(in_state), [file.display().to_string()]);
    assert!(file.exists());
}

#[test]
fn a_file_that_this_user_may_not_write_is_rejected_and_stays_as_it_is() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let folder = tempfile::tempdir().unwrap();
    let (path, held) = held(folder.path());
    let sidecar = folder.path().join("registry.db.lock");
    let mode = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    // SAFETY: asks who we are.
    if unsafe { libc::geteuid() } == 0 {
        for path in [folder.path(), &path, &sidecar] {
            chown(path, Some(65_534), Some(65_534)).unwrap();
        }
    }
    let refused = |what: &str| {
        let said = said_by(role("write as nobody", &path));
        assert!(said[0].starts_with("STORE_REJECTED: registry file"), "{what}: {said:?}");
    };
    mode(&path, 0o400);
    refused("the file is read-only");
    mode(&path, 0o600);
    mode(&sidecar, 0o400);
    refused("the sidecar is read-only");
    mode(&sidecar, 0o600);
    mode(folder.path(), 0o500);
    refused("no journal can be made");
    mode(folder.path(), 0o000);
    refused("the folder is closed");
    mode(folder.path(), 0o700);
    assert_eq!(item_of(&mut SqliteStore::new(path.clone()), 0, 4), Some(held));
    assert_eq!(said_by(role("write as nobody", &path)), ["Applied"], "the same, once it may write");
}

#[test]
fn a_read_only_mount_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let (path, held) = held(folder.path());
    let said = said_by(role("write on a read-only mount", &path));
    if said[0].starts_with("skipped") {
        eprintln!("needs the right to mount: {said:?}");
        return;
    }
    assert!(said[0].starts_with("STORE_REJECTED") && said[0].contains("Read-only"), "{said:?}");
    assert_eq!(item_of(&mut SqliteStore::new(path), 0, 4), Some(held));
}

#[test]
fn a_write_that_finds_no_room_is_unavailable_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, held) = held(folder.path());
    let said = said_by(role("write with a size limit", &path));
    assert!(said[0].starts_with("STORE_UNAVAILABLE"), "{said:?}");
    let mut store = SqliteStore::new(path);
    assert_eq!(item_of(&mut store, 0, 4), Some(held.clone()));
    assert_eq!(write(&mut store, &renew(0, &held, NOW_MS + 50_000)), Reply::Applied);
}

#[test]
fn a_registry_that_found_the_disk_full_is_made_whole_once_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let said = said_by(role("initialise on a full disk", &folder.path().join("registry.db")));
    if said[0].starts_with("skipped") {
        eprintln!("needs the right to mount: {said:?}");
        return;
    }
    assert!(said[0].starts_with("STORE_UNAVAILABLE") && said[0].contains("no space left"), "{said:?}");
    assert_eq!(said[1..], ["Applied", "true"]);
}
