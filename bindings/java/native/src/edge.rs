//! The edge to Java: an error or a panic becomes an exception and never unwinds into the virtual machine.

use std::any::Any;

use jni::errors::ErrorPolicy;
use jni::objects::JClass;
use jni::{Env, EnvUnowned, JValue, jni_sig, jni_str};
use leaseflake::{Error, ErrorCode};

/// Why a call ends early.
pub(crate) enum Fault {
    /// An error of ours.
    Ours(Error),
    /// JNI refused; mostly because an exception is on its way already.
    Java(jni::errors::Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Ours(error)
    }
}

impl From<jni::errors::Error> for Fault {
    fn from(error: jni::errors::Error) -> Fault {
        Fault::Java(error)
    }
}

/// Runs a native method. `class` is `io.leaseflake.Native`, which knows how to throw.
pub(crate) fn call<'local, T: Default>(
    mut env: EnvUnowned<'local>,
    class: JClass<'local>,
    body: impl FnOnce(&mut Env<'local>) -> Result<T, Fault>,
) -> T {
    env.with_env(body).resolve_with::<Throw, _>(|| class)
}

struct Throw;

impl<T: Default> ErrorPolicy<T, Fault> for Throw {
    type Captures<'local: 'method, 'method> = JClass<'local>;

    fn on_error<'local: 'method, 'method>(
        env: &mut Env<'local>,
        class: &mut JClass<'local>,
        fault: Fault,
    ) -> jni::errors::Result<T> {
        match fault {
            Fault::Ours(error) => throw(env, class, &error),
            Fault::Java(jni::errors::Error::JavaException) => Ok(T::default()),
            Fault::Java(error) => throw(env, class, &Error::new(ErrorCode::Internal, format!("JNI: {error}"))),
        }
    }

    fn on_panic<'local: 'method, 'method>(
        env: &mut Env<'local>,
        class: &mut JClass<'local>,
        panic: Box<dyn Any + Send + 'static>,
    ) -> jni::errors::Result<T> {
        // The core's boundary has the words for it.
        match leaseflake::guard(|| -> Result<(), Error> { std::panic::resume_unwind(panic) }) {
            Ok(()) => Ok(T::default()),
            Err(error) => throw(env, class, &error),
        }
    }
}

/// Has Java throw the exception that an error is.
#[cold]
fn throw<T: Default>(env: &mut Env<'_>, class: &JClass<'_>, error: &Error) -> jni::errors::Result<T> {
    let name = env.new_string(error.name())?;
    let message = env.new_string(error.message())?;
    let retry_after = error.retry_after().map_or(-1, |after| i64::try_from(after.as_nanos()).unwrap_or(i64::MAX));
    let thrown = env.call_static_method(
        class,
        jni_str!("raise"),
        jni_sig!("(Ljava/lang/String;Ljava/lang/String;J)V"),
        &[JValue::Object(&name), JValue::Object(&message), JValue::Long(retry_after)],
    );
    match thrown {
        Ok(_) | Err(jni::errors::Error::JavaException) => Ok(T::default()),
        Err(failed) => Err(failed),
    }
}
