//! How the addon is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        // Node.js unloads an addon with the last worker thread that used it; the keeper's thread would
        // go on in memory that is gone.
        Ok("linux" | "freebsd") => println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete"),
        // Node-API is found in the process that loads the addon.
        Ok("macos") => println!("cargo::rustc-cdylib-link-arg=-Wl,-undefined,dynamic_lookup"),
        _ => {}
    }
}
