//! What each fault of the script does, and how it is undone.

use std::time::Instant;

use super::agenda::Task;
use super::fleet::Fleet;
use super::place::State;
use super::script::{Event, Kind};

impl Fleet<'_> {
    /// Does what the script says, if its victim is in a state for it.
    pub(super) fn inject(&mut self, event: Event) {
        if self.leaving {
            return;
        }
        let fault = event.kind.fault();
        if self.hit(event)
            && let Some(kind) = fault
        {
            *self.summary.faults.entry(kind).or_insert(0) += 1;
        }
    }

    fn hit(&mut self, event: Event) -> bool {
        let Event { place: index, child, kind, .. } = event;
        let now = Instant::now();
        let place = &mut self.places[index];
        let child = child.filter(|_| !place.children.is_empty()).map(|bits| bits as usize % place.children.len());
        let running = place.state == State::Running && !place.stopped;
        match kind {
            Kind::Stop(span) => match child {
                Some(child) if !place.children[child].stopped => {
                    let child = &mut place.children[child];
                    child.handle.signal(libc::SIGSTOP);
                    child.stopped = true;
                    let id = child.id;
                    self.later(now + span, Task::ContinueChild { place: index, child: id });
                }
                None if running => {
                    let Some(program) = &place.program else { return false };
                    program.signal(libc::SIGSTOP);
                    place.stopped = true;
                    let incarnation = place.incarnation;
                    self.later(now + span, Task::Continue { place: index, incarnation });
                }
                _ => return false,
            },
            Kind::Kill(pause) => match child {
                Some(child) => {
                    let child = place.children.swap_remove(child);
                    child.handle.kill();
                    self.forget_child(child.issuer);
                }
                None => {
                    // Also while it starts, opens, closes or is stopped.
                    let Some(program) = &place.program else { return false };
                    if matches!(place.state, State::Down | State::Killed(_)) {
                        return false;
                    }
                    program.signal(libc::SIGKILL);
                    place.state = State::Killed(pause);
                }
            },
            Kind::Fork => {
                let children: usize = self.places.iter().map(|place| place.children.len()).sum();
                let place = &mut self.places[index];
                let Some(program) = &mut place.program else { return false };
                if !running || children >= self.config.children || !program.can("fork") {
                    return false;
                }
                program.send("fork");
            }
            Kind::Step(by_ms, span) => {
                if place.stepped {
                    return false;
                }
                place.clock.step_ms(by_ms);
                place.stepped = true;
                self.later(now + span, Task::StepBack { place: index });
            }
            Kind::Cut(how, span) => {
                if place.cut || self.outage {
                    return false;
                }
                place.cut = true;
                self.network.break_way(index, &how);
                self.later(now + span, Task::Mend { place: index });
            }
            Kind::Outage(how, span) => {
                if self.outage {
                    return false;
                }
                self.outage = true;
                for index in 0..self.places.len() {
                    self.network.break_way(index, &how);
                }
                self.later(now + span, Task::EndOutage);
                self.refresh_all();
            }
            Kind::Restart(pause) => {
                if !running {
                    return false;
                }
                self.leave(index, pause);
            }
            Kind::Call(command) => {
                if let (true, Some(program)) = (running, &mut place.program) {
                    program.send(&command);
                }
                return false;
            }
        }
        self.refresh(index);
        true
    }

    /// Ends one fault.
    pub(super) fn undo(&mut self, task: Task) {
        let index = match task {
            Task::Continue { place: index, incarnation } => {
                let place = &mut self.places[index];
                if place.incarnation == incarnation
                    && place.stopped
                    && let Some(program) = &place.program
                {
                    program.signal(libc::SIGCONT);
                    place.stopped = false;
                }
                index
            }
            Task::ContinueChild { place: index, child } => {
                if let Some(child) = self.places[index].children.iter_mut().find(|other| other.id == child) {
                    child.handle.signal(libc::SIGCONT);
                    child.stopped = false;
                }
                index
            }
            Task::StepBack { place: index } => {
                let place = &mut self.places[index];
                place.clock.set_offset_ms(place.skew_ms);
                place.stepped = false;
                index
            }
            Task::Mend { place: index } => {
                // In an outage the outage's end mends it.
                if !self.outage {
                    self.network.mend_way(index);
                }
                self.places[index].cut = false;
                index
            }
            Task::EndOutage => {
                self.outage = false;
                for place in &mut self.places {
                    place.cut = false;
                }
                for index in 0..self.places.len() {
                    self.network.mend_way(index);
                }
                return self.refresh_all();
            }
            Task::Fault(_) | Task::Start { .. } | Task::Open { .. } => return,
        };
        self.refresh(index);
    }

    fn refresh_all(&mut self) {
        for index in 0..self.places.len() {
            self.refresh(index);
        }
    }
}
