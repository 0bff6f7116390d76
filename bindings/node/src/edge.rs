//! The one boundary: every call from JavaScript comes through here, and no panic goes back out.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;

use napi_sys as sys;

use crate::fault::Fault;
use crate::value::Value;

/// The environment (a thread's JavaScript) of the call that is running. It neither leaves its
/// thread nor outlives the call.
#[derive(Clone, Copy)]
pub(crate) struct Env(sys::napi_env, PhantomData<*const ()>);

impl Env {
    /// # Safety
    ///
    /// Node.js has just given this environment to a call, on this thread; the `Env` is not kept
    /// beyond it.
    pub(crate) unsafe fn of_call(env: sys::napi_env) -> Env {
        Env(env, PhantomData)
    }

    #[inline]
    pub(crate) fn raw(self) -> sys::napi_env {
        self.0
    }

    /// A JavaScript function that calls a closure with its first `N` arguments (`undefined` where
    /// there are fewer). The closure is dropped with the function.
    pub(crate) fn function<const N: usize, F>(self, name: &str, call: F) -> Result<Value, Fault>
    where
        F: Fn(Env, [Value; N]) -> Result<Value, Fault> + 'static,
    {
        let data = Box::into_raw(Box::new(call));
        let mut function = ptr::null_mut();
        // SAFETY: a live environment; the name is copied; `data` stays until the finalizer runs.
        let made = Fault::check(unsafe {
            sys::napi_create_function(
                self.0,
                name.as_ptr().cast(),
                name.len() as isize,
                Some(called::<N, F>),
                data.cast(),
                &mut function,
            )
        })
        .and_then(|()| {
            // SAFETY: `data` is a box of F that nothing else frees.
            Fault::check(unsafe {
                sys::napi_add_finalizer(
                    self.0,
                    function,
                    data.cast(),
                    Some(dropped::<F>),
                    ptr::null_mut(),
                    ptr::null_mut(),
                )
            })
        });
        if let Err(fault) = made {
            // SAFETY: no finalizer was added; a function without one is not reachable from here on.
            drop(unsafe { Box::from_raw(data) });
            return Err(fault);
        }
        Ok(Value(function))
    }
}

/// Runs what was called; a fault is thrown, a panic becomes an INTERNAL error that is thrown.
#[inline]
pub(crate) fn enter(env: Env, call: impl FnOnce(Env) -> Result<Value, Fault>) -> sys::napi_value {
    let thrown = match leaseflake::guard(|| Ok(call(env))) {
        Ok(Ok(value)) => return value.0,
        Ok(Err(fault)) => fault,
        Err(panicked) => panicked.into(),
    };
    throw(env, thrown)
}

#[cold]
fn throw(env: Env, fault: Fault) -> sys::napi_value {
    let _ = leaseflake::guard(|| {
        fault.throw(env);
        Ok(())
    });
    ptr::null_mut()
}

unsafe extern "C" fn called<const N: usize, F>(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value
where
    F: Fn(Env, [Value; N]) -> Result<Value, Fault> + 'static,
{
    let mut arguments = [Value(ptr::null_mut()); N];
    let mut count = N;
    let mut data: *mut c_void = ptr::null_mut();
    let (count_place, arguments_place) =
        if N == 0 { (ptr::null_mut(), ptr::null_mut()) } else { (&raw mut count, arguments.as_mut_ptr().cast()) };
    // SAFETY: Node.js gave both; there is room for N values, and `Value` is a `napi_value`.
    let status = unsafe { sys::napi_get_cb_info(env, info, count_place, arguments_place, ptr::null_mut(), &mut data) };
    if status != sys::Status::napi_ok {
        return ptr::null_mut();
    }
    // SAFETY: the data given to `napi_create_function` with this very callback: a box of F, alive
    // as long as the function. Nobody has a unique reference to it.
    let call = unsafe { &*data.cast::<F>() };
    // SAFETY: the environment of this call.
    enter(unsafe { Env::of_call(env) }, |env| call(env, arguments))
}

unsafe extern "C" fn dropped<F>(_: sys::napi_env, data: *mut c_void, _: *mut c_void) {
    // SAFETY: the box made by `function`; a finalizer runs once.
    let call = unsafe { Box::from_raw(data.cast::<F>()) };
    let _ = leaseflake::guard(|| {
        drop(call);
        Ok(())
    });
}
