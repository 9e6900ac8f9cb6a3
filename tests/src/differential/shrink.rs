//! From a long scenario that shows a difference to a short one.

use bson::{Bson, Document};

use super::commands::Step;
use super::machine::{Difference, Pair};

/// How often a scenario is run again.
const RUNS: usize = 300;

/// The smallest scenario found that still differs, with how.
pub(super) async fn shrink(pair: &Pair<'_>, steps: Vec<Step>, found: Difference) -> (Vec<Step>, Difference) {
    let mut search = Search {
        pair,
        steps,
        found,
        runs: 0,
    };
    search.steps.truncate(search.found.at + 1);
    let mut size = usize::MAX;
    while search.size() < size && search.runs < RUNS {
        size = search.size();
        search.drop_steps().await;
        search.drop_parts().await;
    }
    (search.steps, search.found)
}

struct Search<'p> {
    pair: &'p Pair<'p>,
    steps: Vec<Step>,
    found: Difference,
    runs: usize,
}

impl Search<'_> {
    fn size(&self) -> usize {
        self.steps.iter().map(|step| step.command.to_string().len()).sum()
    }

    /// Takes over the scenario if it differs too, and in the same way.
    async fn offer(&mut self, steps: Vec<Step>) -> bool {
        if self.runs >= RUNS || loses_order(&self.steps, &steps) {
            return false;
        }
        self.runs += 1;
        match self.pair.go(&steps).await.difference {
            Some(found) if found.kind == self.found.kind => {
                self.steps = steps;
                self.steps.truncate(found.at + 1);
                self.found = found;
                true
            }
            _ => false,
        }
    }

    /// Halves first, then single steps; the last one stays.
    async fn drop_steps(&mut self) {
        let mut length = self.steps.len() / 2;
        while length > 0 {
            let mut at = 0;
            while at + length < self.steps.len() {
                let mut fewer = self.steps.clone();
                fewer.drain(at..at + length);
                if !self.offer(fewer).await {
                    at += length;
                }
            }
            length /= 2;
        }
    }

    /// Fields and items of the commands, from outside to inside.
    async fn drop_parts(&mut self) {
        let mut at = self.steps.len();
        while at > 0 {
            at -= 1;
            let mut skipped = 0;
            while at < self.steps.len() {
                let mut smaller = self.steps.clone();
                let mut left = skipped;
                if !without_part(&mut smaller[at].command, true, &mut left) {
                    break;
                }
                if !self.offer(smaller).await {
                    skipped += 1;
                }
            }
        }
    }
}

/// Removes the part with this number; false if there are fewer.
fn without_part(document: &mut Document, is_command: bool, left: &mut usize) -> bool {
    let names: Vec<String> = document.keys().skip(usize::from(is_command)).cloned().collect();
    for name in &names {
        if *left == 0 {
            document.remove(name);
            return true;
        }
        *left -= 1;
    }
    names.iter().any(|name| match document.get_mut(name) {
        Some(value) => without_inner(value, left),
        None => false,
    })
}

fn without_inner(value: &mut Bson, left: &mut usize) -> bool {
    match value {
        Bson::Document(document) => without_part(document, false, left),
        Bson::Array(items) => {
            if *left < items.len() {
                items.remove(*left);
                return true;
            }
            *left -= items.len();
            items.iter_mut().any(|item| without_inner(item, left))
        }
        _ => false,
    }
}

/// Whether sets that were put in order no longer are: their own order is by chance.
fn loses_order(before: &[Step], after: &[Step]) -> bool {
    let text = |steps: &[Step]| {
        steps
            .last()
            .map(|step| step.command.to_string())
            .unwrap_or_default()
    };
    let (before, after) = (text(before), text(after));
    before.contains("$sortArray") && after.contains("$addToSet") && !after.contains("$sortArray")
}
