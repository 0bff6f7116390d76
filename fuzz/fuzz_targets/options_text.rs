//! Options as the environment, files and other languages give them: names and texts.
#![no_main]

use leaseflake::{OPTION_NAMES, Options};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|given: Vec<(u8, &str)>| {
    let mut options = Options::new();
    for (name, text) in given {
        // A number past the names stands for a name that is none.
        let name = OPTION_NAMES.get(usize::from(name)).copied().unwrap_or(text);
        if let Err(error) = options.set(name, text) {
            assert_eq!(error.name(), "INVALID_ARGUMENT", "{name}={text:?}");
            assert!(!error.message().is_empty());
        }
    }
    // None of these asks a registry.
    let results = [
        options.resolve_layout().err(),
        options.resolve_datacenters().err(),
        options.resolve_store().map(|store| store.name()).err(),
    ];
    for error in results.into_iter().flatten() {
        assert_eq!(error.name(), "INVALID_ARGUMENT", "{error}");
    }
});
