//! Leases: the registry's items, the stores, and the keeper.

pub mod keeper;
pub mod pin;
pub mod record;
pub(crate) mod shown;
pub mod state;
pub mod store;
pub mod trust;
