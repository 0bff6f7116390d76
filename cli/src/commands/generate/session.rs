//! The time in which the command holds a worker ID: a signal ends it by giving the worker ID back.

use std::sync::{Arc, Mutex, OnceLock};

use leaseflake::{Error, IdGenerator};

#[cfg(unix)]
use signals as stopping;

/// Holds the generator, and hears signals from its beginning to its end.
pub(super) struct Session {
    held: Arc<Held>,
}

#[derive(Default)]
struct Held {
    generator: OnceLock<IdGenerator>,
    /// Locked while the generator closes: whoever comes second waits for the release, too.
    closing: Mutex<()>,
    #[cfg(unix)]
    signal: stopping::Signal,
}

impl Held {
    fn close(&self) {
        let _closing = self.closing.lock();
        if let Some(generator) = self.generator.get() {
            generator.close();
        }
    }
}

impl Session {
    /// Begins to hear signals.
    pub(super) fn begin() -> Result<Session, Error> {
        let held = Arc::new(Held::default());
        #[cfg(unix)]
        stopping::listen(&held)?;
        Ok(Session { held })
    }

    /// Takes over the generator.
    pub(super) fn hold(&self, generator: IdGenerator) -> &IdGenerator {
        self.held.generator.get_or_init(|| generator)
    }

    /// Whether a signal has come, so that a generator that is closed is no fault.
    pub(super) fn is_stopping(&self) -> bool {
        #[cfg(unix)]
        return self.held.signal.has_come();
        #[cfg(not(unix))]
        return false;
    }

    /// Gives the worker ID back. After a signal it does not return: the process ends by it.
    pub(super) fn end(&self) {
        self.held.close();
        #[cfg(unix)]
        self.held.signal.end_by_it();
    }
}

#[cfg(unix)]
mod signals {
    use std::io;
    use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
    use std::sync::{Arc, Condvar, Mutex, PoisonError};
    use std::thread;
    use std::time::Duration;

    use leaseflake::{Error, ErrorCode};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag;
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    use super::Held;

    /// How long the lines that are being written may take, once the worker ID is given back.
    const LAST_LINES: Duration = Duration::from_millis(300);

    /// The signal that has come, if one has, and whether the last line is written.
    #[derive(Default)]
    pub(super) struct Signal {
        number: AtomicI32,
        finished: Mutex<bool>,
        changed: Condvar,
    }

    impl Signal {
        pub(super) fn has_come(&self) -> bool {
            self.number.load(Ordering::Acquire) != 0
        }

        /// Tells the listener that the last line is written; ends the process if a signal has come.
        pub(super) fn end_by_it(&self) {
            *self.finished.lock().unwrap_or_else(PoisonError::into_inner) = true;
            self.changed.notify_all();
            if self.has_come() {
                die_of(self.number.load(Ordering::Acquire));
            }
        }

        fn wait_for_last_lines(&self) {
            let finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
            drop(self.changed.wait_timeout_while(finished, LAST_LINES, |finished| !*finished));
        }
    }

    /// Starts the thread that hears signals.
    pub(super) fn listen(held: &Arc<Held>) -> Result<(), Error> {
        let failed = |error: io::Error| Error::new(ErrorCode::Internal, format!("cannot listen to signals: {error}"));
        let impatient = Arc::new(AtomicBool::new(false));
        let signals: Vec<i32> = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal)).collect();
        for &signal in &signals {
            // In this order: the first signal sets the flag, the second one finds it set and kills.
            flag::register_conditional_default(signal, Arc::clone(&impatient)).map_err(failed)?;
            flag::register(signal, Arc::clone(&impatient)).map_err(failed)?;
        }
        let mut signals = Signals::new(&signals).map_err(failed)?;
        let held = Arc::clone(held);
        let heard = move || {
            let Some(signal) = signals.forever().next() else { return };
            held.signal.number.store(signal, Ordering::Release);
            if held.generator.get().is_none() {
                // Still opening: the exit hook gives back what is being acquired.
                std::process::exit(128 + signal);
            }
            held.close();
            // A line that nobody reads must not keep us.
            held.signal.wait_for_last_lines();
            die_of(signal);
        };
        thread::Builder::new().name("signals".to_owned()).spawn(heard).map_err(failed)?;
        Ok(())
    }

    /// Whether whoever started us wants the signal to have no effect, as `nohup` does.
    fn is_ignored(signal: i32) -> bool {
        // SAFETY: `sigaction` is plain data for which all zeros is valid.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: asks only; `action` is a valid place for the answer.
        let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
        asked == 0 && action.sa_sigaction == libc::SIG_IGN
    }

    /// Ends the process by the signal, so that a shell sees what ended it.
    fn die_of(signal: i32) {
        let _ = emulate_default_handler(signal);
        std::process::exit(128 + signal);
    }
}
