//! What a generator tells about itself.

use std::ffi::c_char;
use std::mem::offset_of;

use leaseflake::Status;

use crate::boundary::{explained, not_null, reference};
use crate::code::{LEASEFLAKE_OK, leaseflake_code_t};
use crate::error::{check_size, fixed, leaseflake_error_t, write_sized};
use crate::generator::leaseflake_generator_t;
use crate::state::leaseflake_state_t;

/// What state a generator is in: a snapshot, which may be old by the time it is read. Initialise it with
/// LEASEFLAKE_STATUS_INIT. Texts are UTF-8, end with a NUL, and are cut where they are longer.
#[repr(C)]
pub struct leaseflake_status_t {
    /// sizeof(leaseflake_status_t) of the caller's header.
    pub struct_size: u32,
    /// The state of the lease; LEASEFLAKE_STATE_CLOSED on a closed handle.
    pub state: leaseflake_state_t,
    /// Since when, in milliseconds since the Unix epoch.
    pub since_ms: i64,
    /// The datacenter of the worker ID; -1 without one.
    pub datacenter_id: i32,
    /// The worker within the datacenter; -1 without one.
    pub worker_id: i32,
    /// Which owner of the worker ID we are; 0 without one.
    pub fencing_epoch: u64,
    /// When the lease ends, in milliseconds since the Unix epoch; 0 without one.
    pub lease_expiry_ts: i64,
    /// How long a renewal makes the lease, in milliseconds.
    pub lease_length_ms: i64,
    /// The first timestamp that is refused just now, in milliseconds since the Unix epoch; 0 without a
    /// lease.
    pub ceiling_ms: i64,
    /// IDs issued by all who share the generator's memory (forked children too).
    pub issued: u64,
    /// Calls that had to wait for the clock.
    pub waits: u64,
    /// Steps of the wall clock seen.
    pub clock_steps: u64,
    /// Heartbeats sent.
    pub heartbeats_sent: u64,
    /// Heartbeats that were not confirmed.
    pub heartbeats_failed: u64,
    /// Leases acquired.
    pub leases_acquired: u64,
    /// Leases lost.
    pub leases_lost: u64,
    /// Rounds that ended with a claim taken by somebody else.
    pub claims_lost: u64,
    /// Requests sent to the registry.
    pub requests: u64,
    /// 1 where the keeper runs in this process, 0 where it runs in the one that forked it.
    pub owns_keeper: i32,
    /// The code of the keeper's last error; LEASEFLAKE_OK without one.
    pub last_error_code: leaseflake_code_t,
    /// When that was, in milliseconds since the Unix epoch; 0 without one.
    pub last_error_ms: i64,
    /// The keeper's last error in words; empty without one.
    pub last_error: [c_char; 256],
    /// Why the clock is not trusted; empty where it is.
    pub clock_suspect: [c_char; 256],
    /// Who we are in the registry.
    pub instance_id: [c_char; 256],
    /// The registry.
    pub store: [c_char; 256],
}

/// The first version of the struct, which every caller has.
const SMALLEST: usize = offset_of!(leaseflake_status_t, store) + 256;

impl leaseflake_status_t {
    fn of(status: &Status, struct_size: u32) -> leaseflake_status_t {
        let last_error = status.last_error.as_ref();
        leaseflake_status_t {
            struct_size,
            state: status.state as i32,
            since_ms: status.since_ms,
            datacenter_id: status.datacenter_id.map_or(-1, |id| id as i32),
            worker_id: status.worker_id.map_or(-1, |id| id as i32),
            fencing_epoch: status.fencing_epoch,
            lease_expiry_ts: status.lease_expiry_ts,
            lease_length_ms: status.lease_length_ms,
            ceiling_ms: status.ceiling_ms,
            issued: status.issued,
            waits: status.waits,
            clock_steps: status.counters.clock_steps,
            heartbeats_sent: status.counters.heartbeats_sent,
            heartbeats_failed: status.counters.heartbeats_failed,
            leases_acquired: status.counters.leases_acquired,
            leases_lost: status.counters.leases_lost,
            claims_lost: status.counters.claims_lost,
            requests: status.counters.requests,
            owns_keeper: status.owns_keeper.into(),
            last_error_code: last_error.map_or(LEASEFLAKE_OK, |(error, _)| error.code().code()),
            last_error_ms: last_error.map_or(0, |(_, at_ms)| *at_ms),
            last_error: fixed(&last_error.map_or_else(String::new, |(error, _)| error.to_string())),
            clock_suspect: fixed(status.clock_suspect.as_deref().unwrap_or_default()),
            instance_id: fixed(&status.instance_id),
            store: fixed(&status.store),
        }
    }
}

/// Gives the status of a generator.
///
/// Errors: LEASEFLAKE_INVALID_ARGUMENT for NULL and for a `status` that was not initialised; then it is
/// not written. `error` may be NULL. Any thread may call it, on a closed handle too. It takes a lock and
/// allocates: not for the hot path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseflake_status(
    generator: *const leaseflake_generator_t,
    status: *mut leaseflake_status_t,
    error: *mut leaseflake_error_t,
) -> leaseflake_code_t {
    // SAFETY: what this function asks of its caller is what its helpers ask.
    unsafe {
        explained(error, || {
            let handle = reference(generator, "generator")?;
            let place = not_null(status, "status")?;
            let size = (*place).struct_size;
            check_size("leaseflake_status_t.struct_size", size as usize, SMALLEST)?;
            write_sized(place, size, leaseflake_status_t::of(&handle.ids.status(), size));
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use leaseflake::{IdGenerator, Options};

    #[test]
    fn every_field_of_core_s_status_is_a_field_here() {
        let source = include_str!("status.rs");
        let ids = IdGenerator::open(Options::new().store("memory:ffi-status")).unwrap();
        for (name, _) in ids.status().fields() {
            assert!(source.contains(&format!("    pub {name}: ")), "{name} is missing in leaseflake_status_t");
        }
    }
}
