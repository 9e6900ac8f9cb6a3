//! The documents of another collection by the values that they are joined by, where no index leads to them.

use std::collections::HashMap;

use super::super::super::super::collation::Collation;
use super::super::super::super::document::{Doc, Owned};
use super::super::super::super::fault::Result;
use super::super::super::super::index::IndexDefinition;
use super::super::super::super::key::END;
use super::super::super::pipeline::Asked;
use super::super::{Context, Row, Rows};

/// How much of another collection is held, in bytes.
const MOST_BYTES: usize = 64 << 20;
/// So many documents are looked for by reading the collection before it pays to hold it.
const FIRST: usize = 2;

/// What is known of the other collection while documents are joined with it.
#[derive(Default)]
pub(super) enum Shelf {
    #[default]
    Nothing,
    /// For how many documents it was read.
    Looked(usize),
    /// It has an index, or is too large.
    Unfit,
    Held(Table),
}

/// Documents by what an index over the path would have of them.
pub(super) struct Table {
    rows: Vec<Row>,
    places: HashMap<Vec<u8>, Vec<usize>>,
}

impl Shelf {
    /// The documents that have one of these values at the path, in their order; none where they are to be asked for.
    pub(super) fn find(
        &mut self,
        (from, path): (&str, &str),
        values: &[Owned],
        context: &Context<'_>,
    ) -> Result<Option<Vec<Row>>> {
        match self {
            Shelf::Nothing => {
                *self = match context.source.is_scanned(from, path) {
                    true => Shelf::Looked(1),
                    false => Shelf::Unfit,
                };
                return Ok(None);
            }
            Shelf::Looked(count) if *count < FIRST => {
                *count += 1;
                return Ok(None);
            }
            Shelf::Looked(_) => {
                let asked = Asked {
                    filter: Doc::empty(),
                    behind: None,
                    variables: &[],
                    wanted: context.wanted,
                };
                let (rows, _) = context.source.find(from, asked)?;
                *self = match Table::of(rows, path, &context.collation)? {
                    Some(table) => Shelf::Held(table),
                    None => Shelf::Unfit,
                };
            }
            Shelf::Unfit | Shelf::Held(_) => {}
        }
        Ok(match self {
            Shelf::Held(table) => table.find(values, &context.collation),
            _ => None,
        })
    }
}

impl Table {
    /// Of all documents; none where they are too many, or an index could not have them.
    fn of(rows: Rows<'_>, path: &str, collation: &Collation) -> Result<Option<Table>> {
        let key = vec![(path.to_owned(), Owned::Int32(1))];
        let spec = vec![
            ("key".to_owned(), Owned::Document(key)),
            ("name".to_owned(), Owned::String("joined".to_owned())),
            ("v".to_owned(), Owned::Int32(2)),
        ];
        let Ok(index) = IndexDefinition::parse_for(Doc::Fields(&spec), collation) else {
            return Ok(None);
        };
        let mut table = Table {
            rows: Vec::new(),
            places: HashMap::new(),
        };
        let mut held = 0;
        for row in rows {
            let row = row?;
            held += row.len();
            let Ok(found) = index.keys(Doc::Raw(&row)) else {
                return Ok(None);
            };
            for key in found.keys {
                held += key.len();
                table.places.entry(key).or_default().push(table.rows.len());
            }
            if held > MOST_BYTES {
                return Ok(None);
            }
            table.rows.push(row);
        }
        Ok(Some(table))
    }

    fn find(&self, values: &[Owned], collation: &Collation) -> Option<Vec<Row>> {
        let mut found = Vec::new();
        for value in values {
            if !is_found_by_key(value) {
                return None;
            }
            let mut key = Vec::new();
            collation.encode(&value.as_value(), false, &mut key);
            key.push(END);
            found.extend(self.places.get(&key).into_iter().flatten().copied());
        }
        if values.len() > 1 {
            found.sort_unstable();
            found.dedup();
        }
        Some(
            found
                .into_iter()
                .filter_map(|at| self.rows.get(at).cloned())
                .collect(),
        )
    }
}

/// Whether the documents of which this is a value are those that have its key.
fn is_found_by_key(value: &Owned) -> bool {
    !matches!(
        value,
        Owned::Null | Owned::Undefined | Owned::Regex(_) | Owned::Array(_) | Owned::RawArray(_)
    )
}
