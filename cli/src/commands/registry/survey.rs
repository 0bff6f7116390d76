//! One look at each datacenter of a registry.

use leaseflake::lease::pin;
use leaseflake::lease::record::{DatacenterView, LayoutPin, LeaseRecord};
use leaseflake::lease::store::{Answer, LeaseStore, Reply, Request, StoreError};
use leaseflake::{Error, ErrorCode, Layout, Options};

/// What a registry looks like.
pub(in crate::commands) struct Survey {
    /// What people call it.
    pub(in crate::commands) store: String,
    /// The datacenters that have been used or initialised.
    pub(in crate::commands) datacenters: Vec<Datacenter>,
    /// Those that have not.
    pub(in crate::commands) unused: Vec<u32>,
}

/// A datacenter as one read shows it.
pub(in crate::commands) struct Datacenter {
    pub(in crate::commands) id: u32,
    /// By which it was read: the pinned one, unless the options name another.
    pub(in crate::commands) layout: Layout,
    pub(in crate::commands) view: DatacenterView,
    /// Why processes refuse it, where they do.
    pub(in crate::commands) problem: Option<StoreError>,
}

/// What a worker ID's item says at a time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum State {
    /// Somebody owns it.
    Leased,
    /// Its last owner gave it back.
    Released,
    /// Its last owner let the lease end.
    Expired,
    /// Nobody is known to have owned it; a fence may have raised its floor.
    Unused,
}

impl State {
    pub(in crate::commands) fn of(item: &LeaseRecord, now_ms: i64) -> State {
        let nobodys = item.is_released() && item.instance_id.is_empty() && !item.is_leased_at(now_ms);
        if item.fencing_epoch == 0 || nobodys {
            State::Unused
        } else if item.is_released() {
            State::Released
        } else if item.is_leased_at(now_ms) {
            State::Leased
        } else {
            State::Expired
        }
    }

    pub(in crate::commands) fn name(self) -> &'static str {
        match self {
            State::Leased => "leased",
            State::Released => "released",
            State::Expired => "expired",
            State::Unused => "unused",
        }
    }
}

impl Datacenter {
    /// How many worker IDs could be claimed at this time.
    pub(in crate::commands) fn free(&self, now_ms: i64) -> usize {
        self.view.workers.iter().filter(|item| !item.is_leased_at(now_ms)).count()
    }

    /// How many worker IDs the layout has.
    pub(in crate::commands) fn size(&self) -> usize {
        self.layout.max_worker_id() as usize + 1
    }

    /// Worker IDs whose items somebody has deleted or broken.
    pub(in crate::commands) fn missing(&self) -> Vec<u32> {
        let is_there = |worker_id: u32| self.view.workers.iter().any(|item| item.worker_id == worker_id);
        if self.view.layout.is_none() && self.view.workers.is_empty() {
            return Vec::new();
        }
        (0..=self.layout.max_worker_id()).filter(|worker_id| !is_there(*worker_id)).collect()
    }
}

/// Whether the options (or the environment) name a layout, or leave it to what is pinned.
pub(in crate::commands) fn names_a_layout(options: &Options) -> bool {
    options.get("layout").is_some() || options.get("epoch_ms").is_some()
}

/// Looks at the datacenters that the options name; at all of them where they name none, since the
/// registry of a fleet may have other ones than its region's.
pub(in crate::commands) fn survey(options: &Options) -> Result<Survey, Error> {
    let layout = options.resolve_layout()?;
    let chosen = options.resolve_datacenters()?;
    let mut store = options.resolve_store()?;
    let mut survey = Survey { store: store.name(), datacenters: Vec::new(), unused: Vec::new() };
    for id in chosen.unwrap_or_else(|| (0..=layout.max_datacenter_id()).collect()) {
        match look(&mut *store, id, layout, names_a_layout(options))? {
            Some(datacenter) => survey.datacenters.push(datacenter),
            None => survey.unused.push(id),
        }
    }
    Ok(survey)
}

/// Looks at one datacenter; `None` where nobody has initialised it.
pub(in crate::commands) fn look(
    store: &mut dyn LeaseStore,
    id: u32,
    layout: Layout,
    layout_is_given: bool,
) -> Result<Option<Datacenter>, Error> {
    let mut layout = layout;
    let mut view = read(store, id, layout)?;
    if !layout_is_given
        && let Some(pinned) = view.layout.as_ref().and_then(layout_of)
        && pinned != layout
    {
        layout = pinned;
        view = read(store, id, layout)?;
    }
    if view.layout.is_none() && view.workers.is_empty() {
        return Ok(None);
    }
    let problem = pin::check(&view, id, &layout, &store.name()).err();
    Ok(Some(Datacenter { id, layout, view, problem }))
}

/// The layout that is pinned, where we can make sense of it.
fn layout_of(pin: &LayoutPin) -> Option<Layout> {
    pin.layout.parse::<Layout>().and_then(|layout| layout.with_epoch_ms(pin.epoch_ms)).ok()
}

fn read(store: &mut dyn LeaseStore, datacenter_id: u32, layout: Layout) -> Result<DatacenterView, Error> {
    view_of(store.call(&Request::Read { datacenter_id, layout }))
}

/// What a read must answer.
pub(in crate::commands) fn view_of(answer: Answer) -> Result<DatacenterView, Error> {
    match answer.result? {
        Reply::View(view) => Ok(view),
        other => Err(unexpected(&other)),
    }
}

/// Asks for something that is either done or an error.
pub(in crate::commands) fn apply(store: &mut dyn LeaseStore, request: &Request) -> Result<(), Error> {
    match store.call(request).result? {
        Reply::Applied => Ok(()),
        other => Err(unexpected(&other)),
    }
}

fn unexpected(reply: &Reply) -> Error {
    Error::new(ErrorCode::Internal, format!("the registry answered {reply:?}: this is a bug in Leaseflake"))
}

/// `0-3, 5, 8-31`.
pub(in crate::commands) fn ranges(numbers: &[u32]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = numbers;
    while let [first, ..] = rest {
        let length = rest.iter().zip(*first..).take_while(|(number, expected)| *number == expected).count();
        parts.push(match length {
            1 => first.to_string(),
            _ => format!("{first}-{}", rest[length - 1]),
        });
        rest = &rest[length..];
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_said_as_ranges() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[0, 1, 2, 3, 5, 8, 9]), "0-3, 5, 8-9");
        assert_eq!(ranges(&[31]), "31");
    }

    #[test]
    fn an_item_is_leased_until_its_lease_ends_unless_it_was_given_back() {
        let held = LeaseRecord {
            fencing_epoch: 1,
            lease_expiry_ts: 100,
            renewal_id: "r".to_owned(),
            ..LeaseRecord::unused(4)
        };
        assert!(State::of(&held, 100) == State::Leased);
        assert!(State::of(&held, 101) == State::Expired);
        assert!(State::of(&LeaseRecord { renewal_id: String::new(), ..held }, 100) == State::Released);
        assert!(State::of(&LeaseRecord::unused(4), 100) == State::Unused);
    }
}
