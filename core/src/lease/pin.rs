//! Whether a datacenter, as it was read, may be used with this layout.

use super::record::DatacenterView;
use super::store::{StoreError, StoreErrorKind};
use crate::layout::Layout;

/// Checks LAYOUT against our layout and against the registry that answered.
///
/// # Errors
///
/// `LAYOUT_MISMATCH` for another layout, epoch or region; `STORE_REJECTED` for a registry that
/// was restored or copied, or has lost its LAYOUT item.
pub fn check(view: &DatacenterView, datacenter_id: u32, layout: &Layout, name: &str) -> Result<(), StoreError> {
    let Some(pin) = &view.layout else {
        if view.workers.iter().any(|item| item.fencing_epoch > 0) {
            return Err(StoreError::new(
                StoreErrorKind::Rejected,
                format!(
                    "{name}: datacenter {datacenter_id} has used worker items but no LAYOUT item: somebody deleted it; \
                     stop the holders and run `leaseflake registry fence`"
                ),
            ));
        }
        return Ok(());
    };
    let mismatch = |what: &str, pinned: &str, ours: &str| {
        Err(StoreError::new(
            StoreErrorKind::LayoutMismatch,
            format!(
                "{name}: datacenter {datacenter_id} is pinned to {what} {pinned}, and this process has {ours}; \
                 give every process of a registry the same layout and epoch_ms, or use another table"
            ),
        ))
    };
    if pin.layout != layout.to_string() {
        return mismatch("layout", &pin.layout, &layout.to_string());
    }
    if pin.epoch_ms != layout.epoch_ms() {
        return mismatch("epoch_ms", &pin.epoch_ms.to_string(), &layout.epoch_ms().to_string());
    }
    // What could not be read on either side proves nothing.
    let differs = |pinned: &str, actual: &str| !pinned.is_empty() && !actual.is_empty() && pinned != actual;
    if differs(&pin.region, &view.table.region) {
        return mismatch("region", &pin.region, &view.table.region);
    }
    if differs(&pin.table_id, &view.table.table_id) {
        return Err(StoreError::new(
            StoreErrorKind::Rejected,
            format!(
                "{name}: this registry is a copy or was restored from a backup (it is {}, LAYOUT pins {}); stop the \
                 holders and run `leaseflake registry fence --at TIME` with the time when the last one stopped",
                view.table.table_id, pin.table_id
            ),
        ));
    }
    Ok(())
}
