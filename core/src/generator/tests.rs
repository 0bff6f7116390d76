//! Tests of issuing: what must hold whatever the clock does.

mod hosted;
mod property;
mod threads;
mod window;
