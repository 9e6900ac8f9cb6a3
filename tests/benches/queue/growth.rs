//! P13: what a claim costs among a hundred times as many jobs.

use std::time::Instant;

use odm_patterns::queue::Options;
use odm_tests::measure::{RELAXED, Settings, median, open, verdict};

use crate::{directory, filled, one_by_one};

const SMALL: usize = 10_000;

pub(crate) async fn with_jobs(settings: &Settings) {
    let large = settings.choose(10 * SMALL, 100 * SMALL);
    let directories = [directory(), directory()];
    let mut queues = Vec::new();
    for (directory, jobs) in directories.iter().zip([SMALL, large]) {
        let db = open(directory, RELAXED).await;
        queues.push(filled(&db, "queue", jobs, Options::new()).await);
    }
    let (rounds, each) = (settings.choose(9, 31), 200);
    let mut ratios = Vec::new();
    for round in 0..=rounds {
        let mut times = Vec::new();
        for queue in &queues {
            let start = Instant::now();
            one_by_one(queue, each).await;
            times.push(start.elapsed().as_secs_f64());
        }
        if round > 0 {
            ratios.push(times[1] / times[0]);
        }
    }
    println!("P13: claim and acknowledgement among {SMALL} and {large} jobs");
    verdict("P13 queue claim", median(ratios), 2.0, false);
}
