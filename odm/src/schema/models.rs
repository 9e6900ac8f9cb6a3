//! The models of a program: what they are, as data, as a table and as a diagram.

use std::fmt::Write as _;

use bson::{Bson, Document, doc};

use super::{FieldDescriptor, ModelDescriptor, RelationKind, verify};
use crate::codec;
use crate::error::Result;
use crate::model::Model;
use crate::relation::DeclaredCopy;

/// The models of a program, to be shown, synchronised and compared with a database.
///
/// ```
/// use odm::{Db, Id, Model, Models};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Model)]
/// struct Book {
///     #[serde(rename = "_id")]
///     id: Id<Book>,
///     #[odm(unique)]
///     title: String,
/// }
///
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// let models = Models::new().with::<Book>();
/// assert!(models.table().contains("title"));
/// let db = Db::open("memory:").await?;
/// db.sync_models(&models).await?;
/// assert!(db.check_models(&models).await?.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Models {
    pub(crate) models: Vec<Entry>,
}

/// A model in the list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) descriptor: &'static ModelDescriptor,
    pub(crate) rules: fn() -> Document,
    pub(crate) verify: fn() -> Result<()>,
}

impl Models {
    /// None yet.
    pub fn new() -> Models {
        Models::default()
    }

    /// With this model.
    pub fn with<M: Model>(mut self) -> Models {
        let known = self.models.iter().any(|entry| entry.descriptor.is(M::DESCRIPTOR));
        if !known {
            self.models.push(Entry {
                descriptor: M::DESCRIPTOR,
                rules: M::json_schema,
                verify: verify::<M>,
            });
        }
        self
    }

    /// What the models declare, in the order in which they were given.
    pub fn descriptors(&self) -> impl Iterator<Item = &'static ModelDescriptor> {
        self.models.iter().map(|entry| entry.descriptor)
    }

    /// The models and their references as a [Mermaid](https://mermaid.js.org) entity-relationship diagram. Models of one
    /// name have their collection behind it.
    pub fn mermaid(&self) -> String {
        let names = Names::of(self);
        let mut text = String::from("erDiagram\n");
        for model in self.descriptors() {
            let name = names.word(model);
            let _ = writeln!(text, "    {name} {{");
            for field in model.fields {
                let mark = match (field.stored, field.relation) {
                    ("_id", _) => " PK",
                    (_, Some(_)) => " FK",
                    _ => "",
                };
                let _ = writeln!(text, "        {} {}{mark}", word(field.ty), word(shown(field)));
            }
            text.push_str("    }\n");
        }
        for model in self.descriptors() {
            for relation in model.relations() {
                let many = match relation.relation.kind {
                    RelationKind::One => "o|",
                    RelationKind::Many | RelationKind::Map => "o{",
                };
                for target in (relation.relation.targets)() {
                    let (from, to) = (names.word(model), names.word(target));
                    let _ = writeln!(text, "    {from} }}o--{many} {to} : \"{}\"", relation.field);
                }
            }
            for copy in model.copies() {
                let (from, to) = (names.word(model), names.word(copy.copy.source));
                let copied = copy.copy.fields.iter().map(|(from, _)| from.as_str());
                let copied = copied.collect::<Vec<_>>().join(", ");
                let _ = writeln!(
                    text,
                    "    {from} }}o..o| {to} : \"{} copies {copied}\"",
                    copy.path
                );
            }
            for kind in model.kinds {
                let (from, to) = (names.word(model), names.word(kind.model));
                let _ = writeln!(
                    text,
                    "    {from} ||--|| {to} : \"{} is {}\"",
                    model.tag, kind.name
                );
            }
        }
        text
    }

    /// The models as a table of text: collection, fields with types and references, indexes.
    pub fn table(&self) -> String {
        let names = Names::of(self);
        let mut rows = vec![["model", "field", "type", "refers to", "indexes"].map(str::to_owned)];
        for model in self.descriptors() {
            rows.push([
                format!("{} ({})", model.name, model.collection),
                String::new(),
                String::new(),
                model
                    .kinds
                    .iter()
                    .map(|kind| names.shown(kind.model))
                    .collect::<Vec<_>>()
                    .join(", "),
                String::new(),
            ]);
            let indexes = model.all_indexes();
            for field in model.fields {
                let targets = field
                    .relation
                    .map(|relation| (relation.targets)())
                    .unwrap_or_default();
                let mut targets: Vec<String> = targets.iter().map(|target| names.shown(target)).collect();
                let copies = model.copies().iter();
                let copies = copies.filter(|copy| copy.path.split('.').next() == Some(field.stored));
                targets.extend(copies.map(|copy| format!("copy of {}", names.shown(copy.copy.source))));
                let of_field = indexes.iter().filter(|index| {
                    let prefix = format!("{}.", field.stored);
                    index.keys().iter().any(|(path, _)| {
                        let path = path.to_string();
                        path == field.stored || path.starts_with(&prefix)
                    })
                });
                let of_field = of_field.map(|index| match index.is_unique() {
                    true => format!("{} unique", index.name()),
                    false => index.name(),
                });
                rows.push([
                    String::new(),
                    shown(field).to_owned(),
                    field.ty.to_owned(),
                    targets.join(", "),
                    of_field.collect::<Vec<_>>().join(", "),
                ]);
            }
        }
        aligned(&rows)
    }
}

/// The models that are shown, and those that they name.
struct Names(Vec<&'static ModelDescriptor>);

impl Names {
    fn of(models: &Models) -> Names {
        let mut names = Names(Vec::new());
        for model in models.descriptors() {
            names.add(model);
            for relation in model.relations() {
                (relation.relation.targets)()
                    .into_iter()
                    .for_each(|target| names.add(target));
            }
            model.copies().iter().for_each(|copy| names.add(copy.copy.source));
            model.kinds.iter().for_each(|kind| names.add(kind.model));
        }
        names
    }

    fn add(&mut self, model: &'static ModelDescriptor) {
        if !self.0.iter().any(|known| known.is(model)) {
            self.0.push(model);
        }
    }

    /// What tells the model from others of its name: nothing, its collection, or its kind there.
    fn beside(&self, model: &ModelDescriptor) -> Option<String> {
        let others = || {
            self.0
                .iter()
                .filter(|other| other.name == model.name && !other.is(model))
        };
        others().next()?;
        let within = others().any(|other| other.collection == model.collection);
        Some(match (within, model.kind) {
            (true, Some(kind)) => format!("{} {}", model.collection, kind.name),
            _ => model.collection.to_owned(),
        })
    }

    /// The name in a text.
    fn shown(&self, model: &ModelDescriptor) -> String {
        match self.beside(model) {
            Some(beside) => format!("{} ({beside})", model.name),
            None => model.name.to_owned(),
        }
    }

    /// The name as Mermaid takes it.
    fn word(&self, model: &ModelDescriptor) -> String {
        match self.beside(model) {
            Some(beside) => word(&format!("{}-{beside}", model.name)),
            None => word(model.name),
        }
    }
}

/// The stored name, or that the field's own fields stand in its place.
fn shown(field: &FieldDescriptor) -> &'static str {
    match field.is_flattened() {
        true => field.name,
        false => field.stored,
    }
}

/// A name as Mermaid takes it.
fn word(text: &str) -> String {
    let mut word = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            letter if letter.is_alphanumeric() || letter == '_' => word.push(letter),
            _ if word.ends_with('-') => {}
            _ => word.push('-'),
        }
    }
    word.trim_matches('-').to_owned()
}

fn aligned(rows: &[[String; 5]]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths = [0, 1, 2, 3, 4].map(width);
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

impl Entry {
    /// What tells the model from all others of a database.
    pub(crate) fn key(&self) -> String {
        let model = self.descriptor;
        match model.kind {
            Some(kind) => format!("{}:{}/{}", model.collection, kind.name, model.name),
            None => format!("{}/{}", model.collection, model.name),
        }
    }

    /// What is declared, as it is stored to be compared with later.
    ///
    /// # Errors
    /// An index that cannot be sent.
    pub(crate) fn declaration(&self) -> Result<Document> {
        let model = self.descriptor;
        let mut fields = Document::new();
        for field in model.fields {
            fields.insert(shown(field), field.ty);
        }
        let mut indexes = Document::new();
        for index in model.all_indexes() {
            let spec = codec::decode_untyped(&index.to_spec()?)?;
            indexes.insert(index.name(), spec);
        }
        let mut declared = doc! {
            "collection": model.collection,
            "fields": fields,
            "indexes": indexes,
            "rules": (self.rules)(),
        };
        if let Some(kind) = model.kind {
            declared.insert("kind", doc! { kind.tag: kind.name });
        }
        if !model.kinds.is_empty() {
            let kinds: Document = model
                .kinds
                .iter()
                .map(|kind| (kind.name.to_owned(), Bson::from(kind.model.name)))
                .collect();
            declared.insert("kinds", doc! { "tag": model.tag, "models": kinds });
        }
        if !model.copies().is_empty() {
            let copies = model.copies().iter();
            let copies: Document = copies
                .map(|copy| (copy.path.clone(), Bson::from(of_copy(copy))))
                .collect();
            declared.insert("copies", copies);
        }
        if model.version > 0 {
            declared.insert("version", model.version);
        }
        if model.options.is_some() {
            let options = model.declared_options();
            let mut all = options.options().clone();
            all.insert("validated", options.is_validated());
            if let Some(shard) = options.shard_command("")? {
                all.insert("shard", shard);
            }
            declared.insert("options", all);
        }
        Ok(declared)
    }
}

fn of_copy(copy: &DeclaredCopy) -> Document {
    let copy = &copy.copy;
    let fields = copy.fields.iter();
    let fields: Document = fields
        .map(|(from, to)| (to.clone(), Bson::from(from.as_str())))
        .collect();
    doc! {
        "source": copy.source.name,
        "reference": copy.reference.as_str(),
        "version": copy.version.as_str(),
        "fields": fields,
        "eventual": copy.is_eventual,
    }
}

/// A number that changes with what is declared and with nothing else: FNV-1a over its bytes, of 64 bits.
pub(crate) fn fingerprint(declared: &Document) -> Result<String> {
    let bytes = codec::encode_untyped(declared)?;
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in bytes.as_bytes() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    Ok(format!("{hash:016x}"))
}

/// Where two declarations differ, a line each.
pub(crate) fn differences(stored: &Document, declared: &Document) -> Vec<String> {
    let mut lines = Vec::new();
    compare("", stored, declared, &mut lines);
    lines
}

fn compare(path: &str, stored: &Document, declared: &Document, lines: &mut Vec<String>) {
    let at = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    let before = lines.len();
    for (name, old) in stored {
        match (old, declared.get(name)) {
            (_, None) => lines.push(format!("{}: was {old}, is not declared now", at(name))),
            (Bson::Document(old), Some(Bson::Document(new))) => compare(&at(name), old, new, lines),
            (old, Some(new)) if old != new => lines.push(format!("{}: was {old}, is {new}", at(name))),
            _ => {}
        }
    }
    for (name, new) in declared {
        if !stored.contains_key(name) {
            lines.push(format!("{}: is new, {new}", at(name)));
        }
    }
    if lines.len() == before && !stored.keys().eq(declared.keys()) {
        lines.push(format!("{}: the order differs", at("").trim_end_matches('.')));
    }
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::*;

    #[test]
    fn differences_name_what_differs_and_the_order_alone() {
        let keys =
            |first: &str, second: &str| doc! {"a": {"shard_key": {first: 1, second: 1}}, "b": {"x": 1}};
        assert_eq!(differences(&keys("k", "l"), &keys("k", "l")), [] as [&str; 0]);
        assert_eq!(
            differences(&keys("k", "l"), &keys("l", "k")),
            ["a.shard_key: the order differs"]
        );
        let found = differences(
            &doc! {"a": {"k": 1, "l": 1}, "b": 1},
            &doc! {"b": 2, "a": {"l": 1, "m": 1}},
        );
        assert_eq!(
            found,
            [
                "a.k: was 1, is not declared now",
                "a.m: is new, 1",
                "b: was 1, is 2"
            ]
        );
        assert_eq!(
            differences(&doc! {"a": 1, "b": 1}, &doc! {"b": 1, "a": 1}),
            [": the order differs"]
        );
    }
}
