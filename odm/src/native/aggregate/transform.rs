//! Stages that make one document of one document: what update pipelines are made of.

mod projection;

use super::super::collation::Collation;
use super::super::document::{Doc, MAX_DEPTH, Owned, Value, raw};
use super::super::fault::{Fault, Result, code};
use super::super::matcher::Changes;
use super::super::needs::Needs;
use super::expression::{Expression, NO_SEARCH, Scope};
use super::{path, print};

pub(crate) use self::projection::Projection;

/// The transforming stages of an update pipeline, in order.
#[derive(Clone, Debug)]
pub(crate) struct Transform {
    stages: Vec<TransformStage>,
}

/// One transforming stage.
#[derive(Clone, Debug)]
pub(crate) enum TransformStage {
    /// `$project`, `$addFields`, `$set`, `$unset`.
    Project(Box<Projection>),
    /// `$replaceRoot`, `$replaceWith`.
    Replace {
        document: Box<Expression>,
        /// How an error calls the expression.
        called: &'static str,
    },
}

impl Transform {
    /// Parses the stages of an update pipeline; `variables` are the names that `let` gives.
    pub(crate) fn parse(stages: &[Doc<'_>], variables: &[String]) -> Result<Transform> {
        let mut parsed = Vec::with_capacity(stages.len());
        // What no update may have is told when all stages are read.
        let mut refused = None;
        for stage in stages {
            let (name, value) = stage_parts(*stage)?;
            if name == "$fill" {
                parsed.extend(super::stage::filling(&value, variables)?);
                continue;
            }
            match TransformStage::parse(name, &value, variables)? {
                Some(stage) => parsed.push(stage),
                // Where it stands is wrong whatever it has.
                None if name == "$documents" => {}
                None if super::stage::is_known(name) => {
                    super::stage::check(name, &value, variables)?;
                    refused.get_or_insert_with(|| {
                        Fault::new(
                            code::INVALID_OPTIONS,
                            format!(
                                "{} is not allowed to be used within an update",
                                first_made_of(name, &value)
                            ),
                        )
                    });
                }
                None => return Err(unknown_stage(name)),
            }
        }
        check_places(stages)?;
        if let Some(fault) = refused {
            return Err(fault);
        }
        super::pipeline::length::check(stages)?;
        // As on the server, constants are computed for each document, and in their places: which shows in what fails first.
        Ok(Transform { stages: parsed })
    }

    /// Refuses stages of names that no pipeline knows.
    pub(crate) fn check_names(stages: &[Doc<'_>]) -> Result<()> {
        for stage in stages {
            let (name, _) = stage_parts(*stage)?;
            if !super::stage::is_known(name) {
                return Err(unknown_stage(name));
            }
        }
        Ok(())
    }

    /// The document after all stages. `variables` of the scope stay in sight of every stage; `$$ROOT` is
    /// each stage's own input.
    pub(crate) fn apply(
        &self,
        doc: Doc<'_>,
        variables: &[(String, Option<Owned>)],
        now: i64,
        collation: &Collation,
    ) -> Result<Owned> {
        let mut current: Option<Owned> = None;
        for stage in &self.stages {
            let root = match &current {
                Some(Owned::Document(fields)) => Doc::Fields(fields),
                Some(Owned::RawDocument(bytes)) => Doc::Raw(bytes),
                _ => doc,
            };
            let scope = Scope {
                variables: variables.to_vec(),
                collation: collation.clone(),
                ..Scope::new(root, now)
            };
            let next = stage.apply(&scope)?;
            if !nests_within(&next.as_value(), MAX_DEPTH) {
                return Err(Fault::new(
                    code::OVERFLOW,
                    format!("Document exceeds maximum nesting depth of {MAX_DEPTH}"),
                ));
            }
            current = Some(next);
        }
        Ok(current.unwrap_or_else(|| Owned::from(Value::Document(doc))))
    }
}

impl TransformStage {
    /// Parses the stage if it is a transforming one.
    pub(crate) fn parse(
        name: &str,
        value: &Value<'_>,
        variables: &[String],
    ) -> Result<Option<TransformStage>> {
        Ok(Some(match name {
            "$project" => {
                let Value::Document(spec) = *value else {
                    return Err(Fault::new(15969, "$project specification must be an object"));
                };
                TransformStage::project(Projection::parse(spec, variables), name)?
            }
            "$addFields" | "$set" => {
                let Value::Document(spec) = *value else {
                    return Err(Fault::new(
                        40272,
                        format!(
                            "{name} specification stage must be an object, got {}",
                            value.kind().alias()
                        ),
                    ));
                };
                TransformStage::project(Projection::parse_added(spec, variables), name)?
            }
            "$unset" => TransformStage::project(Projection::exclude(&unset_names(value)?), name)?,
            "$replaceRoot" => {
                let Value::Document(spec) = *value else {
                    return Err(Fault::new(
                        40229,
                        format!(
                            "expected an object as specification for $replaceRoot stage, got {}",
                            value.kind().alias()
                        ),
                    ));
                };
                for element in spec.elements() {
                    if element.name_str() != "newRoot" {
                        return Err(Fault::unknown_field("$replaceRoot", element.name_str()));
                    }
                }
                let document = spec.get("newRoot").ok_or_else(|| {
                    Fault::new(
                        40414,
                        "BSON field '$replaceRoot.newRoot' is missing but a required field",
                    )
                })?;
                TransformStage::Replace {
                    document: Box::new(Expression::parse_unfolded(&document, variables)?),
                    called: "'newRoot' expression ",
                }
            }
            "$replaceWith" => TransformStage::Replace {
                document: Box::new(Expression::parse_unfolded(value, variables)?),
                called: "'replacement document' ",
            },
            _ => return Ok(None),
        }))
    }

    fn project(projection: Result<Projection>, name: &str) -> Result<TransformStage> {
        let projection = projection.map_err(|fault| match fault.code() {
            // A server finds it behind the projection, among the stages.
            NO_SEARCH => fault,
            _ => fault.prefixed(&format!("Invalid {name} :: caused by :: ")),
        })?;
        Ok(TransformStage::Project(Box::new(projection.written_as(name))))
    }

    /// The stage as `explain` shows it, whatever it was written as: its name, and what it is given.
    pub(crate) fn shown(&self) -> (&'static str, Owned) {
        match self {
            TransformStage::Project(projection) => (projection.name(), Owned::Document(projection.shown())),
            TransformStage::Replace { document, .. } => {
                let described = match document.as_constant() {
                    // Its fields are constants by themselves.
                    Some(Owned::Document(fields)) => {
                        let constant =
                            |value: &Owned| Owned::Document(vec![("$const".to_owned(), value.clone())]);
                        let fields = fields.iter().map(|(name, value)| (name.clone(), constant(value)));
                        Owned::Document(fields.collect())
                    }
                    _ => document.described(),
                };
                let new = ("newRoot".to_owned(), described);
                ("$replaceRoot", Owned::Document(vec![new]))
            }
        }
    }

    /// Whether a server runs it with the early group or lookup behind it.
    pub(crate) fn is_early(&self) -> bool {
        matches!(self, TransformStage::Project(projection) if projection.is_early())
    }

    /// What it does to the paths of a document; none where that cannot be said.
    pub(crate) fn changes(&self) -> Option<Changes> {
        match self {
            TransformStage::Project(projection) => Some(projection.changes()),
            TransformStage::Replace { .. } => None,
        }
    }

    /// Adds the paths at which it looks at documents, beside what it lets through; `false` where these are not all.
    pub(crate) fn add_needs(&self, needs: &mut Needs) -> bool {
        match self {
            TransformStage::Project(projection) if projection.is_inclusive() => projection.add_needs(needs),
            TransformStage::Project(projection) => projection.add_computed_needs(needs),
            TransformStage::Replace { document, .. } => document.add_needs(needs),
        }
    }

    /// Whether nothing of a document is left but what it names.
    pub(crate) fn ends_document(&self) -> bool {
        match self {
            TransformStage::Project(projection) => projection.is_inclusive(),
            TransformStage::Replace { .. } => true,
        }
    }

    /// Computes the constant parts.
    pub(crate) fn fold(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        match self {
            TransformStage::Project(projection) => projection.fold(known),
            TransformStage::Replace { document, .. } => document.fold(known),
        }
    }

    /// The bytes of the stage's document for the scope's root.
    ///
    /// # Errors
    /// What is wrong with values, and a result that nests too deep.
    pub(crate) fn write(&self, scope: &Scope<'_>) -> Result<Vec<u8>> {
        match self {
            TransformStage::Project(projection) => projection.write(scope),
            TransformStage::Replace { .. } => written(self.apply(scope)?),
        }
    }

    /// The stage's document for the scope's root.
    pub(crate) fn apply(&self, scope: &Scope<'_>) -> Result<Owned> {
        let result = match self {
            TransformStage::Project(projection) => Owned::Document(projection.apply(scope)?),
            TransformStage::Replace { document, called } => {
                let answer = document.answer(scope)?;
                if !matches!(answer.value(), Some(Value::Document(_))) {
                    return Err(Fault::new(
                        40228,
                        format!(
                            "{called} must evaluate to an object, but resulting value was: {}. Type of resulting value: '{}'. Input document: {}",
                            print::answer(&answer),
                            answer.type_name(),
                            print::value(&Value::Document(scope.root)),
                        ),
                    ));
                }
                answer.into_owned().unwrap_or(Owned::Null)
            }
        };
        Ok(result)
    }
}

/// The stage that a server refuses where it is given this one: of some it makes others.
fn first_made_of<'n>(name: &'n str, value: &Value<'_>) -> &'n str {
    let has = |field: &str, is: fn(Value<'_>) -> bool| {
        let spec = value.as_document();
        spec.and_then(|spec| spec.get(field)).is_some_and(is)
    };
    let is_sorted = || {
        has("sortBy", |order| {
            order.as_document().is_some_and(|order| !order.is_empty())
        }) || has("partitionBy", |by| match by {
            Value::String(text) => text.starts_with('$'),
            by => by.as_document().is_some(),
        })
    };
    match name {
        "$bucket" | "$count" | "$sortByCount" => "$group",
        "$densify" => "$sort",
        "$setWindowFields" if is_sorted() => "$sort",
        "$setWindowFields" => "$_internalSetWindowFields",
        name => name,
    }
}

/// Refuses the first stage that may not stand where it does.
fn check_places(stages: &[Doc<'_>]) -> Result<()> {
    for (index, stage) in stages.iter().enumerate() {
        let (name, _) = stage_parts(*stage)?;
        super::stage::check_first(name, index)?;
        match name {
            "$documents" => {
                return Err(Fault::new(
                    code::INVALID_NAMESPACE,
                    "'$documents' can only be run with {aggregate: 1}",
                ));
            }
            "$out" | "$merge" if index + 1 < stages.len() => return Err(super::pipeline::not_last(name)),
            _ => {}
        }
    }
    Ok(())
}

/// The name and the value of a stage.
pub(crate) fn stage_parts<'a>(stage: Doc<'a>) -> Result<(&'a str, Value<'a>)> {
    let mut elements = stage.elements();
    match (elements.next(), elements.next()) {
        (Some(only), None) => Ok((only.name_str(), only.value())),
        _ => Err(Fault::new(
            40323,
            "A pipeline stage specification object must contain exactly one field.",
        )),
    }
}

pub(crate) fn unknown_stage(name: &str) -> Fault {
    Fault::new(40324, format!("Unrecognized pipeline stage name: '{name}'"))
}

/// How deep the results of a pipeline may nest: deeper than documents that are stored.
const MAX_RESULT_DEPTH: usize = 200;

/// The bytes of a document that a stage made.
///
/// # Errors
/// When it nests too deep.
pub(super) fn written(value: Owned) -> Result<Vec<u8>> {
    match value {
        // What was there before nests no deeper.
        Owned::RawDocument(bytes) => {
            check_depth(&Value::Document(Doc::Raw(&bytes)))?;
            Ok(bytes)
        }
        value => {
            let value = value.as_value();
            check_depth(&value)?;
            Ok(value.as_document().unwrap_or(Doc::empty()).to_bytes())
        }
    }
}

/// Refuses the value of a field of a result that nests too deep.
fn check_field_depth(value: &Value<'_>) -> Result<()> {
    check_depth_within(value, MAX_RESULT_DEPTH - 1)
}

/// Refuses a result of a pipeline that nests too deep.
pub(super) fn check_depth(value: &Value<'_>) -> Result<()> {
    check_depth_within(value, MAX_RESULT_DEPTH)
}

fn check_depth_within(value: &Value<'_>, most: usize) -> Result<()> {
    if nests_within(value, most) {
        return Ok(());
    }
    Err(Fault::new(
        code::OVERFLOW,
        format!("BSONObj exceeded maximum nested object depth: {MAX_RESULT_DEPTH}"),
    ))
}

/// Whether the value nests no deeper than `most`.
fn nests_within(value: &Value<'_>, most: usize) -> bool {
    let mut open = match value {
        Value::Document(Doc::Raw(bytes)) | Value::Array(Doc::Raw(bytes)) => {
            return raw::is_within(bytes, most);
        }
        Value::Document(doc) | Value::Array(doc) => vec![doc.elements()],
        _ => return true,
    };
    while let Some(elements) = open.last_mut() {
        match elements.next().map(|element| element.value()) {
            Some(Value::Document(Doc::Raw(inner)) | Value::Array(Doc::Raw(inner))) => {
                if !raw::is_within(inner, most.saturating_sub(open.len())) {
                    return false;
                }
            }
            Some(Value::Document(inner) | Value::Array(inner)) => {
                if open.len() >= most {
                    return false;
                }
                open.push(inner.elements());
            }
            Some(_) => {}
            None => {
                open.pop();
            }
        }
    }
    true
}

fn unset_names(value: &Value<'_>) -> Result<Vec<String>> {
    match *value {
        Value::String(name) => Ok(vec![name.to_owned()]),
        Value::Array(names) => {
            if names.is_empty() {
                return Err(Fault::new(
                    31119,
                    "$unset specification must be a string or an array with at least one field",
                ));
            }
            names
                .values()
                .map(|name| match name {
                    Value::String(name) => Ok(name.to_owned()),
                    _ => Err(Fault::new(
                        31120,
                        "$unset specification must be a string or an array containing only string values",
                    )),
                })
                .collect()
        }
        _ => Err(Fault::new(
            31002,
            "$unset specification must be a string or an array",
        )),
    }
}

#[cfg(test)]
mod tests {
    use bson::{Bson, bson};

    use super::*;

    fn check(doc: Bson, stages: Bson, expected: Result<Bson, i32>) {
        let doc = bson::serialize_to_vec(&doc).unwrap();
        let stages: Vec<Vec<u8>> = stages
            .as_array()
            .unwrap()
            .iter()
            .map(|stage| bson::serialize_to_vec(stage).unwrap())
            .collect();
        let docs: Vec<Doc<'_>> = stages.iter().map(|bytes| Doc::Raw(bytes)).collect();
        let got = Transform::parse(&docs, &[])
            .and_then(|transform| transform.apply(Doc::Raw(&doc), &[], 0, Collation::simple()))
            .map(|value| {
                let Value::Document(doc) = value.as_value() else {
                    panic!("not a document");
                };
                Bson::Document(bson::deserialize_from_slice(&doc.to_bytes()).unwrap())
            })
            .map_err(|fault| fault.code());
        assert_eq!(got, expected, "{stages:?}");
    }

    #[test]
    fn stages_keep_the_order_of_the_document() {
        let doc = bson!({ "_id": 1, "a": 1, "arr": [1, 2, { "b": 3 }], "o": { "x": 1 } });
        for (stages, expected) in [
            (
                bson!([{ "$set": { "a.b": 1 } }, { "$unset": ["arr", "_id"] }]),
                Ok(bson!({ "a": { "b": 1 }, "o": { "x": 1 } })),
            ),
            (
                bson!([{ "$project": { "arr.c": "$a", "o": 1 } }]),
                Ok(bson!({ "_id": 1, "arr": [{ "c": 1 }, { "c": 1 }, { "c": 1 }], "o": { "x": 1 } })),
            ),
            (
                bson!([{ "$project": { "arr.b": 1, "_id": 0 } }]),
                Ok(bson!({ "arr": [{ "b": 3 }] })),
            ),
            (
                bson!([{ "$project": { "arr": { "b": 0 }, "o": 0 } }]),
                Ok(bson!({ "_id": 1, "a": 1, "arr": [1, 2, {}] })),
            ),
            (
                bson!([{ "$replaceWith": "$o" }, { "$set": { "y": "$x" } }]),
                Ok(bson!({ "x": 1, "y": 1 })),
            ),
            (
                bson!([{ "$set": { "a": "$$REMOVE" } }, { "$project": { "a": 1 } }]),
                Ok(bson!({ "_id": 1 })),
            ),
            (bson!([{ "$replaceRoot": { "newRoot": "$a" } }]), Err(40228)),
            (bson!([{ "$project": { "a": 1, "o": 0 } }]), Err(31254)),
            (bson!([{ "$project": { "a": 1, "a.b": 1 } }]), Err(31249)),
            (bson!([{ "$set": { "a": 1, "a.b": 1 } }]), Err(40176)),
            (bson!([{ "$set": { "a": {} } }]), Err(40180)),
            (bson!([{ "$group": { "_id": 1 } }]), Err(72)),
            (bson!([{ "$nothing": 1 }]), Err(40324)),
            (bson!([{ "$set": { "a": { "$divide": [1, 0] } } }]), Err(2)),
        ] {
            check(doc.clone(), stages, expected);
        }
    }
}
