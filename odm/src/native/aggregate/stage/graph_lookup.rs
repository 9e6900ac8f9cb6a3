//! `$graphLookup`.

use std::collections::HashSet;

use super::super::super::collation::Collation;
use super::super::super::document::number::{as_f64, as_i64_exact, whole};
use super::super::super::document::owned::fields_of;
use super::super::super::document::{Doc, Owned, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::matcher::Matcher;
use super::super::super::metadata::Wanted;
use super::super::super::needs::Needs;
use super::super::expression::Expression;
use super::super::pipeline::Asked;
use super::lookup::is_undefined;
use super::{Context, Row, Rows, Unwind, collection_name, other_database, path, print, row_scope, write};

/// Follows references from document to document.
#[derive(Clone, Debug)]
pub(crate) struct GraphLookup {
    from: String,
    start: Expression,
    connect_from: Vec<String>,
    connect_to: String,
    into: Vec<String>,
    max_depth: Option<i64>,
    depth_field: Option<Vec<String>>,
    /// The filter as given; its variables get their values when it runs.
    restrict: Option<Vec<u8>>,
    /// The paths at which the filter looks, where these are not all: a server reads them of its input, too.
    restrict_needs: Option<Needs>,
}

impl GraphLookup {
    /// The path that it sets.
    pub(super) fn joined_path(&self) -> &[String] {
        &self.into
    }

    /// As `explain` shows it, with the stage behind it that takes its result apart.
    pub(super) fn shown(&self, unwind: Option<&Unwind>) -> Owned {
        let text = |name: &str, text: &str| (name.to_owned(), Owned::String(text.to_owned()));
        let mut spec = vec![
            text("from", &self.from),
            text("as", &self.into.join(".")),
            text("connectToField", &self.connect_to),
            text("connectFromField", &self.connect_from.join(".")),
            ("startWith".to_owned(), self.start.described()),
        ];
        if let Some(field) = &self.depth_field {
            spec.push(text("depthField", &field.join(".")));
        }
        if let Some(depth) = self.max_depth {
            spec.push(("maxDepth".to_owned(), Owned::Int64(depth)));
        }
        if let Some(filter) = &self.restrict {
            let filter = Owned::RawDocument(filter.clone());
            spec.push(("restrictSearchWithMatch".to_owned(), filter));
        }
        if let Some(unwind) = unwind {
            spec.push(("unwinding".to_owned(), unwind.shown(true)));
        }
        Owned::Document(spec)
    }

    /// Adds the paths at which it looks at documents; `false` where these are not all.
    pub(in super::super) fn add_needs(&self, needs: &mut Needs) -> bool {
        let Some(filter) = &self.restrict_needs else {
            return false;
        };
        filter.paths().for_each(|path| needs.add(path));
        self.start.add_needs(needs)
    }

    pub(super) fn parse(value: &Value<'_>, variables: &[String]) -> Result<GraphLookup> {
        let Value::Document(spec) = *value else {
            return Err(Fault::new(
                code::FAILED_TO_PARSE,
                format!(
                    "the $graphLookup stage specification must be an object, but found {}",
                    value.kind().alias()
                ),
            ));
        };
        let (mut from, mut start, mut connect_from, mut connect_to) = (None, None, None, None);
        let (mut into, mut max_depth, mut depth_field, mut restrict) = (None, None, None, None);
        let mut restrict_needs = Some(Needs::default());
        if spec.get("from").is_none() {
            return Err(Fault::new(
                code::FAILED_TO_PARSE,
                format!("missing 'from' option to $graphLookup stage specification: {spec}"),
            ));
        }
        for element in spec.elements() {
            let value = element.value();
            match (element.name_str(), value) {
                ("startWith", _) => start = Some(Expression::parse_unfolded(&value, variables)?),
                ("maxDepth", _) => max_depth = Some(depth(&value)?),
                ("restrictSearchWithMatch", Value::Document(filter)) => {
                    let unknown = variables.iter().map(|name| (name.clone(), None)).collect();
                    let matcher = Matcher::parse_with(filter, unknown).map_err(|fault| {
                        fault.prefixed(
                            "Failed to parse 'restrictSearchWithMatch' option to $graphLookup :: caused by :: ",
                        )
                    })?;
                    let mut needs = Needs::default();
                    restrict_needs = matcher.root().add_needs(&mut needs).then_some(needs);
                    restrict = Some(filter.to_bytes());
                }
                ("restrictSearchWithMatch", other) => {
                    return Err(Fault::new(
                        40185,
                        format!(
                            "restrictSearchWithMatch must be an object, found {}",
                            other.kind().alias()
                        ),
                    ));
                }
                ("from", Value::String(text)) => from = Some(collection_name(text)?),
                ("from", Value::Document(from)) => return Err(other_database("$graphLookup", from)),
                ("from", other) => {
                    return Err(Fault::new(
                        code::FAILED_TO_PARSE,
                        format!(
                            "$graphLookup 'from' field must be a string, but found {}",
                            other.kind().alias()
                        ),
                    ));
                }
                ("as" | "connectFromField" | "connectToField", Value::String("")) => {}
                ("as", Value::String(text)) => into = Some(text),
                ("connectFromField", Value::String(text)) => connect_from = Some(text),
                ("connectToField", Value::String(text)) => connect_to = Some(text),
                ("depthField", Value::String(text)) => depth_field = Some(path::parse(text)?),
                (name @ ("as" | "connectFromField" | "connectToField" | "depthField"), other) => {
                    return Err(match other {
                        Value::Document(_) => {
                            Fault::new(13111, format!("wrong type for field ({name}) object != string"))
                        }
                        other => Fault::new(
                            40103,
                            format!(
                                "expected string as argument for {name}, found: {}",
                                other.kind().alias()
                            ),
                        ),
                    });
                }
                (other, _) => {
                    return Err(Fault::new(
                        40104,
                        format!("Unknown argument to $graphLookup: {other}"),
                    ));
                }
            }
        }
        let (Some(from), Some(start), Some(connect_from), Some(connect_to), Some(into)) =
            (from, start, connect_from, connect_to, into)
        else {
            return Err(Fault::new(
                40105,
                "$graphLookup requires 'from', 'as', 'startWith', 'connectFromField', and 'connectToField' to be specified.",
            ));
        };
        // Whether they are paths is asked when all else is known.
        let (into, connect_from) = (path::parse(into)?, path::parse(connect_from)?);
        path::parse(connect_to)?;
        Ok(GraphLookup {
            from,
            start,
            connect_from,
            connect_to: connect_to.to_owned(),
            into,
            max_depth,
            depth_field,
            restrict,
            restrict_needs,
        })
    }

    pub(super) fn run<'a>(&'a self, input: Rows<'a>, context: &'a Context<'a>) -> Rows<'a> {
        Box::new(input.map(move |row| {
            let row = row?;
            let doc = Doc::Raw(&row);
            let found = self.search(&row, context)?;
            let mut fields = fields_of(doc);
            path::set(&mut fields, &self.into, Some(Owned::Array(found)));
            Ok(row.made(write(Owned::Document(fields))?))
        }))
    }

    /// The filter of the documents that one of the values leads to: a regex among them is a pattern, and beside null
    /// nothing is found that is missing or undefined.
    fn filter(&self, values: Vec<Owned>) -> Vec<u8> {
        let has_null = values.iter().any(|value| matches!(value, Owned::Null));
        let mut test = vec![("$in".to_owned(), Owned::Array(values))];
        if has_null {
            test.push(("$exists".to_owned(), Owned::Bool(true)));
            test.push(("$not".to_owned(), Owned::Document(is_undefined())));
        }
        Doc::Fields(&[(self.connect_to.clone(), Owned::Document(test))]).to_bytes()
    }

    /// Breadth first: each round reads all documents that the last round refers to.
    fn search(&self, row: &Row, context: &Context<'_>) -> Result<Vec<Owned>> {
        let restrict = self
            .restrict
            .as_ref()
            .map(|filter| Matcher::parse_with(Doc::Raw(filter), context.variables.clone()))
            .transpose()?
            .map(|matcher| matcher.collated(&context.collation).at(context.now).settled())
            .transpose()?;
        let scope = row_scope(row, context);
        let mut asked = HashSet::new();
        let mut frontier = Vec::new();
        add_values(
            self.start.answer(&scope)?.value(),
            &mut frontier,
            &mut asked,
            &context.collation,
        );
        let mut visited = HashSet::new();
        let mut found = Vec::new();
        let mut held = 0usize;
        let mut depth = 0i64;
        while !frontier.is_empty() && self.max_depth.is_none_or(|most| depth <= most) {
            let filter = self.filter(std::mem::take(&mut frontier));
            let next = Asked {
                filter: Doc::Raw(&filter),
                behind: None,
                variables: &[],
                wanted: Wanted::default(),
            };
            for row in context.source.find(&self.from, next)?.0 {
                let row = row?;
                let doc = Doc::Raw(&row);
                if let Some(restrict) = &restrict
                    && !restrict.matches(doc)?
                {
                    continue;
                }
                let mut id = Vec::new();
                context
                    .collation
                    .encode(&doc.get("_id").unwrap_or(Value::Null), false, &mut id);
                if !visited.insert(id) {
                    continue;
                }
                held += row.len();
                if held > super::super::pipeline::MEMORY_LIMIT {
                    return Err(Fault::new(
                        40099,
                        "$graphLookup reached maximum memory consumption",
                    ));
                }
                let document = match &self.depth_field {
                    Some(field) => {
                        let mut fields = fields_of(doc);
                        path::set(&mut fields, field, Some(Owned::Int64(depth)));
                        Owned::Document(fields)
                    }
                    None => Owned::RawDocument(row.into_document()),
                };
                // The depth is a field as any other, also to go on by.
                add_values(
                    path::walk(document.as_value(), &self.connect_from).value(),
                    &mut frontier,
                    &mut asked,
                    &context.collation,
                );
                found.push(document);
            }
            depth += 1;
        }
        Ok(found)
    }
}

/// Adds the value, or the elements of an array, to what is to be looked up next.
fn add_values(
    value: Option<Value<'_>>,
    frontier: &mut Vec<Owned>,
    asked: &mut HashSet<Vec<u8>>,
    collation: &Collation,
) {
    let mut add = |value: Value<'_>| {
        let mut encoded = Vec::new();
        collation.encode(&value, false, &mut encoded);
        if asked.insert(encoded) {
            frontier.push(value.into());
        }
    };
    match value {
        Some(Value::Array(items)) => items.values().for_each(add),
        Some(value) => add(value),
        None => {}
    }
}

fn depth(value: &Value<'_>) -> Result<i64> {
    if !value.is_number() {
        return Err(Fault::new(
            40100,
            format!("maxDepth must be numeric, found type: {}", value.kind().alias()),
        ));
    }
    if as_f64(value).is_some_and(|depth| depth <= -1.0) {
        return Err(Fault::new(
            40101,
            format!(
                "maxDepth requires a nonnegative argument, found: {}",
                print::value(value)
            ),
        ));
    }
    as_i64_exact(value).ok_or_else(|| {
        Fault::new(
            40102,
            format!(
                "maxDepth could not be represented as a long long: {}",
                whole(value).unwrap_or(0)
            ),
        )
    })
}
