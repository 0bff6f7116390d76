//! What is measured, by theme.

pub(crate) mod cost;
pub(crate) mod rate;
pub(crate) mod registry;
