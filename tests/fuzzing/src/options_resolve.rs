//! Options that are each right, and may be wrong together: what opening a generator would say of them.

use leaseflake::Options;

use crate::message::refuses;
use crate::options_text::given;

/// Checks the options of the input together, with a registry if they name none.
pub fn options_resolve(data: &[u8]) {
    let mut options = given(&String::from_utf8_lossy(data));
    if options.get("store").is_none() {
        options = options.store("memory:");
    }
    match options.check() {
        Ok(()) => assert!(makes_sense(&options), "accepted: {options:?}"),
        // Each of them was right by itself, so it is one of those that are looked at together.
        Err(error) => {
            let names = ["lease_ttl_ms", "lease_ttl_max_ms", "sequence_jitter", "datacenter_id", "layout", "epoch_ms"];
            let name = names.into_iter().find(|name| error.message().starts_with(name));
            let name = name.unwrap_or_else(|| panic!("it names none of them: {error}"));
            refuses(&error, name, &format!("{options:?}"));
            assert!(!makes_sense(&options), "refused: {options:?}: {error}");
        }
    }
}

/// The rules as the documentation of the options has them.
fn makes_sense(options: &Options) -> bool {
    let number = |name: &str, default: u128| {
        options.get(name).map_or(default, |text| text.parse().expect("digits, or `set` would have refused them"))
    };
    let Ok(layout) = options.resolve_layout() else { return false };
    let ttl = number("lease_ttl_ms", 30_000);
    number("heartbeat_interval_ms", 10_000) + number("safety_margin_ms", 5_000) < ttl
        && number("lease_ttl_max_ms", ttl) >= ttl
        && number("sequence_jitter", 0) < 1 << layout.sequence_bits()
        && options.resolve_datacenters().is_ok()
}
