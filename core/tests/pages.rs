//! What the documents say about options is what the core knows.

use std::collections::BTreeSet;
use std::path::PathBuf;

use leaseflake::OPTION_NAMES;

#[test]
fn the_options_page_lists_every_option_and_no_other() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/options.md");
    let page = std::fs::read_to_string(path).unwrap();
    let table = page.split("\n## ").next().unwrap();
    let listed: BTreeSet<&str> =
        table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`').map(|(name, _)| name)).collect();
    assert_eq!(listed, OPTION_NAMES.into_iter().collect());
}
