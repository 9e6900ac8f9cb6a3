//! Stages as `explain` shows them.

use super::super::super::document::owned::one;
use super::super::super::document::{Owned, Value};
use super::super::super::sort::SortSpec;

/// A stage: its name, and what it is given.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) name: &'static str,
    pub(crate) spec: Owned,
    /// Whether it gives as many documents as the stage that it is a part of gets, in place of as many as that gives.
    pub(crate) is_before: bool,
}

impl Shown {
    pub(super) fn new(name: &'static str, spec: Owned) -> Shown {
        Shown {
            name,
            spec,
            is_before: false,
        }
    }

    /// A `$sort` by these fields.
    pub(super) fn order(fields: Owned) -> Shown {
        Shown::new("$sort", one("sortKey", fields))
    }

    /// A `$sort` that keeps only so many, if that is said.
    pub(super) fn of_first(mut self, limit: Option<u64>) -> Shown {
        if let (Some(limit), Owned::Document(fields)) = (limit, &mut self.spec) {
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            fields.push(("limit".to_owned(), Owned::Int64(limit)));
        }
        self
    }

    /// The order that a stage needs of what it is given.
    pub(super) fn order_for(order: &SortSpec) -> Shown {
        Shown::order(Value::Document(order.spec()).into()).before()
    }

    pub(super) fn before(self) -> Shown {
        Shown {
            is_before: true,
            ..self
        }
    }

    /// A `$count` under this name, which is a group of all.
    pub(super) fn count(name: &str) -> Vec<Shown> {
        let constant = |value| one("$const", value);
        let group = vec![
            ("_id".to_owned(), constant(Owned::Null)),
            (name.to_owned(), one("$sum", constant(Owned::Int32(1)))),
        ];
        let fields = vec![
            (name.to_owned(), Owned::Bool(true)),
            ("_id".to_owned(), Owned::Bool(false)),
        ];
        vec![
            Shown::new("$group", Owned::Document(group)),
            Shown::new("$project", Owned::Document(fields)),
        ]
    }
}
