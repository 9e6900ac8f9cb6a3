//! Input that means harm: nested as deep as it goes, of wrong lengths, mutated.
//!
//! Every target is seeded: the same seed gives the same inputs, and an input that panics says its own seed.
//! `ODM_FUZZ_SEED` chooses the seed, `ODM_FUZZ_SECONDS` how long each target runs instead of its usual number of inputs.

pub mod commands;
pub mod depth;
pub mod files;
pub mod mutate;
pub mod values;

use std::time::{Duration, Instant};

use crate::random::Random;

/// How much of a target is run.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    seed: u64,
    inputs: u64,
    until: Option<Instant>,
}

impl Budget {
    /// So many inputs, or what the environment says.
    pub fn of(inputs: u64) -> Budget {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        Budget {
            seed: number("ODM_FUZZ_SEED").unwrap_or(1),
            inputs,
            until: number("ODM_FUZZ_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds)),
        }
    }

    /// The inputs' seeds, one after the other.
    pub fn seeds(self) -> impl Iterator<Item = Input> {
        let wanted = move |at: &u64| match self.until {
            Some(until) => Instant::now() < until,
            None => *at < self.inputs,
        };
        (0..u64::MAX).take_while(wanted).map(move |at| Input {
            seed: self.seed.wrapping_mul(0x1_0000_0000).wrapping_add(at),
        })
    }
}

/// One input: says its seed when it panics.
#[derive(Debug)]
pub struct Input {
    seed: u64,
}

impl Input {
    /// The source of what is random about it.
    pub fn random(&self) -> Random {
        Random::new(self.seed)
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the input's seed: {}", self.seed);
        }
    }
}
