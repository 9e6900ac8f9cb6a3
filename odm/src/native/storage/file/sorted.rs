//! Writing many keys to a table in their order.
//!
//! Keys that come between two neighbors of the table, or behind its last key, go in together: their pages are built
//! once. One by one each would look for its place and change a page of its own.

use std::ops::Bound;

use redb::{ReadableTable as _, Table};

use super::fault::fault;
use crate::native::fault::Result;

/// A key and its value; none removes it.
pub(super) type Change<'w> = (&'w [u8], Option<&'w [u8]>);

/// Fewer keys than this between two neighbors go in one by one.
const RUN: usize = 6;

/// After so many looks in vain keys are close enough to random.
const MOST_ALONE: usize = 64;

/// Applies changes whose keys ascend.
pub(super) fn apply(
    table: &mut Table<'_, &'static [u8], &'static [u8]>,
    changes: &[Change<'_>],
) -> Result<()> {
    let mut rest = changes;
    let mut alone = 1;
    while rest.len() >= RUN {
        match run(table, rest)? {
            0 => {
                let (few, more) = rest.split_at(alone.min(rest.len()));
                each(table, few)?;
                rest = more;
                alone = (alone * 2).min(MOST_ALONE);
            }
            done => {
                rest = &rest[done..];
                alone = 1;
            }
        }
    }
    each(table, rest)
}

fn each(table: &mut Table<'_, &'static [u8], &'static [u8]>, changes: &[Change<'_>]) -> Result<()> {
    for (key, value) in changes {
        match value {
            Some(value) => drop(table.insert(key, value).map_err(|error| fault(error.into()))?),
            None => drop(table.remove(key).map_err(|error| fault(error.into()))?),
        }
    }
    Ok(())
}

/// Puts the first of the keys that lie between two neighbors of the table; gives how many. None when they are too few.
fn run(table: &mut Table<'_, &'static [u8], &'static [u8]>, changes: &[Change<'_>]) -> Result<usize> {
    let Some((first, _)) = changes.first() else {
        return Ok(0);
    };
    let next = {
        let mut cursor = table
            .lower_bound(Bound::Included(*first))
            .map_err(|error| fault(error.into()))?;
        let next = cursor.peek_next().map_err(|error| fault(error.into()))?;
        next.map(|(key, _)| key.value().to_vec())
    };
    let fits = |(key, value): &&Change<'_>| value.is_some() && next.as_deref().is_none_or(|next| *key < next);
    let count = changes.iter().take_while(fits).count();
    if count < RUN {
        return Ok(0);
    }
    let mut cursor = table
        .lower_bound_mut(Bound::Included(*first))
        .map_err(|error| fault(error.into()))?;
    for (key, value) in &changes[..count] {
        cursor
            .insert_before(key, value.unwrap_or_default())
            .map_err(|error| fault(error.into()))?;
    }
    cursor.close().map_err(|error| fault(error.into()))?;
    Ok(count)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use redb::backends::InMemoryBackend;
    use redb::{Builder, ReadableDatabase as _, TableDefinition};

    use super::*;

    const TABLE: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("table");

    /// Whatever is new, there already or removed, and however far apart it lies.
    #[test]
    fn a_table_becomes_what_a_map_becomes() {
        let database = Builder::new()
            .create_with_backend(InMemoryBackend::new())
            .unwrap();
        let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        let mut seed = 17u64;
        let mut below = |limit: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % limit
        };
        for round in 0..150u64 {
            let first = below(20_000);
            let spread = [8, 200, 5_000, 1 << 30][below(4) as usize];
            let removes = below(3) == 0;
            let batch: BTreeMap<Vec<u8>, Option<Vec<u8>>> = (0..below(200))
                .map(|_| {
                    let key = (first + below(spread)).to_be_bytes().to_vec();
                    let kept = !(removes && below(4) == 0);
                    let value = kept.then(|| vec![round as u8; below(900) as usize]);
                    (key, value)
                })
                .collect();
            let write = database.begin_write().unwrap();
            {
                let mut table = write.open_table(TABLE).unwrap();
                let changes: Vec<Change<'_>> = batch
                    .iter()
                    .map(|(key, value)| (key.as_slice(), value.as_deref()))
                    .collect();
                apply(&mut table, &changes).unwrap();
            }
            write.commit().unwrap();
            for (key, value) in batch {
                match value {
                    Some(value) => drop(model.insert(key, value)),
                    None => drop(model.remove(&key)),
                }
            }
        }
        let read = database.begin_read().unwrap();
        let table = read.open_table(TABLE).unwrap();
        let mut found = table.range::<&[u8]>(..).unwrap();
        for (key, value) in &model {
            let (stored_key, stored_value) = found.next().unwrap().unwrap();
            assert_eq!((stored_key.value(), stored_value.value()), (&key[..], &value[..]));
        }
        assert!(found.next().is_none());
        assert!(model.len() > 1_000);
    }
}
