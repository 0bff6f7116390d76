//! How the library is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if matches!(std::env::var("CARGO_CFG_TARGET_OS").as_deref(), Ok("linux" | "freebsd")) {
        // A virtual machine unloads a library with the class loader that loaded it; the keeper's thread
        // would go on in memory that is gone.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
