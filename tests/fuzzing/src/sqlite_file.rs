//! A file in the place of a SQLite registry, with its sidecar and its journal: whatever bytes they hold, an answer.
//!
//! A registry that is whole, changed by each line: `at OFFSET HEX` overwrites, `cut LENGTH` ends the file there,
//! `end HEX` adds to it, `journal HEX` adds to a journal beside it, `lock TEXT` is another sidecar (`$ID` is which file it
//! is).

use std::cell::RefCell;
use std::fs;
use std::time::{Duration, Instant};

use leaseflake::Layout;
use leaseflake::lease::pin;
use leaseflake::lease::record::LeaseRecord;
use leaseflake::lease::store::{FenceRequest, LeaseStore, LeaseWrite, Reply, Request, StoreErrorKind};

use crate::message::is_fit_to_read;
use crate::registry_file::{DATACENTER, RegistryFile};
use crate::scene;
use crate::sqlite_items::bytes;

/// A question waits 2 s for others; the rest is for a machine under load.
const LONGEST: Duration = Duration::from_secs(10);
/// No input makes a larger file, and so nothing may.
const LARGEST: u64 = 1 << 20;

thread_local! {
    static REGISTRY: RefCell<Option<RegistryFile>> = const { RefCell::new(None) };
}

/// Changes the files, then asks each kind of question.
pub fn sqlite_file(data: &[u8]) {
    scene::on(&REGISTRY, RegistryFile::new, |registry| check(registry, &String::from_utf8_lossy(data)));
}

fn check(registry: &RegistryFile, text: &str) {
    change(registry, text);
    let layout = Layout::default();
    let next = LeaseRecord { fencing_epoch: 1, version: 1, ..LeaseRecord::unused(0) };
    let write =
        LeaseWrite { datacenter_id: DATACENTER, expected_epoch: 0, expected_version: 0, expired_before: Some(1), next };
    let at_ms = 1_800_000_000_000;
    let fence = FenceRequest { datacenter_id: DATACENTER, layout, at_ms, worker_id: None, lower: false };
    let questions = [
        Request::Read { datacenter_id: DATACENTER, layout },
        Request::Initialise { datacenter_id: DATACENTER, layout },
        Request::Write(write),
        Request::Fence(fence),
    ];
    let mut store = registry.store();
    for question in questions {
        let began = Instant::now();
        let result = store.call(&question).result;
        assert!(began.elapsed() < LONGEST, "{question:?} took {:?}", began.elapsed());
        let length = fs::metadata(registry.path()).map_or(0, |file| file.len());
        assert!(length <= LARGEST, "{length} bytes after {question:?}");
        match result {
            Ok(Reply::View(view)) => {
                for item in &view.workers {
                    assert!(item.worker_id <= layout.max_worker_id() && item.is_well_formed(), "{item:?}");
                }
                view.warnings.iter().for_each(|warning| is_fit_to_read(warning));
                if let Err(error) = pin::check(&view, DATACENTER, &layout, &store.name()) {
                    is_fit_to_read(&error.message);
                }
            }
            Ok(Reply::Refused(Some(item))) => assert!(item.is_well_formed(), "{item:?}"),
            Ok(Reply::Applied | Reply::Refused(None)) => {}
            Err(error) => {
                is_fit_to_read(&error.message);
                assert!(error.message.contains("registry.db"), "which file? {error}");
                assert_ne!(error.kind, StoreErrorKind::InvalidArgument, "the question was right: {error}");
                if error.kind == StoreErrorKind::Unavailable {
                    // It waited for somebody who is not there; the other questions would, too.
                    return;
                }
            }
        }
    }
}

fn change(registry: &RegistryFile, text: &str) {
    let mut database = registry.database().to_vec();
    let (mut journal, mut sidecar) = (None, format!("{} 0000000001\n", registry.id()));
    for line in text.split('\n') {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "at" => {
                let (offset, digits) = rest.split_once(' ').unwrap_or((rest, ""));
                let (Ok(offset), Some(bytes)) = (offset.parse::<usize>(), bytes(digits)) else { continue };
                for (place, byte) in database.iter_mut().skip(offset).zip(bytes) {
                    *place = byte;
                }
            }
            "cut" => database.truncate(rest.parse().unwrap_or(usize::MAX)),
            "end" => database.extend(bytes(rest).unwrap_or_default()),
            "journal" => journal.get_or_insert_with(Vec::new).extend(bytes(rest).unwrap_or_default()),
            "lock" => sidecar = rest.replace("$ID", registry.id()),
            _ => {}
        }
    }
    registry.put(&database, sidecar.as_bytes(), journal.as_deref());
}
