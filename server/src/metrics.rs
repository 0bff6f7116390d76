//! What Prometheus is told.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use leaseflake::Status;
use prometheus::{
    Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry, TextEncoder,
};
use tonic::Code;

use crate::answer::code_name;
use crate::pool::Slot;

/// The methods that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    GenerateId,
    GenerateIdBatch,
    Health,
    Reflection,
    ReflectionAlpha,
    Unknown,
}

impl Method {
    const COUNT: usize = 6;

    fn name(self) -> &'static str {
        match self {
            Method::GenerateId => "GenerateId",
            Method::GenerateIdBatch => "GenerateIdBatch",
            Method::Health => "Health",
            Method::Reflection | Method::ReflectionAlpha => "ServerReflection",
            Method::Unknown => "unknown",
        }
    }
}

/// The label of callers that have no metric of their own.
const OTHER_CALLERS: &str = "other";
/// The longest `caller_service` that becomes a label.
const LONGEST_CALLER: usize = 64;
/// From 50 us, around what a call may take, to 5 s.
const BUCKETS: [f64; 16] =
    [0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// How many codes gRPC has.
const CODES: usize = 17;

/// All metrics of a server.
pub(crate) struct Metrics {
    registry: Registry,
    issued: IntCounterVec,
    callers: RwLock<HashMap<String, IntCounter>>,
    most_callers: usize,
    other_callers: IntCounter,
    requests: IntCounterVec,
    by_code: [[OnceLock<IntCounter>; CODES]; Method::COUNT],
    duration: [Histogram; 2],
    requests_under_way: IntGauge,
    connections: IntGauge,
    refused_connections: IntCounterVec,
    ready: IntGauge,
    days_left: Gauge,
    worker_ids_free: IntGaugeVec,
    lease: Lease,
}

/// What is told of each slot.
struct Lease {
    state: IntGaugeVec,
    worker: IntGaugeVec,
    datacenter: IntGaugeVec,
    seconds_left: GaugeVec,
    fencing_epoch: IntGaugeVec,
    suspensions: IntCounterVec,
    lost: IntCounterVec,
    heartbeats: IntCounterVec,
    heartbeats_failed: IntCounterVec,
    clock_steps: IntCounterVec,
    clock_suspect: IntGaugeVec,
    waits: IntCounterVec,
}

/// Registers metrics of this server under names and helps that are right.
struct Maker<'a>(&'a Registry);

impl Maker<'_> {
    fn add<C: prometheus::core::Collector + Clone + 'static>(&self, made: prometheus::Result<C>) -> C {
        let collector = made.expect("a metric whose name is in this file");
        self.0.register(Box::new(collector.clone())).expect("each metric is registered once");
        collector
    }

    fn counters(&self, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
        self.add(IntCounterVec::new(Opts::new(name, help).namespace("leaseflake"), labels))
    }

    fn gauges(&self, name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
        self.add(IntGaugeVec::new(Opts::new(name, help).namespace("leaseflake"), labels))
    }

    fn gauge(&self, name: &str, help: &str) -> IntGauge {
        self.add(IntGauge::with_opts(Opts::new(name, help).namespace("leaseflake")))
    }
}

impl Metrics {
    /// Metrics of which this many callers have one of their own.
    pub(crate) fn new(most_callers: u32) -> Arc<Metrics> {
        let registry = Registry::new();
        let make = Maker(&registry);
        let issued = make.counters("ids_issued_total", "IDs given to callers.", &["caller_service"]);
        let duration = make.add(HistogramVec::new(
            HistogramOpts::new("request_duration_seconds", "From the head of a call to the head of its answer.")
                .namespace("leaseflake")
                .buckets(BUCKETS.to_vec()),
            &["method"],
        ));
        let lease = Lease {
            state: make.gauges("lease_state", "1 for the state that the lease is in.", &["slot", "state"]),
            worker: make.gauges("worker_id", "The worker ID held, within its datacenter.", &["slot"]),
            datacenter: make.gauges("datacenter_id", "The datacenter of the worker ID held.", &["slot"]),
            seconds_left: make.add(GaugeVec::new(
                Opts::new("lease_seconds_left", "Until the lease ends if no heartbeat gets through.")
                    .namespace("leaseflake"),
                &["slot"],
            )),
            fencing_epoch: make.gauges("fencing_epoch", "Which owner of the worker ID this is.", &["slot"]),
            suspensions: make.counters("suspensions_total", "Times that the window was used up.", &["slot"]),
            lost: make.counters("leases_lost_total", "Times that somebody else owned the worker ID.", &["slot"]),
            heartbeats: make.counters("heartbeats_total", "Heartbeats sent.", &["slot"]),
            heartbeats_failed: make.counters("heartbeats_failed_total", "Heartbeats not confirmed.", &["slot"]),
            clock_steps: make.counters("clock_steps_total", "Steps of the wall clock.", &["slot"]),
            clock_suspect: make.gauges("clock_suspect", "1 while the clock is not trusted.", &["slot"]),
            waits: make.counters("waits_total", "Calls that waited for the clock.", &["slot"]),
        };
        let days_left = Opts::new("timestamp_days_left", "Days until the timestamp field of the layout ends.");
        Arc::new(Metrics {
            callers: RwLock::default(),
            most_callers: most_callers as usize,
            other_callers: issued.with_label_values(&[OTHER_CALLERS]),
            issued,
            requests: make.counters("requests_total", "Calls answered.", &["method", "code"]),
            by_code: Default::default(),
            duration: [Method::GenerateId, Method::GenerateIdBatch]
                .map(|method| duration.with_label_values(&[method.name()])),
            requests_under_way: make.gauge("requests_under_way", "ID calls that are not answered yet."),
            connections: make.gauge("connections", "Open connections."),
            refused_connections: make.counters("connections_refused_total", "Connections refused.", &["reason"]),
            ready: make.gauge("ready", "1 while at least one worker ID serves."),
            days_left: make.add(Gauge::with_opts(days_left.namespace("leaseflake"))),
            worker_ids_free: make.gauges(
                "worker_ids_free",
                "Worker IDs of the datacenter that nobody holds, by the last look.",
                &["datacenter"],
            ),
            lease,
            registry,
        })
    }

    /// IDs that a caller got.
    pub(crate) fn issued(&self, caller: &str, count: u64) {
        let counted = {
            let callers = self.callers.read().unwrap_or_else(PoisonError::into_inner);
            callers.get(caller).map(|counter| counter.inc_by(count))
        };
        if counted.is_none() {
            self.first_of(caller).inc_by(count);
        }
    }

    /// The counter of a caller that has none yet. What callers say must not fill our memory.
    #[cold]
    fn first_of(&self, caller: &str) -> IntCounter {
        if caller.len() > LONGEST_CALLER || caller.chars().any(char::is_control) {
            return self.other_callers.clone();
        }
        let mut callers = self.callers.write().unwrap_or_else(PoisonError::into_inner);
        // Callers without a name are one, beside the others.
        if callers.len() > self.most_callers || (callers.len() == self.most_callers && !caller.is_empty()) {
            return self.other_callers.clone();
        }
        let counter = || self.issued.with_label_values(&[caller]);
        callers.entry(caller.to_owned()).or_insert_with(counter).clone()
    }

    /// A call that was answered.
    pub(crate) fn answered(&self, method: Method, code: Code, took: Duration) {
        self.answered_untimed(method, code);
        let which = usize::from(method == Method::GenerateIdBatch);
        self.duration[which].observe(took.as_secs_f64());
    }

    /// A call whose time says nothing: a stream, or none of ours.
    pub(crate) fn answered_untimed(&self, method: Method, code: Code) {
        let counter = self.by_code[method as usize][code as usize % CODES]
            .get_or_init(|| self.requests.with_label_values(&[method.name(), code_name(code)]));
        counter.inc();
    }

    /// A connection that was not served, and why.
    pub(crate) fn refused_connection(&self, reason: &str) {
        self.refused_connections.with_label_values(&[reason]).inc();
    }

    /// Connections that are open, and one more for as long as the value lives.
    pub(crate) fn connected(self: &Arc<Metrics>) -> Connected {
        self.connections.inc();
        Connected(Arc::clone(self))
    }

    /// Whether calls are taken.
    pub(crate) fn set_ready(&self, ready: bool) {
        self.ready.set(ready.into());
    }

    /// How many calls are under way.
    pub(crate) fn set_under_way(&self, calls: usize) {
        self.requests_under_way.set(i64::try_from(calls).unwrap_or(i64::MAX));
    }

    /// When the timestamp field ends.
    pub(crate) fn set_end(&self, last_ms: i64, now_ms: i64) {
        self.days_left.set(last_ms.saturating_sub(now_ms) as f64 / 86_400_000.0);
    }

    /// How many worker IDs of each datacenter are free; of others nothing is known any more.
    pub(crate) fn set_free(&self, free: &BTreeMap<u32, usize>) {
        self.worker_ids_free.reset();
        for (datacenter, free) in free {
            self.worker_ids_free.with_label_values(&[datacenter.to_string()]).set(*free as i64);
        }
    }

    /// What a slot's generator tells, and how often it has been suspended since the last time.
    pub(crate) fn set_lease(&self, slot: &Slot, status: &Status, now_ms: i64, suspended: u64) {
        let number = slot.number.to_string();
        let number = number.as_str();
        let lease = &self.lease;
        for state in ["acquiring", "active", "suspended", "lost", "closed"] {
            lease.state.with_label_values(&[number, state]).set((status.state.name() == state).into());
        }
        let gauge = |gauges: &IntGaugeVec, value: i64| gauges.with_label_values(&[number]).set(value);
        gauge(&lease.worker, status.worker_id.map_or(-1, i64::from));
        gauge(&lease.datacenter, status.datacenter_id.map_or(-1, i64::from));
        gauge(&lease.fencing_epoch, i64::try_from(status.fencing_epoch).unwrap_or(i64::MAX));
        gauge(&lease.clock_suspect, status.clock_suspect.is_some().into());
        let left_ms = status.lease_expiry_ts.saturating_sub(now_ms).max(0);
        lease.seconds_left.with_label_values(&[number]).set(left_ms as f64 / 1000.0);
        let raise = |counters: &IntCounterVec, to: u64| {
            let counter = counters.with_label_values(&[number]);
            counter.inc_by(to.saturating_sub(counter.get()));
        };
        raise(&lease.lost, status.counters.leases_lost);
        raise(&lease.heartbeats, status.counters.heartbeats_sent);
        raise(&lease.heartbeats_failed, status.counters.heartbeats_failed);
        raise(&lease.clock_steps, status.counters.clock_steps);
        raise(&lease.waits, status.waits);
        lease.suspensions.with_label_values(&[number]).inc_by(suspended);
    }

    /// Everything, in the text format.
    pub(crate) fn text(&self) -> String {
        TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap_or_default()
    }
}

/// See [`Metrics::connected`].
pub(crate) struct Connected(Arc<Metrics>);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.connections.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_get_a_label_up_to_the_bound_and_what_they_say_never_more() {
        let metrics = Metrics::new(2);
        for caller in ["a", "b", "c", "d", "a", "", "x\ny", &"long".repeat(100)] {
            metrics.issued(caller, 10);
        }
        let text = metrics.text();
        let counted = |caller: &str| {
            let line = format!("leaseflake_ids_issued_total{{caller_service=\"{caller}\"}} ");
            text.lines().find_map(|found| found.strip_prefix(&line).map(|count| count.parse::<u64>().unwrap()))
        };
        assert_eq!(counted("a"), Some(20));
        assert_eq!(counted("b"), Some(10));
        assert_eq!(counted("c"), None);
        assert_eq!(counted(""), Some(10));
        assert_eq!(counted("other"), Some(40), "{text}");
    }

    #[test]
    fn calls_are_counted_by_method_and_code() {
        let metrics = Metrics::new(2);
        metrics.answered(Method::GenerateId, Code::Ok, Duration::from_micros(70));
        metrics.answered(Method::GenerateIdBatch, Code::Unavailable, Duration::from_millis(3));
        metrics.answered_untimed(Method::Unknown, Code::Unimplemented);
        let text = metrics.text();
        for line in [
            "leaseflake_requests_total{code=\"OK\",method=\"GenerateId\"} 1",
            "leaseflake_requests_total{code=\"UNAVAILABLE\",method=\"GenerateIdBatch\"} 1",
            "leaseflake_requests_total{code=\"UNIMPLEMENTED\",method=\"unknown\"} 1",
            "leaseflake_request_duration_seconds_bucket{method=\"GenerateId\",le=\"0.0001\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }
}
