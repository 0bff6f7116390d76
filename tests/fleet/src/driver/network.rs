//! Where worker IDs come from, and the network between each process and there.

use leaseflake_tests::emulator::{CREDENTIALS, Emulator};
use leaseflake_tests::proxy::{ErrorAnswer, Fault, FaultProxy};

use super::script::Break;

/// The registry of the fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registry {
    /// One that is there already, by its `store` option. The way to it cannot be cut.
    Given(String),
    /// A table on a DynamoDB emulator of our own (or the one that `LEASEFLAKE_TEST_ENDPOINT`
    /// names), each process behind a network that can be cut.
    Emulator,
}

/// The way of each place to the registry.
pub(super) struct Network {
    stores: Vec<String>,
    /// One for each place; none where the way cannot be cut.
    proxies: Vec<FaultProxy>,
    /// Ends the emulator, after the proxies.
    _emulator: Option<Emulator>,
}

impl Network {
    pub(super) fn start(registry: &Registry, places: usize) -> Network {
        match registry {
            Registry::Given(store) => {
                Network { stores: vec![store.clone(); places], proxies: Vec::new(), _emulator: None }
            }
            Registry::Emulator => {
                let emulator = Emulator::start();
                let table = emulator.table();
                let proxies: Vec<FaultProxy> = (0..places).map(|_| FaultProxy::start(emulator.address())).collect();
                let stores = proxies.iter().map(|proxy| table.url_by(&proxy.endpoint())).collect();
                Network { stores, proxies, _emulator: Some(emulator) }
            }
        }
    }

    /// The `store` option of a place.
    pub(super) fn store(&self, place: usize) -> &str {
        &self.stores[place]
    }

    /// What every process needs in its environment.
    pub(super) fn environment(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        CREDENTIALS.into_iter().take(if self.proxies.is_empty() { 0 } else { usize::MAX })
    }

    /// Whether the network can be broken.
    pub(super) fn can_break(&self) -> bool {
        !self.proxies.is_empty()
    }

    /// Breaks the way of a place.
    pub(super) fn break_way(&self, place: usize, how: &Break) {
        if let Some(proxy) = self.proxies.get(place) {
            proxy.set(match how {
                Break::Cut => Fault::Cut,
                Break::Hold => Fault::Hold,
                Break::DropAnswers => Fault::DropAnswer,
                Break::Delay(time) => Fault::Delay(*time),
                Break::Fail => Fault::Error(ErrorAnswer::internal()),
                Break::FailAfter => Fault::ErrorAfter(ErrorAnswer::internal()),
                Break::Throttle => Fault::Error(ErrorAnswer::throttled()),
            });
        }
    }

    /// Mends the way of a place; what was held on it arrives now, late.
    pub(super) fn mend_way(&self, place: usize) {
        if let Some(proxy) = self.proxies.get(place) {
            proxy.heal();
            proxy.release();
        }
    }
}
