//! The keeper against a registry in memory: each event by hand, on a clock of the test.

use std::cell::RefCell;
use std::collections::VecDeque;

use super::{Call, Event, Keeper, KeeperConfig, LeasePage, Step};
use crate::clock::Now;
use crate::error::ErrorCode;
use crate::lease::record::LeaseRecord;
use crate::lease::state::LeaseState;
use crate::lease::store::memory::MemoryRegistry;
use crate::lease::store::{Answer, LeaseWrite, Request, StoreError, StoreErrorKind};
use crate::testing::Seeded;
use crate::{DEFAULT_EPOCH_MS, Layout};

const START_MS: i64 = DEFAULT_EPOCH_MS + 1_000_000_000;
const HOUR_MS: u64 = 3_600_000;

/// A page that remembers what the keeper did to it.
#[derive(Default)]
struct Page {
    open: RefCell<Option<(u32, i64)>>,
    ceiling_ms: RefCell<i64>,
    newest_ms: RefCell<i64>,
}

impl LeasePage for &Page {
    fn open_slot(&self, _datacenter_id: u32, worker_id: u32, _fencing_epoch: u64, floor_ms: i64) {
        *self.open.borrow_mut() = Some((worker_id, floor_ms));
        *self.ceiling_ms.borrow_mut() = 0;
        *self.newest_ms.borrow_mut() = floor_ms - 1;
    }
    fn raise(&self, ceiling_ms: i64, cap_ms: i64, _expiry_ms: i64) {
        let ceiling = (*self.ceiling_ms.borrow()).max(ceiling_ms.min(cap_ms));
        *self.ceiling_ms.borrow_mut() = ceiling;
    }
    fn retire(&self) -> i64 {
        *self.open.borrow_mut() = None;
        *self.newest_ms.borrow()
    }
    fn newest_ms(&self) -> i64 {
        *self.newest_ms.borrow()
    }
    fn is_retired(&self) -> bool {
        self.open.borrow().is_none()
    }
    fn ceiling_ms(&self) -> i64 {
        *self.ceiling_ms.borrow()
    }
    fn close(&self) {}
}

/// What becomes of the next calls; `Normal` when none is planned.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Network {
    Normal,
    /// Applied, but the answer is lost.
    AnswerLost,
    /// Never arrives.
    Lost,
    /// Another claimant is faster by a moment: the item has the epoch that we wanted, and is not ours.
    Beaten,
    /// That too, and ours never arrives.
    BeatenAndLost,
}

struct Rig<'a> {
    keeper: Keeper<&'a Page>,
    page: &'a Page,
    registry: MemoryRegistry,
    now: Now,
    random: Seeded,
    network: VecDeque<Network>,
    outage: bool,
    /// The registry's clock minus ours; `None` = it tells no time.
    date_offset_ms: Option<i64>,
    step: Step,
    requests: Vec<(u64, Request)>,
}

impl<'a> Rig<'a> {
    fn new(page: &'a Page, ttl_max_ms: i64) -> Rig<'a> {
        let now = Now { wall_ms: START_MS, boot_ms: 5_000_000 };
        let config = KeeperConfig {
            layout: Layout::default(),
            datacenters: Some(vec![3]),
            lease_ttl_ms: 30_000,
            lease_ttl_max_ms: ttl_max_ms,
            heartbeat_interval_ms: 10_000,
            safety_margin_ms: 5_000,
            store_name: "memory:test".to_owned(),
        };
        let mut rig = Rig {
            keeper: Keeper::new(config, page, now),
            page,
            registry: MemoryRegistry::new(),
            now,
            random: Seeded(7),
            network: VecDeque::new(),
            outage: false,
            date_offset_ms: None,
            step: Step::default(),
            requests: Vec::new(),
        };
        rig.feed(Event::Begin { instance_id: "me".to_owned(), ip_address: "10.0.0.1".to_owned() });
        rig
    }

    fn feed(&mut self, event: Event) {
        self.step = self.keeper.step(self.now, None, &mut self.random, event);
        while let Some(call) = self.step.call.take() {
            let Call::Store(request) = call else { panic!("the datacenter is given") };
            let sent = self.now;
            let fate = if self.outage { Network::Lost } else { self.network.pop_front().unwrap_or(Network::Normal) };
            self.requests.push((self.now.boot_ms, request.clone()));
            if let (Network::Beaten | Network::BeatenAndLost, Request::Write(write)) = (fate, &request) {
                let next = LeaseRecord {
                    instance_id: "other".to_owned(),
                    renewal_id: "theirs".to_owned(),
                    ..write.next.clone()
                };
                self.registry.apply(&Request::Write(LeaseWrite { next, ..write.clone() })).expect("the registry works");
            }
            let lost = matches!(fate, Network::Lost | Network::BeatenAndLost);
            let result = if lost { None } else { Some(self.registry.apply(&request)) };
            let date_ms = self.date_offset_ms.map(|offset| (self.now.wall_ms + offset) / 1000 * 1000);
            let answer = match result {
                Some(result) if fate != Network::AnswerLost => Answer { date_ms, result },
                _ => {
                    self.pass(2_000);
                    Answer::undated(Err(StoreError::new(StoreErrorKind::Unavailable, "no answer")))
                }
            };
            self.step = self.keeper.step(self.now, None, &mut self.random, Event::Answered { sent, answer });
        }
    }

    fn pass(&mut self, ms: u64) {
        self.now.boot_ms += ms;
        self.now.wall_ms += ms as i64;
    }

    /// Lets time pass, with every timer at its time.
    fn run_for(&mut self, ms: u64) {
        let end = self.now.boot_ms + ms;
        while self.now.boot_ms < end && !self.step.done {
            let wake = self.step.wake_at_ms.unwrap_or(end).clamp(self.now.boot_ms + 1, end);
            let by = wake - self.now.boot_ms;
            self.pass(by);
            self.feed(Event::Tick);
        }
    }

    fn state(&self) -> LeaseState {
        self.keeper.status().state
    }

    fn may_issue(&self) -> bool {
        !self.page.is_retired() && self.now.wall_ms < self.page.ceiling_ms()
    }

    fn worker(&self) -> u32 {
        self.keeper.status().lease.expect("a lease").worker_id
    }

    fn item(&self, worker_id: u32) -> LeaseRecord {
        self.registry.item(3, worker_id).expect("an item").clone()
    }

    /// Somebody else takes a worker ID over, whatever its lease.
    fn takeover(&mut self, worker_id: u32) {
        let old = self.item(worker_id);
        self.write_over(
            &old,
            LeaseRecord {
                instance_id: "other".to_owned(),
                lease_expiry_ts: old.lease_expiry_ts.max(self.now.wall_ms) + 30_000,
                fencing_epoch: old.fencing_epoch + 1,
                version: old.version + 1,
                renewal_id: "theirs".to_owned(),
                ..old.clone()
            },
        );
    }

    /// Its holder closes.
    fn give_back(&mut self, worker_id: u32) {
        let old = self.item(worker_id);
        let released = LeaseRecord {
            lease_expiry_ts: self.now.wall_ms,
            version: old.version + 1,
            renewal_id: String::new(),
            ..old.clone()
        };
        self.write_over(&old, released);
    }

    fn write_over(&mut self, old: &LeaseRecord, next: LeaseRecord) {
        let write = LeaseWrite {
            datacenter_id: 3,
            expected_epoch: old.fencing_epoch,
            expected_version: old.version,
            expired_before: None,
            next,
        };
        self.registry.apply(&Request::Write(write)).expect("the registry works");
    }
}

#[test]
fn a_worker_id_is_acquired_in_two_round_trips_once_the_datacenter_is_initialised() {
    let page = Page::default();
    let first = Rig::new(&page, 30_000);
    assert_eq!(first.state(), LeaseState::Active);
    let other = Page::default();
    let mut rig = Rig::new(&other, 30_000);
    rig.registry = first.registry.clone();
    rig.keeper = Keeper::new(rig.keeper.config.clone(), &other, rig.now);
    rig.requests.clear();
    rig.feed(Event::Begin { instance_id: "two".to_owned(), ip_address: String::new() });
    assert_eq!(rig.requests.len(), 2, "{:?}", rig.requests);
    assert_ne!(rig.worker(), first.worker());
}

#[test]
fn a_heartbeat_every_ten_seconds_keeps_the_lease_and_nothing_more_is_asked() {
    let page = Page::default();
    let mut rig = Rig::new(&page, 30_000);
    rig.requests.clear();
    rig.run_for(HOUR_MS);
    assert_eq!(rig.state(), LeaseState::Active);
    assert!((359..=361).contains(&rig.requests.len()), "{} requests in an hour", rig.requests.len());
    assert!(rig.may_issue());
}

#[test]
fn the_lost_answer_of_a_heartbeat_costs_no_lease() {
    let page = Page::default();
    let mut rig = Rig::new(&page, 30_000);
    let worker = rig.worker();
    rig.network.push_back(Network::AnswerLost);
    rig.run_for(15_000);
    assert_eq!(rig.state(), LeaseState::Active);
    assert_eq!(rig.worker(), worker);
    assert_eq!(rig.keeper.status().counters.leases_lost, 0);
    rig.run_for(60_000);
    assert_eq!(rig.worker(), worker);
}

#[test]
fn the_answer_lost_as_an_outage_began_costs_no_lease_however_long_that_lasts() {
    let page = Page::default();
    let mut rig = Rig::new(&page, 24 * HOUR_MS as i64);
    rig.run_for(HOUR_MS);
    let worker = rig.worker();
    rig.network.push_back(Network::AnswerLost);
    rig.run_for(12_000);
    rig.outage = true;
    for hours in [3, 24] {
        rig.run_for(hours * HOUR_MS);
        assert!(rig.requests.len() > 1_000, "{} attempts", rig.requests.len());
    }
    rig.outage = false;
    rig.run_for(20_000);
    assert_eq!(rig.keeper.status().counters.leases_lost, 0, "its own write was taken for somebody else's");
    assert_eq!((rig.state(), rig.worker()), (LeaseState::Active, worker));
}

#[test]
fn the_lost_answer_of_a_claim_is_recognised_and_its_floor_kept() {
    let page = Page::default();
    let mut first = Rig::new(&page, 30_000);
    first.run_for(60_000);
    let worker = first.worker();
    // All but one are held for long; that one has expired.
    let mut registry = first.registry.clone();
    for other in (0..32).filter(|other| *other != worker) {
        let old = registry.item(3, other).expect("an item").clone();
        let next = LeaseRecord { lease_expiry_ts: i64::MAX / 4, version: old.version + 1, ..old.clone() };
        let write = LeaseWrite {
            datacenter_id: 3,
            expected_epoch: old.fencing_epoch,
            expected_version: old.version,
            expired_before: None,
            next,
        };
        registry.apply(&Request::Write(write)).expect("the registry works");
    }
    let floor_ms = registry.item(3, worker).expect("an item").lease_expiry_ts;
    let other = Page::default();
    let mut rig = Rig::new(&other, 30_000);
    rig.registry = registry;
    rig.now = Now { wall_ms: floor_ms + 1_000, boot_ms: 9_000_000 };
    rig.keeper = Keeper::new(rig.keeper.config.clone(), &other, rig.now);
    rig.network = VecDeque::from([Network::Normal, Network::AnswerLost]);
    rig.feed(Event::Begin { instance_id: "two".to_owned(), ip_address: String::new() });
    assert_eq!(rig.state(), LeaseState::Acquiring);
    rig.run_for(5_000);
    assert_eq!(rig.state(), LeaseState::Active, "its own claim is recognised long before it would expire");
    assert_eq!(rig.worker(), worker);
    assert_eq!(rig.keeper.status().lease.expect("a lease").floor_ms, floor_ms);
}

#[test]
fn a_claim_that_another_one_won_is_never_taken_for_ours() {
    for fate in [Network::Beaten, Network::BeatenAndLost] {
        let page = Page::default();
        let mut rig = Rig::new(&page, 30_000);
        rig.keeper = Keeper::new(rig.keeper.config.clone(), &page, rig.now);
        rig.requests.clear();
        rig.network = VecDeque::from([Network::Normal, fate]);
        rig.feed(Event::Begin { instance_id: "two".to_owned(), ip_address: String::new() });
        rig.run_for(5_000);
        let Request::Write(first) = &rig.requests[1].1 else { panic!("{:?} is no claim", rig.requests[1]) };
        let theirs = rig.item(first.next.worker_id);
        assert_eq!((theirs.fencing_epoch, theirs.instance_id.as_str()), (first.next.fencing_epoch, "other"));
        assert_eq!(rig.state(), LeaseState::Active);
        assert_ne!(rig.worker(), theirs.worker_id, "{fate:?}: two processes hold it");
    }
}

#[test]
fn a_heartbeat_of_a_copy_of_us_loses_us_the_lease() {
    let page = Page::default();
    let mut rig = Rig::new(&page, 30_000);
    let worker = rig.worker();
    let old = rig.item(worker);
    let next = LeaseRecord {
        lease_expiry_ts: old.lease_expiry_ts + 5_000,
        version: old.version + 1,
        renewal_id: "the copy's".to_owned(),
        ..old.clone()
    };
    rig.write_over(&old, next);
    rig.run_for(10_500);
    assert_eq!(rig.keeper.status().counters.leases_lost, 1, "original and copy hold one worker ID");
    assert_ne!(rig.worker(), worker);
    assert_eq!(rig.item(worker).renewal_id, "the copy's");
}

#[test]
fn a_takeover_is_noticed_at_the_next_heartbeat_and_another_worker_id_acquired() {
    let page = Page::default();
    let mut rig = Rig::new(&page, 30_000);
    let worker = rig.worker();
    rig.takeover(worker);
    rig.run_for(10_500);
    assert_eq!(rig.state(), LeaseState::Active);
    assert_ne!(rig.worker(), worker);
    assert_eq!(rig.keeper.status().counters.leases_lost, 1);
    assert_eq!(rig.item(worker).instance_id, "other");
}

#[test]
fn an_item_deleted_by_somebody_is_lost_and_never_claimed_again() {
    let page = Page::default();
    let mut rig = Rig::new(&page, 30_000);
    let worker = rig.worker();
    rig.registry.delete_item(3, worker);
    for other in (0..32).filter(|other| *other != worker) {
        rig.takeover(other);
    }
    rig.run_for(25_000);
    assert!(rig.page.is_retired(), "nothing is issued under a deleted item");
    rig.run_for(25_000);
    assert_ne!(rig.keeper.status().lease.map(|lease| lease.worker_id), Some(worker));
    assert!(rig.registry.item(3, worker).is_none(), "it is not made anew");
}

#[test]
fn an_item_whose_numbers_somebody_set_to_the_last_is_left_alone() {
    let page = Page::default();
    let mut rig = Rig::new(&page, 30_000);
    let worker = rig.worker();
    for other in (0..32).filter(|other| *other != worker) {
        let old = rig.item(other);
        rig.write_over(&old, LeaseRecord { fencing_epoch: (1 << 62) - 1, ..old.clone() });
    }
    rig.takeover(worker);
    rig.run_for(20_000);
    assert_eq!(rig.keeper.status().last_error.as_ref().map(|(error, _)| error.code()), Some(ErrorCode::NoWorkerId));
    rig.run_for(50_000);
    assert_eq!((rig.state(), rig.worker()), (LeaseState::Active, worker), "the one that is left");
}

#[test]
fn an_outage_shorter_than_the_window_refuses_nothing_and_a_longer_one_suspends_at_the_ceiling() {
    let page = Page::default();
    let mut rig = Rig::new(&page, 30_000);
    let worker = rig.worker();
    rig.outage = true;
    rig.run_for(24_000);
    assert!(rig.may_issue(), "the window is 25 s");
    rig.run_for(3_000);
    assert!(!rig.may_issue());
    assert_eq!(rig.state(), LeaseState::Suspended);
    rig.run_for(120_000);
    rig.outage = false;
    rig.run_for(20_000);
    assert!(rig.may_issue(), "two heartbeats after the registry is back");
    assert_eq!(rig.worker(), worker, "nobody took it");
}

#[test]
fn a_lease_grown_for_three_hours_rides_out_an_outage_of_three_hours() {
    let page = Page::default();
    let mut rig = Rig::new(&page, 4 * HOUR_MS as i64);
    rig.run_for(HOUR_MS);
    let length = rig.keeper.status().lease.expect("a lease").lease_length_ms;
    assert!((length - HOUR_MS as i64).abs() < 20_000, "as long as it has been held: {length}");
    rig.run_for(2 * HOUR_MS + 60_000);
    rig.outage = true;
    let began_ms = rig.now.boot_ms;
    while rig.now.boot_ms < began_ms + 3 * HOUR_MS {
        rig.run_for(5_000);
        let into_ms = rig.now.boot_ms - began_ms;
        assert!(rig.may_issue() || into_ms > 3 * HOUR_MS, "refused {into_ms} ms into the outage");
    }
    rig.outage = false;
    rig.run_for(60_000);
    assert!(rig.may_issue());
    assert_eq!(rig.keeper.status().counters.leases_acquired, 1);
}

#[test]
fn leases_stop_growing_while_less_than_half_of_the_worker_ids_are_free() {
    let page = Page::default();
    let mut rig = Rig::new(&page, 4 * HOUR_MS as i64);
    let worker = rig.worker();
    for other in (0..32).filter(|other| *other != worker).take(16) {
        rig.takeover(other);
        let old = rig.item(other);
        let write = LeaseWrite {
            datacenter_id: 3,
            expected_epoch: old.fencing_epoch,
            expected_version: old.version,
            expired_before: None,
            next: LeaseRecord { lease_expiry_ts: START_MS + 100 * HOUR_MS as i64, version: old.version + 1, ..old },
        };
        rig.registry.apply(&Request::Write(write)).expect("the registry works");
    }
    rig.requests.clear();
    rig.run_for(2 * HOUR_MS);
    assert_eq!(rig.keeper.status().lease.expect("a lease").lease_length_ms, 30_000);
    let reads = rig.requests.iter().filter(|(_, request)| matches!(request, Request::Read { .. })).count();
    assert!((20..=26).contains(&reads), "looked {reads} times in two hours, at most every five minutes");
}

#[test]
fn a_release_frees_the_worker_id_at_once_and_never_raises_its_expiry() {
    let page = Page::default();
    let mut rig = Rig::new(&page, 30_000);
    let worker = rig.worker();
    *page.newest_ms.borrow_mut() = rig.now.wall_ms + 3;
    let give_up_at_ms = rig.now.boot_ms + 2_000;
    rig.feed(Event::Close { give_up_at_ms });
    assert!(rig.step.done);
    assert!((&page).is_retired());
    let item = rig.item(worker);
    assert!(item.is_released());
    assert_eq!(item.lease_expiry_ts, rig.now.wall_ms + 4, "one past the newest issued");
    assert_eq!(item.instance_id, "me");
}

#[test]
fn a_release_after_a_heartbeat_whose_answer_was_lost_still_frees_the_worker_id() {
    let page = Page::default();
    let mut rig = Rig::new(&page, 30_000);
    let worker = rig.worker();
    rig.network = VecDeque::from([Network::AnswerLost]);
    rig.pass(10_000);
    rig.feed(Event::Tick);
    let give_up_at_ms = rig.now.boot_ms + 2_000;
    rig.feed(Event::Close { give_up_at_ms });
    rig.run_for(2_000);
    assert!(rig.step.done);
    assert!(rig.item(worker).is_released());
}

#[test]
fn a_close_during_an_outage_gives_up_in_time() {
    let page = Page::default();
    let mut rig = Rig::new(&page, 30_000);
    rig.outage = true;
    let give_up_at_ms = rig.now.boot_ms + 2_000;
    rig.feed(Event::Close { give_up_at_ms });
    rig.run_for(5_000);
    assert!(rig.step.done);
    assert!((&page).is_retired());
}

#[test]
fn a_clock_proved_an_hour_ahead_claims_nothing_and_one_400_ms_off_is_never_refused() {
    for (offset_ms, refused) in
        [(-(HOUR_MS as i64), true), (HOUR_MS as i64, true), (-10_000, true), (-400, false), (400, false)]
    {
        let page = Page::default();
        let mut rig = Rig::new(&page, 30_000);
        let fresh = Page::default();
        rig.page = &fresh;
        rig.keeper = Keeper::new(rig.keeper.config.clone(), &fresh, rig.now);
        rig.date_offset_ms = Some(offset_ms);
        rig.feed(Event::Begin { instance_id: "two".to_owned(), ip_address: String::new() });
        rig.run_for(5_000);
        let status = rig.keeper.status();
        if refused {
            assert_eq!(status.state, LeaseState::Acquiring, "offset {offset_ms}");
            assert_eq!(status.last_code(), Some(ErrorCode::ClockUntrusted), "offset {offset_ms}");
            rig.date_offset_ms = Some(0);
            rig.run_for(20_000);
            assert_eq!(rig.state(), LeaseState::Active, "the clock came right");
        } else {
            assert_eq!(status.state, LeaseState::Active, "offset {offset_ms}");
        }
    }
}

#[test]
fn a_holder_whose_clock_jumps_ahead_goes_at_most_thirty_seconds_and_renews_by_the_registrys_time() {
    let page = Page::default();
    let mut rig = Rig::new(&page, 24 * HOUR_MS as i64);
    rig.date_offset_ms = Some(0);
    rig.run_for(3 * HOUR_MS);
    let worker = rig.worker();
    let before = rig.now.wall_ms;
    rig.now.wall_ms += HOUR_MS as i64;
    rig.date_offset_ms = Some(-(HOUR_MS as i64));
    assert!(!rig.may_issue(), "an hour beyond the last trusted look");
    assert!(rig.page.ceiling_ms() <= before + 30_000);
    rig.run_for(60_000);
    assert_eq!(rig.worker(), worker, "a holder goes on");
    let truth = rig.now.wall_ms - HOUR_MS as i64;
    assert!(rig.page.ceiling_ms() <= truth + 33_000, "at most 30 s beyond what is proved");
    let length = rig.keeper.status().lease.expect("a lease").lease_length_ms;
    assert!(rig.item(worker).lease_expiry_ts <= truth + length + 4_000, "renewed by the registry's time");
    assert!(rig.keeper.status().clock_suspect.is_some());
    rig.now.wall_ms -= HOUR_MS as i64;
    rig.date_offset_ms = Some(0);
    rig.run_for(20_000);
    assert!(rig.may_issue());
    assert!(rig.keeper.status().clock_suspect.is_none());
}

#[test]
fn without_a_date_a_step_is_believed_once_it_has_stood_for_thirty_seconds() {
    let page = Page::default();
    let mut rig = Rig::new(&page, 30_000);
    rig.run_for(60_000);
    rig.now.wall_ms += HOUR_MS as i64;
    rig.run_for(15_000);
    assert!(!rig.may_issue());
    assert!(rig.keeper.status().clock_suspect.is_some());
    rig.run_for(35_000);
    assert!(rig.may_issue(), "it has stood for 30 s");
    assert_eq!(rig.keeper.status().counters.clock_steps, 1);
    // More than a day is only believed of a synchronised clock, and nobody says so here.
    rig.now.wall_ms += 48 * HOUR_MS as i64;
    rig.run_for(120_000);
    assert!(!rig.may_issue());
}

#[test]
fn a_clock_that_steps_back_lowers_no_expiry() {
    let page = Page::default();
    let mut rig = Rig::new(&page, 30_000);
    rig.run_for(60_000);
    let worker = rig.worker();
    let before = rig.item(worker).lease_expiry_ts;
    rig.now.wall_ms -= HOUR_MS as i64;
    rig.run_for(30_000);
    assert_eq!(rig.item(worker).lease_expiry_ts, before);
    assert!(rig.item(worker).version > 5, "heartbeats go on");
}

#[test]
fn a_storm_of_errors_is_met_with_few_requests_and_growing_pauses() {
    let page = Page::default();
    let mut rig = Rig::new(&page, 30_000);
    rig.requests.clear();
    rig.outage = true;
    rig.run_for(600_000);
    let most_in_a_second = (0..rig.requests.len())
        .map(|index| {
            let from = rig.requests[index].0;
            rig.requests[index..].iter().take_while(|(at, _)| *at < from + 1_000).count()
        })
        .max();
    assert!(most_in_a_second <= Some(4), "{most_in_a_second:?} requests in a second");
    assert!(rig.requests.len() < 300, "{} requests in ten minutes", rig.requests.len());
}

#[test]
fn with_all_worker_ids_taken_it_looks_again_at_most_once_a_second_and_takes_the_first_that_is_free() {
    let page = Page::default();
    let mut rig = Rig::new(&page, 30_000);
    for worker in 0..32 {
        rig.takeover(worker);
    }
    rig.run_for(10_500);
    rig.requests.clear();
    let until = (0..32).map(|worker| rig.item(worker).lease_expiry_ts).min().expect("items");
    let left = (until - rig.now.wall_ms) as u64;
    rig.run_for(left.saturating_sub(1));
    assert!(rig.keeper.status().lease.is_none());
    assert_eq!(rig.keeper.status().last_code(), Some(ErrorCode::NoWorkerId));
    assert!(rig.requests.len() as u64 <= left / 1_000 + 2, "{} looks in {left} ms", rig.requests.len());
    rig.run_for(12_000);
    assert_eq!(rig.state(), LeaseState::Active);
}

#[test]
fn with_all_worker_ids_taken_one_that_is_given_back_is_taken_long_before_its_lease_would_have_ended() {
    let page = Page::default();
    let mut rig = Rig::new(&page, 30_000);
    for worker in 0..32 {
        rig.takeover(worker);
    }
    rig.run_for(10_500);
    assert!(rig.keeper.status().lease.is_none());
    rig.give_back(7);
    rig.run_for(3_000);
    assert_eq!(rig.state(), LeaseState::Active);
    assert_eq!(rig.worker(), 7);
}
