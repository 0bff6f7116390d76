//! Tests of issuing: what must hold whatever the clock does.

#[cfg(unix)]
mod forks;
mod hosted;
mod property;
mod threads;
mod window;
