//! The rules that keep IDs unique, each with a switch that exists only in tests.
//!
//! A test that cannot fail proves nothing: the mutant suite turns one rule off at a time and
//! expects the tests to notice. Without the `mutants` feature every rule is the constant `true`.

/// A rule that can be turned off by the mutant suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Rule {
    Floor,
    MonotoneExpiry,
    MinAtRelease,
    IdTimestampChecked,
    VersionInCondition,
    RenewalId,
    KernelRandomness,
    ConfirmedCeilings,
    RetireBeforeRelease,
    NoSlotReuse,
    ForkPage,
    RetireBeforeLeaving,
    KeeperStamp,
    ProcessWideSharing,
    DeletedItemRefused,
    ClockCap,
    ReserveBeforeWait,
}

impl Rule {
    /// Every rule.
    pub const ALL: [Rule; 17] = [
        Rule::Floor,
        Rule::MonotoneExpiry,
        Rule::MinAtRelease,
        Rule::IdTimestampChecked,
        Rule::VersionInCondition,
        Rule::RenewalId,
        Rule::KernelRandomness,
        Rule::ConfirmedCeilings,
        Rule::RetireBeforeRelease,
        Rule::NoSlotReuse,
        Rule::ForkPage,
        Rule::RetireBeforeLeaving,
        Rule::KeeperStamp,
        Rule::ProcessWideSharing,
        Rule::DeletedItemRefused,
        Rule::ClockCap,
        Rule::ReserveBeforeWait,
    ];
}

/// Whether a rule is in force: always, but in a build with the `mutants` feature that names it in
/// `LEASEFLAKE_TEST_MUTANT`.
#[cfg(not(feature = "mutants"))]
#[inline(always)]
pub(crate) const fn holds(_rule: Rule) -> bool {
    true
}

#[cfg(feature = "mutants")]
pub(crate) fn holds(rule: Rule) -> bool {
    static OFF: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    let off = OFF.get_or_init(|| std::env::var("LEASEFLAKE_TEST_MUTANT").ok());
    off.as_deref() != Some(format!("{rule:?}").as_str())
}
