//! Why a call gives no value, and the JavaScript error that it becomes. The class is TypeScript's
//! (`ts/errors.ts`); its fields come from the core's table.

use std::ffi::CString;
use std::ptr;

use leaseflake::{Error, ErrorCode};
use napi_sys as sys;

use crate::edge::Env;
use crate::host::Host;
use crate::value::Value;

/// Why a call gives no value.
pub(crate) enum Fault {
    /// An error of ours; after a `fill`, with how many IDs were written.
    Error(Error, Option<usize>),
    /// JavaScript has thrown already, or runs no more.
    Thrown,
    /// Node-API refused with this status: a bug of ours.
    Refused(i32),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Error(error, None)
    }
}

impl Fault {
    #[inline]
    pub(crate) fn check(status: sys::napi_status) -> Result<(), Fault> {
        match status {
            sys::Status::napi_ok => Ok(()),
            other => Err(Fault::of_status(other)),
        }
    }

    #[cold]
    fn of_status(status: sys::napi_status) -> Fault {
        match status {
            sys::Status::napi_pending_exception | sys::Status::napi_cannot_run_js | sys::Status::napi_closing => {
                Fault::Thrown
            }
            other => Fault::Refused(other),
        }
    }

    /// Has JavaScript throw it.
    pub(crate) fn throw(self, env: Env) {
        let text = match &self {
            Fault::Error(error, _) => error.to_string(),
            _ => String::new(),
        };
        match self.to_value(env) {
            Ok(Some(error)) => {
                // SAFETY: an error of this call.
                unsafe { sys::napi_throw(env.raw(), error.0) };
            }
            Ok(None) => {}
            // The class is not known yet, or there is no room for it.
            Err(_) => {
                let text = CString::new(text).unwrap_or_default();
                // SAFETY: a live environment; the text is copied.
                unsafe { sys::napi_throw_error(env.raw(), ptr::null(), text.as_ptr()) };
            }
        }
    }

    /// The error as a value; `None` where JavaScript has thrown one already.
    pub(crate) fn to_value(&self, env: Env) -> Result<Option<Value>, Fault> {
        match self {
            Fault::Error(error, written) => make(env, error, *written).map(Some),
            Fault::Refused(status) => {
                let message = format!(
                    "Node-API refused a call with status {status}: this is a bug in Leaseflake, please report it"
                );
                make(env, &Error::new(ErrorCode::Internal, message), None).map(Some)
            }
            Fault::Thrown => Ok(None),
        }
    }
}

fn make(env: Env, error: &Error, written: Option<usize>) -> Result<Value, Fault> {
    let optional = |number: Option<i64>| number.map_or_else(|| env.undefined(), |number| env.number(number));
    let retry_after_ms = error.retry_after().map(|span| span.as_millis() as i64);
    let fields = [
        env.text(error.name())?.0,
        env.number(error.code().code().into())?.0,
        env.text(error.message())?.0,
        env.flag(error.retryable())?.0,
        optional(retry_after_ms)?.0,
        optional(written.map(|written| written as i64))?.0,
    ];
    let class = Host::of(env)?.error_class(env)?;
    let mut made = ptr::null_mut();
    // SAFETY: values of this call.
    Fault::check(unsafe { sys::napi_new_instance(env.raw(), class.0, fields.len(), fields.as_ptr(), &mut made) })?;
    Ok(Value(made))
}
