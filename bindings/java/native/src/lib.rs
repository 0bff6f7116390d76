//! The native part of the Java library: the methods of `io.leaseflake.Native`.
//!
//! One file per concept. Java passes a generator as a number, the address of an `Arc` that it owns;
//! it frees it once nothing can reach the object that holds the number. The hot path touches no
//! JNI function: what it gives is a number, and a refusal is explained by a second call. No thread
//! of ours ever attaches to the virtual machine.

mod edge;
pub mod generator;
pub mod layout;
mod number;
mod status;
mod text;

use jni::EnvUnowned;
use jni::objects::{JClass, JObjectArray, JString};
use jni::sys::jlong;
use leaseflake::ErrorCode;

use crate::edge::call;

/// The version, which must be that of the classes.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_version<'local>(
    env: EnvUnowned<'local>,
    class: JClass<'local>,
) -> JString<'local> {
    call(env, class, |env| Ok(env.new_string(env!("CARGO_PKG_VERSION"))?))
}

/// The error table: for each code its name, its number and whether a retry helps.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_errorTable<'local>(
    env: EnvUnowned<'local>,
    class: JClass<'local>,
) -> JObjectArray<'local, JString<'local>> {
    call(env, class, |env| {
        let mut texts = Vec::new();
        for code in ErrorCode::ALL {
            texts.push(Some(code.name().to_owned()));
            texts.push(Some(code.code().to_string()));
            texts.push(Some(code.retryable().to_string()));
        }
        text::array(env, &texts)
    })
}

/// For the benchmark: what a call costs that does nothing.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_nothing(_env: EnvUnowned<'_>, _class: JClass<'_>) -> jlong {
    0
}

/// For the benchmark: what a call costs that only reads the wall clock.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_readClock(_env: EnvUnowned<'_>, _class: JClass<'_>) -> jlong {
    std::hint::black_box(std::time::SystemTime::now());
    0
}

/// What a bug would do, for the tests: a panic where errors become exceptions.
#[cfg(debug_assertions)]
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_panic<'local>(env: EnvUnowned<'local>, class: JClass<'local>) {
    call(env, class, |_| -> Result<(), edge::Fault> { panic!("a test") });
}

/// As `panic`, on the path of an ID.
#[cfg(debug_assertions)]
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_panicNext(_env: EnvUnowned<'_>, _class: JClass<'_>) -> jlong {
    number::caught(|| panic!("a test"))
}
