//! `status()` and the changes of state, as plain objects.

use leaseflake::{StateChange, Status, StatusValue};

use crate::edge::Env;
use crate::fault::Fault;
use crate::value::{Value, camel_case};

pub(crate) fn to_value(env: Env, status: &Status) -> Result<Value, Fault> {
    let object = env.object()?;
    for (name, field) in status.fields() {
        let value = match field {
            StatusValue::Text(text) => env.text(&text),
            StatusValue::Number(number) => env.number(number),
            StatusValue::Flag(flag) => env.flag(flag),
            StatusValue::None => env.null(),
        };
        env.set(object, &camel_case(name), value?)?;
    }
    env.set(object, "changes", changes(env, &status.changes)?)?;
    Ok(object)
}

pub(crate) fn changes(env: Env, changes: &[StateChange]) -> Result<Value, Fault> {
    env.array(changes.iter().map(|change| {
        let object = env.object()?;
        let set = |name, value: Result<Value, Fault>| env.set(object, name, value?);
        let part = |part: Option<u32>| part.map_or_else(|| env.null(), |part| env.number(part.into()));
        set("number", env.number(change.number as i64))?;
        set("atMs", env.number(change.at_ms))?;
        set("from", env.text(change.from.name()))?;
        set("to", env.text(change.to.name()))?;
        set("datacenterId", part(change.worker.map(|(datacenter, _)| datacenter)))?;
        set("workerId", part(change.worker.map(|(_, worker)| worker)))?;
        set("fencingEpoch", env.number(change.fencing_epoch as i64))?;
        set("reason", env.text(&change.reason))?;
        Ok(object)
    }))
}
