//! What is declared of the value at a path.

use bson::{RawBsonRef, RawDocument, RawDocumentBuf};

use super::declared::{Declare, Declared, Save};
use super::document;
use super::insertion::equal_values;
use super::rule::Rule;
use crate::model::Path;
use crate::query::update::raw_path;

/// What is declared of the value that an update's path leads to.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) rules: Vec<&'static Rule>,
    pub(crate) nested: &'static Declared,
    pub(crate) save: Save,
    /// Whether the path goes through an element that is known only to the database: `$`, `$[]`, `$[name]`.
    pub(crate) is_positional: bool,
    /// The bound of the array whose element this is, and the element's position.
    pub(crate) element_of: Option<(u32, usize)>,
}

/// What tells of which variant a document is on the way of a path that does not say it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tags<'a> {
    Unknown,
    /// The document itself.
    Of(&'a RawDocument),
    /// What the document and the elements of its arrays were found by.
    FoundBy(&'a RawDocument, &'a [RawDocumentBuf]),
}

impl Tags<'_> {
    /// The name in a tag of the document at a path.
    fn name(&self, path: &str, tag: &str) -> Option<String> {
        match self {
            Tags::Unknown => None,
            Tags::Of(whole) => match document::at(whole, &joined(path, tag)) {
                Some(RawBsonRef::String(name)) => Some(name.to_owned()),
                _ => None,
            },
            Tags::FoundBy(filter, array_filters) => match path.rfind('$') {
                None => equal_text(filter, &joined(path, tag)),
                Some(at) => {
                    let (name, rest) = path.get(at..)?.strip_prefix("$[")?.split_once(']')?;
                    let within = joined(name, rest.strip_prefix('.').unwrap_or(rest));
                    let own = joined(&within, tag);
                    array_filters.iter().find_map(|filter| equal_text(filter, &own))
                }
            },
        }
    }
}

/// The text that a filter asks a field to be equal to.
fn equal_text(filter: &RawDocument, path: &str) -> Option<String> {
    let equal = equal_values(filter).ok()?;
    equal.into_iter().find_map(|(own, value)| match value {
        bson::RawBson::String(text) if own == path => Some(text),
        _ => None,
    })
}

impl Place {
    pub(crate) fn root(declared: &'static Declared) -> Place {
        Place {
            rules: Vec::new(),
            nested: declared,
            save: Save::Replace,
            is_positional: false,
            element_of: None,
        }
    }

    /// The places that a path below the root can lead to: one for each variant that has such a field, where neither the
    /// path nor the tags say which variant it is. Nothing where nothing is declared.
    pub(crate) fn all(declared: &'static Declared, path: &Path, tags: Tags<'_>) -> Vec<Place> {
        let mut places = vec![Place::root(declared)];
        let mut above = String::new();
        for (mut variant, segment) in path.steps() {
            let text = segment.to_string();
            for part in text.split('.').filter(|part| !part.is_empty()) {
                let step = Step {
                    name: part,
                    variant: variant.take(),
                    above: &above,
                    tags,
                };
                let mut next = Vec::with_capacity(1);
                for place in places {
                    place.step(&step, &mut next);
                }
                places = next;
                if !above.is_empty() {
                    above.push('.');
                }
                above.push_str(part);
            }
        }
        places
    }

    /// The place of a field with this dotted path.
    pub(crate) fn find(declared: &'static Declared, path: &str, tags: Tags<'_>) -> Option<Place> {
        Place::all(declared, &raw_path(path), tags).into_iter().next()
    }

    /// The elements of this array.
    pub(crate) fn element(&self) -> Place {
        self.inner(true)
    }

    /// How many elements the array may have.
    pub(crate) fn bound(&self) -> Option<u32> {
        let bounds = self.rules.iter().filter_map(|rule| match rule {
            Rule::MaxItems(bound) => Some(*bound),
            _ => None,
        });
        bounds.min()
    }

    /// How many elements the array must have.
    pub(crate) fn least(&self) -> Option<u32> {
        let least = self.rules.iter().filter_map(|rule| match rule {
            Rule::MinItems(least) => Some(*least),
            _ => None,
        });
        least.max()
    }

    fn step(self, step: &Step<'_>, found: &mut Vec<Place>) {
        let segment = step.name;
        let position = segment.parse::<usize>().ok();
        let is_element = position.is_some() || segment.starts_with('$');
        let is_array = matches!(self.nested, Declared::Array(_))
            || self
                .rules
                .iter()
                .any(|rule| matches!(rule, Rule::Each(_) | Rule::MaxItems(_) | Rule::MinItems(_)));
        if is_array && is_element {
            let mut place = self.inner(true);
            place.is_positional = self.is_positional || position.is_none();
            place.element_of = self.bound().zip(position);
            return found.push(place);
        }
        let before = found.len();
        step.fields(self.nested, &mut |field| {
            found.push(Place {
                is_positional: self.is_positional,
                ..match field {
                    Found::Field(field) => Place {
                        rules: field.rules.iter().collect(),
                        save: field.save,
                        ..Place::root(field.nested())
                    },
                    Found::Content(declared) => Place::root(declared),
                }
            });
        });
        if found.len() > before {
            return;
        }
        let is_map = matches!(self.nested, Declared::Map(_) | Declared::Untyped)
            || self.rules.iter().any(|rule| matches!(rule, Rule::Values(_)));
        if is_map {
            found.push(Place {
                is_positional: self.is_positional,
                ..self.inner(false)
            });
        }
    }

    fn inner(&self, element: bool) -> Place {
        let mut inner = Place::root(match (self.nested, element) {
            (Declared::Array(inner), true) | (Declared::Map(inner), false) => inner(),
            (Declared::Untyped, _) => self.nested,
            _ => Declared::nothing(),
        });
        inner.rules = self
            .rules
            .iter()
            .flat_map(|rule| match (rule, element) {
                (Rule::Each(rules), true) | (Rule::Values(rules), false) => *rules,
                _ => &[],
            })
            .collect();
        inner
    }
}

/// One step of a path.
struct Step<'a> {
    name: &'a str,
    /// The variant that the field belongs to, where the path says it.
    variant: Option<&'static str>,
    /// The path of the document that has the field.
    above: &'a str,
    tags: Tags<'a>,
}

/// What a step leads to.
enum Found {
    Field(&'static Declare),
    /// What a variant has.
    Content(&'static Declared),
}

impl Step<'_> {
    fn fields(&self, declared: &'static Declared, found: &mut dyn FnMut(Found)) {
        match declared {
            Declared::Document { fields, .. } => {
                if let Some(own) = fields.iter().find(|field| field.name == self.name) {
                    return found(Found::Field(own));
                }
                let flattened = || fields.iter().filter(|field| field.name.is_empty());
                for flattened in flattened() {
                    self.fields(flattened.nested(), found);
                }
                if is_field(fields, self.name) {
                    return;
                }
                // What is no field is a key of the map that stands among the fields.
                if let Some(inner) = flattened().find_map(|flattened| match flattened.nested() {
                    Declared::Map(inner) => Some(inner),
                    _ => None,
                }) {
                    found(Found::Content(inner()));
                }
            }
            Declared::Variants {
                tag,
                content,
                variants,
            } => {
                let is_one = |name: &str| variants.iter().any(|variant| variant.name == name);
                let named = self.variant.filter(|name| is_one(name)).map(str::to_owned);
                let named = match variants.len() {
                    1 => None,
                    _ => named.or_else(|| self.tags.name(self.above, tag).filter(|name| is_one(name))),
                };
                for variant in *variants {
                    if named.as_ref().is_some_and(|name| name != variant.name) {
                        continue;
                    }
                    match (*content, variant.nested()) {
                        // Of its fields nothing is known, nor whether it has this one.
                        ("", Declared::Nothing) if self.name != *tag => {
                            found(Found::Content(Declared::nothing()));
                        }
                        ("", Declared::Map(inner)) if self.name != *tag => found(Found::Content(inner())),
                        ("", Declared::Untyped) if self.name != *tag => {
                            found(Found::Content(&Declared::Untyped));
                        }
                        ("", inner) => self.fields(inner, found),
                        (content, inner) if content == self.name => found(Found::Content(inner)),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

fn joined(path: &str, name: &str) -> String {
    match (path, name) {
        ("", name) => name.to_owned(),
        (path, "") => path.to_owned(),
        (path, name) => format!("{path}.{name}"),
    }
}

/// What is declared of a field of this document, or of this value of a map.
pub(super) fn inside(declared: &'static Declared, name: &str, document: &RawDocument) -> Place {
    let step = Step {
        name,
        variant: None,
        above: "",
        tags: Tags::Of(document),
    };
    let mut found = Vec::with_capacity(1);
    Place::root(declared).step(&step, &mut found);
    let first = found.into_iter().next();
    first.unwrap_or_else(|| Place::root(Declared::nothing()))
}

/// The variant of the enum that this document is, or whose fields stand among its own, by the value of its tag.
pub(super) fn variant(declared: &'static Declared, document: &RawDocument) -> Option<&'static Declare> {
    match declared {
        Declared::Variants { tag, variants, .. } => match document.get(tag) {
            Ok(Some(RawBsonRef::String(name))) => variants.iter().find(|variant| variant.name == name),
            _ => None,
        },
        Declared::Document { fields, .. } => {
            let mut flattened = fields.iter().filter(|field| field.name.is_empty());
            flattened.find_map(|flattened| variant(flattened.nested(), document))
        }
        _ => None,
    }
}

/// Whether one of the fields, or of those that stand among them, has this name.
pub(super) fn is_field(fields: &[Declare], name: &str) -> bool {
    fields.iter().any(|field| match field.name {
        "" => is_inside(field.nested(), name),
        own => own == name,
    })
}

/// Whether a document of this type may have a field of this name.
pub(super) fn is_inside(declared: &'static Declared, name: &str) -> bool {
    match declared {
        Declared::Document { fields, .. } => is_field(fields, name),
        Declared::Variants {
            tag,
            content,
            variants,
        } => {
            let mut variants = variants.iter();
            *tag == name
                || match *content {
                    "" => variants.any(|variant| is_inside(variant.nested(), name)),
                    content => content == name,
                }
        }
        _ => false,
    }
}
