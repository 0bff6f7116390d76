//! Tests that cross crates and languages.

pub mod emulator;
pub mod proxy;
pub mod shim;
