//! Measuring two ways of doing the same, interleaved, so that what disturbs one disturbs the other.

use std::time::Instant;

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
    mut ours: impl AsyncFnMut(usize),
    mut theirs: impl AsyncFnMut(usize),
) -> Comparison {
    let (mut own, mut their, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    // The first round warms both sides up.
    for round in 0..=rounds {
        let (mut a, mut b) = (0.0, 0.0);
        for first in [round % 2 == 0, round % 2 != 0] {
            let start = Instant::now();
            if first {
                ours(round).await;
                a = start.elapsed().as_secs_f64();
            } else {
                theirs(round).await;
                b = start.elapsed().as_secs_f64();
            }
        }
        if round > 0 {
            own.push(a * 1e6 / units as f64);
            their.push(b * 1e6 / units as f64);
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
    println!(
        "{row} ratio={ratio:.2} target={target} {}",
        if ok { "ok" } else { "short" }
    );
}
