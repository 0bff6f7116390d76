//! The process-wide table: one generator per registry, datacenter, layout and slot.

use std::collections::HashMap;

use crate::layout::Layout;
use crate::options::{Config, DatacenterChoice};
use crate::rules::{Rule, holds};
use crate::sync::{Arc, Mutex, lock};

/// What tells the generators of a process apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    store: String,
    datacenters: DatacenterChoice,
    layout: Layout,
    slot: u32,
}

impl Key {
    pub(crate) fn of(config: &Config) -> Key {
        Key {
            store: config.store.key(),
            datacenters: config.datacenters.clone(),
            layout: config.layout,
            slot: config.slot,
        }
    }
}

/// What the table needs of a generator.
pub(crate) trait Generator {
    /// Counts a handle more.
    fn take_handle(&self);
    /// Counts a handle less; `true` when that was the last one.
    fn give_handle(&self) -> bool;
    /// Whether it has ended for a reason of its own.
    fn is_over(&self) -> bool;
    /// Ends issuing at once and gives the newest word: nothing is issued after it.
    fn retire(&self) -> u64;
}

/// One entry: the open generator, and the newest word that this process ever issued for the key.
struct Entry<G> {
    open: Option<Arc<G>>,
    newest: u64,
}

/// The generators of this process.
pub(crate) struct Table<K, G> {
    entries: Mutex<HashMap<K, Entry<G>>>,
}

impl<K: Clone + Eq + std::hash::Hash, G: Generator> Table<K, G> {
    pub(crate) fn new() -> Table<K, G> {
        Table { entries: Mutex::new(HashMap::new()) }
    }

    /// A handle on the open generator of a key, or on the one that `make` makes, whose IDs must
    /// be above the word that it is given. `true` when it was made.
    pub(crate) fn open<E>(
        &self,
        key: &K,
        agree: impl FnOnce(&G) -> Result<(), E>,
        make: impl FnOnce(u64) -> Result<G, E>,
    ) -> Result<(Arc<G>, bool), E> {
        let mut entries = lock(&self.entries);
        let entry = entries.entry(key.clone()).or_insert(Entry { open: None, newest: 0 });
        if let Some(open) = entry.open.as_ref().filter(|_| holds(Rule::ProcessWideSharing)) {
            if !open.is_over() {
                agree(open)?;
                open.take_handle();
                return Ok((Arc::clone(open), false));
            }
            entry.newest = entry.newest.max(open.retire());
        }
        let made = Arc::new(make(entry.newest)?);
        made.take_handle();
        entry.open = Some(Arc::clone(&made));
        Ok((made, true))
    }

    /// Gives a handle back. With the last one the generator leaves the table, retired: an `open`
    /// from here on makes a new one, above all that this one has issued. `true` for the last one.
    pub(crate) fn close(&self, key: &K, generator: &Arc<G>) -> bool {
        let mut entries = lock(&self.entries);
        if !generator.give_handle() {
            return false;
        }
        let newest = generator.retire();
        if let Some(entry) = entries.get_mut(key) {
            entry.newest = entry.newest.max(newest);
            if entry.open.as_ref().is_some_and(|open| Arc::ptr_eq(open, generator)) {
                entry.open = None;
            }
        }
        true
    }

    /// All open generators.
    pub(crate) fn all(&self) -> Vec<(K, Arc<G>)> {
        lock(&self.entries)
            .iter()
            .filter_map(|(key, entry)| entry.open.as_ref().map(|open| (key.clone(), Arc::clone(open))))
            .collect()
    }
}

impl<K: Clone + Eq + std::hash::Hash, G> Table<K, G> {
    /// The entries as a forked child finds them, if the lock was free at the fork.
    pub(crate) fn inherit(&self) -> Table<K, G> {
        let entries = match self.entries.try_lock() {
            Ok(entries) => entries
                .iter()
                .map(|(key, entry)| (key.clone(), Entry { open: entry.open.clone(), newest: entry.newest }))
                .collect(),
            // Somebody was in the middle of it: the child opens generators of its own.
            Err(_) => HashMap::new(),
        };
        Table { entries: Mutex::new(entries) }
    }
}
