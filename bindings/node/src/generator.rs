//! A generator, as an object of functions. `ts/generator.ts` wraps it in the class that users see:
//! a call of a plain function costs a fraction of a call of a native class's method.

use std::future::poll_fn;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use leaseflake::{Error, ErrorCode, IdGenerator};

use crate::edge::Env;
use crate::fault::Fault;
use crate::host::Host;
use crate::tasks::Outcome;
use crate::value::Value;
use crate::{layout, status};

/// A handle that the garbage collector may drop: then it closes without waiting.
struct Held(IdGenerator);

impl Deref for Held {
    type Target = IdGenerator;

    #[inline]
    fn deref(&self) -> &IdGenerator {
        &self.0
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.close_soon();
    }
}

#[cold]
fn refused(ids: &Held, code: ErrorCode) -> Fault {
    ids.error_for(code).into()
}

/// The object of functions.
pub(crate) fn to_value(env: Env, host: &Rc<Host>, ids: IdGenerator) -> Result<Value, Fault> {
    let held = Arc::new(Held(ids));
    let object = env.object()?;
    let set = |name, value: Result<Value, Fault>| env.set(object, name, value?);

    let (ids, place) = (Arc::clone(&held), host.place());
    set(
        "nextId",
        env.function("nextId", move |env, []| match ids.next_id_or_code() {
            Ok(id) => {
                place.leave(env, id);
                Ok(Value::UNDEFINED)
            }
            Err(code) => Err(refused(&ids, code)),
        }),
    )?;
    let ids = Arc::clone(&held);
    set(
        "tryNextId",
        env.function("tryNextId", move |env, []| match ids.try_next_id_or_code() {
            Ok(id) => {
                place.leave(env, id);
                Ok(Value::UNDEFINED)
            }
            Err(code) => Err(refused(&ids, code)),
        }),
    )?;
    let ids = Arc::clone(&held);
    set(
        "nextString",
        env.function("nextString", move |env, []| match ids.next_id_or_code() {
            Ok(id) => env.digits(id),
            Err(code) => Err(refused(&ids, code)),
        }),
    )?;
    let (ids, tasks) = (Arc::clone(&held), Rc::clone(host));
    set(
        "nextIdAsync",
        env.function("nextIdAsync", move |env, []| {
            let ids = Arc::clone(&ids);
            tasks.spawn(env, true, async move { ids.next_id_async().await.map(Outcome::Id) })
        }),
    )?;
    let ids = Arc::clone(&held);
    set(
        "batch",
        env.function("batch", move |env, [mut array]| {
            let numbers = room(env, &mut array)?;
            let batch = ids.next_batch(numbers.len())?;
            for (number, id) in numbers.iter_mut().zip(batch) {
                *number = id.as_i64();
            }
            env.undefined()
        }),
    )?;
    let ids = Arc::clone(&held);
    set(
        "fill",
        env.function("fill", move |env, [mut array]| {
            let numbers = room(env, &mut array)?;
            match ids.fill_i64(numbers) {
                Ok(()) => env.undefined(),
                Err((written, code)) => Err(Fault::Error(ids.error_for(code), Some(written))),
            }
        }),
    )?;
    let ids = Arc::clone(&held);
    set("status", env.function("status", move |env, []| status::to_value(env, &ids.status())))?;
    let (ids, tasks) = (Arc::clone(&held), Rc::clone(host));
    set(
        "changes",
        env.function("changes", move |env, [seen]| {
            let (ids, seen) = (Arc::clone(&ids), env.number_of(seen)? as u64);
            tasks.spawn(env, false, async move {
                Ok(Outcome::Changes(poll_fn(|context| ids.poll_state_changes(seen, context)).await))
            })
        }),
    )?;
    let (ids, tasks) = (Arc::clone(&held), Rc::clone(host));
    set(
        "close",
        env.function("close", move |env, []| {
            let ids = Arc::clone(&ids);
            tasks.spawn(env, true, async move {
                ids.close_async().await;
                Ok(Outcome::Nothing)
            })
        }),
    )?;
    let ids = Arc::clone(&held);
    set(
        "closeSync",
        env.function("closeSync", move |env, []| {
            ids.close();
            env.undefined()
        }),
    )?;
    let ids = Arc::clone(&held);
    set("isClosed", env.function("isClosed", move |env, []| env.flag(ids.is_closed())))?;
    set("layout", layout::to_value(env, *held.layout()))?;
    Ok(object)
}

/// The memory to write IDs to.
fn room(env: Env, array: &mut Value) -> Result<&mut [i64], Fault> {
    env.numbers_of(array)?.ok_or_else(|| {
        Error::invalid("array", "another value", "a BigInt64Array or BigUint64Array that no other thread sees").into()
    })
}
