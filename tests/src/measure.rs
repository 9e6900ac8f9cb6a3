//! Measuring two ways of doing the same, interleaved, so that what disturbs one disturbs the other.

mod bare;
mod bench;
mod count;
mod documents;
mod server;
mod settings;

use std::time::Instant;

pub use self::bare::Bare;
pub use self::bench::{RELAXED, bench, directory, open};
pub use self::count::{count_fsyncs, count_instructions, per_operation};
pub use self::documents::{Job, Thing};
pub use self::server::{Sent, Server};
pub use self::settings::Settings;

/// The medians of two sides, in microseconds per unit, and of their ratio.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// Ours.
    pub ours: f64,
    /// The other side.
    pub theirs: f64,
    /// The median over rounds of theirs by ours: greater is better for us.
    pub speedup: f64,
}

/// Runs both sides in turn; each is told the round, and does `units` units of work in it. The side that goes first
/// changes from round to round.
pub async fn compare(
    rounds: usize,
    units: usize,
    ours: impl AsyncFnMut(usize),
    theirs: impl AsyncFnMut(usize),
) -> Comparison {
    compare_uneven(rounds, [units; 2], ours, theirs).await
}

/// The same where each side does a number of units of its own in a round: ours, theirs.
pub async fn compare_uneven(
    rounds: usize,
    units: [usize; 2],
    mut ours: impl AsyncFnMut(usize),
    mut theirs: impl AsyncFnMut(usize),
) -> Comparison {
    let [our_units, their_units] = units.map(|units| units as f64);
    let (mut own, mut their, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    // The first round warms both sides up.
    for round in 0..=rounds {
        let (mut a, mut b) = (0.0, 0.0);
        for first in [round % 2 == 0, round % 2 != 0] {
            let start = Instant::now();
            if first {
                ours(round).await;
                a = start.elapsed().as_secs_f64() * 1e6 / our_units;
            } else {
                theirs(round).await;
                b = start.elapsed().as_secs_f64() * 1e6 / their_units;
            }
        }
        if round > 0 {
            own.push(a);
            their.push(b);
            ratios.push(b / a);
        }
    }
    Comparison {
        ours: median(own),
        theirs: median(their),
        speedup: median(ratios),
    }
}

/// The middle of the values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Prints the row's last line: `P1 ratio=53.2 target=50 ok`, or `short`.
pub fn verdict(row: &str, ratio: f64, target: f64, at_least: bool) {
    let ok = if at_least {
        ratio >= target
    } else {
        ratio <= target
    };
    // Small ratios, such as of fsyncs, need their digits.
    let digits = if ratio < 0.1 { 4 } else { 2 };
    println!(
        "{row} ratio={ratio:.digits$} target={target} {}",
        if ok { "ok" } else { "short" }
    );
}
