//! The thread that deletes documents whose TTL is over.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::super::engine::{Engine, wait};
use super::super::exec::expire;
use super::request;

/// Keeps the thread running; dropping it ends the thread.
#[derive(Debug)]
pub(super) struct Running {
    _stop: Sender<()>,
}

/// Deletes expired documents now and then, for as long as the engine lives.
pub(super) fn start(engine: &Arc<Engine>, every: Duration) -> Running {
    let (stop, stopped) = channel();
    let engine = Arc::downgrade(engine);
    // A program that cannot start a thread keeps its expired documents; nothing else depends on this one.
    let _ = std::thread::Builder::new()
        .name("odm-expire".to_owned())
        .spawn(move || run(&engine, &stopped, every));
    Running { _stop: stop }
}

fn run(engine: &Weak<Engine>, stopped: &Receiver<()>, every: Duration) {
    while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
        let Some(engine) = engine.upgrade() else { return };
        let needed = engine.view().is_ok_and(|view| expire::is_needed(&*view));
        if needed {
            let now = request::now().millis;
            // What fails now is tried again in the next round.
            let _ = wait(engine.write(move |write| expire::run(write, now)));
        }
    }
}
