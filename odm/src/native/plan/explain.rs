//! Plans in the words of `explain`.

use super::super::document::{Doc, Owned, Value};
use super::super::index::Order;
use super::super::key;
use super::interval::{Interval, Intervals};
use super::{Access, IndexView, Plan, PlanRequest, TextPlan};

/// The memory limit that MongoDB gives for a sort, in bytes.
const SORT_MEMORY: i32 = 104_857_600;

fn document(fields: Vec<(&str, Owned)>) -> Owned {
    Owned::Document(
        fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

fn text(text: &str) -> Owned {
    Owned::String(text.to_owned())
}

impl Plan {
    /// The `winningPlan` document of a find: stages as MongoDB names them.
    pub(crate) fn explain(&self, request: &PlanRequest<'_>, filter: Doc<'_>) -> Owned {
        let filter: Owned = Value::Document(filter).into();
        let mut stage = self.source(request, &filter);
        if let Some(index) = self.near_index(request) {
            stage = near(index, stage);
        }
        match request.sort {
            Some(sort) if !self.sorted => {
                let mut fields = vec![
                    ("stage", text("SORT")),
                    ("sortPattern", Value::Document(sort.spec()).into()),
                    ("memLimit", Owned::Int32(SORT_MEMORY)),
                ];
                if let Some(limit) = request.limit {
                    fields.push((
                        "limitAmount",
                        Owned::Int64(i64::try_from(limit).unwrap_or(i64::MAX)),
                    ));
                }
                fields.push(("type", text("simple")));
                fields.push(("inputStage", stage));
                document(fields)
            }
            _ => stage,
        }
    }

    /// The index that answers nearness.
    fn near_index<'a>(&self, request: &PlanRequest<'a>) -> Option<&'a IndexView<'a>> {
        request.matcher.near()?;
        match &self.access {
            Access::Index { index, .. } => request.indexes.get(*index),
            _ => None,
        }
    }

    /// The `winningPlan` document of a count.
    pub(crate) fn explain_count(&self, request: &PlanRequest<'_>, filter: Doc<'_>) -> Owned {
        let input = match &self.access {
            Access::Index {
                index,
                reverse,
                bounds,
                ..
            } if self.covered_count => scan("COUNT_SCAN", &request.indexes[*index], *reverse, bounds),
            _ => self.source(request, &Value::Document(filter).into()),
        };
        document(vec![("stage", text("COUNT")), ("inputStage", input)])
    }

    fn source(&self, request: &PlanRequest<'_>, filter: &Owned) -> Owned {
        if self.by_id {
            return document(vec![("stage", text("IDHACK"))]);
        }
        if let Some(plan) = &self.text {
            return text_match(plan, request, filter, &self.access);
        }
        match &self.access {
            Access::Nothing => document(vec![("stage", text("EOF"))]),
            Access::Collection { reverse } => {
                let mut fields = vec![("stage", text("COLLSCAN"))];
                if !is_empty(filter) {
                    fields.push(("filter", filter.clone()));
                }
                fields.push(("direction", text(direction(*reverse))));
                document(fields)
            }
            access if self.cover.is_some() => {
                let mut stage = self.looked(access, request);
                if !self.exact
                    && let Owned::Document(fields) = &mut stage
                {
                    fields.insert(1, ("filter".to_owned(), filter.clone()));
                }
                stage
            }
            access => {
                let mut fields = vec![("stage", text("FETCH"))];
                if !self.exact {
                    fields.push(("filter", filter.clone()));
                }
                fields.push(("inputStage", self.looked(access, request)));
                document(fields)
            }
        }
    }

    /// The stage that looks into indexes.
    fn looked(&self, access: &Access, request: &PlanRequest<'_>) -> Owned {
        match access {
            Access::Index {
                index,
                reverse,
                bounds,
                ..
            } if self.leap.is_some() => scan("DISTINCT_SCAN", &request.indexes[*index], *reverse, bounds),
            access => stage(access, request),
        }
    }
}

/// The stage that gives documents by distance.
fn near(view: &IndexView<'_>, input: Owned) -> Owned {
    let definition = view.definition;
    let spherical = definition.keys.iter().any(|key| key.order == Order::Sphere);
    document(vec![
        (
            "stage",
            text(if spherical {
                "GEO_NEAR_2DSPHERE"
            } else {
                "GEO_NEAR_2D"
            }),
        ),
        ("keyPattern", Value::Document(definition.key_pattern()).into()),
        ("indexName", text(&definition.name)),
        ("indexVersion", Owned::Int32(2)),
        ("inputStages", Owned::Array(vec![input])),
    ])
}

/// The stage of a text search.
fn text_match(plan: &TextPlan, request: &PlanRequest<'_>, filter: &Owned, access: &Access) -> Owned {
    let parsed = plan.search.described().map(|(name, items)| {
        let items = items.into_iter().map(text).collect();
        (name, Owned::Array(items))
    });
    let definition = request.indexes[plan.index()].definition;
    document(vec![
        ("stage", text("TEXT_MATCH")),
        ("filter", filter.clone()),
        ("indexName", text(&definition.name)),
        ("parsedTextQuery", document(parsed.to_vec())),
        ("textIndexVersion", Owned::Int32(3)),
        ("inputStage", stage(access, request)),
    ])
}

fn is_empty(filter: &Owned) -> bool {
    filter.as_value().as_document().is_none_or(Doc::is_empty)
}

fn direction(reverse: bool) -> &'static str {
    if reverse { "backward" } else { "forward" }
}

fn stage(access: &Access, request: &PlanRequest<'_>) -> Owned {
    match access {
        Access::Nothing => document(vec![("stage", text("EOF"))]),
        Access::Collection { reverse } => document(vec![
            ("stage", text("COLLSCAN")),
            ("direction", text(direction(*reverse))),
        ]),
        Access::Index {
            index,
            reverse,
            bounds,
            ..
        } => scan("IXSCAN", &request.indexes[*index], *reverse, bounds),
        Access::Union(parts) => document(vec![
            ("stage", text("OR")),
            (
                "inputStages",
                Owned::Array(parts.iter().map(|part| stage(part, request)).collect()),
            ),
        ]),
        Access::Merge(streams) => {
            let parts = streams.iter().map(|stream| stage(&stream.access, request));
            let mut fields = vec![("stage", text("SORT_MERGE"))];
            if let Some(sort) = request.sort {
                fields.push(("sortPattern", Value::Document(sort.spec()).into()));
            }
            fields.push(("inputStages", Owned::Array(parts.collect())));
            document(fields)
        }
    }
}

fn scan(name: &str, view: &IndexView<'_>, reverse: bool, bounds: &[Intervals]) -> Owned {
    let definition = view.definition;
    let per_field_of = |most: usize, value: &dyn Fn(usize) -> Owned| {
        Owned::Document(
            definition
                .keys
                .iter()
                .take(most)
                .enumerate()
                .map(|(position, field)| (field.path.clone(), value(position)))
                .collect(),
        )
    };
    let per_field = |value: &dyn Fn(usize) -> Owned| per_field_of(definition.keys.len(), value);
    let mut shown = vec![
        ("stage", text(name)),
        ("keyPattern", Value::Document(definition.key_pattern()).into()),
        ("indexName", text(&definition.name)),
        ("isMultiKey", Owned::Bool(view.is_multikey())),
        (
            "multiKeyPaths",
            per_field(&|position| {
                let shown = view.arrays(position).shown(&definition.keys[position].path);
                Owned::Array(shown.into_iter().map(text).collect())
            }),
        ),
        ("isUnique", Owned::Bool(definition.unique)),
        ("isSparse", Owned::Bool(definition.sparse)),
        ("isPartial", Owned::Bool(definition.partial.is_some())),
        ("indexVersion", Owned::Int32(2)),
        ("direction", text(direction(reverse))),
        (
            "indexBounds",
            per_field_of(bounds.len(), &|position| {
                let descending = definition.keys[position].order == Order::Descending;
                describe(
                    &bounds[position],
                    descending != reverse,
                    !definition.collation.is_simple(),
                )
            }),
        ),
    ];
    if let Some(collation) = definition.collation.spec() {
        shown.insert(3, ("collation", Value::Document(collation).into()));
    }
    document(shown)
}

/// The intervals in the order in which they are visited.
fn describe(intervals: &Intervals, backward: bool, is_collated: bool) -> Owned {
    let mut texts: Vec<Owned> = intervals
        .as_slice()
        .iter()
        .map(|interval| Owned::String(describe_interval(interval, backward, is_collated)))
        .collect();
    if backward {
        texts.reverse();
    }
    Owned::Array(texts)
}

fn describe_interval(interval: &Interval, backward: bool, is_collated: bool) -> String {
    let (low_inclusive, low) = describe_edge(&interval.from, true, is_collated);
    let (high_inclusive, high) = describe_edge(&interval.to, false, is_collated);
    if backward {
        let open = if high_inclusive { '[' } else { '(' };
        let close = if low_inclusive { ']' } else { ')' };
        format!("{open}{high}, {low}{close}")
    } else {
        let open = if low_inclusive { '[' } else { '(' };
        let close = if high_inclusive { ']' } else { ')' };
        format!("{open}{low}, {high}{close}")
    }
}

/// An edge's value, and whether the value is inside.
fn describe_edge(edge: &[u8], low: bool, is_collated: bool) -> (bool, String) {
    match edge {
        [key::BEFORE] => (true, "MinKey".to_owned()),
        [key::AFTER] => (true, "MaxKey".to_owned()),
        [first] => key::describe::rank_edge(*first, low),
        [component @ .., key::BEFORE] if component.len() > 1 || component[0] > key::BEFORE => {
            (low, key::describe::component(component, is_collated))
        }
        [component @ .., key::AFTER] => (!low, key::describe::component(component, is_collated)),
        prefix => (low, key::describe::prefix(prefix)),
    }
}
