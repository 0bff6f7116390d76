//! Generators: opened, asked for IDs, closed.

use std::sync::Arc;
use std::time::Duration;

use jni::EnvUnowned;
use jni::objects::{JClass, JLongArray, JObjectArray, JString};
use jni::sys::{jboolean, jint, jlong};
use leaseflake::{Error, ErrorCode, IdGenerator, Options};

use crate::edge::{Fault, call};
use crate::number::{caught, ready, refused, reserved};
use crate::{layout, status, text};

/// How many IDs of a fill are copied into the array at once: 16 KiB of the stack.
const CHUNK: usize = 2048;

/// The generator of a handle.
#[inline]
fn of<'a>(handle: jlong) -> &'a IdGenerator {
    // SAFETY: a handle is what `into_handle` gave. Java passes it only while something reaches the
    // object that owns it (`Reference.reachabilityFence`), and frees it once after that.
    unsafe { &*(handle as *const IdGenerator) }
}

fn into_handle(ids: Arc<IdGenerator>) -> jlong {
    Arc::into_raw(ids) as jlong
}

/// Opens a generator with options, given as names and texts in turn: its handle.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_open<'local>(
    env: EnvUnowned<'local>,
    class: JClass<'local>,
    pairs: JObjectArray<'local, JString<'local>>,
) -> jlong {
    call(env, class, |env| {
        let mut options = Options::new();
        for pair in text::all_of(env, &pairs)?.chunks_exact(2) {
            options.set(&pair[0], &pair[1])?;
        }
        Ok(into_handle(Arc::new(IdGenerator::open(options)?)))
    })
}

/// Another handle on the same open handle, for a thread that outlives its owner.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_share<'local>(
    env: EnvUnowned<'local>,
    class: JClass<'local>,
    handle: jlong,
) -> jlong {
    call(env, class, |_| {
        // SAFETY: the handle is the address of an `Arc` that its owner keeps alive through this call.
        unsafe { Arc::increment_strong_count(handle as *const IdGenerator) };
        Ok(handle)
    })
}

/// Frees a handle that nothing can reach any more. Never blocks: the lease is released by the keeper.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_free<'local>(
    env: EnvUnowned<'local>,
    class: JClass<'local>,
    handle: jlong,
) {
    call(env, class, |_| {
        // SAFETY: the owner gives its share back, once.
        let ids = unsafe { Arc::from_raw(handle as *const IdGenerator) };
        ids.close_soon();
        Ok(())
    });
}

/// Gives back what `share` gave.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_release<'local>(
    env: EnvUnowned<'local>,
    class: JClass<'local>,
    handle: jlong,
) {
    call(env, class, |_| {
        // SAFETY: the thread gives its share back, once.
        drop(unsafe { Arc::from_raw(handle as *const IdGenerator) });
        Ok(())
    });
}

/// Closes; the memory stays until `free`, since other threads may be in a call just now.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_close<'local>(
    env: EnvUnowned<'local>,
    class: JClass<'local>,
    handle: jlong,
) {
    call(env, class, |_| {
        of(handle).close();
        Ok(())
    });
}

/// Whether it is closed.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_isClosed(
    _env: EnvUnowned<'_>,
    _class: JClass<'_>,
    handle: jlong,
) -> jboolean {
    of(handle).is_closed()
}

/// The next ID, or a refusal. Waits in here: a thread in native code holds up no collector.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_next(
    _env: EnvUnowned<'_>,
    _class: JClass<'_>,
    handle: jlong,
) -> jlong {
    caught(|| ready(of(handle).next_id_or_code()))
}

/// The next ID if there is one without waiting, or a refusal.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_tryNext(
    _env: EnvUnowned<'_>,
    _class: JClass<'_>,
    handle: jlong,
) -> jlong {
    caught(|| ready(of(handle).try_next_id_or_code()))
}

/// The next ID, or a refusal, or one that the caller has to wait for: a virtual thread waits in Java.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_reserve(
    _env: EnvUnowned<'_>,
    _class: JClass<'_>,
    handle: jlong,
) -> jlong {
    caught(|| {
        let ids = of(handle);
        match ids.reserve_one_or_code() {
            Ok(taken) => reserved(ids, &taken),
            Err(code) => refused(code),
        }
    })
}

/// How long until a reserved ID may be used, in nanoseconds, 0 = now; or a refusal.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_timeLeft(
    _env: EnvUnowned<'_>,
    _class: JClass<'_>,
    handle: jlong,
    id: jlong,
) -> jlong {
    caught(|| {
        let ids = of(handle);
        let left = leaseflake::Id::from_i64(id).map_err(|error| error.code()).and_then(|id| ids.time_left_of(id));
        match left {
            Ok(left) => left.map_or(0, |left| i64::try_from(left.as_nanos()).unwrap_or(i64::MAX)),
            Err(code) => refused(code),
        }
    })
}

/// The first ID of a batch, or, where the caller is to wait, one that it has to wait for.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_batch<'local>(
    env: EnvUnowned<'local>,
    class: JClass<'local>,
    handle: jlong,
    count: jint,
    waits: jboolean,
) -> jlong {
    call(env, class, |_| {
        let ids = of(handle);
        let Ok(size) = usize::try_from(count) else {
            return Err(Error::invalid("batch size", count, format_args!("1..={}", ids.layout().max_batch())).into());
        };
        let taken = ids.reserve_ids(size)?;
        if !waits {
            return Ok(reserved(ids, &taken));
        }
        ids.wait_or_code(&taken).map_err(|code| ids.error_for(code))?;
        Ok(ids.first_of(&taken).as_i64())
    })
}

/// Fills an array from a place on. Gives how many places from the beginning hold IDs, and in the
/// upper half how many more hold IDs that the caller has to wait for (never where this waits); or,
/// below zero, `-(places << 8 | code)`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_fill<'local>(
    env: EnvUnowned<'local>,
    class: JClass<'local>,
    handle: jlong,
    array: JLongArray<'local>,
    from: jint,
    waits: jboolean,
) -> jlong {
    call(env, class, |env| {
        let ids = of(handle);
        let len = array.len(env)?;
        let stopped = |place: usize, code: ErrorCode| -((place as jlong) << 8 | jlong::from(code.code()));
        let mut place = usize::try_from(from).unwrap_or(len);
        // A piece at a time, copied in by the virtual machine: nothing holds up its collector.
        let mut piece = [0; CHUNK];
        while place < len {
            let taken = match ids.reserve_some_or_code(len - place) {
                Ok(taken) => taken,
                Err(code) => return Ok(stopped(place, code)),
            };
            if waits && let Err(code) = ids.wait_or_code(&taken) {
                return Ok(stopped(place, code));
            }
            let (first, count) = (ids.first_of(&taken).as_i64(), taken.count().min(len - place));
            for begin in (0..count).step_by(CHUNK) {
                let size = CHUNK.min(count - begin);
                for (id, number) in (first + begin as jlong..).zip(&mut piece[..size]) {
                    *number = id;
                }
                array.set_region(env, (place + begin) as jint, &piece[..size])?;
            }
            if taken.is_ahead() && !waits {
                return Ok((count as jlong) << 32 | place as jlong);
            }
            place += count;
        }
        Ok(place as jlong)
    })
}

/// Throws what a code of this generator means just now.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_explain<'local>(
    env: EnvUnowned<'local>,
    class: JClass<'local>,
    handle: jlong,
    code: jint,
) {
    call(env, class, |_| -> Result<(), Fault> {
        Err(of(handle).error_for(ErrorCode::from_code(code).unwrap_or(ErrorCode::Internal)).into())
    });
}

/// What a layout holds, of this generator's.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_layoutOf<'local>(
    env: EnvUnowned<'local>,
    class: JClass<'local>,
    handle: jlong,
) -> JLongArray<'local> {
    call(env, class, |env| layout::limits(env, of(handle).layout()))
}

/// The fields of the status and the last changes of state.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_status<'local>(
    env: EnvUnowned<'local>,
    class: JClass<'local>,
    handle: jlong,
) -> JObjectArray<'local, JString<'local>> {
    call(env, class, |env| text::array(env, &status::all(&of(handle).status())))
}

/// Waits for changes of state after the one numbered `seen`; gives eight texts for each.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_nextChanges<'local>(
    env: EnvUnowned<'local>,
    class: JClass<'local>,
    handle: jlong,
    seen: jlong,
    wait_ms: jlong,
) -> JObjectArray<'local, JString<'local>> {
    call(env, class, |env| {
        let wait = Duration::from_millis(wait_ms.max(0) as u64);
        text::array(env, &status::changes(&of(handle).state_changes(seen.max(0) as u64, wait)))
    })
}
