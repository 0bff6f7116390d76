//! Nothing is left out: every kind of input has its seeds and its caller in `fuzz`.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

fn fuzz() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn names(folder: &str) -> BTreeSet<String> {
    let files = fs::read_dir(fuzz().join(folder)).expect("a folder").map(|file| file.expect("a file").path());
    files.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect()
}

#[test]
fn a_kind_of_input_without_seeds_or_a_caller_would_not_be_fuzzed() {
    let known: BTreeSet<String> = leaseflake_fuzzing::TARGETS.map(str::to_owned).into();
    assert_eq!(names("seeds"), known);
    assert_eq!(names("fuzz_targets"), known);
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).expect("its manifest");
    for name in &known {
        let caller = format!("path = \"fuzz_targets/{name}.rs\"");
        assert!(manifest.contains(&caller), "{name} is not built");
        let caller = fs::read_to_string(fuzz().join("fuzz_targets").join(format!("{name}.rs"))).expect("a caller");
        assert!(caller.contains(&format!("leaseflake_fuzzing::{name}(data)")), "{name} calls something else");
    }
}
