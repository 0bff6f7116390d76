//! Tests that cross crates and languages.

pub mod emulator;
pub mod member;
pub mod proxy;
pub mod scene;
pub mod shim;

/// The Rust in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
