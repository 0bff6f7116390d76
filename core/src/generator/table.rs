//! The process-wide table: one generator per registry, datacenter, layout and slot.

use std::collections::HashMap;
use std::sync::Weak;

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
    known: Mutex<Known<K, G>>,
}

struct Known<K, G> {
    entries: HashMap<K, Entry<G>>,
    /// Those that nobody has a handle on any more and that may still be releasing their lease.
    leaving: Vec<Weak<G>>,
}

impl<K: Clone + Eq + std::hash::Hash, G: Generator> Table<K, G> {
    pub(crate) fn new() -> Table<K, G> {
        Table::of(HashMap::new())
    }

    /// A handle on the open generator of a key, or on the one that `make` makes, whose IDs must
    /// be above the word that it is given. `true` when it was made.
    pub(crate) fn open<E>(
        &self,
        key: &K,
        agree: impl FnOnce(&G) -> Result<(), E>,
        make: impl FnOnce(u64) -> Result<G, E>,
    ) -> Result<(Arc<G>, bool), E> {
        let mut known = lock(&self.known);
        let entry = known.entries.entry(key.clone()).or_insert(Entry { open: None, newest: 0 });
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
        let mut known = lock(&self.known);
        if !generator.give_handle() {
            return false;
        }
        let newest = generator.retire();
        if let Some(entry) = known.entries.get_mut(key) {
            entry.newest = entry.newest.max(newest);
            if entry.open.as_ref().is_some_and(|open| Arc::ptr_eq(open, generator)) {
                entry.open = None;
            }
        }
        known.leaving.retain(|left| left.strong_count() > 0);
        known.leaving.push(Arc::downgrade(generator));
        true
    }

    /// All open generators, and those that have left and that somebody still uses: their keeper, if
    /// nobody else.
    pub(crate) fn all(&self) -> Vec<Arc<G>> {
        let known = lock(&self.known);
        let open = known.entries.values().filter_map(|entry| entry.open.clone());
        open.chain(known.leaving.iter().filter_map(Weak::upgrade)).collect()
    }
}

impl<K: Clone + Eq + std::hash::Hash, G> Table<K, G> {
    fn of(entries: HashMap<K, Entry<G>>) -> Table<K, G> {
        Table { known: Mutex::new(Known { entries, leaving: Vec::new() }) }
    }

    /// The entries as a forked child finds them, if the lock was free at the fork.
    pub(crate) fn inherit(&self) -> Table<K, G> {
        let entries = match self.known.try_lock() {
            Ok(known) => known
                .entries
                .iter()
                .map(|(key, entry)| (key.clone(), Entry { open: entry.open.clone(), newest: entry.newest }))
                .collect(),
            // Somebody was in the middle of it: the child opens generators of its own.
            Err(_) => HashMap::new(),
        };
        // Those that were leaving are the parent's to wait for.
        Table::of(entries)
    }
}

#[cfg(all(test, not(leaseflake_loom)))]
mod tests {
    use super::*;
    use crate::sync::{AtomicUsize, Ordering};

    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl Generator for Counted {
        fn take_handle(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        fn give_handle(&self) -> bool {
            self.0.fetch_sub(1, Ordering::Relaxed) == 1
        }
        fn is_over(&self) -> bool {
            false
        }
        fn retire(&self) -> u64 {
            0
        }
    }

    #[test]
    fn an_exit_finds_a_generator_until_its_keeper_is_done_with_it() {
        let table = Table::new();
        let open = || table.open(&0, |_: &Counted| Ok::<_, ()>(()), |_| Ok(Counted::default())).expect("opens").0;
        let handle = open();
        let keeper = Arc::clone(&handle);
        assert_eq!(table.all().len(), 1);
        assert!(table.close(&0, &handle));
        drop(handle);
        assert!(Arc::ptr_eq(&table.all()[0], &keeper), "it may still be releasing its lease");
        let next = open();
        assert_eq!(table.all().len(), 2);
        drop(keeper);
        assert!(table.all().len() == 1 && Arc::ptr_eq(&table.all()[0], &next));
    }
}
