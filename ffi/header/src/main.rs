//! Writes `include/leaseflake.h` and `ffi/symbols.txt` from the sources of `ffi`; with `--check`, says
//! whether they are what it would write.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let check = match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => false,
        [only] if only == "--check" => true,
        _ => {
            eprintln!("usage: leaseflake-header [--check]");
            return ExitCode::from(2);
        }
    };
    let ffi = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match files(&ffi) {
        Ok(files) => finish(&files, check),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The files and what belongs into them.
fn files(ffi: &Path) -> Result<[(PathBuf, String); 2], String> {
    let config =
        cbindgen::Config::from_file(ffi.join("cbindgen.toml")).map_err(|error| format!("cbindgen.toml: {error}"))?;
    let bindings = cbindgen::Builder::new()
        .with_crate(ffi)
        .with_config(config)
        .generate()
        .map_err(|error| format!("cbindgen: {error}"))?;
    let mut header = Vec::new();
    bindings.write(&mut header);
    let header = String::from_utf8(header).map_err(|error| error.to_string())?;
    let mut symbols: Vec<&str> = bindings.dynamic_symbols_names().collect();
    symbols.sort_unstable();
    Ok([
        (ffi.join("../include/leaseflake.h"), header),
        (ffi.join("symbols.txt"), symbols.iter().map(|symbol| format!("{symbol}\n")).collect()),
    ])
}

fn finish(files: &[(PathBuf, String); 2], check: bool) -> ExitCode {
    let mut drifted = false;
    for (path, text) in files {
        let name = path.file_name().unwrap_or_default().display();
        let there = std::fs::read_to_string(path).unwrap_or_default();
        if there == *text {
            continue;
        }
        if check {
            eprintln!("{name} is not what ffi/src says: run `make header` and commit it");
            drifted = true;
        } else if let Err(error) = std::fs::write(path, text) {
            eprintln!("{name}: {error}");
            return ExitCode::FAILURE;
        }
    }
    if drifted { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
