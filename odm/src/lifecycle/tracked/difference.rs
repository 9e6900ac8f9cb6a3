//! What makes one document another.

use bson::{RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

use super::edit::{Edit, Merge, is_same, only_name, parts, values};
use super::guard::{self, Guard, Must};
use super::number;
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::declared::{Declare, Declared, Save};
use crate::lifecycle::place::{self, Place};
use crate::lifecycle::rule::Rule;
use crate::lifecycle::validator::{Validator, malformed};
use crate::lifecycle::violation::{self, Violation};
use crate::model::{Path, Segment};
use crate::query::update::{Action, Change};

/// What makes one document the other.
pub(super) struct Difference {
    pub(super) edits: Vec<Edit>,
    /// What must still be stored around the edits.
    pub(super) guards: Vec<Guard>,
    /// The document as it is now.
    pub(super) new: RawDocumentBuf,
    declared: &'static Declared,
    /// The fields that writes set by themselves.
    own: Vec<&'static str>,
    /// Why no update can make all of it, and the field.
    refusal: Option<(&'static str, String)>,
    /// The rules that lists break from which elements were taken.
    violations: Vec<Violation>,
}

const UNREACHABLE: &str = "a field whose name is empty, begins with `$` or holds a dot cannot be saved by its path; save \
                           the whole document";
const OWN: &str =
    "the dates and the version of a document are set by the writes themselves, and cannot be changed";
const ID: &str = "the `_id` of a document cannot change";

impl Difference {
    /// What makes `old` the same as `new`; writes set the fields in `own` by themselves.
    pub(super) fn of(
        declared: &'static Declared,
        old: &RawDocument,
        new: RawDocumentBuf,
        own: Vec<&'static str>,
    ) -> Result<Difference> {
        let mut difference = Difference {
            edits: Vec::new(),
            guards: Vec::new(),
            new: RawDocumentBuf::new(),
            declared,
            own,
            refusal: None,
            violations: Vec::new(),
        };
        match unreachable(old, &new)? {
            Some(name) => difference.refusal = Some((UNREACHABLE, name)),
            None => difference.fields(declared, "", old, &new)?,
        }
        difference.new = new;
        difference.guards = guard::fewest(difference.guards);
        Ok(difference)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.edits.is_empty() && self.refusal.is_none()
    }

    /// That an update can make all of it, and may.
    pub(super) fn check(&self) -> Result<()> {
        match &self.refusal {
            None => violation::finish(self.violations.clone()),
            Some((message, name)) => {
                Err(Error::new(ErrorKind::InvalidArgument, *message).with_path(name.as_str()))
            }
        }
    }

    /// The edits that lead from one of two documents of this type to the other.
    fn fields(
        &mut self,
        declared: &'static Declared,
        path: &str,
        old: &RawDocument,
        new: &RawDocument,
    ) -> Result<()> {
        let before = self.edits.len();
        let mut changed: Vec<&str> = Vec::new();
        for (document, other) in [(new, old), (old, new)] {
            for element in document {
                let (name, value) = element.map_err(malformed)?;
                let there = other.get(name).map_err(malformed)?;
                let is_old = std::ptr::eq(document, old);
                if is_same(there, Some(value)) || is_old && there.is_some() {
                    continue;
                }
                let (was, is) = match is_old {
                    true => (Some(value), None),
                    false => (there, Some(value)),
                };
                changed.push(name.as_str());
                match (path, name.as_str()) {
                    ("", "_id") => self.refusal = Some((ID, "_id".to_owned())),
                    ("", own) if self.own.contains(&own) => self.refusal = Some((OWN, own.to_owned())),
                    (_, name) if is_of_other_variant(declared, name, old, new) => {
                        self.edits.push(Edit::anyhow(joined(path, name), is));
                    }
                    (_, name) => {
                        let place = place::inside(declared, name, old);
                        self.value(&place, joined(path, name), was, is)?;
                    }
                }
            }
        }
        if self.edits.len() == before {
            if changed.is_empty() && !path.is_empty() && is_untyped(declared) && old != new {
                // The same fields in another order.
                self.whole(declared, path.to_owned(), old, new);
            }
            return Ok(());
        }
        if !path.is_empty() {
            let must = match declared {
                Declared::Map(_) => Must::BeMap,
                _ => Must::BeDocument,
            };
            self.guard(path.to_owned(), must);
        }
        self.variants(declared, path, &changed, (old, new))
    }

    /// The variants of enums whose fields stand among those of the document must be those that were loaded.
    fn variants(
        &mut self,
        declared: &'static Declared,
        path: &str,
        changed: &[&str],
        (old, new): (&RawDocument, &RawDocument),
    ) -> Result<()> {
        match declared {
            Declared::Variants { tag, .. } => {
                let name = old.get(tag).map_err(malformed)?.map(RawBson::from);
                self.guard(joined(path, tag), Must::Be(name));
            }
            Declared::Document {
                fields,
                is_choice: true,
                ..
            } => {
                let is_there = |document: &RawDocument, name| matches!(document.get(name), Ok(Some(_)));
                // Of variants without fields of their own nothing is declared.
                let was = only_name(old).or_else(|| {
                    let was = fields.iter().find(|field| is_there(old, field.name));
                    was.map(|was| was.name)
                });
                let now = fields.iter().filter(|field| is_there(new, field.name));
                match was {
                    Some(was) => self.guard(joined(path, was), Must::BeThere),
                    None => now.for_each(|now| self.guard(joined(path, now.name), Must::Be(None))),
                }
            }
            Declared::Document { fields, .. } => {
                let is_field = |name: &&str| fields.iter().any(|field| field.name == *name);
                if !changed.iter().all(is_field) {
                    let flattened = fields.iter().filter(|field| field.name.is_empty());
                    for nested in flattened.map(Declare::nested) {
                        self.variants(nested, path, changed, (old, new))?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn guard(&mut self, path: String, must: Must) {
        let is_known = |guard: &Guard| guard.path == path && guard.must == must;
        if !self.guards.iter().any(is_known) {
            self.guards.push(Guard { path, must });
        }
    }

    /// The edit of one value, or those of its parts.
    fn value(
        &mut self,
        place: &Place,
        path: String,
        old: Option<RawBsonRef<'_>>,
        new: Option<RawBsonRef<'_>>,
    ) -> Result<()> {
        let (save, nested) = (place.save, place.nested);
        let is_nothing = |value: Option<RawBsonRef<'_>>| matches!(value, None | Some(RawBsonRef::Null));
        let is_number = |value: Option<RawBsonRef<'_>>| value.and_then(number::zero_like).is_some();
        let is_array = |value: Option<RawBsonRef<'_>>| matches!(value, Some(RawBsonRef::Array(_)));
        let is_document = |value: Option<RawBsonRef<'_>>| matches!(value, Some(RawBsonRef::Document(_)));
        let both = |is: fn(Option<RawBsonRef<'_>>) -> bool| {
            (is(old) || is_nothing(old)) && (is(new) || is_nothing(new))
        };
        let (operator, merge) = match save {
            Save::Increment(range) if both(is_number) => {
                let step = old.zip(new).and_then(|(old, new)| number::step(old, new));
                (step.map(Action::Increment), Merge::Number(range))
            }
            Save::Push if both(is_array) => {
                let come = match (old, new) {
                    (Some(RawBsonRef::Array(old)), Some(RawBsonRef::Array(new))) => {
                        let (old, new) = (values(old)?, values(new)?);
                        new.strip_prefix(old.as_slice()).map(<[RawBson]>::to_vec)
                    }
                    _ => None,
                };
                (come.map(push), Merge::List)
            }
            Save::AddToSet if both(is_array) => {
                let operator = match (old, new) {
                    (Some(RawBsonRef::Array(old)), Some(whole @ RawBsonRef::Array(new))) => {
                        let (old, new) = (values(old)?, values(new)?);
                        let without = |one: &[RawBson], other: &[RawBson]| -> Vec<RawBson> {
                            let one = one.iter().filter(|value| !other.contains(value));
                            one.cloned().collect()
                        };
                        let (gone, come) = (without(&old, &new), without(&new, &old));
                        match (gone.is_empty(), come.is_empty()) {
                            (true, false) => Some(Action::AddToSet(come)),
                            (false, true) => {
                                self.hold(place, &path, whole)?;
                                Some(Action::PullAll(gone))
                            }
                            // Another order is no change of a set.
                            (true, true) => return Ok(()),
                            // No operator does both.
                            (false, false) => None,
                        }
                    }
                    _ => None,
                };
                (operator, Merge::Set)
            }
            _ => {
                let inside = old.zip(new).and_then(|(old, new)| parts(nested, old, new));
                if let Some((before, after)) = inside {
                    return self.parts(nested, path, before, after);
                }
                // A map that is not stored may be one without keys.
                let is_map = matches!(nested, Declared::Map(_));
                let comes = is_nothing(old) && is_document(new);
                if is_map && (comes || is_document(old) && new.is_none()) {
                    (None, Merge::Fields(nested))
                } else {
                    self.edits.push(Edit::anyhow(path, new));
                    return Ok(());
                }
            }
        };
        self.edits.push(Edit::merged(path, old, new, operator, merge));
        Ok(())
    }

    /// Holds an array from which only elements were taken against the rules that it could break by that.
    fn hold(&mut self, place: &Place, path: &str, array: RawBsonRef<'_>) -> Result<()> {
        let mut validator = Validator::default();
        validator.at(path);
        for rule in &place.rules {
            if let Rule::MinItems(_) | Rule::Custom(_) = rule
                && let Some(message) = rule.broken(array)?
            {
                validator.found(message);
            }
        }
        self.violations.extend(validator.into_violations());
        Ok(())
    }

    fn parts(
        &mut self,
        declared: &'static Declared,
        path: String,
        old: &RawDocument,
        new: &RawDocument,
    ) -> Result<()> {
        if unreachable(old, new)?.is_some() {
            self.whole(declared, path, old, new);
            return Ok(());
        }
        if has_unknown_fields(declared, old) {
            // One value, beside the name of its variant.
            self.guard(path.clone(), Must::BeDocument);
            self.variants(declared, &path, &[], (old, new))?;
            self.edits
                .push(Edit::anyhow(path, Some(RawBsonRef::Document(new))));
            return Ok(());
        }
        self.fields(declared, &path, old, new)
    }

    /// The whole document, if nobody else has changed it; else with what they made of it.
    fn whole(&mut self, declared: &'static Declared, path: String, old: &RawDocument, new: &RawDocument) {
        let whole = |document| Some(RawBsonRef::Document(document));
        let merge = Merge::Fields(declared);
        self.edits
            .push(Edit::merged(path, whole(old), whole(new), None, merge));
    }

    pub(super) fn change(&self, path: &str, action: Action) -> Change {
        Change {
            path: self.path(path),
            action,
        }
    }

    /// The path, with the variants that the new document is of on its way.
    fn path(&self, path: &str) -> Path {
        let (mut declared, mut document) = (self.declared, Some(&*self.new));
        let mut whole = Path::root();
        for name in path.split('.') {
            let Some(inside) = document else {
                whole = whole.then(Segment::Key(name.into()));
                continue;
            };
            if let Some(variant) = place::variant(declared, inside) {
                whole = whole.of_variant(&variant.name);
            }
            whole = whole.then(Segment::Key(name.into()));
            declared = place::inside(declared, name, inside).nested;
            document = match inside.get(name) {
                Ok(Some(RawBsonRef::Document(inner))) => Some(inner),
                _ => None,
            };
        }
        whole
    }
}

/// Whether a field is one of an enum, which the documents are or whose fields stand among theirs, that is of another
/// variant in each.
fn is_of_other_variant(
    declared: &'static Declared,
    name: &str,
    old: &RawDocument,
    new: &RawDocument,
) -> bool {
    match declared {
        Declared::Variants { tag, .. } => {
            let tags = [old, new].map(|document| document.get(tag).ok().flatten());
            !is_same(tags[0], tags[1]) && place::is_inside(declared, name)
        }
        Declared::Document { fields, .. } => {
            let is_own = fields.iter().any(|field| field.name == name);
            let mut flattened = fields.iter().filter(|field| field.name.is_empty());
            !is_own && flattened.any(|flattened| is_of_other_variant(flattened.nested(), name, old, new))
        }
        _ => false,
    }
}

/// Whether it is a document of any values, whose order is a part of it.
fn is_untyped(declared: &'static Declared) -> bool {
    match declared {
        Declared::Untyped => true,
        Declared::Map(inner) => matches!(inner(), Declared::Untyped),
        _ => false,
    }
}

/// Whether nothing is known of the fields that stand beside the name of the variant.
fn has_unknown_fields(declared: &'static Declared, document: &RawDocument) -> bool {
    let is_beside = matches!(declared, Declared::Variants { content: "", .. });
    let is_unknown = |nested: &Declared| nested.is_plain() && !matches!(nested, Declared::Untyped);
    is_beside && place::variant(declared, document).is_none_or(|variant| is_unknown(variant.nested()))
}

/// A name that differs between the documents and cannot be a part of a path.
fn unreachable(old: &RawDocument, new: &RawDocument) -> Result<Option<String>> {
    for (document, other) in [(old, new), (new, old)] {
        for element in document {
            let (name, value) = element.map_err(malformed)?;
            let text = name.as_str();
            let is_reachable = !text.is_empty() && !text.starts_with('$') && !text.contains('.');
            if !is_reachable && other.get(name).map_err(malformed)? != Some(value) {
                return Ok(Some(text.to_owned()));
            }
        }
    }
    Ok(None)
}

fn push(elements: Vec<RawBson>) -> Action {
    Action::Push(crate::query::update::Push {
        elements,
        ..Default::default()
    })
}

fn joined(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}
