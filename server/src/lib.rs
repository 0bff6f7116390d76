//! IDs over gRPC, for callers that cannot embed Leaseflake.
//!
//! [`run`] is what `leaseflake serve` does: it takes worker IDs, serves
//! `hispeeddesign.idgen.v1.IdGeneratorService` with health and reflection, answers probes and Prometheus on
//! a second port, and on SIGTERM gives the worker IDs back. [`Server`] is the same inside a program of yours.
//! [`proto`] holds the messages and a client.

mod accept;
mod answer;
mod calls;
pub mod client;
mod config;
mod connection;
mod gather;
mod health;
mod http;
mod log;
mod metrics;
mod open_files;
mod phase;
mod pool;
mod preface;
mod registry;
mod routes;
mod run;
mod server;
mod service;
mod tls;
mod unread;

/// The messages, the client and the server of the protocol, as generated.
pub mod proto {
    #![allow(missing_docs, clippy::all, unreachable_pub)]
    include!("generated/hispeeddesign.idgen.v1.rs");

    /// The compiled proto file, for reflection.
    pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("generated/id_generator.binpb");
}

pub use answer::ERROR_DOMAIN;
// What clients send, for tests of it.
#[doc(hidden)]
pub use calls::deadline;
pub use config::{LogFormat, OPTION_NAMES, ServerOptions};
#[doc(hidden)]
pub use preface::{Prefaced, expect as expect_preface};
pub use run::run;
pub use server::Server;
