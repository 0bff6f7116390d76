//! Options as the environment, files and other languages give them: names and texts, `NAME=TEXT` on each line.

use leaseflake::{OPTION_NAMES, Options};

use crate::message::{is_fit_to_read, refuses, refuses_by_value};

/// Sets each option of the input; then asks for what they stand for.
pub fn options_text(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let options = given(&text);
    // None of these asks a registry.
    let layout = options.resolve_layout();
    let datacenters = options.resolve_datacenters();
    if let (Ok(layout), Ok(Some(these))) = (&layout, &datacenters) {
        assert!(!these.is_empty() && these.iter().all(|one| *one <= layout.max_datacenter_id()), "{these:?}");
    }
    let store = options.resolve_store().map(|store| store.name());
    if let Ok(name) = &store {
        is_fit_to_read(name);
    }
    let refusals = [("layout", layout.err()), ("datacenter_id", datacenters.err()), ("store", store.err())];
    for (name, refusal) in refusals {
        let Some(error) = refusal else { continue };
        // The datacenter cannot be right where the layout is not.
        let name = if name == "datacenter_id" && options.resolve_layout().is_err() { "layout" } else { name };
        refuses(&error, name, &text);
    }
}

/// The options of these lines that are accepted.
pub(crate) fn given(text: &str) -> Options {
    let mut options = Options::new();
    for line in text.split('\n') {
        let (name, text) = line.split_once('=').unwrap_or((line, ""));
        let before = options.get(name).map(str::to_owned);
        match options.set(name, text).map(drop) {
            Ok(()) => {
                assert!(OPTION_NAMES.contains(&name), "{name:?} is no option");
                assert_eq!(options.get(name), Some(text).filter(|text| !text.is_empty()));
            }
            Err(error) if !OPTION_NAMES.contains(&name) => refuses_by_value(&error, "option name", name),
            Err(error) => {
                assert_eq!(options.get(name), before.as_deref(), "a refused value changed the option");
                match name {
                    // They name the part that is wrong, or the number.
                    "store" | "layout" | "epoch_ms" => refuses(&error, name, text),
                    _ => refuses_by_value(&error, name, text),
                }
            }
        }
    }
    options
}
