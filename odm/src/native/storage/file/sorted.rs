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
pub(super) fn apply(table: &mut Table<'_, &'static [u8], &'static [u8]>, changes: &[Change<'_>]) -> Result<()> {
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
