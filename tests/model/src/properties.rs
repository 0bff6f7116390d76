//! The model for the checker, and what must hold in every state.

use stateright::{Model, Property};

use crate::actions::{self, Action};
use crate::bounds::Bounds;
use crate::rules::Rules;
use crate::state::{State, Wrong};
use crate::step;

/// No timestamp is issued twice under the worker ID, and what one process issues is strictly
/// increasing. One property, for the checker then stops at the first state where it fails, which
/// a shortest way leads to.
pub const NOTHING_WRONG: &str = "no ID repeats, and each process's own increase";

/// Rules in a bounded world.
#[derive(Clone, Copy, Debug)]
pub struct LeaseModel {
    /// The rules that hold.
    pub rules: Rules,
    /// The bounds of the world.
    pub bounds: Bounds,
}

impl Model for LeaseModel {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::start(&self.bounds)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions::enabled(state, &self.rules, &self.bounds, actions);
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let next = step::next(state, action, &self.rules, &self.bounds);
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<LeaseModel>> {
        vec![Property::always(NOTHING_WRONG, |_, state: &State| state.wrong == Wrong::Nothing)]
    }
}
