//! Whether a datacenter, as it was read, may be used with this layout.

use super::record::DatacenterView;
use super::shown::shown;
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
                "{name}: datacenter {datacenter_id} is pinned to {what} {}, and this process has {ours}; \
                 give every process of a registry the same layout and epoch_ms, or use another table",
                shown(pinned)
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
                shown(&view.table.table_id),
                shown(&pin.table_id)
            ),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::record::{LayoutPin, TableIdentity};

    #[test]
    fn what_a_registry_pins_cannot_steer_a_terminal_through_a_message() {
        let layout = Layout::default();
        let table = TableIdentity { region: "here".to_owned(), table_id: "this".to_owned() };
        let pin = LayoutPin::new(&layout, &table);
        let hostile = || "\u{1b}[2J\n".repeat(1000);
        for pin in [
            LayoutPin { layout: hostile(), ..pin.clone() },
            LayoutPin { region: hostile(), ..pin.clone() },
            LayoutPin { table_id: hostile(), ..pin.clone() },
        ] {
            let view = DatacenterView { layout: Some(pin), table: table.clone(), ..DatacenterView::default() };
            let error = check(&view, 0, &layout, "it").unwrap_err();
            assert!(!error.message.contains(char::is_control) && error.message.len() < 2000, "{error}");
        }
    }
}
