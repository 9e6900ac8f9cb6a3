//! What of the last changes is on a disk after a power loss.

use super::super::Random;
use super::{DIRECTORY, Event, Files};

/// Which of the changes since the last sync of their file reached the disk.
#[derive(Clone, Debug)]
pub(super) enum Survivors {
    First(usize),
    /// All of one file, or of the names, and nothing else.
    Of(usize),
    AllBut(usize),
    /// Each with a chance of one half.
    Random(u64),
    /// Of this one some sectors, of the others all or, with a seed, some.
    Torn(usize, u64, bool),
}

impl Survivors {
    /// All kinds for this many changes.
    pub(super) fn kinds(changes: usize, random: &mut Random) -> Vec<Survivors> {
        let mut kinds = vec![
            Survivors::First(0),
            Survivors::First(changes),
            Survivors::Of(0),
            Survivors::Of(1),
            Survivors::Of(DIRECTORY),
        ];
        kinds.extend((1..changes).map(Survivors::First));
        kinds.extend((0..changes).map(Survivors::AllBut));
        for _ in 0..changes.min(8) {
            kinds.push(Survivors::Random(random.below(1 << 40)));
        }
        for change in 0..changes {
            for others in [true, false] {
                kinds.push(Survivors::Torn(change, random.below(1 << 40), others));
            }
        }
        kinds
    }

    pub(super) fn apply(&self, durable: &Files, changes: &[Event]) -> Files {
        let mut content = durable.clone();
        let mut coin = match self {
            Survivors::Random(seed) | Survivors::Torn(_, seed, _) => Random(seed * 2 + 1),
            _ => Random(1),
        };
        for (at, change) in changes.iter().enumerate() {
            let whole = match self {
                Survivors::First(count) => at < *count,
                Survivors::Of(file) => change.file == *file,
                Survivors::AllBut(one) => at != *one,
                Survivors::Random(_) => coin.below(2) == 0,
                Survivors::Torn(one, _, _) if at == *one => {
                    change.apply(&mut content, |_| coin.below(2) == 0);
                    continue;
                }
                Survivors::Torn(_, _, others) => *others || coin.below(2) == 0,
            };
            if whole {
                change.apply(&mut content, |_| true);
            }
        }
        content
    }
}
