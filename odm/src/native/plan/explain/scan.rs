//! A scan of an index in the words of `explain`.

use super::super::super::document::compare::rank;
use super::super::super::document::{Owned, Value};
use super::super::super::index::Order;
use super::super::super::key;
use super::super::IndexView;
use super::super::interval::{Interval, Intervals};
use super::super::stage::Stage;
use super::text;

pub(super) fn direction(reverse: bool) -> &'static str {
    if reverse { "backward" } else { "forward" }
}

fn per_field(view: &IndexView<'_>, most: usize, value: &dyn Fn(usize) -> Owned) -> Owned {
    let keys = view.definition.keys.iter().take(most).enumerate();
    Owned::Document(
        keys.map(|(position, field)| (field.path.clone(), value(position)))
            .collect(),
    )
}

pub(super) fn shown_bounds(view: &IndexView<'_>, bounds: &[Intervals], reverse: bool) -> Owned {
    per_field(view, bounds.len(), &|position| {
        let descending = view.definition.keys[position].order == Order::Descending;
        describe(
            &bounds[position],
            descending != reverse,
            !view.definition.collation.is_simple(),
        )
    })
}

pub(super) fn scan(name: &'static str, view: &IndexView<'_>, reverse: bool, bounds: &[Intervals]) -> Stage {
    let definition = view.definition;
    let mut stage = Stage::new(name).with("keyPattern", Value::Document(definition.key_pattern()).into());
    stage = stage.with("indexName", text(&definition.name));
    if let Some(collation) = definition.collation.spec() {
        stage = stage.with("collation", Value::Document(collation).into());
    }
    let arrays = per_field(view, definition.keys.len(), &|position| {
        let shown = view.arrays(position).shown(&definition.keys[position].path);
        Owned::Array(shown.into_iter().map(text).collect())
    });
    stage
        .with("isMultiKey", Owned::Bool(view.is_multikey()))
        .with("multiKeyPaths", arrays)
        .with("isUnique", Owned::Bool(definition.unique))
        .with("isSparse", Owned::Bool(definition.sparse))
        .with("isPartial", Owned::Bool(definition.partial.is_some()))
        .with("indexVersion", Owned::Int32(2))
        .with("direction", text(direction(reverse)))
        .with("indexBounds", shown_bounds(view, bounds, reverse))
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
    // Stored patterns, whatever their options.
    if let [rank::REGEX, .., 0] = interval.from.as_slice() {
        let pattern = key::describe::prefix(&interval.from);
        return format!("[{pattern}, {pattern}]");
    }
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
