//! The embedded registry for one machine.
