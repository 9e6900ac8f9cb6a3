//! Views on views: how high they stand, and what they read.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::super::catalog::rules::View;
use super::super::super::catalog::{Catalog, Collection};
use super::super::super::collation::Collation;
use super::super::super::document::{Doc, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::Namespace;
use super::{MAX_DEPTH, collation_of, view_of};

/// Refuses a view that would stand on itself, that would make a pile of too many views, or that compares strings by other
/// rules than a view beside it in the pile: by what it is on, by the collections that its stages read, and by the views
/// that read what has its name.
///
/// # Errors
/// Codes 5, 165 and 167, as the server.
pub(crate) fn refuse_cycle(catalog: &Catalog, ns: &Namespace, options: Doc<'_>) -> Result<()> {
    let mut under = Vec::new();
    if let Some(Value::String(on)) = options.get("viewOn") {
        under.push(on.to_owned());
    }
    if let Some(Value::Array(stages)) = options.get("pipeline") {
        read_by_all(stages, &mut under);
    }
    let mut climb = Climb {
        catalog,
        ns,
        path: vec![ns.to_string()],
        heights: HashMap::new(),
    };
    let own = Collation::of_options(options)?;
    for name in &under {
        if *name == ns.collection {
            // A circle, which is told before how it compares.
            climb.height(name)?;
        }
        let other = Namespace {
            database: ns.database.clone(),
            collection: name.clone(),
        };
        if view_of(catalog, &other).is_some() && collation_of(catalog, &other) != own {
            return Err(Fault::new(
                code::OPTION_NOT_SUPPORTED_ON_VIEW,
                format!("View {ns} has conflicting collation with view {other}"),
            ));
        }
    }
    let mut readers = Readers::without(catalog, ns);
    readers.refuse_other(ns, &own)?;
    let mut height = 0;
    for name in &under {
        height = height.max(climb.height(name)?);
    }
    if height + readers.height(&ns.collection) < MAX_DEPTH {
        return Ok(());
    }
    Err(Fault::new(
        165,
        format!("View depth limit exceeded; maximum depth is {MAX_DEPTH}"),
    ))
}

/// Refuses a time series of whose name there are views that compare strings by other rules.
///
/// # Errors
/// Code 167.
pub(crate) fn refuse_other_above(catalog: &Catalog, ns: &Namespace, options: Doc<'_>) -> Result<()> {
    Readers::without(catalog, ns).refuse_other(ns, &Collation::of_options(options)?)
}

/// The search for a view among what it stands on.
struct Climb<'a> {
    catalog: &'a Catalog,
    ns: &'a Namespace,
    path: Vec<String>,
    /// Of the names that were gone through.
    heights: HashMap<String, usize>,
}

impl Climb<'_> {
    /// How many views stand on each other here; none for a collection.
    fn height(&mut self, name: &str) -> Result<usize> {
        if let Some(height) = self.heights.get(name) {
            return Ok(*height);
        }
        let next = Namespace {
            database: self.ns.database.clone(),
            collection: name.to_owned(),
        };
        self.path.push(next.to_string());
        if next == *self.ns {
            // The server names the view twice where the circle begins, and goes round it from what is read.
            let path: Vec<&str> = self.path.iter().rev().map(String::as_str).collect();
            return Err(Fault::new(
                5,
                format!("View cycle detected: {} => {}", self.ns, path.join(" => ")),
            ));
        }
        let mut height = 0;
        if let Some(view) = view_of(self.catalog, &next) {
            for name in read_by_view(view) {
                height = height.max(self.height(&name)?);
            }
            height += 1;
        }
        self.path.pop();
        self.heights.insert(name.to_owned(), height);
        Ok(height)
    }
}

/// The views of a database by what they read, without the one that is made anew.
struct Readers {
    of: HashMap<String, Vec<Arc<Collection>>>,
    /// Of the names that were gone through.
    heights: HashMap<String, usize>,
}

impl Readers {
    fn without(catalog: &Catalog, ns: &Namespace) -> Readers {
        let mut of: HashMap<String, Vec<Arc<Collection>>> = HashMap::new();
        for other in catalog.collections(&ns.database) {
            if let Some(view) = &other.rules.view
                && *other.name != *ns.collection
            {
                for name in read_by_view(view) {
                    of.entry(name).or_default().push(other.clone());
                }
            }
        }
        Readers {
            of,
            heights: HashMap::new(),
        }
    }

    fn readers(&self, name: &str) -> &[Arc<Collection>] {
        self.of.get(name).map_or(&[], Vec::as_slice)
    }

    /// Refuses what its readers compare by other rules.
    fn refuse_other(&self, ns: &Namespace, own: &Collation) -> Result<()> {
        let mut readers = self.readers(&ns.collection).iter();
        match readers.find(|view| view.rules.collation != *own) {
            None => Ok(()),
            Some(above) => Err(Fault::new(
                code::OPTION_NOT_SUPPORTED_ON_VIEW,
                format!(
                    "View {ns} has a collation that does not match the collation of view {}",
                    above.namespace()
                ),
            )),
        }
    }

    /// How many views stand on each other above this name.
    fn height(&mut self, name: &str) -> usize {
        if let Some(height) = self.heights.get(name) {
            return *height;
        }
        // A circle that an older catalog may have ends here.
        self.heights.insert(name.to_owned(), 0);
        let above: Vec<Arc<str>> = self.readers(name).iter().map(|view| view.name.clone()).collect();
        let height = above.iter().map(|view| self.height(view) + 1).max().unwrap_or(0);
        self.heights.insert(name.to_owned(), height);
        height
    }
}

/// The names that a view reads.
fn read_by_view(view: &View) -> Vec<String> {
    let mut under = vec![view.on.clone()];
    for stage in &view.pipeline {
        read_by(Doc::Raw(stage), &mut under);
    }
    under
}

fn read_by_all(stages: Doc<'_>, found: &mut Vec<String>) {
    for stage in stages.values() {
        if let Value::Document(stage) = stage {
            read_by(stage, found);
        }
    }
}

/// The collections that a stage reads beside its input.
pub(super) fn read_by(stage: Doc<'_>, found: &mut Vec<String>) {
    for element in stage.elements() {
        match (element.name_str(), element.value()) {
            ("$unionWith", Value::String(name)) => found.push(name.to_owned()),
            ("$lookup" | "$graphLookup" | "$unionWith", Value::Document(spec)) => {
                for field in spec.elements() {
                    match (field.name_str(), field.value()) {
                        ("from" | "coll", Value::String(name)) => found.push(name.to_owned()),
                        ("pipeline", Value::Array(stages)) => read_by_all(stages, found),
                        _ => {}
                    }
                }
            }
            ("$facet", Value::Document(facets)) => {
                for facet in facets.elements() {
                    if let Value::Array(stages) = facet.value() {
                        read_by_all(stages, found);
                    }
                }
            }
            _ => {}
        }
    }
}
