//! Writing many keys to a table in their order.
//!
//! Keys between which the table has nothing that stays go in together, and come out together: their pages are built
//! once. One by one each would look for its place and change a page of its own.

use std::cmp::Ordering;
use std::ops::Bound;

use redb::{AccessGuard, Range, ReadableTable as _, Table};

use super::fault::fault;
use crate::native::fault::Result;

/// A key and its value; none removes it.
pub(super) type Change<'w> = (&'w [u8], Option<&'w [u8]>);

/// Fewer keys than this go in one by one.
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

/// Applies the first changes between which the table has nothing that stays; gives how many. None when they are too few.
fn run(table: &mut Table<'_, &'static [u8], &'static [u8]>, changes: &[Change<'_>]) -> Result<usize> {
    let Some((first, _)) = changes.first() else {
        return Ok(0);
    };
    let (mut count, mut there) = (0, 0);
    {
        let from: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Included(first), Bound::Unbounded);
        let mut entries = table.range::<&[u8]>(from).map_err(|error| fault(error.into()))?;
        let mut next = following(&mut entries)?;
        for (key, _) in changes {
            match next.as_ref().map(|next| next.value().cmp(*key)) {
                Some(Ordering::Less) => break,
                Some(Ordering::Equal) => {
                    there += 1;
                    next = following(&mut entries)?;
                }
                Some(Ordering::Greater) | None => {}
            }
            count += 1;
        }
    }
    let (run, last) = match changes.get(..count) {
        Some(run @ [.., (last, _)]) if count >= RUN => (run, last),
        _ => return Ok(0),
    };
    if there > 0 {
        // What is put again is built anew with its neighbors.
        let own: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Included(first), Bound::Included(last));
        table
            .retain_in::<&[u8], _>(own, |_, _| false)
            .map_err(|error| fault(error.into()))?;
    }
    let mut puts = run.iter().filter_map(|(key, value)| Some((key, (*value)?)));
    let Some((key, value)) = puts.next() else {
        return Ok(count);
    };
    let mut cursor = table
        .lower_bound_mut(Bound::Included(*key))
        .map_err(|error| fault(error.into()))?;
    for (key, value) in std::iter::once((key, value)).chain(puts) {
        cursor
            .insert_before(key, value)
            .map_err(|error| fault(error.into()))?;
    }
    cursor.close().map_err(|error| fault(error.into()))?;
    Ok(count)
}

/// The key of the next entry.
fn following<'e>(
    entries: &mut Range<'e, &'static [u8], &'static [u8]>,
) -> Result<Option<AccessGuard<'e, &'static [u8]>>> {
    match entries.next() {
        Some(Ok((key, _))) => Ok(Some(key)),
        Some(Err(error)) => Err(fault(error.into())),
        None => Ok(None),
    }
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
