//! Updates: parsed once, applied to one document at a time.
//!
//! An operator update is a tree of paths with operations at its leaves ([`tree`]), built in the server's
//! order. Applying it walks tree and document together ([`apply`]): untouched bytes are copied, only
//! touched branches are decoded. Nothing is written when nothing changes.

mod apply;
mod array;
mod bits;
mod clock;
mod condition;
mod describe;
mod difference;
mod field;
mod filters;
mod identity;
mod insert;
mod number;
mod operation;
mod parse;
mod path;
mod rename;
mod replace;
mod seed;
#[cfg(test)]
mod tests;
mod tree;

use std::borrow::Cow;

use self::apply::Context;
pub(crate) use self::clock::{Now, Timestamps};
pub(crate) use self::describe::Description;
use self::filters::ArrayFilter;
pub(crate) use self::insert::{changed_for_insert, has_empty_timestamp, prepare_insert};
pub(crate) use self::operation::same_bytes;
#[cfg(test)]
pub(crate) use self::parse::OPERATORS;
use self::tree::Object;
use super::aggregate::transform::Transform;
use super::collation::Collation;
use super::document::size::check_buildable;
use super::document::{Doc, Fields, MAX_DEPTH, MAX_DOCUMENT_BYTES, Owned, Value, raw};
use super::fault::{Fault, Result, code};
use super::matcher::Matcher;

/// A parsed update.
#[derive(Clone, Debug)]
pub(crate) struct Updater {
    kind: Kind,
    /// How strings compare.
    collation: Collation,
}

/// What an update writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Written<'a> {
    /// Fields of the document itself, by name.
    Fields(Vec<&'a str>),
    /// All of it.
    All,
    /// What its stages make.
    ByPipeline,
}

#[derive(Clone, Debug)]
enum Kind {
    Operators {
        root: Object,
        filters: Vec<ArrayFilter>,
        positional: bool,
        /// Whether a result can nest deeper than allowed, so that it must be checked.
        deep: bool,
    },
    Replacement(replace::Replacement),
    Pipeline {
        transform: Transform,
        variables: Vec<(String, Option<Owned>)>,
    },
}

impl Updater {
    fn of(kind: Kind) -> Updater {
        Updater {
            kind,
            collation: Collation::default(),
        }
    }

    /// The same update with strings compared by the collation.
    pub(crate) fn collated(mut self, collation: &Collation) -> Updater {
        if collation.is_simple() {
            return self;
        }
        if let Kind::Operators { root, filters, .. } = &mut self.kind {
            root.collate(collation);
            filters.iter_mut().for_each(|filter| filter.collate(collation));
        }
        self.collation = collation.clone();
        self
    }

    /// The update by the collation of what it writes, unless it was said which.
    pub(crate) fn by_default(&self, said: Option<&Collation>, own: &Collation) -> Cow<'_, Updater> {
        match (said, own.is_simple()) {
            (None, false) => Cow::Owned(self.clone().collated(own)),
            _ => Cow::Borrowed(self),
        }
    }

    /// Parses `{$set: .., ..}`. Array filters are parsed first, as on the server.
    pub(crate) fn operators(update: Doc<'_>, array_filters: &[Doc<'_>]) -> Result<Updater> {
        let filters = filters::parse(array_filters)?;
        let parsed = parse::operators(update, &filters)?;
        Ok(Updater::of(Kind::Operators {
            root: parsed.root,
            filters,
            positional: parsed.positional,
            deep: parsed.deepest > MAX_DEPTH,
        }))
    }

    /// Takes a whole new document. Its field names are checked when it is applied.
    pub(crate) fn replacement(doc: Doc<'_>) -> Result<Updater> {
        Ok(Updater::of(Kind::Replacement(replace::Replacement::parse(doc))))
    }

    /// Parses an update pipeline; `variables` are the constants of the operation.
    pub(crate) fn pipeline(stages: &[Doc<'_>], variables: Vec<(String, Option<Owned>)>) -> Result<Updater> {
        let names: Vec<String> = variables.iter().map(|(name, _)| name.clone()).collect();
        Ok(Updater::of(Kind::Pipeline {
            transform: Transform::parse(stages, &names)?,
            variables,
        }))
    }

    /// Refuses array filters that no update accepts: a replacement ignores its filters, but only good ones.
    pub(crate) fn check_array_filters(array_filters: &[Doc<'_>]) -> Result<()> {
        filters::parse(array_filters).map(|_| ())
    }

    /// Refuses a filter that an upsert may not have (`$expr`), whether or not a document matches it.
    pub(crate) fn check_upsert_filter(filter: Doc<'_>) -> Result<()> {
        seed::refuse_expressions(filter).or_else(|fault| {
            let mut before = Fields::new();
            for element in filter.elements() {
                let own = [(element.name_str().to_owned(), element.value().into())];
                if seed::refuse_expressions(Doc::Fields(&own)).is_err() {
                    break;
                }
                before.extend(own);
            }
            // What is wrong before it comes first.
            Matcher::parse_query(Doc::Fields(&before), Vec::new()).and(Err(fault))
        })
    }

    /// What kind of update this is, and which of the document's own fields its operators write.
    pub(crate) fn written(&self) -> Written<'_> {
        match &self.kind {
            Kind::Operators { root, .. } => Written::Fields(root.names().collect()),
            Kind::Replacement(_) => Written::All,
            Kind::Pipeline { .. } => Written::ByPipeline,
        }
    }

    /// Whether the update has a positional `$`, which needs the index of the matched array element.
    pub(crate) fn needs_position(&self) -> bool {
        matches!(self.kind, Kind::Operators { positional: true, .. })
    }

    /// The document's own fields that the update may change; `None` when that is not known beforehand.
    pub(crate) fn touched(&self) -> Option<Vec<&[u8]>> {
        match &self.kind {
            Kind::Operators { root, .. } if root.is_positional() => None,
            Kind::Operators { root, .. } => Some(root.names().map(str::as_bytes).collect()),
            Kind::Replacement(_) | Kind::Pipeline { .. } => None,
        }
    }

    /// The document's new bytes; `None` when the update changes nothing.
    pub(crate) fn apply(&self, doc: Doc<'_>, matched: Option<usize>, now: Now) -> Result<Option<Vec<u8>>> {
        let owned;
        let bytes = match doc {
            Doc::Raw(bytes) => bytes,
            _ => {
                owned = doc.to_bytes();
                &owned
            }
        };
        let changed = match &self.kind {
            Kind::Operators { .. } => self.operate(bytes, matched, now, false)?,
            Kind::Replacement(replacement) => {
                let new = replacement.apply(bytes, now)?;
                new.as_deref().map(check_depth).transpose()?;
                new
            }
            Kind::Pipeline { transform, variables } => {
                let new = transform.apply(Doc::Raw(bytes), variables, now.millis, &self.collation)?;
                let new = document_bytes(&new);
                match new == bytes {
                    true => None,
                    false => {
                        check_depth(&new)?;
                        Some(replace::with_id_of(Doc::Raw(bytes), Doc::Raw(&new))?)
                    }
                }
            }
        };
        if let Some(new) = &changed {
            check_changed_size(new)?;
        }
        Ok(changed)
    }

    /// The document to insert when nothing matched `filter`: what the filter says must be equal, then the
    /// update. `_id` comes first; it is generated when neither gives one. `said` is the collation that the operation names:
    /// values that it has for equal are one.
    pub(crate) fn upsert(&self, filter: Doc<'_>, now: Now, said: Option<&Collation>) -> Result<Vec<u8>> {
        const TOO_LARGE: i32 = 17420;
        let said = said.unwrap_or(Collation::simple());
        seed::refuse_expressions(filter)?;
        let new = match &self.kind {
            Kind::Operators { .. } => {
                let seed = seed::of(filter, said)?;
                let new = self.operate(&seed.document, None, now, true)?;
                let new = new.unwrap_or(seed.document);
                // As on the server, an `_id` that was put together of parts may hold any names.
                if !seed.has_parts_of_id {
                    identity::check(Doc::Raw(&new))?;
                }
                identity::lead(Doc::Raw(&new))
            }
            Kind::Replacement(replacement) => replacement.insert(&seed::identity(filter, said)?, now)?,
            Kind::Pipeline { transform, variables } => {
                let seed = seed::of(filter, said)?;
                let seeded = Doc::Raw(&seed.document);
                let new = transform.apply(seeded, variables, now.millis, &self.collation)?;
                let new = document_bytes(&new);
                replace::inserted(seeded, Doc::Raw(&new), seed.has_parts_of_id)?
            }
        };
        check_depth(&new)?;
        check_size(&new, TOO_LARGE, "Document to upsert")?;
        Ok(new)
    }

    fn operate(
        &self,
        bytes: &[u8],
        matched: Option<usize>,
        now: Now,
        insert: bool,
    ) -> Result<Option<Vec<u8>>> {
        let Kind::Operators {
            root, filters, deep, ..
        } = &self.kind
        else {
            return Ok(None);
        };
        let changed = Context {
            document: bytes,
            matched,
            now,
            insert,
            filters,
            collation: &self.collation,
        }
        .run(root)?;
        if let (Some(new), true) = (&changed, *deep) {
            check_depth(new)?;
        }
        Ok(changed)
    }
}

/// The bytes of a document that a pipeline made.
fn document_bytes(value: &Owned) -> Vec<u8> {
    match value.as_value() {
        Value::Document(doc) => doc.to_bytes(),
        _ => Doc::empty().to_bytes(),
    }
}

/// Refuses a changed document that is too deep (15) or too large (17419) to be stored.
pub(crate) fn check_changed(new: &[u8]) -> Result<()> {
    check_depth(new)?;
    check_changed_size(new)
}

fn check_changed_size(new: &[u8]) -> Result<()> {
    check_size(new, code::UPDATE_TOO_LARGE, "Resulting document after update")
}

fn check_size(new: &[u8], code: i32, what: &str) -> Result<()> {
    check_buildable(new)?;
    if new.len() > MAX_DOCUMENT_BYTES {
        return Err(Fault::new(
            code,
            format!("{what} is larger than {MAX_DOCUMENT_BYTES}"),
        ));
    }
    Ok(())
}

fn check_depth(new: &[u8]) -> Result<()> {
    match raw::is_within(new, MAX_DEPTH) {
        true => Ok(()),
        false => Err(too_deep()),
    }
}

/// The refusal of a document that nests too deep (15).
pub(crate) fn too_deep() -> Fault {
    Fault::new(
        code::OVERFLOW,
        format!("Document exceeds maximum nesting depth of {MAX_DEPTH}"),
    )
}
