//! Text indexes: their specification, and the keys of a document: one for each term, with its score.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::collation::Collation;
use super::super::document::{Doc, Fields, Owned, Value, number};
use super::super::fault::{Fault, Result};
use super::super::key;
use super::super::text::{Language, MAX_WEIGHT, TextSpec, WILDCARD};
use super::arrays::{Arrays, is_multikey};
use super::extract::{Extraction, Path};
use super::parse::cannot;
use super::{IndexDefinition, IndexField, IndexKeys, Order, Origin};

/// The fields that stand for the terms and their scores in a key pattern.
pub(super) const TERM: &str = "_fts";
pub(super) const SCORE: &str = "_ftsx";

/// Longer terms are kept by their beginning and a hash, in bytes.
const LONGEST_TERM: usize = 256;
const TERM_BEGINNING: usize = 224;

/// The options of a text index, as given.
#[derive(Clone, Copy, Default)]
pub(super) struct TextOptions<'a> {
    pub(super) weights: Option<Value<'a>>,
    pub(super) default_language: Option<&'a str>,
    pub(super) language_override: Option<&'a str>,
    pub(super) version: Option<Value<'a>>,
}

impl TextOptions<'_> {
    /// The options as an index of another kind keeps them.
    pub(super) fn kept(&self) -> Fields {
        let text = |text: &str| Owned::String(text.to_owned());
        let version = self.version.as_ref().and_then(number::as_i32_whole);
        let options = [
            ("default_language", self.default_language.map(text)),
            ("language_override", self.language_override.map(text)),
            ("textIndexVersion", version.map(Owned::Int32)),
        ];
        let given = options.into_iter();
        given
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
    }
}

/// A text index as the catalog keeps it.
pub(super) struct TextIndex {
    pub(super) fields: Vec<IndexField>,
    /// The key pattern with the stand-ins.
    pub(super) key: Vec<(String, Owned)>,
    /// The options as `listIndexes` gives them.
    pub(super) options: Vec<(String, Owned)>,
    pub(super) spec: Arc<TextSpec>,
}

/// Whether a key pattern is that of a text index.
pub(super) fn is_text(pattern: Doc<'_>) -> bool {
    pattern.elements().any(|element| is_plugin(&element.value()))
}

fn is_plugin(value: &Value<'_>) -> bool {
    value.as_str() == Some("text")
}

/// Brings a text index into the form in which it is kept.
///
/// # Errors
/// 67 for what cannot be, as on the server.
pub(super) fn parse(
    pattern: Doc<'_>,
    fields: &[IndexField],
    options: TextOptions<'_>,
    origin: Origin,
) -> Result<TextIndex> {
    let mut weights = BTreeMap::new();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut stands_in = false;
    let mut ended = false;
    for (element, field) in pattern.elements().zip(fields) {
        let name = element.name_str();
        if field.order == Order::Text {
            if ended {
                return Err(cannot("'text' fields in index must all be adjacent"));
            }
            if name == TERM {
                stands_in = true;
            } else if name == SCORE {
                return Err(cannot("expecting _ftsx:1"));
            } else {
                check_weighted(name, origin)?;
                weights.insert(name.to_owned(), 1.0);
            }
            continue;
        }
        let seen = stands_in || !weights.is_empty();
        if name == SCORE && stands_in && !ended {
            ended = true;
            continue;
        }
        if stands_in && !ended {
            return Err(cannot("expected _ftsx after _fts"));
        }
        ended |= seen;
        let place = if seen { &mut after } else { &mut before };
        place.push((field.clone(), (name.to_owned(), Owned::from(element.value()))));
    }
    if stands_in && !ended {
        return Err(cannot("expected _ftsx after _fts"));
    }
    let reserved = |name: &str| name == TERM || name == SCORE;
    if (stands_in && !weights.is_empty())
        || before
            .iter()
            .chain(&after)
            .any(|(field, _)| reserved(&field.path))
    {
        return Err(cannot("text index with reserved fields _fts/_ftsx not allowed"));
    }
    read_weights(options.weights, &mut weights, origin)?;
    if weights.is_empty() {
        return Err(cannot(
            "text index option 'weights' must specify fields or the wildcard",
        ));
    }
    let name = options.default_language.unwrap_or("english");
    let language = Language::parse(name).ok_or_else(|| cannot("default_language is not valid"))?;
    let override_field = options.language_override.unwrap_or("language");
    if override_field.is_empty() || override_field.starts_with('$') || override_field.contains('.') {
        return Err(cannot("language_override is not valid"));
    }
    check_version(options.version)?;
    let shown = weights
        .iter()
        .map(|(path, weight)| (path.clone(), Owned::Int32(*weight as i32)))
        .collect();
    let stand_in = |path: &str| IndexField {
        path: path.to_owned(),
        order: Order::Text,
    };
    let mut kept: Vec<IndexField> = before.iter().map(|(field, _)| field.clone()).collect();
    kept.extend([stand_in(TERM), stand_in(SCORE)]);
    kept.extend(after.iter().map(|(field, _)| field.clone()));
    let mut key: Vec<(String, Owned)> = before.into_iter().map(|(_, element)| element).collect();
    key.push((TERM.to_owned(), Owned::String("text".to_owned())));
    key.push((SCORE.to_owned(), Owned::Int32(1)));
    key.extend(after.into_iter().map(|(_, element)| element));
    let wildcard = weights.remove(WILDCARD).is_some();
    Ok(TextIndex {
        fields: kept,
        key,
        options: vec![
            ("weights".to_owned(), Owned::Document(shown)),
            ("default_language".to_owned(), Owned::String(name.to_owned())),
            (
                "language_override".to_owned(),
                Owned::String(override_field.to_owned()),
            ),
            ("textIndexVersion".to_owned(), Owned::Int32(3)),
        ],
        spec: Arc::new(TextSpec {
            weights,
            wildcard,
            language,
            override_field: override_field.to_owned(),
        }),
    })
}

fn read_weights(given: Option<Value<'_>>, weights: &mut BTreeMap<String, f64>, origin: Origin) -> Result<()> {
    let given = match given {
        None => return Ok(()),
        Some(Value::Document(doc)) => doc,
        Some(Value::String(WILDCARD)) => {
            weights.insert(WILDCARD.to_owned(), 1.0);
            return Ok(());
        }
        Some(_) => return Err(cannot("text index option 'weights' must be an object")),
    };
    for element in given.elements() {
        let (path, value) = (element.name_str(), element.value());
        let weight =
            number::as_i32_whole(&value).ok_or_else(|| cannot("weight for text index needs numeric type"))?;
        let weight = f64::from(weight);
        let is_within = weight > 0.0 && weight < MAX_WEIGHT;
        // Fractions were once stored as 0.
        if !is_within && origin != Origin::Stored {
            return Err(cannot(format!(
                "text index weight must be in the exclusive interval (0,100000) but found: {weight}"
            )));
        }
        check_weighted(path, origin)?;
        weights.insert(path.to_owned(), weight);
    }
    Ok(())
}

/// Whether words can be looked for at this path.
fn check_weighted(path: &str, origin: Origin) -> Result<()> {
    if path == WILDCARD || origin == Origin::Stored {
        return Ok(());
    }
    if path.is_empty() {
        return Err(cannot("weight cannot be on an empty field"));
    }
    for name in path.split('.') {
        if name.is_empty() {
            return Err(cannot("weight cannot have empty path component"));
        }
        if name.starts_with('$') {
            return Err(cannot("weight cannot have path component with $ prefix"));
        }
    }
    Ok(())
}

fn check_version(given: Option<Value<'_>>) -> Result<()> {
    let Some(version) = given else {
        return Ok(());
    };
    match number::as_f64(&version).map(|version| version as i64) {
        Some(3) => Ok(()),
        Some(older @ (1 | 2)) => Err(Fault::unsupported(format!(
            "text indexes of version {older} are not supported"
        ))),
        _ => Err(cannot(format!("bad textIndexVersion: {version}"))),
    }
}

/// A term as the index keeps it.
pub(crate) fn kept_term(term: &str) -> String {
    if term.len() <= LONGEST_TERM {
        return term.to_owned();
    }
    let mut end = TERM_BEGINNING;
    while !term.is_char_boundary(end) {
        end -= 1;
    }
    let hash = xxhash_rust::xxh3::xxh3_128(term.as_bytes());
    format!("{}{hash:032x}", &term[..end])
}

impl IndexDefinition {
    /// Where the term stands among the fields.
    pub(crate) fn term_position(&self) -> Option<usize> {
        self.keys.iter().position(|field| field.order == Order::Text)
    }

    /// Adds the document's keys; `visit` gets each with its term and score.
    pub(super) fn text_keys(
        &self,
        text: &TextSpec,
        doc: Doc<'_>,
        found: &mut IndexKeys,
        visit: &mut dyn FnMut(&[u8], &str, f64),
    ) -> Result<()> {
        let scores = text.scores(doc)?;
        let position = self.term_position().unwrap_or(0);
        let mut extraction = Extraction::new(&self.paths);
        let keys = &mut found.keys;
        let run = extraction.run(doc, &mut |values| {
            for (term, score) in &scores {
                let mut key = Vec::new();
                let part = |from: usize, to: usize, key: &mut Vec<u8>| {
                    let fields = self.keys.iter().filter(|field| field.order != Order::Text);
                    for (field, value) in fields.zip(values).take(to).skip(from) {
                        field
                            .order
                            .encode(&value.unwrap_or(Value::Null), Collation::simple(), key);
                    }
                };
                part(0, position, &mut key);
                key::encode(&Value::String(&kept_term(term)), false, &mut key);
                key::encode(&Value::Double(*score), false, &mut key);
                part(position, values.len(), &mut key);
                key.push(key::END);
                visit(&key, term, *score);
                keys.push(key);
            }
        });
        if run.is_err() || is_multikey(extraction.multikey()) {
            return Err(self.holds_array(doc));
        }
        // A document with several terms comes several times.
        if let Some(flag) = found.multikey.get_mut(position) {
            *flag = Arrays::if_any(keys.len() > 1);
        }
        keys.sort_unstable();
        keys.dedup();
        Ok(())
    }

    /// The fault of a document with an array in a field beside the texts.
    fn holds_array(&self, doc: Doc<'_>) -> Fault {
        let meets_array = |path: &Path| {
            let mut alone = Extraction::new(std::slice::from_ref(path));
            alone.run(doc, &mut |_| {}).is_err() || is_multikey(alone.multikey())
        };
        let fields = self.keys.iter().filter(|field| field.order != Order::Text);
        let field = fields.zip(&self.paths).find(|(_, path)| meets_array(path));
        let name = field.map_or("", |(field, _)| &field.path);
        Fault::new(
            201,
            format!("Field '{name}' of text index contains an array in document: {doc}"),
        )
    }

    /// The key pattern with the values of one of the document's keys.
    pub(super) fn text_key_value(&self, text: &TextSpec, doc: Doc<'_>, key: &[u8]) -> Vec<u8> {
        let mut found = None;
        let _ = self.text_keys(text, doc, &mut IndexKeys::default(), &mut |own, term, score| {
            if own == key {
                found = Some((kept_term(term), score));
            }
        });
        let (term, score) = found.unwrap_or_default();
        let value = |path: &str| match path {
            TERM => Owned::String(term.clone()),
            SCORE => Owned::Double(score),
            path => doc.get(path).map_or(Owned::Null, Owned::from),
        };
        let fields: Vec<(String, Owned)> = self
            .keys
            .iter()
            .map(|field| (field.path.clone(), value(&field.path)))
            .collect();
        Doc::Fields(&fields).to_bytes()
    }
}
