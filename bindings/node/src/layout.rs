//! A layout, as an object of its fields and two functions.

use leaseflake::{Error, ErrorCode, Id, IdParts, Layout};

use crate::edge::Env;
use crate::fault::Fault;
use crate::value::Value;

/// The largest time that a JavaScript `Date` can hold, in milliseconds since the Unix epoch.
const LAST_DATE_MS: i64 = 8_640_000_000_000_000;

/// The layout of these texts; `undefined` is the default.
pub(crate) fn open(env: Env, widths: Value, epoch_ms: Value) -> Result<Value, Fault> {
    let mut layout = Layout::default();
    if let Some(text) = env.given_text_of(widths)? {
        layout = text.parse()?;
    }
    if let Some(text) = env.given_text_of(epoch_ms)? {
        let number = text.parse().map_err(|_| Error::invalid("epochMs", text, "whole milliseconds since 1970"))?;
        layout = layout.with_epoch_ms(number)?;
    }
    to_value(env, layout)
}

pub(crate) fn to_value(env: Env, layout: Layout) -> Result<Value, Fault> {
    let object = env.object()?;
    let set = |name, value: Result<Value, Fault>| env.set(object, name, value?);
    set("text", env.text(&layout.to_string()))?;
    for (name, number) in [
        ("timestampBits", layout.timestamp_bits().into()),
        ("datacenterBits", layout.datacenter_bits().into()),
        ("workerBits", layout.worker_bits().into()),
        ("sequenceBits", layout.sequence_bits().into()),
        ("epochMs", layout.epoch_ms()),
        ("maxDatacenterId", layout.max_datacenter_id().into()),
        ("maxWorkerId", layout.max_worker_id().into()),
        ("maxSequence", layout.max_sequence().into()),
        ("maxBatch", layout.max_batch() as i64),
        ("idsPerSecond", layout.ids_per_second() as i64),
    ] {
        set(name, env.number(number))?;
    }
    set("decode", env.function("decode", move |env, [id]| decode(env, &layout, id)))?;
    set(
        "encode",
        env.function("encode", move |env, [timestamp_ms, datacenter_id, worker_id, sequence]| {
            let field = |name, value| -> Result<u32, Fault> {
                let number = env.number_of(value)?;
                let fits = number >= 0.0 && number <= u32::MAX.into() && number.fract() == 0.0;
                if fits {
                    Ok(number as u32)
                } else {
                    Err(Error::invalid(name, number, "an integer that fits its bits").into())
                }
            };
            let timestamp_ms = env.number_of(timestamp_ms)?;
            if timestamp_ms.abs() > LAST_DATE_MS as f64 {
                return Err(Error::new(
                    ErrorCode::TimestampOutOfRange,
                    format!("timestampMs: {timestamp_ms} is past what a Date can hold ({LAST_DATE_MS} ms)"),
                )
                .into());
            }
            if timestamp_ms.fract() != 0.0 {
                return Err(Error::invalid("timestampMs", timestamp_ms, "whole milliseconds").into());
            }
            let parts = IdParts {
                timestamp_ms: timestamp_ms as i64,
                datacenter_id: field("datacenterId", datacenter_id)?,
                worker_id: field("workerId", worker_id)?,
                sequence: field("sequence", sequence)?,
            };
            env.id(layout.encode(&parts)?)
        }),
    )?;
    Ok(object)
}

/// The fields of an ID as [timestampMs, datacenterId, workerId, sequence].
fn decode(env: Env, layout: &Layout, id: Value) -> Result<Value, Fault> {
    let id: Id = env.text_of(id)?.parse()?;
    let parts = layout.decode(id);
    if parts.timestamp_ms > LAST_DATE_MS {
        return Err(Error::new(
            ErrorCode::TimestampOutOfRange,
            format!(
                "the timestamp of {id} ({} ms) is past what a Date can hold ({LAST_DATE_MS} ms): is {layout} the layout that \
                 it was made with?",
                parts.timestamp_ms
            ),
        )
        .into());
    }
    let fields = [parts.timestamp_ms, parts.datacenter_id.into(), parts.worker_id.into(), parts.sequence.into()];
    env.array(fields.into_iter().map(|field| env.number(field)))
}
