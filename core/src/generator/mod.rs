//! The generator: slots and their page, waiting, forks, and the handles that users hold.

mod exit;
mod explain;
mod futex;
mod handle;
mod keep;
mod leave;
mod link;
mod page;
mod process;
mod shared;
mod slot;
mod table;
mod timer;
mod wait;

pub use exit::close_at_exit;
pub use handle::{IdGenerator, Reserved};
#[cfg(all(test, not(leaseflake_loom)))]
pub(crate) use keep::keeper_config;
#[cfg(all(test, not(leaseflake_loom)))]
pub(crate) use page::Page as SimPage;
#[cfg(all(test, not(leaseflake_loom)))]
pub(crate) use shared::Host;
#[cfg(all(test, not(leaseflake_loom)))]
pub(crate) use shared::KeptPage;
pub(crate) use shared::Shared;
#[cfg(all(test, not(leaseflake_loom)))]
pub(crate) use slot::{Reach, Reservation, Slot as SimSlot, Want};

#[cfg(all(test, not(leaseflake_loom)))]
mod tests;

#[cfg(all(test, leaseflake_loom))]
mod interleavings;
