//! The loop itself: one set of futures, each of which ends in an event.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{BoxFuture, Either, FutureExt as _, select};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use odm::bson::oid::ObjectId;
use odm::bson::{Document, doc};
use odm::{ChangeStream, Error, ErrorKind};
use serde::Serialize;

use super::event::{End, Event};
use super::{Summary, Task, Worker};
use crate::queue::claim::Looked;
use crate::queue::failure::Failure;
use crate::queue::job::Job;
use crate::queue::lease::{Claimed, Lease, LeaseLost};
use crate::queue::signal::{Signal, Stop};
use crate::queue::stored::State;

/// How often it is tried to say what became of a job.
const TRIES: u32 = 3;

pub(super) struct Run<'a, J, H> {
    worker: &'a Worker<J>,
    handler: &'a H,
    events: FuturesUnordered<BoxFuture<'a, Event<J>>>,
    /// By job and token: a job whose lease ended is claimed again while its first handler still runs.
    running: HashMap<(ObjectId, i64), (Lease, Signal)>,
    stopping: bool,
    claiming: bool,
    /// Looking again is of no use before something wakes the worker.
    idle: bool,
    /// Nothing was ready when it was looked for the last time.
    empty: bool,
    /// Something may have become ready since that look began.
    woken: bool,
    /// How often the bell had rung when that look began.
    heard: u64,
    polling: bool,
    tending: bool,
    watching: bool,
    summary: Summary,
}

impl<'a, J, H, R, F> Run<'a, J, H>
where
    J: Job,
    R: Serialize + Send + Sync,
    H: Fn(Task<J>) -> F + Send + Sync,
    F: Future<Output = Result<R, Failure>> + Send,
{
    pub(super) fn new(worker: &'a Worker<J>, handler: &'a H) -> Run<'a, J, H> {
        Run {
            worker,
            handler,
            events: FuturesUnordered::new(),
            running: HashMap::new(),
            stopping: false,
            claiming: false,
            idle: false,
            empty: false,
            woken: false,
            heard: worker.queue.shared.bell.times(),
            polling: false,
            tending: false,
            watching: false,
            summary: Summary::default(),
        }
    }

    pub(super) async fn until(mut self, end: impl Future<Output = ()> + Send) -> Summary {
        let mut end = pin!(end.fuse());
        self.tend();
        self.listen();
        self.watch(None);
        loop {
            self.hear();
            self.claim();
            if self.is_over() {
                break;
            }
            let event = match select(self.events.next(), &mut end).await {
                Either::Left((Some(event), _)) => event,
                Either::Left((None, _)) => break,
                Either::Right(((), _)) => Event::Stop,
            };
            if let Event::TimeIsUp = event {
                break;
            }
            self.take(event);
        }
        self.give_back().await
    }

    fn is_over(&self) -> bool {
        let is_empty = || self.worker.until_empty && self.idle && self.empty && !self.tending;
        self.running.is_empty() && !self.claiming && (self.stopping || is_empty())
    }

    /// Whoever rings does so before what rang ends in an event: what the last look found counts only if nobody has.
    fn hear(&mut self) {
        if self.worker.queue.shared.bell.times() != self.heard {
            self.wake();
        }
    }

    fn take(&mut self, event: Event<J>) {
        match event {
            Event::Stop => self.stop(),
            Event::TimeIsUp => {}
            Event::Looked(Ok(looked)) => {
                self.claiming = false;
                self.idle = !self.woken && matches!(looked, Looked::Nothing | Looked::NoPermit);
                self.empty = matches!(looked, Looked::Nothing);
                if let Looked::Claimed(jobs) = looked {
                    for job in jobs {
                        self.work(job);
                    }
                }
            }
            Event::Looked(Err(error)) => {
                self.claiming = false;
                self.idle = true;
                self.empty = false;
                self.note(&error);
            }
            Event::Poll => {
                self.polling = false;
                self.wake();
            }
            Event::Rung => self.listen(),
            Event::Changed(Some(stream)) => {
                self.wake();
                self.watch(Some(stream));
            }
            Event::Changed(None) => self.watching = false,
            Event::Tend => self.tend(),
            Event::Tended(tended, failed) => {
                self.tending = false;
                for error in &failed {
                    self.note(error);
                }
                match tended {
                    Ok(tended) if tended.found + tended.admitted > 0 => self.wake(),
                    Ok(_) => {}
                    Err(error) => self.note(&error),
                }
                self.later(self.worker.tend, Event::Tend);
                // A stream that broke is opened again now and then.
                if !self.watching {
                    self.watch(None);
                }
            }
            Event::Ended(held, end) => {
                self.running.remove(&held);
                match end {
                    End::Done => self.summary.done += 1,
                    End::Failed => self.summary.failed += 1,
                    End::Lost => self.summary.lost += 1,
                    End::Error(error) => self.note(&error),
                }
                // Its handler may have enqueued by a handle of its own, which rings no bell here.
                if self.worker.until_empty && self.running.is_empty() {
                    self.wake();
                }
            }
        }
    }

    fn wake(&mut self) {
        self.idle = false;
        self.woken = true;
    }

    fn stop(&mut self) {
        if self.stopping {
            return;
        }
        self.stopping = true;
        for (_, signal) in self.running.values() {
            signal.raise(Stop::ShuttingDown);
        }
        self.later(self.worker.grace, Event::TimeIsUp);
    }

    /// Drops what still runs, and gives it back.
    async fn give_back(mut self) -> Summary {
        self.events.clear();
        for (lease, _) in self.running.values() {
            match self.worker.queue.release(lease).await {
                Ok(()) => self.summary.released += 1,
                Err(error) if LeaseLost::of(&error).is_some() => {
                    // Its acknowledgement may have been on its way: of a job that is done it changes nothing.
                    let done = LeaseLost::of(&error).and_then(|lost| lost.state) == Some(State::Done)
                        && self.worker.queue.ack(lease).await.is_ok();
                    self.summary.done += u64::from(done);
                    self.summary.lost += u64::from(!done);
                }
                Err(error) => {
                    self.summary.errors += 1;
                    (self.worker.on_error)(&error);
                }
            }
        }
        self.summary
    }

    fn note(&mut self, error: &Error) {
        self.summary.errors += 1;
        (self.worker.on_error)(error);
    }

    fn later(&self, length: Duration, event: Event<J>) {
        let wait = self.worker.wait.wait(length);
        self.events.push(Box::pin(wait.map(|()| event)));
    }

    fn listen(&self) {
        let rung = self.worker.queue.shared.bell.listen();
        self.events.push(Box::pin(rung.map(|()| Event::Rung)));
    }

    fn claim(&mut self) {
        let free = self.worker.concurrency.saturating_sub(self.running.len());
        if self.stopping || self.claiming || free == 0 {
            return;
        }
        if self.idle {
            if !self.polling {
                self.polling = true;
                self.later(self.worker.poll, Event::Poll);
            }
            return;
        }
        self.claiming = true;
        self.woken = false;
        let queue = &self.worker.queue;
        self.heard = queue.shared.bell.times();
        let free = u32::try_from(free).unwrap_or(u32::MAX);
        let until_empty = self.worker.until_empty;
        self.events.push(Box::pin(async move {
            let looked = match free {
                1 => queue.look_for_one().await,
                many => queue.look_for(many).await,
            };
            Event::Looked(match looked {
                // Without jobs there is nothing to wait for a permit for.
                Ok(Looked::NoPermit) if until_empty => match queue.has_ready().await {
                    Ok(true) => Ok(Looked::NoPermit),
                    Ok(false) => Ok(Looked::Nothing),
                    Err(error) => Err(error),
                },
                looked => looked,
            })
        }));
    }

    fn tend(&mut self) {
        self.tending = true;
        let worker = self.worker;
        self.events.push(Box::pin(async move {
            // One that fails, fails again the next time: it holds up neither the others nor the queue.
            let failed = worker.tick().await;
            Event::Tended(worker.queue.tend().await, failed)
        }));
    }

    /// Waits for the stream to see something, all of which is one event.
    fn watch(&mut self, stream: Option<ChangeStream<Document>>) {
        if !self.worker.watch || self.stopping {
            return;
        }
        self.watching = true;
        let jobs = self.worker.queue.jobs.clone();
        self.events.push(Box::pin(async move {
            let mut stream = match stream {
                Some(stream) => stream,
                None => {
                    let ready = State::Ready.name();
                    let seen = doc! { "$match": { "$or": [
                        { "fullDocument.state": ready },
                        { "updateDescription.updatedFields.state": ready },
                    ] } };
                    match jobs.watch().pipeline([seen]).decode::<Document>().await {
                        Ok(stream) => stream,
                        Err(_) => return Event::Changed(None),
                    }
                }
            };
            match stream.try_next().await {
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return Event::Changed(None),
            }
            while let Some(Some(Ok(_))) = stream.next().now_or_never() {}
            Event::Changed(Some(stream))
        }));
    }

    fn work(&mut self, claimed: Claimed<J>) {
        let (worker, handler) = (self.worker, self.handler);
        let signal = Signal::default();
        let lease = claimed.lease.clone();
        if self.stopping {
            signal.raise(Stop::ShuttingDown);
        }
        let held = (lease.id, lease.token);
        self.running.insert(held, (lease.clone(), signal.clone()));
        self.events.push(Box::pin(async move {
            let task = Task::new(claimed, &worker.queue, &signal);
            let work = pin!(AssertUnwindSafe(async move { handler(task).await }).catch_unwind());
            let beats = pin!(beat(worker, &lease, &signal));
            let outcome = match select(work, beats).await {
                Either::Left((Ok(outcome), _)) => outcome,
                Either::Left((Err(_), _)) => Err(Failure::retry("the handler panicked")),
                Either::Right((never, _)) => match never {},
            };
            let end = say(worker, &lease, outcome).await;
            Event::Ended(held, end)
        }));
    }
}

/// Gives signs of life for as long as it is polled, and passes on what is answered.
async fn beat<J: Job>(worker: &Worker<J>, lease: &Lease, signal: &Signal) -> std::convert::Infallible {
    loop {
        worker.wait.wait(worker.heartbeat).await;
        match worker.queue.heartbeat(lease).await {
            Ok(beat) if beat.canceled => signal.raise(Stop::Canceled),
            Ok(_) => {}
            Err(error) => match LeaseLost::of(&error) {
                // Its own transaction has ended it.
                Some(lost) if signal.is_completing() && matches!(lost.state, None | Some(State::Done)) => {}
                Some(_) => signal.raise(Stop::LeaseLost),
                None => (worker.on_error)(&error),
            },
        }
    }
}

/// Says what became of a job; again when it is not known whether that was heard.
async fn say<J: Job, R: Serialize>(worker: &Worker<J>, lease: &Lease, outcome: Result<R, Failure>) -> End {
    let mut pause = Duration::from_millis(100);
    let mut tries = TRIES;
    loop {
        tries -= 1;
        let said = match &outcome {
            Ok(result) => worker.queue.ack_with(lease, result).await,
            Err(failure) => worker.queue.fail(lease, failure.clone()).await,
        };
        match said {
            Ok(()) if outcome.is_ok() => return End::Done,
            Ok(()) => return End::Failed,
            Err(error) if LeaseLost::of(&error).is_some() => return End::Lost,
            // Said again it would be the same, and so would be the work: the result does not fit.
            Err(error) if error.kind() == ErrorKind::Encode || worker.queue.has_no_room(&error) => {
                let failed = worker.queue.fail(lease, Failure::dead(error)).await;
                return failed.map_or_else(End::Error, |()| End::Failed);
            }
            Err(error) if tries == 0 => return End::Error(error),
            Err(error) => (worker.on_error)(&error),
        }
        worker.wait.wait(pause).await;
        pause *= 4;
    }
}
