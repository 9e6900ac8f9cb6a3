//! `$lookup`, by equality, by a pipeline, or both.

mod table;

use std::borrow::Cow;
use std::sync::Arc;

use super::super::super::collation::Collation;
use super::super::super::document::owned::fields_of;
use super::super::super::document::{Doc, Fields, Owned, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::matcher::Matcher;
use super::super::super::matcher::ast::is_index;
use super::super::super::metadata::Wanted;
use super::super::super::needs::Needs;
use super::super::expression::{Expression, Scope, check_variable_name};
use super::super::pipeline::{Asked, IN_RUN, MEMORY_LIMIT};
use super::{
    Context, GeoNear, Names, Pipeline, Place, Row, Rows, Stage, Unwind, collection_name, mentions,
    misplaced_geo_near, other_database, parse_nested, path, print, row_scope, scope, write,
};

use self::table::Shelf;

/// Joins documents of another collection into an array.
#[derive(Clone, Debug)]
pub(crate) struct Lookup {
    /// `None` for a pipeline that makes its own documents.
    from: Option<String>,
    join: Option<Join>,
    variables: Vec<(String, Expression)>,
    pipeline: Option<Pipeline>,
    /// The pipeline as given.
    given: Option<Arc<Owned>>,
    /// What is wrong with constants of the pipeline.
    fault: Option<Fault>,
    /// Whether chance has a part in what the pipeline gives.
    draws: bool,
    into: Vec<String>,
    /// It runs where a server has other means than for later stages.
    is_early: bool,
}

#[derive(Clone, Debug)]
struct Join {
    local: Vec<String>,
    foreign: String,
}

fn parse_error(message: String) -> Fault {
    Fault::new(code::FAILED_TO_PARSE, message)
}

impl Lookup {
    /// Whether it compares a field with a field, and no more.
    pub(in super::super) fn is_by_fields(&self) -> bool {
        self.join.is_some() && self.pipeline.is_none()
    }

    /// The path that it sets.
    pub(super) fn joined_path(&self) -> &[String] {
        &self.into
    }

    /// The field that it sets, or sets something in.
    pub(in super::super) fn made(&self) -> Option<&str> {
        self.into.first().map(String::as_str)
    }

    /// Marks it as one that a server runs by other means, if nothing speaks against that: it compares fields of two
    /// collections by names alone, and no `$unwind` of its result follows.
    pub(in super::super) fn set_early(&mut self, is_view: &dyn Fn(&str) -> bool, later: &[Stage]) -> bool {
        let next = later.iter().find(|stage| !matches!(stage, Stage::Match(_)));
        let is_unwound = matches!(next, Some(Stage::Unwind(unwind)) if unwind.is_of(&self.into));
        let by_names = |join: &Join| {
            let mut names = join
                .local
                .iter()
                .map(String::as_str)
                .chain(join.foreign.split('.'));
            names.all(|name| !is_index(name))
        };
        self.is_early = self.pipeline.is_none()
            && !is_unwound
            && self.join.as_ref().is_some_and(by_names)
            && self.from.as_deref().is_some_and(|from| !is_view(from));
        self.is_early
    }

    /// Adds the paths at which it looks at documents; `false` where these are not all.
    pub(in super::super) fn add_needs(&self, needs: &mut Needs) -> bool {
        if let Some(join) = &self.join {
            needs.add(&join.local.join("."));
        }
        self.variables.iter().all(|(_, value)| value.add_needs(needs))
    }

    pub(super) fn parse(value: &Value<'_>, variables: &Names<'_>) -> Result<Lookup> {
        let Value::Document(spec) = *value else {
            return Err(parse_error(format!(
                "the $lookup stage specification must be an object, but found {}",
                value.kind().alias()
            )));
        };
        let (mut from, mut local, mut foreign, mut into) = (None, None, None, None);
        let (mut bound, mut stages) = (None, None);
        for element in spec.elements() {
            let value = element.value();
            match (element.name_str(), value) {
                ("pipeline", Value::Array(_)) => stages = Some(value),
                ("pipeline", _) => {
                    return Err(Fault::new(
                        code::TYPE_MISMATCH,
                        "'pipeline' option must be specified as an array",
                    ));
                }
                ("let", Value::Document(doc)) => bound = Some(doc),
                ("let", other) => {
                    return Err(parse_error(format!(
                        "$lookup argument 'let: {}' must be an object, is type {}",
                        print::bson_value(&other),
                        other.kind().alias()
                    )));
                }
                ("from", Value::String(text)) => from = Some(collection_name(text)?),
                ("from", Value::Document(from)) => return Err(other_database("$lookup", from)),
                ("from", other) => {
                    return Err(parse_error(format!(
                        "$lookup 'from' field must be a string, but found {}",
                        other.kind().alias()
                    )));
                }
                ("localField" | "foreignField" | "as", Value::String("")) => {}
                ("localField", Value::String(text)) => local = Some(text),
                ("foreignField", Value::String(text)) => foreign = Some(text),
                ("as", Value::String(text)) => into = Some(text),
                (name, Value::String(_)) => {
                    return Err(parse_error(format!("unknown argument to $lookup: {name}")));
                }
                (name, other) => {
                    return Err(parse_error(format!(
                        "$lookup argument '{name}' must be a string, found {name}: {}: {}",
                        print::bson_value(&other),
                        other.kind().alias()
                    )));
                }
            }
        }
        if from.is_none() && stages.is_none() {
            return Err(parse_error(
                "must specify 'pipeline' when 'from' is empty".to_owned(),
            ));
        }
        let into = into.ok_or_else(|| parse_error("must specify 'as' field for a $lookup".to_owned()))?;
        let join = match (local, foreign) {
            (Some(local), Some(foreign)) => Some((local, foreign)),
            (None, None) if stages.is_some() => None,
            (None, None) => {
                return Err(parse_error(
                    "$lookup requires either 'pipeline' or both 'localField' and 'foreignField' to be specified"
                        .to_owned(),
                ));
            }
            _ => {
                return Err(parse_error(
                    if stages.is_some() {
                        "$lookup requires both or neither of 'localField' and 'foreignField' to be specified"
                    } else {
                        "$lookup requires either 'pipeline' or both 'localField' and 'foreignField' to be specified"
                    }
                    .to_owned(),
                ));
            }
        };
        if bound.is_some() && stages.is_none() {
            return Err(parse_error(
                "$lookup with a 'let' argument must also specify 'pipeline'".to_owned(),
            ));
        }
        // Whether they are paths is asked when all else is known.
        let into = path::parse(into)?;
        let join = match join {
            None => None,
            Some((local, foreign)) => {
                let local = path::parse(local)?;
                path::parse(foreign)?;
                Some(Join {
                    local,
                    foreign: foreign.to_owned(),
                })
            }
        };
        let mut names = variables.to_vec();
        let mut values = Vec::new();
        for element in bound.into_iter().flat_map(Doc::elements) {
            check_variable_name(element.name_str(), true)?;
            values.push((
                element.name_str().to_owned(),
                Expression::parse_unfolded(&element.value(), variables)?,
            ));
        }
        names.extend(values.iter().map(|(name, _)| name.clone()));
        let known = variables.hidden_by(&values);
        let names = Names::known(&names, known.as_ref());
        let pipeline = stages
            .map(|stages| parse_nested(&stages, &names, Place::Lookup))
            .transpose()?;
        let draws = stages.as_ref().is_some_and(draws);
        let own = pipeline.as_ref().is_some_and(Pipeline::starts_with_documents);
        if from.is_none() && !own {
            return Err(parse_error("must specify 'from' field for a $lookup".to_owned()));
        }
        Ok(Lookup {
            from: from.filter(|_| !own),
            join,
            variables: values,
            pipeline,
            given: stages.map(|stages| Arc::new(Owned::from(stages))),
            into,
            fault: None,
            draws,
            is_early: false,
        })
    }

    /// As `explain` shows it, with the stage behind it that takes its result apart.
    pub(super) fn shown(&self, unwind: Option<&Unwind>) -> Owned {
        let text = |text: &str| Owned::String(text.to_owned());
        let mut spec = Fields::new();
        if let Some(from) = &self.from {
            spec.push(("from".to_owned(), text(from)));
        }
        spec.push(("as".to_owned(), text(&self.into.join("."))));
        if let Some(join) = &self.join {
            spec.push(("localField".to_owned(), text(&join.local.join("."))));
            spec.push(("foreignField".to_owned(), text(&join.foreign)));
        }
        if let Some(given) = &self.given {
            let variables = self.variables.iter();
            let described = variables.map(|(name, value)| (name.clone(), value.described()));
            spec.push(("let".to_owned(), Owned::Document(described.collect())));
            spec.push(("pipeline".to_owned(), Owned::clone(given)));
        }
        if let Some(unwind) = unwind {
            spec.push(("unwinding".to_owned(), unwind.shown(true)));
        }
        Owned::Document(spec)
    }

    /// The first stage of its pipeline that uses a variable of it: what comes before is the same for all documents.
    pub(super) fn first_apart(&self) -> Option<usize> {
        let Some(Value::Array(stages)) = self.given.as_ref().map(|given| given.as_value()) else {
            return None;
        };
        let names = self.variables.iter().map(|(name, _)| format!("$${name}"));
        let names: Vec<String> = names.collect();
        let uses = |stage: Value<'_>| names.iter().any(|name| mentions(&stage, name));
        stages.values().position(uses).filter(|_| self.join.is_none())
    }

    /// The collection that the pipeline reads, and the pipeline.
    pub(super) fn read_mut(&mut self) -> Option<(Option<&str>, &mut Pipeline)> {
        Some((self.from.as_deref(), self.pipeline.as_mut()?))
    }

    pub(super) fn pipeline(&self) -> Option<&Pipeline> {
        self.pipeline.as_ref()
    }

    /// What is wrong with constants is told once there is a document to look for. With variables they wait for it.
    pub(super) fn fold(&mut self, known: Option<&Scope<'_>>) {
        if let (Some(pipeline), true) = (&mut self.pipeline, self.variables.is_empty()) {
            self.fault = pipeline.optimize(known).err();
        }
    }

    pub(super) fn collate(&mut self, collation: &Collation) {
        if let Some(pipeline) = &mut self.pipeline {
            pipeline.collate(collation);
        }
    }

    pub(super) fn run<'a>(&'a self, input: Rows<'a>, context: &'a Context<'a>) -> Rows<'a> {
        // Without a join, without variables and without chance every document gets the same result.
        let same = self.join.is_none() && self.variables.is_empty() && !self.draws;
        let mut known: Option<Vec<Owned>> = None;
        let mut shelf = Shelf::default();
        Box::new(input.map(move |row| {
            let row = row?;
            let doc = Doc::Raw(&row);
            let results = match &known {
                Some(results) => results.clone(),
                None => self.results(&row, context, &mut shelf)?,
            };
            if same && known.is_none() {
                known = Some(results.clone());
            }
            let mut fields = fields_of(doc);
            let results = Owned::Array(results);
            match self.is_early {
                true => set_last(&mut fields, &self.into, results),
                false => path::set(&mut fields, &self.into, Some(results)),
            }
            Ok(row.made(write(Owned::Document(fields))?))
        }))
    }

    fn results(&self, row: &Row, context: &Context<'_>, shelf: &mut Shelf) -> Result<Vec<Owned>> {
        if let (Some(from), Some(join), None) = (&self.from, &self.join, &self.pipeline) {
            let values = join.values(Doc::Raw(row), self.is_early);
            let found = shelf.find((from, &join.foreign), &values, context)?;
            let rows: Rows<'_> = match found {
                Some(rows) => Box::new(rows.into_iter().map(Ok)),
                None => {
                    let filter = join.filter(values, self.is_early);
                    let asked = Asked {
                        filter: Doc::Raw(&filter),
                        behind: None,
                        variables: &[],
                        wanted: Wanted::default(),
                    };
                    context.source.find(from, asked)?.0
                }
            };
            return self.bounded(rows);
        }
        if let Some(pipeline) = &self.pipeline
            && let Some(stage) = pipeline.nested_geo_near()
        {
            return self.nearest(row, context, pipeline, stage);
        }
        let inner = self.bound(row, context)?;
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let pipeline = self
            .pipeline
            .as_ref()
            .map(|pipeline| self.settled(pipeline, &inner))
            .transpose()?;
        let filter = match &self.join {
            Some(join) => join.filter(join.values(Doc::Raw(row), self.is_early), self.is_early),
            None => Doc::empty().to_bytes(),
        };
        let (rows, first): (Rows<'_>, usize) = match (&self.from, &pipeline) {
            (Some(from), _) => {
                let asked = Asked {
                    filter: Doc::Raw(&filter),
                    behind: pipeline.as_deref(),
                    variables: &inner.variables,
                    wanted: inner.wanted,
                };
                context.source.find(from, asked)?
            }
            (None, Some(pipeline)) if self.join.is_some() => {
                // The documents that the pipeline makes itself are joined as those of a collection are.
                let matcher = Matcher::parse(Doc::Raw(&filter))?.collated(&context.collation);
                let made = pipeline.made(&inner)?;
                let joined = made.filter(move |row| match row {
                    Ok(row) => matcher.matches(Doc::Raw(row)).unwrap_or(false),
                    Err(_) => true,
                });
                return self.bounded(pipeline.flow(1, Box::new(joined), &inner)?);
            }
            (None, _) => (Box::new(std::iter::empty()), 0),
        };
        let Some(pipeline) = &pipeline else {
            return self.bounded(rows);
        };
        self.bounded(pipeline.flow(first, rows, &inner)?)
    }

    /// The pipeline with all computed that depends on no document but the one that is looked for.
    fn settled<'a>(&self, pipeline: &'a Pipeline, inner: &Context<'_>) -> Result<Cow<'a, Pipeline>> {
        let mut pipeline = Cow::Borrowed(pipeline);
        if !self.variables.is_empty() {
            pipeline.to_mut().settle(&scope(Doc::empty(), inner))?;
        }
        Ok(pipeline)
    }

    /// The same of a pipeline that begins with distances.
    fn nearest(
        &self,
        row: &Row,
        context: &Context<'_>,
        pipeline: &Pipeline,
        stage: &GeoNear,
    ) -> Result<Vec<Owned>> {
        // The server puts the join before the stages.
        let (Some(from), None) = (&self.from, &self.join) else {
            return Err(misplaced_geo_near().while_running(IN_RUN));
        };
        let inner = self.bound(row, context)?;
        let rows = context.source.near(from, stage, &inner.variables, inner.wanted)?;
        self.bounded(pipeline.flow(1, Box::new(rows.into_iter().map(Ok)), &inner)?)
    }

    /// The context of the pipeline over one document, with the values of its variables.
    fn bound<'c>(&self, row: &Row, context: &Context<'c>) -> Result<Context<'c>> {
        let mut inner = context.clone();
        inner.wanted = self.pipeline.as_ref().map(Pipeline::wanted).unwrap_or_default();
        let scope = row_scope(row, context);
        for (name, value) in &self.variables {
            inner.variables.push((name.clone(), value.evaluate(&scope)?));
        }
        Ok(inner)
    }

    /// The results of one document, as many as there may be.
    fn bounded(&self, rows: Rows<'_>) -> Result<Vec<Owned>> {
        let mut size = 0usize;
        let mut results = Vec::new();
        for row in rows {
            let row = row?;
            size += row.len();
            if size > MEMORY_LIMIT {
                return Err(Fault::new(
                    4568,
                    format!(
                        "Total size of documents in {} matching pipeline's $lookup stage exceeds {MEMORY_LIMIT} bytes",
                        self.from.as_deref().unwrap_or_default()
                    ),
                ));
            }
            results.push(Owned::RawDocument(row.into_document()));
        }
        Ok(results)
    }
}

impl Join {
    /// The values of which foreign documents must have one: the local one, or its elements.
    fn values(&self, doc: Doc<'_>, is_early: bool) -> Vec<Owned> {
        let mut wanted = Vec::new();
        path::each(Value::Document(doc), &self.local, !is_early, &mut |value| {
            wanted.push(Owned::from(value))
        });
        if wanted.is_empty() {
            wanted.push(Owned::Null);
        }
        wanted
    }

    /// The filter of the foreign documents that have one of the values.
    fn filter(&self, wanted: Vec<Owned>, is_early: bool) -> Vec<u8> {
        match is_early {
            true => joined_early(&self.foreign, wanted),
            false => equal_to_any(&self.foreign, wanted),
        }
    }
}

/// Sets the value at a path, each of whose names comes behind its neighbors then.
fn set_last(fields: &mut Fields, path: &[String], value: Owned) {
    let Some((name, rest)) = path.split_first() else {
        return;
    };
    let known = fields.iter().position(|(other, _)| other == name);
    let known = known.map(|at| fields.remove(at).1);
    let value = match rest {
        [] => value,
        rest => {
            let mut inner = known.unwrap_or(Owned::Null);
            inner.open();
            let mut inner = match inner {
                Owned::Document(fields) => fields,
                _ => Vec::new(),
            };
            set_last(&mut inner, rest, value);
            Owned::Document(inner)
        }
    };
    fields.push((name.clone(), value));
}

/// The filter of what a server's other means join with these values: what is undefined with what is undefined.
fn joined_early(path: &str, mut values: Vec<Owned>) -> Vec<u8> {
    let count = values.len();
    values.retain(|value| !matches!(value, Owned::Undefined));
    if values.len() == count {
        return equal_to_any(path, values);
    }
    let undefined = Doc::Fields(&[(path.to_owned(), Owned::Document(is_undefined()))]).to_bytes();
    let choices = [undefined, equal_to_any(path, values)];
    let choices = choices.into_iter().map(Owned::RawDocument).collect();
    Doc::Fields(&[("$or".to_owned(), Owned::Array(choices))]).to_bytes()
}

/// The condition that a value is undefined.
pub(super) fn is_undefined() -> Fields {
    vec![("$type".to_owned(), Owned::String("undefined".to_owned()))]
}

/// The filter `path` equal to one of the values.
fn equal_to_any(path: &str, mut values: Vec<Owned>) -> Vec<u8> {
    let condition = |operator: &str, value: Owned| {
        let test = vec![(operator.to_owned(), value)];
        vec![(path.to_owned(), Owned::Document(test))]
    };
    // A regex among the values of `$in` would be a pattern, not a value.
    let filter = if values.iter().any(|value| matches!(value, Owned::Regex(_))) {
        let choices = values
            .into_iter()
            .map(|value| Owned::Document(condition("$eq", value)))
            .collect();
        vec![("$or".to_owned(), Owned::Array(choices))]
    } else {
        match (values.len(), values.pop()) {
            (1, Some(value)) => condition("$eq", value),
            (_, last) => {
                values.extend(last);
                condition("$in", Owned::Array(values))
            }
        }
    };
    Doc::Fields(&filter).to_bytes()
}

/// Whether chance has a part in what these stages give: in one of them, not in pipelines within them.
fn draws(stages: &Value<'_>) -> bool {
    fn has_chance(value: &Value<'_>) -> bool {
        let (Value::Document(doc) | Value::Array(doc)) = *value else {
            return false;
        };
        doc.elements().any(|element| {
            matches!(element.name_str(), "$rand" | "$sampleRate") || has_chance(&element.value())
        })
    }
    let Value::Array(stages) = *stages else {
        return false;
    };
    stages.elements().any(|stage| {
        let Value::Document(stage) = stage.value() else {
            return false;
        };
        stage.elements().any(|element| match element.name_str() {
            "$sample" => true,
            "$facet" | "$unionWith" => false,
            // Of a join what is handed to its pipeline, not that itself.
            "$lookup" => match element.value() {
                Value::Document(join) => join.get("let").is_some_and(|bound| has_chance(&bound)),
                _ => false,
            },
            _ => has_chance(&element.value()),
        })
    })
}
