//! Compiles the clock shim, so that any test can preload it.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=shim/clockshim.c");
    println!("cargo::rerun-if-env-changed=CC");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("clockshim.so");
    println!("cargo::rustc-env=CLOCKSHIM_SO={}", out.display());
    // LD_PRELOAD and the clocks are Linux's; elsewhere the helper says that it is unsupported.
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let status = Command::new(&compiler)
        .args(["-O2", "-Wall", "-Wextra", "-fPIC", "-shared", "-fvisibility=hidden", "-o"])
        .arg(&out)
        .args(["shim/clockshim.c", "-ldl"])
        .status()
        .unwrap_or_else(|error| panic!("the C compiler `{compiler}` does not start: {error}; install one or set CC"));
    assert!(status.success(), "`{compiler}` could not compile tests/shim/clockshim.c: {status}");
}
