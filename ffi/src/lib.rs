//! The C ABI. `include/leaseflake.h` is made from these files by `make header`; doc comments here
//! are written for its readers.
//!
//! Every exported function goes through [`boundary::boundary`], and reads its arguments with the
//! helpers beside it.

#![allow(non_camel_case_types, reason = "the names are C's")]
#![allow(clippy::missing_safety_doc, reason = "the header says in C's words what each function asks of its caller")]

mod boundary;
pub mod code;
pub mod error;
pub mod generator;
pub mod id;
pub mod issue;
pub mod listener;
pub mod options;
pub mod state;
pub mod status;
pub mod version;
