//! How far the service is on its way to the end; every part of it looks here.

use tokio::sync::watch;

/// The phases, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Serving.
    Serving,
    /// Still serving, but not ready: balancers send new calls elsewhere.
    Draining,
    /// No new connections; old ones finish their calls.
    Finishing,
    /// What is left is cut off.
    Over,
}

/// Tells the phase; whoever holds it may move on.
pub(crate) type Phases = watch::Sender<Phase>;

/// Hears the phase.
#[derive(Clone, Debug)]
pub(crate) struct Heard(watch::Receiver<Phase>);

impl Heard {
    pub(crate) fn of(phases: &Phases) -> Heard {
        Heard(phases.subscribe())
    }

    /// The phase: over, too, once there is nobody left to tell.
    pub(crate) fn now(&self) -> Phase {
        if self.0.has_changed().is_err() { Phase::Over } else { *self.0.borrow() }
    }

    /// Waits for this phase, or a later one.
    pub(crate) async fn reached(&mut self, phase: Phase) {
        // Without a teller there is nothing left to serve for.
        let _ = self.0.wait_for(|now| *now >= phase).await;
    }
}
