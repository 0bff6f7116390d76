//! Promises: futures of the core that a thread's own event loop drives. No thread of ours ever
//! runs JavaScript, and none is needed.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use leaseflake::{Error, Id, IdGenerator, StateChange};
use napi_sys as sys;

use crate::edge::Env;
use crate::fault::Fault;
use crate::host::Host;
use crate::value::Value;
use crate::{generator, status};

/// What a promise is settled with.
pub(crate) enum Outcome {
    Opened(IdGenerator),
    Id(Id),
    Changes(Vec<StateChange>),
    Nothing,
}

type Awaited = Pin<Box<dyn Future<Output = Result<Outcome, Error>>>>;

/// A promise that is not settled yet.
pub(crate) struct Task {
    future: Awaited,
    deferred: sys::napi_deferred,
    keeps_alive: bool,
}

impl Host {
    /// A promise for what a future gives. Where `keeps_alive` is not set, the process may end
    /// before it is settled.
    pub(crate) fn spawn(
        self: &Rc<Host>,
        env: Env,
        keeps_alive: bool,
        future: impl Future<Output = Result<Outcome, Error>> + 'static,
    ) -> Result<Value, Fault> {
        let (mut deferred, mut promise) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: a live environment.
        Fault::check(unsafe { sys::napi_create_promise(env.raw(), &mut deferred, &mut promise) })?;
        let task = Task { future: Box::pin(future), deferred, keeps_alive };
        let number = self.number_of_next_task();
        if keeps_alive {
            self.one_more_alive();
        }
        self.poll(env, number, task)?;
        Ok(Value(promise))
    }

    /// Goes on with the tasks that were woken.
    pub(crate) fn go_on(self: &Rc<Host>, env: Env) -> Result<(), Fault> {
        let mut went = Ok(());
        for number in self.bell.woken() {
            let task = self.tasks.borrow_mut().remove(&number);
            if let Some(task) = task {
                went = went.and(self.poll(env, number, task));
            }
        }
        went
    }

    fn poll(self: &Rc<Host>, env: Env, number: u64, mut task: Task) -> Result<(), Fault> {
        let waker = self.bell.waker(number);
        let polled = leaseflake::guard(|| match task.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Pending => Ok(None),
            Poll::Ready(settled) => settled.map(Some),
        });
        let settled = match polled {
            Ok(None) => {
                self.tasks.borrow_mut().insert(number, task);
                return Ok(());
            }
            Ok(Some(outcome)) => self.to_value(env, outcome),
            Err(error) => Err(error.into()),
        };
        if task.keeps_alive {
            self.one_less_alive();
        }
        match settled {
            Ok(value) => settle(env, task.deferred, value, sys::napi_resolve_deferred),
            Err(fault) => match fault.to_value(env)? {
                Some(error) => settle(env, task.deferred, error, sys::napi_reject_deferred),
                None => Err(fault),
            },
        }
    }

    fn to_value(self: &Rc<Host>, env: Env, outcome: Outcome) -> Result<Value, Fault> {
        match outcome {
            Outcome::Opened(ids) => generator::to_value(env, self, ids),
            Outcome::Id(id) => env.id(id),
            Outcome::Changes(changes) => status::changes(env, &changes),
            Outcome::Nothing => env.undefined(),
        }
    }
}

/// Settles a promise, one way or the other.
fn settle(
    env: Env,
    deferred: sys::napi_deferred,
    value: Value,
    how: unsafe extern "C" fn(sys::napi_env, sys::napi_deferred, sys::napi_value) -> sys::napi_status,
) -> Result<(), Fault> {
    // SAFETY: a value of this call, and a deferred that is settled once: its task ends here.
    Fault::check(unsafe { how(env.raw(), deferred, value.0) })
}
