//! A queue's history: workers that die, stall and come back while the clock jumps, and a judge of what they saw.

mod judge;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bson::DateTime;
use bson::oid::ObjectId;
use odm::Db;
use odm_patterns::queue::{Entry, Failure, Job, Lease, LeaseLost, New, Options, Queue, Retry, State};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

pub use self::judge::{Verdict, judge};
use crate::random::Random;

/// How long a lease lasts by the clock.
pub const LEASE: Duration = Duration::from_secs(4);
const ATTEMPTS: u32 = 50;
const HOUR: i64 = 3_600_000;
/// How often those look who only watch, so that they take nothing from those who work.
const GLANCE: Duration = Duration::from_millis(1);
/// By how much, in milliseconds of the clock without its jumps, it may be ahead of whoever is in the middle of a look at
/// the queue: threads that wait for a processor are not late.
const LAG: i64 = 250;
/// How many glances show nothing new before somebody looks whether there is anything to wait for.
const PATIENCE: usize = 20;

/// What is to be done.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// How many jobs.
    pub jobs: usize,
    /// How many workers at a time.
    pub workers: usize,
    /// How many of them are killed, one after another; each is followed by a new one.
    pub kills: usize,
    /// How often the clock jumps by an hour, ahead and back in turns.
    pub jumps: usize,
    /// What chance is drawn from.
    pub seed: u64,
}

/// A job of the history: its number, and that of its group if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Numbered {
    /// Counted from 0, in the order in which the jobs of its producer were enqueued.
    pub number: i64,
    /// Its group.
    pub group: Option<i64>,
}

impl Job for Numbered {}

/// Something that was done: begun and ended at places in the one order of all.
#[derive(Clone, Debug)]
pub struct Event {
    /// Before anything was asked.
    pub start: u64,
    /// After the answer; none when there was none, since the worker was killed.
    pub end: Option<u64>,
    /// The clock without its jumps, before anything was asked.
    pub began: i64,
    /// The same at the end.
    pub steady: i64,
    /// The job.
    pub job: ObjectId,
    /// The token that it was done with, or that was given.
    pub token: i64,
    /// What.
    pub what: What,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A claim that was given a job, as the attempt of this number.
    Claimed(u32),
    /// A sign of life that was accepted.
    Alive,
    /// An acknowledgement: accepted, or refused.
    Acked(bool),
    /// A failure, snooze or release: accepted, or refused.
    GivenBack(bool),
}

/// What was seen, and what was left.
#[derive(Clone, Debug)]
pub struct History {
    /// What was done, in no order.
    pub events: Vec<Event>,
    /// The jobs as they are in the end.
    pub jobs: Vec<Entry<Numbered>>,
    /// How many were enqueued.
    pub enqueued: usize,
    /// How many workers were killed.
    pub kills: usize,
    /// Between which places in the one order of all the clock jumped.
    pub jumps: Vec<[u64; 2]>,
    /// Between which places somebody looked for leases that had ended: who reads the clock before it jumps may take a
    /// lease that was given after it.
    pub looks: Vec<[u64; 2]>,
    /// What of the clock without its jumps was passed over, since nobody had anything to do.
    pub skips: Vec<[i64; 2]>,
}

#[derive(Debug, Default)]
struct World {
    /// Without jumps.
    steady: AtomicI64,
    offset: AtomicI64,
    order: AtomicU64,
    /// Acknowledgements that were accepted, as far as their workers know.
    acked: AtomicUsize,
    /// Workers that were killed: each may have acknowledged one job more.
    killed: AtomicUsize,
    over: AtomicBool,
    events: Mutex<Vec<Event>>,
    looks: Mutex<Vec<[u64; 2]>>,
    /// Those who are in the middle of a look: where each began in the one order of all, and when.
    looking: Mutex<BTreeMap<u64, i64>>,
    /// When the queue was tended to the last time.
    tended: AtomicI64,
}

/// A look for jobs, or for leases that had ended.
struct Look<'w> {
    world: &'w World,
    start: u64,
    began: i64,
}

impl Look<'_> {
    /// Notes that it is over; where that is in the one order of all, and when.
    fn end(self) -> (u64, i64) {
        let end = self.world.next();
        let mut looks = self.world.looks.lock().expect("no panic holds it");
        looks.push([self.start, end]);
        (end, self.world.steady.load(Ordering::SeqCst))
    }
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        let mut looking = self.world.looking.lock().expect("no panic holds it");
        looking.remove(&self.start);
    }
}

impl World {
    fn now(&self) -> i64 {
        1_800_000_000_000 + self.steady.load(Ordering::SeqCst) + self.offset.load(Ordering::SeqCst)
    }

    fn next(&self) -> u64 {
        self.order.fetch_add(1, Ordering::SeqCst)
    }

    /// Begins a look.
    fn look(&self) -> Look<'_> {
        let (start, began) = (self.next(), self.steady.load(Ordering::SeqCst));
        let mut looking = self.looking.lock().expect("no panic holds it");
        looking.insert(start, began);
        Look {
            world: self,
            start,
            began,
        }
    }

    /// Time passes, unless somebody has fallen behind.
    fn pass(&self, milliseconds: i64) {
        let looking = self.looking.lock().expect("no panic holds it");
        let oldest = looking.first_key_value().map(|(_, began)| *began);
        let tended = self.tended.load(Ordering::SeqCst) + LAG;
        let slowest = oldest.map_or(tended, |oldest| oldest.min(tended));
        if self.steady.load(Ordering::SeqCst) < slowest + LAG {
            self.steady.fetch_add(milliseconds, Ordering::SeqCst);
        }
    }

    /// Notes what is about to be done; the event is ended when the answer is there.
    fn begin(&self, lease: &Lease, what: What) -> usize {
        let steady = self.steady.load(Ordering::SeqCst);
        let event = Event {
            start: self.next(),
            end: None,
            began: steady,
            steady,
            job: lease.id,
            token: lease.token,
            what,
        };
        let mut events = self.events.lock().expect("no panic holds it");
        events.push(event);
        events.len() - 1
    }

    fn end(&self, at: usize, what: What) {
        let (end, steady) = (self.next(), self.steady.load(Ordering::SeqCst));
        self.acked
            .fetch_add(usize::from(what == What::Acked(true)), Ordering::SeqCst);
        let mut events = self.events.lock().expect("no panic holds it");
        let event = &mut events[at];
        (event.end, event.steady, event.what) = (Some(end), steady, what);
    }
}

/// Runs the load on a database of its own.
pub async fn run(db: &Db, load: Load) -> History {
    let world = Arc::new(World::default());
    let clock = world.clone();
    let db = db.with_clock(move || DateTime::from_millis(clock.now()));
    let options = Options::new()
        .lease(LEASE)
        .retry(
            Retry::times(ATTEMPTS)
                .backoff(Duration::from_millis(50), 1.5)
                .at_most(Duration::from_secs(1)),
        )
        .control_age(Duration::from_secs(86_400))
        .keep_done_for_ever();
    let queue: Queue<Numbered> = Queue::with_options(&db, "history", options);
    queue.prepare().await.expect("indexes");

    let tender = tokio::spawn(tend(queue.clone(), world.clone()));
    let mut workers: Vec<JoinHandle<()>> = Vec::new();
    let mut random = Random::new(load.seed);
    let mut spawned = 0_u64;
    let mut spawn = |workers: &mut Vec<JoinHandle<()>>| {
        spawned += 1;
        let queue = queue.owner(format!("worker {spawned}"));
        workers.push(tokio::spawn(work(
            queue,
            world.clone(),
            load.seed ^ (spawned << 20),
        )));
    };
    for _ in 0..load.workers {
        spawn(&mut workers);
    }
    let enqueued = tokio::spawn(produce(queue.clone(), world.clone(), load));
    let mut history = History {
        events: Vec::new(),
        jobs: Vec::new(),
        enqueued: 0,
        kills: 0,
        jumps: Vec::new(),
        looks: Vec::new(),
        skips: Vec::new(),
    };
    let (mut before, mut idle) = (0, 0);
    loop {
        let done = world.acked.load(Ordering::SeqCst);
        idle = if done == before { idle + 1 } else { 0 };
        before = done;
        if idle == PATIENCE {
            idle = 0;
            // What was put off by the clock before it was set back is hours away: nobody has anything to do until then.
            let left = queue.statistics().await.expect("figures");
            if left.ready + left.running == 0 && left.unfinished() > 0 {
                let skipped = world.steady.fetch_add(HOUR / 6, Ordering::SeqCst);
                history.skips.push([skipped, skipped + HOUR / 6]);
            }
        }
        // Kills and jumps are spread over the whole of the work.
        while history.kills < load.kills && done * (load.kills + 1) >= history.kills * load.jobs {
            let victim = random.below(workers.len());
            workers.swap_remove(victim).abort();
            world.killed.fetch_add(1, Ordering::SeqCst);
            history.kills += 1;
            spawn(&mut workers);
            if done + 1 < load.jobs {
                break;
            }
        }
        let jumps = history.jumps.len();
        if jumps < load.jumps && done * (load.jumps + 1) >= jumps * load.jobs {
            let jump = if jumps.is_multiple_of(2) != random.one_in(3) {
                HOUR
            } else {
                -HOUR
            };
            let before = world.next();
            world.offset.fetch_add(jump, Ordering::SeqCst);
            history.jumps.push([before, world.next()]);
        }
        // Of what was acknowledged by a worker that was killed before it knew, nobody told.
        if enqueued.is_finished()
            && done + load.kills >= load.jobs
            && queue.statistics().await.expect("figures").unfinished() == 0
        {
            break;
        }
        if let Some(worker) = workers.iter_mut().find(|worker| worker.is_finished()) {
            panic!("a worker ended: {:?}", worker.await);
        }
        tokio::time::sleep(GLANCE).await;
    }
    world.over.store(true, Ordering::SeqCst);
    for worker in workers {
        worker.await.expect("a worker ends well");
    }
    tender.await.expect("the tender ends well");
    history.enqueued = enqueued.await.expect("the producers end well");
    history.events = std::mem::take(&mut *world.events.lock().expect("no panic holds it"));
    history.looks = std::mem::take(&mut *world.looks.lock().expect("no panic holds it"));
    for state in State::ALL {
        history.jobs.extend(queue.list(state, 0).await.expect("the jobs"));
    }
    history
}

/// Tends to the queue four times in a second of the clock without its jumps.
async fn tend(queue: Queue<Numbered>, world: Arc<World>) {
    let mut due = 0;
    while !world.over.load(Ordering::SeqCst) {
        let now = world.steady.load(Ordering::SeqCst);
        if now >= due {
            due = now + 250;
            let look = world.look();
            queue.tend().await.expect("tended");
            world.tended.store(look.began, Ordering::SeqCst);
            look.end();
        }
        tokio::time::sleep(GLANCE).await;
    }
}

/// A third of the jobs is of groups, of which each has one producer: this one. No more is enqueued than the workers can
/// do soon, so that what is ready again is claimed at once.
async fn produce(queue: Queue<Numbered>, world: Arc<World>, load: Load) -> usize {
    let mut random = Random::new(load.seed ^ 0x5eed);
    let mut enqueued = 0;
    let groups = 1 + load.workers * 2;
    while enqueued < load.jobs {
        let done = world.acked.load(Ordering::SeqCst) + world.killed.load(Ordering::SeqCst);
        if enqueued > done + 8 * load.workers {
            tokio::time::sleep(GLANCE).await;
            continue;
        }
        let count = (1 + random.below(20)).min(load.jobs - enqueued);
        let jobs = (enqueued..enqueued + count).map(|number| {
            let group = random.one_in(3).then(|| random.below(groups) as i64);
            let new = New::job(Numbered {
                number: number as i64,
                group,
            });
            match group {
                Some(group) => new.group(format!("group {group}")),
                None => new.priority(random.below(3) as i8),
            }
        });
        let added = queue
            .enqueue_many(jobs.collect::<Vec<_>>())
            .await
            .expect("enqueued");
        enqueued += added.len();
    }
    enqueued
}

async fn work(queue: Queue<Numbered>, world: Arc<World>, seed: u64) {
    let mut random = Random::new(seed);
    // Leases that are kept for long, to be used when they are no longer valid.
    let mut stalled: HashMap<ObjectId, Lease> = HashMap::new();
    while !world.over.load(Ordering::SeqCst) {
        world.pass(1);
        let look = world.look();
        let (began, start) = (look.began, look.start);
        let claimed = match random.below(3) {
            0 => queue
                .claim_many(1 + random.below(8) as u32)
                .await
                .expect("claimed"),
            _ => queue.claim().await.expect("claimed").into_iter().collect(),
        };
        let (end, steady) = look.end();
        {
            let mut events = world.events.lock().expect("no panic holds it");
            events.extend(claimed.iter().map(|claimed| Event {
                start,
                end: Some(end),
                began,
                steady,
                job: claimed.id(),
                token: claimed.lease.token,
                what: What::Claimed(claimed.lease.attempt),
            }));
        }
        if claimed.is_empty() {
            world.pass(5);
            tokio::task::yield_now().await;
        }
        for claimed in claimed {
            match random.below(20) {
                0 => {
                    stalled.insert(claimed.id(), claimed.lease);
                }
                _ => finish(&queue, &world, &claimed.lease, &mut random).await,
            }
        }
        if !stalled.is_empty() && random.below(10) == 0 {
            let late = stalled.keys().next().copied();
            if let Some(lease) = late.and_then(|late| stalled.remove(&late)) {
                finish(&queue, &world, &lease, &mut random).await;
            }
        }
    }
}

/// Works on a job for a while, and says what became of it.
async fn finish(queue: &Queue<Numbered>, world: &World, lease: &Lease, random: &mut Random) {
    for _ in 0..random.below(3) {
        world.pass(1);
        let at = world.begin(lease, What::Alive);
        match queue.heartbeat(lease).await {
            Ok(_) => world.end(at, What::Alive),
            Err(error) => {
                assert!(LeaseLost::of(&error).is_some(), "{error}");
                world.end(at, What::GivenBack(false));
                // Somebody who does not listen goes on all the same.
                if random.below(2) == 0 {
                    return;
                }
            }
        }
    }
    world.pass(1);
    let accepted = |result: odm::Result<()>| match result {
        Ok(()) => true,
        Err(error) => {
            assert!(LeaseLost::of(&error).is_some(), "{error}");
            false
        }
    };
    let choice = random.below(20);
    match choice {
        0..=2 => {
            let at = world.begin(lease, What::GivenBack(false));
            let given_back = match choice {
                0 => queue.fail(lease, Failure::retry("by chance")).await,
                1 => {
                    queue
                        .snooze(lease, Duration::from_millis(random.below(500) as u64))
                        .await
                }
                _ => queue.release(lease).await,
            };
            world.end(at, What::GivenBack(accepted(given_back)));
        }
        3..=6 => {
            let at = world.begin(lease, What::Acked(false));
            let lost = queue.ack_many([lease]).await.expect("acknowledged");
            world.end(at, What::Acked(lost.is_empty()));
        }
        _ => {
            let at = world.begin(lease, What::Acked(false));
            let acked = queue.ack(lease).await;
            world.end(at, What::Acked(accepted(acked)));
        }
    }
}
