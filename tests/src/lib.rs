//! Tests that cross crates and languages.
