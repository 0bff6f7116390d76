//! IDs as text and as fields.

use std::ffi::c_char;

use leaseflake::{Error, Id, Layout};

use crate::boundary::{coded, explained, not_null, reference, text};
use crate::code::leaseflake_code_t;
use crate::error::leaseflake_error_t;
use crate::generator::leaseflake_generator_t;

/// Room for any ID as text: 19 digits and a NUL.
pub const LEASEFLAKE_ID_TEXT_SIZE: usize = 20;

/// How the 63 bits of an ID are divided, and the epoch that its timestamp counts from.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct leaseflake_layout_t {
    /// Bits of the timestamp, 32 to 61.
    pub timestamp_bits: u32,
    /// Bits of the datacenter ID, 0 to 10.
    pub datacenter_bits: u32,
    /// Bits of the worker ID, 0 to 10.
    pub worker_bits: u32,
    /// Bits of the sequence number, 1 to 22. The four add up to 63.
    pub sequence_bits: u32,
    /// The epoch, in milliseconds since the Unix epoch: 0 to now.
    pub epoch_ms: i64,
}

/// The fields of an ID.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct leaseflake_id_parts_t {
    /// When the ID was made, in milliseconds since the Unix epoch.
    pub timestamp_ms: i64,
    /// The datacenter of the worker ID.
    pub datacenter_id: u32,
    /// The worker within the datacenter.
    pub worker_id: u32,
    /// The place among the IDs of one millisecond.
    pub sequence: u32,
}

/// Writes an ID as decimal digits and a NUL to a buffer of `size` bytes;
/// LEASEFLAKE_ID_TEXT_SIZE is always enough.
///
/// Errors: LEASEFLAKE_INVALID_ARGUMENT for an ID below 1, for NULL and for a buffer that is too small; then
/// nothing is written. Any thread may call it at any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseflake_format_id(id: i64, buffer: *mut c_char, size: usize) -> leaseflake_code_t {
    coded(|| {
        let place = not_null(buffer, "buffer").map_err(|error| error.code())?;
        let digits = Digits::of(Id::from_i64(id).map_err(|error| error.code())?);
        let digits = digits.as_slice();
        if digits.len() >= size {
            return Err(leaseflake::ErrorCode::InvalidArgument);
        }
        // SAFETY: the buffer has room for the digits and the NUL, as was just looked at.
        unsafe {
            place.copy_from_nonoverlapping(digits.as_ptr().cast(), digits.len());
            place.add(digits.len()).write(0);
        }
        Ok(())
    })
}

/// Decimal digits, without an allocation.
struct Digits {
    bytes: [u8; 19],
    start: usize,
}

impl Digits {
    fn of(id: Id) -> Digits {
        let mut digits = Digits { bytes: [0; 19], start: 19 };
        let mut rest = id.as_i64();
        while rest > 0 {
            digits.start -= 1;
            digits.bytes[digits.start] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        digits
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

/// Reads an ID: 1 to 19 decimal digits, no sign, no blanks, no leading zero, at most 2^63 - 1.
///
/// Errors: LEASEFLAKE_INVALID_ARGUMENT for anything else and for NULL; `*id` is written only on success.
/// `error` may be NULL. Any thread may call it at any time.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn leaseflake_parse_id(
    digits: *const c_char,
    id: *mut i64,
    error: *mut leaseflake_error_t,
) -> leaseflake_code_t {
    // SAFETY: what this function asks of its caller is what its helpers ask.
    unsafe {
        explained(error, || {
            let place = not_null(id, "id")?;
            let parsed: Id = text(digits, "digits", LEASEFLAKE_ID_TEXT_SIZE - 1)?.parse()?;
            place.write(parsed.as_i64());
            Ok(())
        })
    }
}

/// Gives the fields of an ID by a layout; NULL is the default one (41-5-5-12 from
/// 2026-01-01T00:00:00Z). leaseflake_layout() gives that of a generator.
///
/// Errors: LEASEFLAKE_INVALID_ARGUMENT for an ID below 1, for a layout that is not allowed and for NULL;
/// `*parts` is written only on success. `error` may be NULL. Any thread may call it at any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseflake_decode_id(
    layout: *const leaseflake_layout_t,
    id: i64,
    parts: *mut leaseflake_id_parts_t,
    error: *mut leaseflake_error_t,
) -> leaseflake_code_t {
    // SAFETY: what this function asks of its caller is what its helpers ask.
    unsafe {
        explained(error, || {
            let place = not_null(parts, "parts")?;
            let layout = layout.as_ref().map_or_else(|| Ok(Layout::default()), core_layout)?;
            let fields = layout.decode(Id::from_i64(id)?);
            place.write(leaseflake_id_parts_t {
                timestamp_ms: fields.timestamp_ms,
                datacenter_id: fields.datacenter_id,
                worker_id: fields.worker_id,
                sequence: fields.sequence,
            });
            Ok(())
        })
    }
}

fn core_layout(layout: &leaseflake_layout_t) -> Result<Layout, Error> {
    // A width beyond a byte is refused as any other that is too large.
    let width = |bits: u32| u8::try_from(bits).unwrap_or(u8::MAX);
    Layout::new(
        width(layout.timestamp_bits),
        width(layout.datacenter_bits),
        width(layout.worker_bits),
        width(layout.sequence_bits),
    )?
    .with_epoch_ms(layout.epoch_ms)
}

/// Gives the layout of a generator.
///
/// Errors: LEASEFLAKE_INVALID_ARGUMENT for NULL. Any thread may call it, on a closed handle too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseflake_layout(
    generator: *const leaseflake_generator_t,
    layout: *mut leaseflake_layout_t,
) -> leaseflake_code_t {
    coded(|| {
        // SAFETY: what this function asks of its caller.
        let handle = unsafe { reference(generator, "generator") }.map_err(|error| error.code())?;
        let place = not_null(layout, "layout").map_err(|error| error.code())?;
        let layout = handle.ids.layout();
        // SAFETY: not null, and valid as the caller promised.
        unsafe {
            place.write(leaseflake_layout_t {
                timestamp_bits: layout.timestamp_bits().into(),
                datacenter_bits: layout.datacenter_bits().into(),
                worker_bits: layout.worker_bits().into(),
                sequence_bits: layout.sequence_bits().into(),
                epoch_ms: layout.epoch_ms(),
            });
        }
        Ok(())
    })
}
