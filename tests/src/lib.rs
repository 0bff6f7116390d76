//! Tests that cross crates and languages.

pub mod shim;
