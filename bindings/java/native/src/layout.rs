//! Layouts and the fields of IDs. A layout crosses as its four widths in one number and its epoch.

use jni::objects::{JClass, JLongArray, JString};
use jni::sys::{jboolean, jint, jlong};
use jni::{Env, EnvUnowned};
use leaseflake::{Error, Id, IdParts, Layout};

use crate::edge::{Fault, call};
use crate::text;

/// What `io.leaseflake.Layout` holds, in its order.
pub(crate) fn limits<'local>(env: &mut Env<'local>, layout: &Layout) -> Result<JLongArray<'local>, Fault> {
    let fields = [
        layout.timestamp_bits().into(),
        layout.datacenter_bits().into(),
        layout.worker_bits().into(),
        layout.sequence_bits().into(),
        layout.epoch_ms(),
        layout.max_timestamp() as jlong,
        layout.last_ms(),
        layout.max_datacenter_id().into(),
        layout.max_worker_id().into(),
        layout.max_sequence().into(),
        layout.max_batch() as jlong,
        layout.ids_per_second() as jlong,
    ];
    array(env, &fields)
}

fn array<'local>(env: &mut Env<'local>, numbers: &[jlong]) -> Result<JLongArray<'local>, Fault> {
    let array = JLongArray::new(env, numbers.len())?;
    array.set_region(env, 0, numbers)?;
    Ok(array)
}

/// The layout with these widths, a byte each.
fn unpacked(widths: jint, epoch_ms: jlong) -> Result<Layout, Error> {
    let [timestamp, datacenter, worker, sequence] = widths.to_be_bytes();
    Layout::new(timestamp, datacenter, worker, sequence)?.with_epoch_ms(epoch_ms)
}

/// A layout of these widths (`null`: the default ones) and epoch (unless it is to be the default one).
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_layout<'local>(
    env: EnvUnowned<'local>,
    class: JClass<'local>,
    widths: JString<'local>,
    has_epoch: jboolean,
    epoch_ms: jlong,
) -> JLongArray<'local> {
    call(env, class, |env| {
        let layout = if widths.is_null() { Layout::default() } else { text::of(env, &widths)?.parse::<Layout>()? };
        let layout = if has_epoch { layout.with_epoch_ms(epoch_ms)? } else { layout };
        limits(env, &layout)
    })
}

/// Timestamp, datacenter, worker and sequence of an ID.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_decode<'local>(
    env: EnvUnowned<'local>,
    class: JClass<'local>,
    widths: jint,
    epoch_ms: jlong,
    id: jlong,
) -> JLongArray<'local> {
    call(env, class, |env| {
        let parts = unpacked(widths, epoch_ms)?.decode(Id::from_i64(id)?);
        array(env, &[parts.timestamp_ms, parts.datacenter_id.into(), parts.worker_id.into(), parts.sequence.into()])
    })
}

/// The ID with these fields.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_encode<'local>(
    env: EnvUnowned<'local>,
    class: JClass<'local>,
    widths: jint,
    epoch_ms: jlong,
    timestamp_ms: jlong,
    datacenter_id: jint,
    worker_id: jint,
    sequence: jint,
) -> jlong {
    call(env, class, |_| {
        let layout = unpacked(widths, epoch_ms)?;
        let field = |what: &str, value: jint, most: u32| {
            u32::try_from(value).map_err(|_| Error::invalid(what, value, format_args!("0..={most}")))
        };
        let parts = IdParts {
            timestamp_ms,
            datacenter_id: field("datacenter_id", datacenter_id, layout.max_datacenter_id())?,
            worker_id: field("worker_id", worker_id, layout.max_worker_id())?,
            sequence: field("sequence", sequence, layout.max_sequence())?,
        };
        Ok(layout.encode(&parts)?.as_i64())
    })
}

/// The number that the digits of an ID are.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_leaseflake_Native_parse<'local>(
    env: EnvUnowned<'local>,
    class: JClass<'local>,
    digits: JString<'local>,
) -> jlong {
    call(env, class, |env| Ok(text::of(env, &digits)?.parse::<Id>()?.as_i64()))
}
