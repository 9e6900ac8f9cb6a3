//! The stages of a pipeline.

mod bucket;
mod change_stream;
mod declared;
mod densify;
mod facet;
mod fill;
mod filter;
mod geo_near;
mod graph_lookup;
mod group;
mod lookup;
mod number;
mod redact;
mod sample;
mod shown;
mod sort;
mod standing;
mod statistics;
mod union;
mod unwind;
mod window;

use super::super::collation::Collation;
use super::super::document::{Doc, Owned, Value};
use super::super::fault::{Class, Fault, Result, code};
use super::super::matcher::shown::Arrangement;
use super::super::matcher::{Changes, truthy};
use super::expression::{Expression, Scope};
use super::pipeline::{Context, Output, Pipeline, Place, Rows};
use super::transform::{Projection, TransformStage, unknown_stage, written as write};
use super::{Names, Row, path, print};

use self::bucket::BucketAuto;
pub(crate) use self::change_stream::{ChangeStream, NAME as CHANGE_STREAM, READS as READS_CHANGES};
use self::densify::Densify;
pub(crate) use self::facet::Facet;
pub(super) use self::filter::Match;
pub(crate) use self::geo_near::GeoNear;
use self::graph_lookup::GraphLookup;
#[cfg(test)]
pub(crate) use self::group::ACCUMULATORS;
pub(crate) use self::group::{Gathered, Group, goes_with_early, is_early_operator};
use self::lookup::Lookup;
use self::redact::Redact;
pub(crate) use self::shown::Shown;
pub(super) use self::sort::Sort;
pub(super) use self::standing::check_first;
pub(crate) use self::standing::{
    ONLY_FIRST, check_place, misplaced_geo_near, only_first, without_collection,
};
pub(crate) use self::statistics::Statistics;
pub(crate) use self::union::UnionWith;
use self::unwind::Unwind;
#[cfg(test)]
pub(crate) use self::window::WINDOW_FUNCTIONS;
use self::window::Windows;

/// One stage.
#[derive(Clone, Debug)]
pub(crate) enum Stage {
    Match(Box<Match>),
    Transform(TransformStage),
    Sort(Box<Sort>),
    Skip(u64),
    Limit(u64),
    Unwind(Box<Unwind>),
    /// `$group`, `$sortByCount`, `$bucket`.
    Group(Box<Group>),
    BucketAuto(Box<BucketAuto>),
    /// The name of the field that gets the count.
    Count(String),
    /// How many documents.
    Sample(u64),
    Facet(Box<Facet>),
    Redact(Box<Redact>),
    Lookup(Box<Lookup>),
    GraphLookup(Box<GraphLookup>),
    GeoNear(Box<GeoNear>),
    UnionWith(Box<UnionWith>),
    Densify(Box<Densify>),
    Windows(Box<Windows>),
    /// Windows, and then values in place of null.
    Fill(Box<fill::Fill>),
    /// The executor describes the collection in place of reading it.
    Statistics(Statistics),
    /// An expression that gives an array of documents.
    Documents(Expression),
}

impl Stage {
    /// Parses the stage; one that this engine does not have is refused as unsupported.
    pub(crate) fn parse(name: &str, value: &Value<'_>, variables: &Names<'_>) -> Result<Stage> {
        if let Some(stage) = TransformStage::parse(name, value, variables)? {
            return Ok(Stage::Transform(stage));
        }
        if let Some(stage) = Statistics::parse(name, value)? {
            return Ok(Stage::Statistics(stage));
        }
        Ok(match name {
            "$match" => Stage::Match(Box::new(Match::parse(value, variables)?)),
            "$sort" => Stage::Sort(Box::new(Sort::parse(value)?)),
            "$skip" => Stage::Skip(number::skip(value)?),
            "$limit" => Stage::Limit(number::limit(value)?),
            "$unwind" => Stage::Unwind(Box::new(Unwind::parse(value)?)),
            "$group" => Stage::Group(Box::new(Group::parse(value, variables)?)),
            "$sortByCount" => Stage::Group(Box::new(Group::parse_sorted(value, variables)?)),
            "$bucket" => Stage::Group(Box::new(bucket::parse(value, variables)?)),
            "$bucketAuto" => Stage::BucketAuto(Box::new(BucketAuto::parse(value, variables)?)),
            "$count" => Stage::Count(number::count_field(value)?),
            "$sample" => Stage::Sample(sample::size(value)?),
            "$facet" => Stage::Facet(Box::new(Facet::parse(value, variables)?)),
            "$redact" => Stage::Redact(Box::new(Redact::parse(value, variables)?)),
            "$lookup" => Stage::Lookup(Box::new(Lookup::parse(value, variables)?)),
            "$graphLookup" => Stage::GraphLookup(Box::new(GraphLookup::parse(value, variables)?)),
            "$geoNear" => Stage::GeoNear(Box::new(GeoNear::parse(value, variables)?)),
            "$unionWith" => Stage::UnionWith(Box::new(UnionWith::parse(value, variables)?)),
            "$densify" => Stage::Densify(Box::new(Densify::parse(value)?)),
            "$setWindowFields" => Stage::Windows(Box::new(Windows::parse(value, variables)?)),
            "$fill" => Stage::Fill(Box::new(fill::Fill::parse(value, variables)?)),
            "$documents" => Stage::Documents(parse_documents(value, variables)?),
            CHANGE_STREAM => {
                ChangeStream::parse(value)?;
                return Err(Fault::unsupported(
                    "the native engine reads changes by watch(), and by the command aggregate",
                ));
            }
            _ if is_known(name) => {
                return Err(Fault::unsupported(format!(
                    "the native engine does not have the stage {name}"
                )));
            }
            _ => return Err(unknown_stage(name)),
        })
    }

    /// The pipelines inside that read other collections.
    pub(super) fn nested(&self) -> Option<(&'static str, &Pipeline)> {
        match self {
            Stage::Lookup(stage) => stage.pipeline().map(|pipeline| ("$lookup", pipeline)),
            Stage::UnionWith(stage) => Some(("$unionWith", stage.pipeline())),
            _ => None,
        }
    }

    /// How many stages of its pipeline there are whose documents it keeps for all that it gets.
    pub(super) fn first_apart(&self) -> usize {
        match self {
            Stage::Lookup(stage) => stage.first_apart().unwrap_or(0),
            _ => 0,
        }
    }

    /// The same with the collection that each reads, unless it makes its own documents.
    pub(super) fn nested_mut(&mut self) -> Option<(Option<&str>, &mut Pipeline)> {
        match self {
            Stage::Lookup(stage) => stage.read_mut(),
            Stage::UnionWith(stage) => Some(stage.read_mut()),
            _ => None,
        }
    }

    /// What it does to the paths of a document, for a filter behind it that a server moves in front of it; none for a stage
    /// that such a filter stays behind.
    pub(super) fn changes(&self, filter: &Match) -> Option<Changes> {
        match self {
            Stage::Transform(stage) => stage.changes(),
            Stage::Sort(_) => Some(Changes::only(Vec::new())),
            Stage::Unwind(stage) => Some(stage.changes()),
            Stage::Group(stage) => stage.changes(filter.matcher()),
            Stage::Fill(stage) => stage.changes(),
            other => other.joined().map(|path| Changes::only(vec![path.join(".")])),
        }
    }

    /// Whether it sorts what it is given, for something else.
    pub(super) fn sorts(&self) -> bool {
        match self {
            Stage::Densify(_) => true,
            Stage::Windows(windows) => windows.sorts(),
            Stage::Fill(fill) => fill.sorts(),
            _ => false,
        }
    }

    /// What a server calls the first of the stages that it is there made of, if it sorts or has windows.
    pub(crate) fn made_of_sorts_and_windows(&self) -> Option<&'static str> {
        match self {
            stage if stage.sorts() => Some("$sort"),
            Stage::Windows(_) => Some("$_internalSetWindowFields"),
            Stage::Fill(fill) if fill.has_windows() => Some("$_internalSetWindowFields"),
            _ => None,
        }
    }

    /// Whether it gives one document for each that it gets, whatever the others are.
    pub(super) fn keeps_count(&self) -> bool {
        matches!(self, Stage::Transform(_) | Stage::Lookup(_))
    }

    /// The path that a join sets.
    pub(super) fn joined(&self) -> Option<&[String]> {
        match self {
            Stage::Lookup(stage) => Some(stage.joined_path()),
            Stage::GraphLookup(stage) => Some(stage.joined_path()),
            _ => None,
        }
    }

    /// The stage as `explain` shows it: as those that it is on a server. `next` is the stage behind it, of which it may be a
    /// part.
    pub(super) fn shown(&self, next: Option<&Stage>) -> Vec<Shown> {
        let number = |number: u64| Owned::Int64(i64::try_from(number).unwrap_or(i64::MAX));
        let unwind = match next {
            Some(Stage::Unwind(unwind)) if self.takes_in(next) => Some(&**unwind),
            _ => None,
        };
        let (name, spec) = match self {
            Stage::Match(stage) => {
                let filter = stage.matcher().root().unplanned();
                ("$match", filter.shown(Arrangement::Kinds))
            }
            Stage::Transform(stage) => stage.shown(),
            Stage::Sort(stage) => return vec![stage.shown()],
            Stage::Skip(count) => ("$skip", number(*count)),
            Stage::Limit(count) => ("$limit", number(*count)),
            Stage::Unwind(stage) => ("$unwind", stage.shown(false)),
            Stage::Group(stage) => return stage.shown(next),
            Stage::BucketAuto(stage) => ("$bucketAuto", stage.shown()),
            Stage::Count(name) => return Shown::count(name),
            Stage::Sample(size) => {
                let size = ("size".to_owned(), number(*size));
                ("$sample", Owned::Document(vec![size]))
            }
            // What is inside of these is explained by itself.
            Stage::Facet(_) => ("$facet", Owned::Document(Vec::new())),
            Stage::UnionWith(_) => ("$unionWith", Owned::Document(Vec::new())),
            Stage::Redact(stage) => ("$redact", stage.shown()),
            Stage::Lookup(stage) => ("$lookup", stage.shown(unwind)),
            Stage::GraphLookup(stage) => ("$graphLookup", stage.shown(unwind)),
            Stage::GeoNear(stage) => ("$geoNear", stage.shown()),
            Stage::Densify(stage) => return stage.shown(),
            Stage::Windows(stage) => return stage.shown(),
            Stage::Fill(stage) => return stage.shown(),
            Stage::Statistics(stage) => (stage.name(), stage.shown()),
            Stage::Documents(expression) => ("$documents", expression.described()),
        };
        vec![Shown::new(name, spec)]
    }

    /// Whether it is shown with the stage behind it, as one.
    pub(super) fn takes_in(&self, next: Option<&Stage>) -> bool {
        match (self, next) {
            (Stage::Group(group), Some(Stage::Limit(_))) => group.is_ordered(),
            (Stage::Lookup(_) | Stage::GraphLookup(_), Some(Stage::Unwind(unwind))) => {
                self.joined().is_some_and(|path| unwind.is_of(path))
            }
            _ => false,
        }
    }

    /// Computes the constant parts.
    pub(crate) fn fold(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        match self {
            Stage::Transform(stage) => stage.fold(known),
            Stage::Group(stage) => stage.fold(known),
            Stage::BucketAuto(stage) => stage.fold(known),
            Stage::Facet(stage) => stage.fold(known),
            Stage::Redact(stage) => stage.fold(known),
            Stage::Lookup(stage) => {
                stage.fold(known);
                Ok(())
            }
            Stage::UnionWith(stage) => stage.fold(known),
            Stage::Documents(expression) => expression.fold(known),
            Stage::Windows(stage) => stage.fold(known),
            Stage::Fill(stage) => stage.fold(known),
            Stage::Match(stage) => stage.fold(known),
            Stage::GraphLookup(_)
            | Stage::Sort(_)
            | Stage::Skip(_)
            | Stage::Limit(_)
            | Stage::Unwind(_)
            | Stage::Count(_)
            | Stage::Densify(_)
            | Stage::Statistics(_)
            | Stage::GeoNear(_)
            | Stage::Sample(_) => Ok(()),
        }
    }

    /// Compares strings by the collation where that is not asked of the run.
    pub(crate) fn collate(&mut self, collation: &Collation) {
        match self {
            Stage::Match(stage) => stage.collate(collation),
            Stage::Sort(stage) => stage.collate(collation),
            Stage::Group(stage) => stage.collate(collation),
            Stage::BucketAuto(stage) => stage.collate(collation),
            Stage::Facet(stage) => stage.collate(collation),
            Stage::Lookup(stage) => stage.collate(collation),
            Stage::UnionWith(stage) => stage.collate(collation),
            Stage::Windows(stage) => stage.collate(collation),
            Stage::Fill(stage) => stage.collate(collation),
            Stage::Densify(stage) => stage.collate(collation),
            Stage::Transform(_)
            | Stage::Redact(_)
            | Stage::GraphLookup(_)
            | Stage::Documents(_)
            | Stage::Skip(_)
            | Stage::Limit(_)
            | Stage::Unwind(_)
            | Stage::Count(_)
            | Stage::Statistics(_)
            | Stage::GeoNear(_)
            | Stage::Sample(_) => {}
        }
    }

    /// The stage's output for this input.
    pub(crate) fn run<'a>(&'a self, input: Rows<'a>, context: &'a Context<'a>) -> Result<Rows<'a>> {
        match self {
            Stage::Match(stage) => stage.run(input, context),
            Stage::Transform(stage) => Ok(Box::new(input.map(move |row| {
                let row = row?;
                let scope = Scope {
                    is_early: stage.is_early(),
                    ..row_scope(&row, context)
                };
                Ok(row.made(stage.write(&scope)?))
            }))),
            Stage::Sort(stage) => stage.run(input, context),
            Stage::Skip(count) => Ok(skipped(input, *count)),
            Stage::Limit(count) => Ok(Box::new(
                input.take(usize::try_from(*count).unwrap_or(usize::MAX)),
            )),
            Stage::Unwind(stage) => Ok(stage.run(input)),
            Stage::Group(stage) => stage.run(input, context),
            Stage::BucketAuto(stage) => stage.run(input, context),
            Stage::Count(name) => number::count(input, name),
            Stage::Sample(size) => sample::run(input, *size, context),
            Stage::Facet(stage) => stage.run(input, context),
            Stage::Redact(stage) => Ok(stage.run(input, context)),
            Stage::Lookup(stage) => Ok(stage.run(input, context)),
            Stage::GraphLookup(stage) => Ok(stage.run(input, context)),
            Stage::UnionWith(stage) => stage.run(input, context),
            Stage::Densify(stage) => stage.run(input, context),
            Stage::Windows(stage) => stage.run(input, context),
            Stage::Fill(stage) => stage.run(input, context),
            Stage::GeoNear(stage) => stage.run(input, context),
            Stage::Documents(expression) => documents(expression, context),
            Stage::Statistics(stage) => Err(Fault::unsupported(format!(
                "the native engine does not have {} in a nested pipeline",
                stage.name()
            ))),
        }
    }
}

/// The scope of a stage's expressions for one document.
fn scope<'a>(root: Doc<'a>, context: &Context<'_>) -> Scope<'a> {
    Scope {
        variables: context.variables.clone(),
        collation: context.collation.clone(),
        ..Scope::new(root, context.now)
    }
}

/// The same, with what is known of the document.
fn row_scope<'a>(row: &'a Row, context: &Context<'_>) -> Scope<'a> {
    Scope {
        metadata: row.metadata(),
        ..scope(Doc::Raw(row), context)
    }
}

/// Skips documents, not faults.
fn skipped<'a>(input: Rows<'a>, count: u64) -> Rows<'a> {
    let mut left = count;
    Box::new(input.filter(move |row| {
        if left > 0 && row.is_ok() {
            left -= 1;
            return false;
        }
        true
    }))
}

/// Parses `$documents`, which the server projects into a field before it takes that apart.
fn parse_documents(value: &Value<'_>, variables: &[String]) -> Result<Expression> {
    let prefixed = |fault: Fault| fault.prefixed("Invalid $documents :: caused by :: ");
    if let Value::Document(spec) = *value {
        let field = [("documents".to_owned(), Owned::from(*value))];
        Projection::parse(Doc::Fields(&field), variables).map_err(prefixed)?;
        let first = spec.elements().next();
        if first.is_some_and(|first| first.name().first() != Some(&b'$')) {
            return Ok(Expression::constant(Owned::Document(Vec::new())));
        }
    }
    Expression::parse_unfolded(value, variables).map_err(prefixed)
}

fn documents<'a>(expression: &'a Expression, context: &'a Context<'a>) -> Result<Rows<'a>> {
    let scope = scope(Doc::empty(), context);
    let answer = expression.answer(&scope)?;
    let Some(Value::Array(items)) = answer.value() else {
        return Err(Fault::new(5_858_203, "an array is expected"));
    };
    let rows = items
        .values()
        .map(|item| match item {
            Value::Document(doc) => Ok(doc.to_bytes()),
            other => Err(Fault::new(
                40228,
                format!(
                    "elements within the array passed to $documents must evaluate to an object, but resulting value was: {}. Type of resulting value: '{}'. Input document: {{{}: {}}}",
                    print::value(&other),
                    other.kind().alias(),
                    // Where the server has the array of each run.
                    bson::Uuid::new(),
                    print::value(&other)
                ),
            )),
        })
        .collect::<Vec<_>>();
    Ok(Box::new(rows.into_iter().map(|row| row.map(Row::from))))
}

/// Refuses a stage of the wrong form, if it is one that the engine has.
pub(crate) fn check(name: &str, value: &Value<'_>, variables: &[String]) -> Result<()> {
    let parsed = match name {
        "$out" | "$merge" => parse_output(name, value).map(|_| ()),
        _ => Stage::parse(name, value, &Names::of(variables)).map(|_| ()),
    };
    match parsed {
        Err(fault) if fault.class() != Class::Unsupported => Err(fault),
        _ => Ok(()),
    }
}

/// What `$fill` does to one document by itself, for updates.
pub(crate) fn filling(value: &Value<'_>, variables: &[String]) -> Result<Option<TransformStage>> {
    fill::Fill::parse(value, variables)?.alone()
}

/// Parses a stage that writes.
pub(crate) fn parse_output(name: &str, value: &Value<'_>) -> Result<Output> {
    match (name, *value) {
        ("$out", Value::String(collection)) => Ok(Output::Out {
            database: None,
            collection: collection.to_owned(),
        }),
        ("$out", Value::Document(doc)) => {
            if doc.count() != 2 || doc.get("db").is_none() || doc.get("coll").is_none() {
                return Err(Fault::new(
                    16994,
                    "If an object is passed to $out it must have exactly 2 fields: 'db' and 'coll'",
                ));
            }
            let text = |field: &str| match doc.get(field) {
                Some(Value::String(text)) => Ok(text.to_owned()),
                other => Err(Fault::new(
                    13111,
                    format!(
                        "wrong type for field ({field}) {} != string",
                        other.map_or("missing", |value| value.kind().alias())
                    ),
                )),
            };
            let collection = text("coll")?;
            Ok(Output::Out {
                database: Some(text("db")?),
                collection,
            })
        }
        ("$out", other) => Err(Fault::new(
            16990,
            format!(
                "$out only supports a string or object argument, but found {}",
                other.kind().alias()
            ),
        )),
        (_, Value::String(_) | Value::Document(_)) => {
            let merge = Owned::Document(vec![("$merge".to_owned(), Owned::from(*value))]);
            write(merge).map(Output::Merge)
        }
        (_, other) => Err(Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "$merge requires a string or object argument, but found {}",
                other.kind().alias()
            ),
        )),
    }
}

/// Whether a text that begins so is part of an expression.
fn mentions(value: &Value<'_>, start: &str) -> bool {
    let mut open = vec![*value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if text.starts_with(start) => return true,
            Value::Document(inner) | Value::Array(inner) => open.extend(inner.values()),
            _ => {}
        }
    }
    false
}

/// The name of another collection.
fn collection_name(name: &str) -> Result<String> {
    if name.contains('\0') {
        return Err(Fault::new(
            code::INVALID_NAMESPACE,
            "namespaces cannot have embedded null characters",
        ));
    }
    if name.is_empty() || name.starts_with('.') {
        return Err(Fault::new(
            code::INVALID_NAMESPACE,
            format!("Namespace {name} is not a valid collection name"),
        ));
    }
    Ok(name.to_owned())
}

/// Why a stage of this name does not read the collection of another database that is described so.
pub(crate) fn other_database(stage: &str, from: Doc<'_>) -> Fault {
    let spec = declared::Declared {
        path: "from",
        spec: from,
    };
    let names = spec
        .only(&[("db", declared::Type::Text), ("coll", declared::Type::Text)])
        .and_then(|spec| Ok((spec.text("db")?, spec.text("coll")?)));
    let (database, collection) = match names {
        Ok((database, collection)) => (database.unwrap_or_default(), collection.unwrap_or_default()),
        Err(fault) => return fault,
    };
    if database.contains('.') {
        return Fault::new(
            code::INVALID_NAMESPACE,
            format!("'.' is an invalid character in the database name: {database}"),
        );
    }
    Fault::new(
        code::FAILED_TO_PARSE,
        format!(
            "{stage} with syntax {{from: {{db:<>, coll:<>}},..}} is not supported for db: {database} and coll: {collection}"
        ),
    )
}

/// Reads the stages of a pipeline inside a stage, from an array.
fn parse_nested(value: &Value<'_>, variables: &Names<'_>, place: Place) -> Result<Pipeline> {
    let Value::Array(items) = *value else {
        return Err(Fault::new(
            code::TYPE_MISMATCH,
            "'pipeline' option must be specified as an array",
        ));
    };
    let stages = super::pipeline::nested_stages(items)?;
    let mut pipeline = Pipeline::parse_within(&stages, variables, place)?;
    pipeline.ask(&stages)?;
    Ok(pipeline)
}

/// Whether MongoDB has a stage of this name (with its `$`).
pub(crate) fn is_known(name: &str) -> bool {
    KNOWN.contains(&name)
}

/// The stages of the server.
pub(crate) const KNOWN: &[&str] = &[
    "$addFields",
    "$bucket",
    "$bucketAuto",
    "$changeStream",
    "$collStats",
    "$count",
    "$currentOp",
    "$densify",
    "$documents",
    "$facet",
    "$fill",
    "$geoNear",
    "$graphLookup",
    "$group",
    "$indexStats",
    "$limit",
    "$listCatalog",
    "$listLocalSessions",
    "$listSessions",
    "$lookup",
    "$match",
    "$merge",
    "$out",
    "$planCacheStats",
    "$project",
    "$redact",
    "$replaceRoot",
    "$replaceWith",
    "$sample",
    "$search",
    "$searchMeta",
    "$set",
    "$setWindowFields",
    "$skip",
    "$sort",
    "$sortByCount",
    "$unionWith",
    "$unset",
    "$unwind",
];
