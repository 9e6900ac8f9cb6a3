//! The thread that deletes documents whose time is over, and closes cursors that nobody uses any more.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures_channel::oneshot;

use super::super::command::Cursors;
use super::super::engine::{Engine, WeakEngine, wait};
use super::super::exec::expire::{self, Expiry};
use super::super::fault::{Class, Fault};
use super::request;
use super::response::located;
use crate::error::Error;

/// How often cursors are looked at, at least.
const CURSORS: Duration = Duration::from_secs(60);

/// Ends the thread when dropped, and the job that it waits for.
type Stop = (Sender<()>, oneshot::Sender<()>);

/// Keeps the thread running; dropping it ends the thread, and waits for that: the thread may have the engine open.
#[derive(Debug)]
pub(super) struct Running {
    stop: Option<Stop>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread works on.
#[derive(Debug)]
struct Keeper {
    engine: WeakEngine,
    cursors: Weak<Cursors>,
    name: &'static str,
    /// Is told why documents stay whose time is over.
    warn: fn(&Error),
    /// Both end when the thread is to end.
    stopped: Receiver<()>,
    stop: oneshot::Receiver<()>,
}

/// Deletes expired documents now and then, for as long as the engine lives.
pub(super) fn start(
    engine: &Engine,
    cursors: &Arc<Cursors>,
    (every, warn, name): (Duration, fn(&Error), &'static str),
) -> Running {
    let (mut keeper, stop) = Keeper::new(engine, cursors, (warn, name));
    // A program that cannot start a thread keeps its expired documents; nothing else depends on this one.
    let thread = std::thread::Builder::new()
        .name("odm-expire".to_owned())
        .spawn(move || keeper.run(every));
    Running {
        stop: Some(stop),
        thread: thread.ok(),
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // There is nobody to tell of a panic.
            let _ = thread.join();
        }
    }
}

impl Keeper {
    fn new(
        engine: &Engine,
        cursors: &Arc<Cursors>,
        (warn, name): (fn(&Error), &'static str),
    ) -> (Keeper, Stop) {
        let (stop, stopped) = channel();
        let (stop_job, stop_of_job) = oneshot::channel();
        let keeper = Keeper {
            engine: engine.downgrade(),
            cursors: Arc::downgrade(cursors),
            name,
            warn,
            stopped,
            stop: stop_of_job,
        };
        (keeper, (stop, stop_job))
    }

    fn run(&mut self, every: Duration) {
        let mut next = Instant::now().checked_add(every);
        loop {
            let left = next.map_or(CURSORS, |next| next.saturating_duration_since(Instant::now()));
            if self.stopped.recv_timeout(left.min(CURSORS)) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            if let Some(cursors) = self.cursors.upgrade() {
                cursors.close_idle(Instant::now());
            }
            if next.is_some_and(|next| Instant::now() >= next) {
                self.delete_expired();
                next = Instant::now().checked_add(every);
            }
        }
    }

    /// One thing by which documents expire after the other, each in commits of its own: what is wrong with one keeps
    /// nothing else from its end, and writers come in between.
    fn delete_expired(&mut self) {
        let Some(engine) = self.engine.upgrade() else {
            return;
        };
        let all = match engine.view() {
            Ok(view) => expire::all(&*view),
            Err(fault) => return (self.warn)(&located(fault, self.name, "expire", None)),
        };
        let now = request::now().millis;
        for expiry in all {
            let mut rest = Some(expiry);
            while let Some(next) = rest.take() {
                if self.stopped.try_recv() != Err(TryRecvError::Empty) {
                    return;
                }
                rest = self.delete_some(&engine, next, now);
            }
        }
    }

    /// Deletes some expired documents; gives what there may be more of. What fails now is tried again in the next round.
    fn delete_some(&mut self, engine: &Engine, expiry: Expiry, now: i64) -> Option<Expiry> {
        let namespace = expiry.namespace.clone();
        let stop = &mut self.stop;
        let stopped = async move {
            let _ = stop.await;
        };
        let job = move |write: &mut dyn super::Write| expire::run(write, &expiry, now);
        match wait(engine.write_until(job, stopped)) {
            Ok(ran) => {
                if let Some(fault) = ran.left {
                    self.tell(namespace, fault);
                }
                ran.rest
            }
            // About to be closed, or opened to be read.
            Err(fault) if matches!(fault.class(), Class::Timeout | Class::Unsupported) => None,
            Err(fault) => {
                self.tell(namespace, fault);
                None
            }
        }
    }

    fn tell(&self, namespace: String, fault: Fault) {
        (self.warn)(&located(fault, self.name, "expire", Some(namespace)));
    }
}

#[cfg(test)]
mod tests;
