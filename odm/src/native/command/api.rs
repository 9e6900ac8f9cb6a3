//! `validateDBMetadata`: what collections have that version 1 of MongoDB's stable interface does not.

use super::super::catalog::Collection;
use super::super::document::{Doc, Kind, Owned};
use super::super::fault::{Fault, Result, code};
use super::super::index::IndexDefinition;
use super::reply::{Reply, text};
use super::shape::{Shape, Type};
use super::{Call, Job};

static VALIDATE: Shape = Shape {
    name: "validateDBMetadata",
    fields: &[
        ("apiParameters", Type::Object),
        ("db", Type::String),
        ("collection", Type::String),
    ],
    required: &["apiParameters"],
};

static PARAMETERS: Shape = Shape {
    name: "validateDBMetadata.apiParameters",
    fields: &[
        ("version", Type::String),
        ("strict", Type::Bool),
        ("deprecationErrors", Type::Bool),
    ],
    required: &["version"],
};

const API_STRICT_ERROR: i32 = 323;

pub(super) fn validate(call: &Call<'_>) -> Result<Job> {
    let fields = VALIDATE.command(call.doc)?;
    let given = fields.object("apiParameters");
    let parameters = PARAMETERS.part(given.unwrap_or(Doc::empty()))?;
    for name in ["strict", "deprecationErrors"] {
        if given
            .and_then(|given| given.get(name))
            .is_some_and(|own| own.kind() == Kind::Null)
        {
            return Err(Fault::new(
                code::TYPE_MISMATCH,
                format!("Field '{name}' should be a boolean value, but found: null"),
            ));
        }
    }
    let database = fields.string("db");
    if database.is_some_and(|name| name.is_empty() || name.contains('.')) {
        return Err(Fault::new(28539, "need a valid database name"));
    }
    if let Some(name) = database
        && name.contains(['/', '\\', ' ', '"', '\0'])
    {
        return Err(Fault::new(13280, format!("invalid db name: {name}")));
    }
    let collection = fields.string("collection");
    if let Some(name) = collection {
        // Of all databases, the first is told of.
        check_collection(database.unwrap_or("admin"), name)?;
    }
    let (database, collection) = (database.map(str::to_owned), collection.map(str::to_owned));
    // Other versions have no rules.
    let strict = parameters.flag("strict") && parameters.string("version") == Some("1");
    Ok(Job::Read(Box::new(move |read| {
        let mut errors = Vec::new();
        if strict {
            let databases = read.catalog().databases();
            for name in databases.filter(|name| database.as_deref().is_none_or(|own| own == *name)) {
                for found in read.catalog().collections(name) {
                    if collection.as_deref().is_none_or(|own| own == &*found.name) {
                        refuse(found, &mut errors);
                    }
                }
            }
        }
        Ok(Reply::new().with("apiVersionErrors", Owned::Array(errors)).done())
    })))
}

fn check_collection(database: &str, name: &str) -> Result<()> {
    let text = if name.is_empty() {
        format!("Namespace {database}. is not a valid collection name")
    } else if name.starts_with('.') {
        format!("Collection names cannot start with '.': {name}")
    } else if name.contains('\0') {
        "namespaces cannot have embedded null characters".to_owned()
    } else {
        return Ok(());
    };
    Err(Fault::new(code::INVALID_NAMESPACE, text))
}

/// Of what the engine has, the interface leaves out sparse and text indexes.
fn refuse(collection: &Collection, errors: &mut Vec<Owned>) {
    let left_out = |index: &IndexDefinition| index.sparse || index.text.is_some();
    for entry in collection
        .indexes
        .iter()
        .filter(|entry| left_out(&entry.definition))
    {
        let said = format!(
            "The index with name {} is not allowed in API version 1.",
            entry.definition.name
        );
        let error = Reply::new()
            .with("ns", text(collection.namespace().to_string()))
            .with("code", Owned::Int32(API_STRICT_ERROR))
            .with("codeName", text("APIStrictError"))
            .with("errmsg", text(said));
        errors.push(error.inner());
    }
}
