//! How often a term stands in a document, in four bits.

/// What each of the stored weights stands for. Close together where one time more says much.
const FREQUENCIES: [f64; 16] = [
    0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 20.0, 40.0,
];

/// The weight that stands for the frequency that is closest. From 1 to 15.
pub(super) fn quantized(frequency: f64) -> i32 {
    let distance = |level: usize| (FREQUENCIES[level] - frequency).abs();
    let mut closest = 1;
    for level in 2..FREQUENCIES.len() {
        if distance(level) < distance(closest) {
            closest = level;
        }
    }
    i32::try_from(closest).unwrap_or(1)
}

/// The frequencies that the weights stand for.
pub(super) fn frequencies() -> &'static [f64] {
    &FREQUENCIES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_counts_are_exact_and_others_close() {
        for (frequency, expected) in [
            (1.0, 1.0),
            (2.0, 2.0),
            (3.0, 3.0),
            (7.2, 8.0),
            (1e9, 40.0),
            (1e-9, 0.25),
            (f64::NAN, 0.25),
        ] {
            let level = usize::try_from(quantized(frequency)).unwrap();
            assert_eq!(frequencies()[level], expected, "{frequency}");
        }
    }
}
