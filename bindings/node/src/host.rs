//! What the addon keeps for each thread that loaded it (Node.js: environment).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use leaseflake::{Error, ErrorCode, Id};
use napi_sys as sys;

use crate::bell::Bell;
use crate::edge::Env;
use crate::fault::Fault;
use crate::tasks::Task;
use crate::value::Value;

/// How many environments have loaded the addon and not ended.
static ENVIRONMENTS: AtomicUsize = AtomicUsize::new(0);

/// The addon's part of one environment.
pub(crate) struct Host {
    env: sys::napi_env,
    place: Place,
    error_class: Cell<sys::napi_ref>,
    pub(crate) bell: Arc<Bell>,
    pub(crate) tasks: RefCell<HashMap<u64, Task>>,
    next_task: Cell<u64>,
    alive: Cell<usize>,
}

/// Where a call leaves its ID for JavaScript to read: optimised code makes a bigint of a typed
/// array's element in a fraction of the time that Node-API takes.
#[derive(Clone, Copy)]
pub(crate) struct Place(*mut i64);

impl Place {
    /// An array of one number, which lives as long as the environment.
    fn install(env: Env) -> Result<(Place, Value), Fault> {
        let (mut data, mut buffer, mut array, mut kept) =
            (ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: a live environment; the reference is never given back, so the memory stays.
        Fault::check(unsafe { sys::napi_create_arraybuffer(env.raw(), size_of::<i64>(), &mut data, &mut buffer) })?;
        // SAFETY: as above; 8 bytes are one such number.
        Fault::check(unsafe {
            sys::napi_create_typedarray(env.raw(), sys::TypedarrayType::bigint64_array, 1, buffer, 0, &mut array)
        })?;
        // SAFETY: as above.
        Fault::check(unsafe { sys::napi_create_reference(env.raw(), array, 1, &mut kept) })?;
        Ok((Place(data.cast()), Value(array)))
    }

    /// Leaves an ID. `Env` says that this is the thread of the environment, where nobody reads
    /// meanwhile.
    #[inline]
    pub(crate) fn leave(self, _: Env, id: Id) {
        // SAFETY: the memory of `install`, which lives as long as the environment of this call.
        unsafe { self.0.write(id.as_i64()) };
    }
}

impl Host {
    /// Makes the host of an environment that loads the addon.
    /// Gives it, and the array that its calls leave IDs in.
    pub(crate) fn install(env: Env) -> Result<(Rc<Host>, Value), Fault> {
        let (place, array) = Place::install(env)?;
        let host = Rc::new(Host {
            env: env.raw(),
            place,
            error_class: Cell::new(ptr::null_mut()),
            bell: Bell::new(),
            tasks: RefCell::default(),
            next_task: Cell::new(0),
            alive: Cell::new(0),
        });
        let kept = Rc::into_raw(Rc::clone(&host));
        // SAFETY: the reference count that `kept` stands for is given back by `forgotten` alone.
        Fault::check(unsafe {
            sys::napi_set_instance_data(env.raw(), kept.cast_mut().cast(), Some(forgotten), ptr::null_mut())
        })?;
        let name = env.text("leaseflake")?;
        let mut function = ptr::null_mut();
        // SAFETY: the context is alive until the environment is gone, and `rung` is called before.
        Fault::check(unsafe {
            sys::napi_create_threadsafe_function(
                env.raw(),
                ptr::null_mut(),
                ptr::null_mut(),
                name.0,
                0,
                1,
                ptr::null_mut(),
                None,
                kept.cast_mut().cast(),
                Some(rung),
                &mut function,
            )
        })?;
        host.bell.hang(function);
        host.bell.keep_alive(env.raw(), false);
        // After the function, so that it runs before Node.js takes the function away.
        // SAFETY: as for the context.
        Fault::check(unsafe { sys::napi_add_env_cleanup_hook(env.raw(), Some(ended), kept.cast_mut().cast()) })?;
        ENVIRONMENTS.fetch_add(1, Ordering::AcqRel);
        Ok((host, array))
    }

    /// Where calls leave their IDs.
    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// The host of the environment of a call.
    pub(crate) fn of(env: Env) -> Result<Rc<Host>, Fault> {
        let mut data = ptr::null_mut();
        // SAFETY: a live environment.
        Fault::check(unsafe { sys::napi_get_instance_data(env.raw(), &mut data) })?;
        if data.is_null() {
            return Err(Fault::Refused(sys::Status::napi_generic_failure));
        }
        let host: *const Host = data.cast_const().cast();
        // SAFETY: what `install` set: a host with a count that is not given back before this call ends.
        Ok(unsafe {
            Rc::increment_strong_count(host);
            Rc::from_raw(host)
        })
    }

    /// Takes the class that errors are made of.
    pub(crate) fn use_error_class(&self, env: Env, class: Value) -> Result<Value, Fault> {
        let mut kept = ptr::null_mut();
        // SAFETY: a value of this call. The reference is never given back: it lives as long as the environment.
        Fault::check(unsafe { sys::napi_create_reference(env.raw(), class.0, 1, &mut kept) })?;
        self.error_class.set(kept);
        env.undefined()
    }

    pub(crate) fn error_class(&self, env: Env) -> Result<Value, Fault> {
        if self.error_class.get().is_null() {
            return Err(Error::new(ErrorCode::Internal, "the error class is not set").into());
        }
        let mut class = ptr::null_mut();
        // SAFETY: a reference of this environment.
        Fault::check(unsafe { sys::napi_get_reference_value(env.raw(), self.error_class.get(), &mut class) })?;
        Ok(Value(class))
    }

    pub(crate) fn number_of_next_task(&self) -> u64 {
        self.next_task.replace(self.next_task.get() + 1)
    }

    /// A promise more for which the process stays.
    pub(crate) fn one_more_alive(&self) {
        if self.alive.replace(self.alive.get() + 1) == 0 {
            self.bell.keep_alive(self.env, true);
        }
    }

    pub(crate) fn one_less_alive(&self) {
        self.alive.set(self.alive.get() - 1);
        if self.alive.get() == 0 {
            self.bell.keep_alive(self.env, false);
        }
    }

    /// The environment ends: after its last JavaScript, before its memory goes.
    fn end(&self) {
        self.bell.silence();
        if ENVIRONMENTS.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Nobody is left to use the generators of this process, which may be about to exit.
            leaseflake::close_at_exit();
        }
        let unfinished = self.tasks.take();
        drop(unfinished);
    }
}

unsafe extern "C" fn rung(env: sys::napi_env, _: sys::napi_value, context: *mut c_void, _: *mut c_void) {
    if env.is_null() {
        return;
    }
    let host: *const Host = context.cast_const().cast();
    // SAFETY: the environment of this call.
    let env = unsafe { Env::of_call(env) };
    let _ = leaseflake::guard(|| {
        // SAFETY: the context given in `install`, alive as long as the environment.
        let host = unsafe {
            Rc::increment_strong_count(host);
            Rc::from_raw(host)
        };
        if let Err(fault) = host.go_on(env) {
            fault.throw(env);
        }
        Ok(())
    });
}

unsafe extern "C" fn ended(host: *mut c_void) {
    // SAFETY: set in `install`; `forgotten` runs after the hooks.
    let host = unsafe { &*host.cast_const().cast::<Host>() };
    let _ = leaseflake::guard(|| {
        host.end();
        Ok(())
    });
}

unsafe extern "C" fn forgotten(_: sys::napi_env, host: *mut c_void, _: *mut c_void) {
    // SAFETY: the count that `install` gave to the environment.
    let host = unsafe { Rc::from_raw(host.cast_const().cast::<Host>()) };
    let _ = leaseflake::guard(|| {
        drop(host);
        Ok(())
    });
}
