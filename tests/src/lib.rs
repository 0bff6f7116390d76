//! Tests that cross crates and languages.

pub mod emulator;
pub mod member;
pub mod proxy;
pub mod scene;
pub mod serve;
pub mod shim;
