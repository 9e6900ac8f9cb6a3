//! Every order in which the operations of two workers can follow each other, one order after another.

mod gate;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use odm::Db;

use self::gate::{Gate, Gated};

/// What a worker does.
pub type Work<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Longer than any pause between two tries of a transaction.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

struct Worker<'a> {
    gate: Arc<Gate>,
    woken: Arc<Woken>,
    work: Option<Work<'a>>,
}

impl Worker<'_> {
    /// Runs up to the next operation, to where the other one is in the way, or to the end.
    fn settle(&mut self) {
        let waker = Waker::from(self.woken.clone());
        let mut context = Context::from_waker(&waker);
        while let Some(work) = &mut self.work {
            self.woken.0.store(false, Ordering::SeqCst);
            match work.as_mut().poll(&mut context) {
                Poll::Ready(()) => self.work = None,
                Poll::Pending if self.gate.is_waited_at() || !self.woken.0.load(Ordering::SeqCst) => return,
                Poll::Pending => {}
            }
        }
    }

    /// Lets one operation through.
    fn step(&mut self) {
        self.gate.open();
        self.settle();
    }

    /// Whether it can go on. Who is done may be woken as late as anybody.
    fn is_woken(&self) -> bool {
        self.work.is_some() && self.woken.0.load(Ordering::SeqCst)
    }

    fn is_ready(&self) -> bool {
        self.work.is_some() && self.gate.is_waited_at()
    }

    /// Whether its operation goes on by itself, on another thread.
    fn is_busy(&self, other: &Worker<'_>) -> bool {
        self.work.is_some() && self.gate.is_inside() && !other.gate.holds()
    }

    fn pauses(&self) -> bool {
        self.work.is_some() && self.gate.is_idle()
    }
}

/// Both go on as far as they can; those that are before an operation.
fn settle(workers: &mut [Worker<'_>; 2]) -> Vec<usize> {
    let start = Instant::now();
    loop {
        while workers.iter().any(Worker::is_woken) {
            workers.iter_mut().for_each(Worker::settle);
        }
        let goes_on = |n: &usize| {
            let [own, other] = [&workers[*n], &workers[1 - *n]];
            own.is_ready() && (other.work.is_none() || !own.gate.is_in_vain())
        };
        let ready: Vec<usize> = (0..2).filter(goes_on).collect();
        // Who met too many conflicts pauses for a while: whether that is over must not depend on the time.
        let [one, other] = &*workers;
        let is_busy = one.is_busy(other) || other.is_busy(one);
        let stands = !is_busy && !workers.iter().any(Worker::pauses);
        if stands && (!ready.is_empty() || workers.iter().all(|worker| worker.work.is_none())) {
            return ready;
        }
        assert!(start.elapsed() < PATIENCE, "two workers wait for each other");
        std::thread::yield_now();
    }
}

/// Pairs of these, each once, and each with itself.
pub fn pairs<T: Copy, const N: usize>(works: [T; N]) -> impl Iterator<Item = [T; 2]> {
    (0..N).flat_map(move |first| (first..N).map(move |second| [works[first], works[second]]))
}

/// Runs two workers in every order of their operations, each on a database in memory of its own; beginning and ending
/// a transaction are operations too. A transaction that met what the other one wrote is begun again when that one has gone
/// on. `worker` is told which of the two it is. Gives how many orders there are.
pub async fn every_interleaving(
    set_up: impl AsyncFnMut() -> Db,
    worker: impl for<'a> Fn(&'a Db, usize) -> Work<'a>,
    check: impl AsyncFnMut(&Db, &[usize]),
) -> usize {
    every_interleaving_of(usize::MAX, set_up, worker, check).await
}

/// The same of those orders alone in which a worker that could go on is interrupted so often, together, at the most: of
/// long workers there are too many others.
pub async fn every_interleaving_of(
    interruptions: usize,
    mut set_up: impl AsyncFnMut() -> Db,
    worker: impl for<'a> Fn(&'a Db, usize) -> Work<'a>,
    mut check: impl AsyncFnMut(&Db, &[usize]),
) -> usize {
    // Who was chosen at each place, and whether the other one is still to be.
    let mut path: Vec<(usize, bool)> = Vec::new();
    for count in 1.. {
        let db = set_up().await;
        let gates = [Arc::new(Gate::default()), Arc::new(Gate::default())];
        let gated = gates.each_ref().map(|gate| {
            let backend = Gated::new(db.backend().clone(), gate.clone());
            Db::from_backend(Arc::new(backend), db.name())
        });
        let mut workers = [0, 1].map(|n| Worker {
            gate: gates[n].clone(),
            woken: Arc::default(),
            work: Some(worker(&gated[n], n)),
        });
        workers.iter_mut().for_each(Worker::settle);
        let mut place = 0;
        let (mut last, mut interrupted) = (0, 0);
        loop {
            let ready = settle(&mut workers);
            let Some(&first) = ready.first() else { break };
            let goes_on = ready.contains(&last);
            if place == path.len() {
                let chosen = if goes_on { last } else { first };
                path.push((chosen, ready.len() == 2 && interrupted < interruptions));
            }
            let (chosen, _) = path[place];
            assert!(ready.contains(&chosen), "the same order came out differently");
            interrupted += usize::from(goes_on && chosen != last);
            last = chosen;
            workers[chosen].step();
            workers[1 - chosen].gate.hope();
            place += 1;
        }
        drop(workers);
        let choices: Vec<usize> = path.iter().map(|(chosen, _)| *chosen).collect();
        check(&db, &choices).await;
        // The last place where the other one has not had its turn.
        while path.last().is_some_and(|(_, is_left)| !is_left) {
            path.pop();
        }
        match path.last_mut() {
            Some(last) => *last = (1 - last.0, false),
            None => return count,
        }
    }
    0
}
