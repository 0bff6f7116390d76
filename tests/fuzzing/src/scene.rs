//! What is made once for each thread that gives inputs, since making it takes longer than an input.

use std::cell::RefCell;
use std::thread::LocalKey;

/// Lends the scene of this thread, made by the first caller.
pub(crate) fn on<S>(scene: &'static LocalKey<RefCell<Option<S>>>, make: impl FnOnce() -> S, body: impl FnOnce(&mut S)) {
    scene.with_borrow_mut(|scene| body(scene.get_or_insert_with(make)));
}
