//! The frozen table of regions: which datacenter `auto` means where.

use super::{StoreError, StoreErrorKind};
use crate::layout::Layout;

/// The AWS regions by datacenter ID: `REGIONS[0]` is datacenter 0.
///
/// Frozen: a region never changes its number, or two versions of Leaseflake would disagree about
/// who owns a datacenter. 24 to 31 are never given out here, so that they are free for regions
/// outside this table and for datacenters that are no AWS region.
pub const REGIONS: [&str; 24] = [
    "us-east-1",
    "us-west-2",
    "eu-west-1",
    "us-east-2",
    "us-west-1",
    "ca-central-1",
    "sa-east-1",
    "eu-central-1",
    "eu-west-2",
    "eu-west-3",
    "eu-north-1",
    "eu-south-1",
    "eu-central-2",
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-northeast-3",
    "ap-southeast-1",
    "ap-southeast-2",
    "ap-southeast-3",
    "ap-south-1",
    "ap-east-1",
    "me-south-1",
    "me-central-1",
    "af-south-1",
];

/// The datacenter ID of a region, if the frozen table has it.
pub fn datacenter_of_region(region: &str) -> Option<u32> {
    REGIONS.iter().position(|known| *known == region).map(|at| at as u32)
}

/// What `datacenter_id=auto` means for a table in this region.
pub(super) fn auto_datacenters(region: &str, layout: &Layout) -> Result<Vec<u32>, StoreError> {
    match datacenter_of_region(region) {
        Some(datacenter_id) if datacenter_id <= layout.max_datacenter_id() => Ok(vec![datacenter_id]),
        Some(datacenter_id) => Err(StoreError::new(
            StoreErrorKind::InvalidArgument,
            format!(
                "datacenter_id: \"auto\" means {datacenter_id} in {region}, but layout {layout} has only 0..={}; \
                 set datacenter_id",
                layout.max_datacenter_id()
            ),
        )),
        None => Err(StoreError::new(
            StoreErrorKind::InvalidArgument,
            format!(
                "datacenter_id: \"auto\" has no number for the region {region:?} of the table; set datacenter_id, \
                 best one of 24..=31, which no region gets by itself"
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_never_changes_its_datacenter() {
        // Written out once more on purpose: whoever edits the table must see this fail.
        let frozen = "us-east-1=0 us-west-2=1 eu-west-1=2 us-east-2=3 us-west-1=4 ca-central-1=5 sa-east-1=6 \
                      eu-central-1=7 eu-west-2=8 eu-west-3=9 eu-north-1=10 eu-south-1=11 eu-central-2=12 \
                      ap-northeast-1=13 ap-northeast-2=14 ap-northeast-3=15 ap-southeast-1=16 ap-southeast-2=17 \
                      ap-southeast-3=18 ap-south-1=19 ap-east-1=20 me-south-1=21 me-central-1=22 af-south-1=23";
        let now: Vec<String> = REGIONS.iter().enumerate().map(|(at, region)| format!("{region}={at}")).collect();
        assert_eq!(now.join(" "), frozen.split_whitespace().collect::<Vec<_>>().join(" "));
        for region in REGIONS {
            assert!(datacenter_of_region(region).unwrap() <= 23, "24 to 31 are never given out");
        }
    }

    #[test]
    fn a_region_outside_the_table_is_an_invalid_argument_that_names_it() {
        let error = auto_datacenters("mars-north-1", &Layout::default()).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::InvalidArgument);
        assert!(error.message.contains("mars-north-1") && error.message.contains("24..=31"), "{}", error.message);
    }

    #[test]
    fn a_layout_with_too_few_datacenters_is_told_apart() {
        let narrow = Layout::new(41, 2, 8, 12).unwrap();
        assert_eq!(auto_datacenters("eu-west-1", &narrow), Ok(vec![2]));
        let error = auto_datacenters("af-south-1", &narrow).unwrap_err();
        assert!(error.message.contains("0..=3"), "{}", error.message);
    }
}
