//! What the shared library needs of the linker.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // The number is LEASEFLAKE_ABI_VERSION; a test compares them.
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("macos" | "ios") => {
            println!("cargo:rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libleaseflake.1.dylib");
        }
        Ok("windows") => {}
        _ => {
            println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libleaseflake.so.1");
            // The keeper's thread and the handler at exit outlive a dlclose.
            println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
        }
    }
}
