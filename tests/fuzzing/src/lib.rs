//! What must hold of every parser of outside input, whatever it is given.
//!
//! One function for each kind of input: it takes bytes, gives them to the product and panics where
//! something does not hold. cargo-fuzz calls them with what it makes up (`make prove-fuzz`), a test
//! calls them with the seeds and with mutations of these (`make test-fuzz`). Inputs are text where
//! that is possible, so that a seed or a finding can be read.

mod cli_text;
mod dynamodb_items;
mod id_text;
mod message;
mod metadata;
mod neighbour;
mod options_resolve;
mod options_text;
mod registry_file;
mod scene;
mod server_input;
mod server_options;
mod sqlite_file;
mod sqlite_items;

pub use cli_text::cli_text;
pub use dynamodb_items::dynamodb_items;
pub use id_text::id_text;
pub use metadata::metadata;
pub use options_resolve::options_resolve;
pub use options_text::options_text;
pub use server_input::server_input;
pub use server_options::server_options;
pub use sqlite_file::sqlite_file;
pub use sqlite_items::sqlite_items;

/// Every kind of input: its function here, the folder of its seeds in `fuzz/seeds`, its caller in `fuzz/fuzz_targets`.
pub const TARGETS: [&str; 10] = [
    "cli_text",
    "dynamodb_items",
    "id_text",
    "metadata",
    "options_resolve",
    "options_text",
    "server_input",
    "server_options",
    "sqlite_file",
    "sqlite_items",
];
