//! Looking at all documents and keys of a collection.

use std::ops::ControlFlow;

use super::super::catalog::Collection;
use super::super::catalog::rules::warned;
use super::super::document::{Doc, Owned};
use super::super::exec::{Namespace, view};
use super::super::fault::{Fault, Result, code};
use super::super::storage::{ALL, Read, format};
use super::reply::{Reply, count, text};
use super::shape::{Shape, Type, truth};
use super::{Call, Job};

static VALIDATE: Shape = Shape {
    name: "validate",
    fields: &[
        ("full", Type::Any),
        ("repair", Type::Any),
        ("metadata", Type::Any),
        ("checkBSONConformance", Type::Any),
        ("background", Type::Any),
        ("enforceFastCount", Type::Any),
    ],
    required: &[],
};

/// What the server says of documents that the validator would refuse.
const STRANGERS: &str = "Detected one or more documents not compliant with the collection's schema. Check logs for log id 5363500.";

const ADVICE: &str = "A corrupt namespace has been detected. See http://dochub.mongodb.org/core/data-recovery for recovery steps.";

/// Reads every document and every key; the engine's own check goes deeper.
pub(super) fn validate(call: &Call<'_>) -> Result<Job> {
    let fields = VALIDATE.loose_command(call.doc)?;
    let namespace = call.namespace()?;
    if fields.get("repair").is_some_and(|repair| truth(&repair)) {
        return Err(Fault::unsupported(
            "the command does not repair, the engine's own repair does",
        ));
    }
    let says = |name: &str| fields.get(name).is_some_and(|value| truth(&value));
    let metadata = says("metadata");
    let refused = |what: &str| {
        Err(Fault::new(
            code::INVALID_OPTIONS,
            format!("Running the validate command with {what}"),
        ))
    };
    for other in ["full", "enforceFastCount"] {
        if says("background") && says(other) {
            return refused(&format!(
                "both {{ background: true }} and {{ {other}: true }} is not supported."
            ));
        }
    }
    if metadata && ["full", "enforceFastCount", "background"].into_iter().any(says) {
        return refused("{ metadata: true } is not supported with any other options");
    }
    Ok(Job::Read(Box::new(move |read| {
        if view::view_of(read.catalog(), &namespace).is_some() {
            return Err(Fault::new(
                code::COMMAND_NOT_SUPPORTED_ON_VIEW,
                "Cannot validate a view",
            ));
        }
        let found = read
            .catalog()
            .collection(&namespace.database, &namespace.collection);
        let Some(collection) = found else {
            return Err(Fault::new(
                code::NAMESPACE_NOT_FOUND,
                format!("Collection '{namespace}' does not exist to validate."),
            ));
        };
        let reply = Reply::new().with("ns", text(namespace.to_string()));
        match metadata {
            true => Ok(with_verdict(reply, None).done()),
            false => look_at(reply, read, &namespace, collection),
        }
    })))
}

fn look_at(reply: Reply, read: &dyn Read, namespace: &Namespace, collection: &Collection) -> Result<Vec<u8>> {
    let (mut documents, mut strangers, records) = (0, 0, collection.records);
    let warned = warned(Doc::Raw(&collection.options), &collection.rules.collation);
    let validator = collection.rules.validator.as_deref().or(warned.as_ref());
    read.scan(records, ALL, false, &mut |key, stored| {
        documents += 1;
        let document = Doc::Raw(format::unseal(records, key, stored)?);
        if let Some(validator) = validator
            && !validator.accepts(document)?
        {
            strangers += 1;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let is_list = view::list::is_list_of(collection);
    if is_list {
        documents = view::list::documents(read.catalog(), &namespace.database).len() as u64;
    }
    let strangers_are = (strangers > 0).then_some(match warned {
        Some(_) => Strangers::Warned,
        None => Strangers::Refused,
    });
    let (mut indexes, mut keys, mut details) = (0, Reply::new(), Reply::new());
    let mut in_order: Vec<_> = collection.indexes.iter().collect();
    in_order.sort_by(|a, b| a.definition.name.cmp(&b.definition.name));
    for index in in_order {
        // The server looks no further where the documents are wrong.
        if index.definition.clustered || strangers_are == Some(Strangers::Refused) {
            continue;
        }
        let (name, mut number) = (&index.definition.name, 0);
        read.scan(index.tree, ALL, false, &mut |_, _| {
            number += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        if is_list {
            number = documents;
        }
        indexes += 1;
        keys = keys.with(name, count(number));
        details = details.with(name, Reply::new().with("valid", Owned::Bool(true)).inner());
    }
    let reply = reply
        .with("nInvalidDocuments", count(0))
        .with("nNonCompliantDocuments", count(strangers))
        .with("nrecords", count(documents))
        .with("nIndexes", count(indexes))
        .with("keysPerIndex", keys.inner())
        .with("indexDetails", details.inner());
    Ok(with_verdict(reply, strangers_are).done())
}

/// What documents are that do not match the validator.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strangers {
    Refused,
    Warned,
}

fn with_verdict(reply: Reply, strangers: Option<Strangers>) -> Reply {
    let told = |when: Strangers| {
        let told = (strangers == Some(when)).then(|| text(STRANGERS.to_owned()));
        Owned::Array(told.into_iter().collect())
    };
    let none = || Owned::Array(Vec::new());
    let is_valid = strangers != Some(Strangers::Refused);
    let reply = reply
        .with("valid", Owned::Bool(is_valid))
        .with("repaired", Owned::Bool(false))
        .with("warnings", told(Strangers::Warned))
        .with("errors", told(Strangers::Refused))
        .with("extraIndexEntries", none())
        .with("missingIndexEntries", none())
        .with("corruptRecords", none());
    match is_valid {
        true => reply,
        false => reply.with("advice", text(ADVICE.to_owned())),
    }
}
