//! Leases: the registry's items, the stores, and the keeper.

pub mod record;
pub mod store;
