//! The states of a lease and their changes.

use std::ffi::c_char;
use std::mem::offset_of;

use leaseflake::{LeaseState, StateChange};

use crate::boundary::{boundary, explained, not_null, reference};
use crate::code::leaseflake_code_t;
use crate::error::{check_size, fixed, leaseflake_error_t, write_sized};
use crate::generator::leaseflake_generator_t;

/// The state of a generator's lease. A later library may have states that this header does not name.
pub type leaseflake_state_t = i32;

/// No worker ID yet.
pub const LEASEFLAKE_STATE_ACQUIRING: i32 = 0;
/// IDs are issued.
pub const LEASEFLAKE_STATE_ACTIVE: i32 = 1;
/// The window is used up and no heartbeat got through: IDs are refused until one does.
pub const LEASEFLAKE_STATE_SUSPENDED: i32 = 2;
/// Somebody else owns the worker ID now; another one is being acquired.
pub const LEASEFLAKE_STATE_LOST: i32 = 3;
/// Closed.
pub const LEASEFLAKE_STATE_CLOSED: i32 = 4;

const _: () = assert!(
    LEASEFLAKE_STATE_ACQUIRING == LeaseState::Acquiring as i32
        && LEASEFLAKE_STATE_ACTIVE == LeaseState::Active as i32
        && LEASEFLAKE_STATE_SUSPENDED == LeaseState::Suspended as i32
        && LEASEFLAKE_STATE_LOST == LeaseState::Lost as i32
        && LEASEFLAKE_STATE_CLOSED == LeaseState::Closed as i32
);

/// One change of state. Initialise it with LEASEFLAKE_STATE_CHANGE_INIT.
#[repr(C)]
pub struct leaseflake_state_change_t {
    /// sizeof(leaseflake_state_change_t) of the caller's header.
    pub struct_size: u32,
    /// The state before.
    pub from_state: leaseflake_state_t,
    /// The state after.
    pub to_state: leaseflake_state_t,
    /// The datacenter of the worker ID concerned; -1 without one.
    pub datacenter_id: i32,
    /// The worker within the datacenter; -1 without one.
    pub worker_id: i32,
    /// Always 0.
    pub reserved: u32,
    /// Counts the changes of this generator, from 1.
    pub number: u64,
    /// When, in milliseconds since the Unix epoch by this process's clock.
    pub at_ms: i64,
    /// fencing_epoch of the lease concerned; 0 without one.
    pub fencing_epoch: u64,
    /// Why, for people: UTF-8, ends with a NUL, cut where it is longer.
    pub reason: [c_char; 256],
}

/// The first version of the struct, which every caller has.
const SMALLEST: usize = offset_of!(leaseflake_state_change_t, reason) + 256;

impl leaseflake_state_change_t {
    pub(crate) fn of(change: &StateChange) -> leaseflake_state_change_t {
        leaseflake_state_change_t {
            struct_size: size_of::<leaseflake_state_change_t>() as u32,
            from_state: change.from as i32,
            to_state: change.to as i32,
            datacenter_id: change.worker.map_or(-1, |(datacenter_id, _)| datacenter_id as i32),
            worker_id: change.worker.map_or(-1, |(_, worker_id)| worker_id as i32),
            reserved: 0,
            number: change.number,
            at_ms: change.at_ms,
            fencing_epoch: change.fencing_epoch,
            reason: fixed(&change.reason),
        }
    }
}

/// Gives the stable name of a state, such as "suspended"; "unknown" for a number that is no state.
///
/// Never gives NULL. The text is the library's: do not free it. Any thread may call it at any time.
#[unsafe(no_mangle)]
pub extern "C" fn leaseflake_state_name(state: leaseflake_state_t) -> *const c_char {
    boundary(
        |_| c"unknown".as_ptr(),
        || {
            let name = match state {
                LEASEFLAKE_STATE_ACQUIRING => c"acquiring",
                LEASEFLAKE_STATE_ACTIVE => c"active",
                LEASEFLAKE_STATE_SUSPENDED => c"suspended",
                LEASEFLAKE_STATE_LOST => c"lost",
                LEASEFLAKE_STATE_CLOSED => c"closed",
                _ => c"unknown",
            };
            name.as_ptr()
        },
    )
}

/// Gives the oldest state change that is newer than number `after` (0: the oldest that is kept; the last
/// 64 are). `*found` says whether there is one; without one `*change` is not written. To read all,
/// begin with 0 and go on with `change->number`.
///
/// Errors: LEASEFLAKE_INVALID_ARGUMENT for NULL and for a `change` that was not initialised. `error` may be
/// NULL. Any thread may call it, on a closed handle too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseflake_next_state_change(
    generator: *const leaseflake_generator_t,
    after: u64,
    change: *mut leaseflake_state_change_t,
    found: *mut bool,
    error: *mut leaseflake_error_t,
) -> leaseflake_code_t {
    // SAFETY: what this function asks of its caller is what its helpers ask.
    unsafe {
        explained(error, || {
            let handle = reference(generator, "generator")?;
            let place = not_null(change, "change")?;
            let found = not_null(found, "found")?;
            let size = (*place).struct_size;
            check_size("leaseflake_state_change_t.struct_size", size as usize, SMALLEST)?;
            let changes = handle.ids.status().changes;
            let next = changes.iter().find(|change| change.number > after);
            if let Some(next) = next {
                write_sized(
                    place,
                    size,
                    leaseflake_state_change_t { struct_size: size, ..leaseflake_state_change_t::of(next) },
                );
            }
            found.write(next.is_some());
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn names_of_states_are_those_of_core() {
        let states =
            [LeaseState::Acquiring, LeaseState::Active, LeaseState::Suspended, LeaseState::Lost, LeaseState::Closed];
        for state in states {
            // SAFETY: never null, and static.
            let name = unsafe { CStr::from_ptr(leaseflake_state_name(state as i32)) };
            assert_eq!(name.to_str().unwrap(), state.name());
        }
    }
}
