//! The native half of the Node.js package `leaseflake`, on Node-API: one small file per concept.
//!
//! What JavaScript sees of it is private to the package: `ts/` holds the classes, and calls the
//! functions that are registered here. Everything that knows about IDs and leases is in the core.

mod bell;
mod edge;
mod fault;
mod generator;
mod host;
mod layout;
mod options;
mod status;
mod tasks;
mod value;

use std::rc::Rc;

use edge::Env;
use fault::Fault;
use host::Host;
use leaseflake::Error;
use value::Value;

/// Node.js calls this for each thread that loads the addon.
///
/// # Safety
///
/// Called by Node.js alone, with a live environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn napi_register_module_v1(
    env: napi_sys::napi_env,
    exports: napi_sys::napi_value,
) -> napi_sys::napi_value {
    #[cfg(target_env = "msvc")]
    // SAFETY: it must be called before any other function, and what it loads must stay.
    std::mem::forget(unsafe { napi_sys::setup() });
    // SAFETY: Node.js gives an environment that lives as long as this call, on this thread.
    edge::enter(unsafe { Env::of_call(env) }, |env| {
        let exports = Value(exports);
        register(env, exports)?;
        Ok(exports)
    })
}

/// The version of Node-API that the addon was written for.
#[unsafe(no_mangle)]
pub extern "C" fn node_api_module_get_api_version_v1() -> i32 {
    8
}

fn register(env: Env, exports: Value) -> Result<(), Fault> {
    let (host, place) = Host::install(env)?;
    let set = |name, value: Result<Value, Fault>| env.set(exports, name, value?);
    set("version", env.text(env!("CARGO_PKG_VERSION")))?;
    let names: Vec<String> = leaseflake::OPTION_NAMES.iter().map(|name| value::camel_case(name)).collect();
    set("optionNames", env.texts(&names))?;

    set("place", Ok(place))?;

    let known = Rc::clone(&host);
    set("useErrorClass", env.function("useErrorClass", move |env, [class]| known.use_error_class(env, class)))?;
    #[cfg(debug_assertions)]
    let shared = Rc::clone(&host);
    let opener = Rc::clone(&host);
    set(
        "open",
        env.function("open", move |env, [options]| {
            let options = options::read(env, options)?;
            let opening = leaseflake::IdGenerator::open_async(options);
            opener.spawn(env, true, async move { opening.await.map(tasks::Outcome::Opened) })
        }),
    )?;
    set(
        "openSync",
        env.function("openSync", move |env, [options]| {
            let opened = leaseflake::IdGenerator::open(options::read(env, options)?)?;
            generator::to_value(env, &host, opened)
        }),
    )?;
    set("layout", env.function("layout", |env, [widths, epoch_ms]| layout::open(env, widths, epoch_ms)))?;
    set(
        "refuse",
        env.function("refuse", |env, [what, value, allowed]| {
            Err(Error::invalid(&env.text_of(what)?, env.text_of(value)?, env.text_of(allowed)?).into())
        }),
    )?;
    // For the benchmark: what a call costs that does nothing, and one that only reads the wall clock.
    set("nothing", env.function("nothing", |_, []| Ok(Value::UNDEFINED)))?;
    set(
        "readClock",
        env.function("readClock", |_, []| {
            std::hint::black_box(std::time::SystemTime::now());
            Ok(Value::UNDEFINED)
        }),
    )?;
    // What a bug would do, for the tests.
    #[cfg(debug_assertions)]
    {
        set("panic", env.function("panic", |_, []| panic!("a test")))?;
        let later = move |env: Env, []: [Value; 0]| shared.spawn(env, true, async { bug() });
        set("panicLater", env.function("panicLater", later))?;
    }
    Ok(())
}

#[cfg(debug_assertions)]
fn bug() -> Result<tasks::Outcome, Error> {
    panic!("a test of a promise")
}
