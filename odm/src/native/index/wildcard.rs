//! Wildcard indexes: every field of a document, or of a part of it, each value under the path that leads to it.

use super::super::collation::Collation;
use super::super::document::{Doc, Fields, Owned, Value, number};
use super::super::fault::{Fault, Result, code};
use super::super::projection::Projection;
use super::arrays::Arrays;
use super::{IndexField, IndexKeys, Order, Origin};

/// The code of an operator that nobody has.
const UNKNOWN_EXPRESSION: i32 = 31_325;

/// The field of the path in explanations and bounds.
const PATH: &str = "$_path";

/// What a wildcard index is about.
#[derive(Clone, Debug)]
pub(crate) struct Wildcard {
    /// The names before `$**`.
    prefix: Vec<String>,
    /// The part of the documents that is indexed, if it is said.
    projection: Option<Projection>,
    /// The paths that the projection names, and whether they are those that are indexed.
    chosen: Option<(Vec<String>, bool)>,
}

/// Whether this name of a field in a key pattern is that of a wildcard index.
pub(super) fn is_wildcard(path: &str) -> bool {
    path == "$**" || path.ends_with(".$**")
}

fn not_wildcard() -> Fault {
    Fault::new(
        code::BAD_VALUE,
        "The field 'wildcardProjection' is only allowed in an 'wildcard' index",
    )
}

/// Refuses a projection beside a key without a wildcard, where that is known.
pub(super) fn check_beside(key: Option<Value<'_>>) -> Result<()> {
    let Some(Value::Document(key)) = key else {
        return Ok(());
    };
    match key.elements().any(|field| is_wildcard(field.name_str())) {
        true => Ok(()),
        false => Err(not_wildcard()),
    }
}

/// The wildcard of a key pattern, if it has one.
///
/// # Errors
/// MongoDB's, for what no wildcard index has.
pub(super) fn parse(
    keys: &[IndexField],
    projection: Option<Value<'_>>,
    origin: Origin,
) -> Result<Option<Wildcard>> {
    let Some(field) = keys.iter().find(|field| is_wildcard(&field.path)) else {
        return match projection {
            None => Ok(None),
            Some(_) => Err(not_wildcard()),
        };
    };
    let prefix: Vec<String> = field.path.split('.').map(str::to_owned).collect();
    let prefix = prefix[..prefix.len() - 1].to_vec();
    let (projection, chosen) = match projection {
        None => (None, None),
        Some(value) => {
            let spec = checked(&value)?;
            if !prefix.is_empty() {
                return Err(Fault::new(
                    code::FAILED_TO_PARSE,
                    "The field 'wildcardProjection' is only allowed when 'key' is {\"$**\": ±1}",
                ));
            }
            let (projection, chosen) = projected(spec, origin)
                .map_err(|fault| fault.prefixed("Failed to parse: wildcardProjection :: caused by :: "))?;
            (Some(projection), Some(chosen))
        }
    };
    if keys.len() > 1 {
        return Err(Fault::new(
            code::CANNOT_CREATE_INDEX,
            "wildcard indexes do not allow compounding",
        ));
    }
    Ok(Some(Wildcard {
        prefix,
        projection,
        chosen,
    }))
}

fn checked<'a>(value: &Value<'a>) -> Result<Doc<'a>> {
    match value {
        Value::Document(spec) if spec.is_empty() => Err(Fault::new(
            code::FAILED_TO_PARSE,
            "The 'wildcardProjection' field can't be an empty object",
        )),
        Value::Document(spec) => Ok(*spec),
        other => Err(Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "The field 'wildcardProjection' must be a non-empty object, but got {}",
                other.kind().alias()
            ),
        )),
    }
}

/// The projection, which leaves `_id` out unless it names it or a part of it, and what it names.
fn projected(spec: Doc<'_>, origin: Origin) -> Result<(Projection, (Vec<String>, bool))> {
    let mut paths = Vec::new();
    let mut included = None;
    let mut computed = false;
    name_paths(spec, "", &mut paths, &mut included, &mut computed)?;
    let mut fields: Fields = spec
        .elements()
        .map(|element| (element.name_str().to_owned(), Owned::from(element.value())))
        .collect();
    if !spec.elements().any(|element| under(element.name_str(), "_id")) {
        fields.push(("_id".to_owned(), Owned::Int32(0)));
    }
    let projection = match Projection::parse(Doc::Fields(&fields), None) {
        // What no projection has is told before what no index has.
        Err(fault) if computed && fault.code() != UNKNOWN_EXPRESSION => return Err(computed_field()),
        Ok(_) if computed && origin.is_given() => return Err(computed_field()),
        parsed => parsed?,
    };
    // Nothing is looked for by keys of values that are not the document's own.
    if computed {
        return Ok((projection, (Vec::new(), true)));
    }
    Ok((projection, (paths, included.unwrap_or(true))))
}

/// Collects the paths that a projection names beside `_id`, and whether it takes or leaves them.
fn name_paths(
    spec: Doc<'_>,
    prefix: &str,
    paths: &mut Vec<String>,
    included: &mut Option<bool>,
    computed: &mut bool,
) -> Result<()> {
    for element in spec.elements() {
        let path = format!("{prefix}{}", element.name_str());
        if path.ends_with(".$") {
            return Err(Fault::new(
                31_324,
                "Cannot use positional projection in aggregation projection",
            ));
        }
        match element.value() {
            Value::Document(inner) if inner.get("$elemMatch").is_some() => {
                return Err(Fault::new(168, "Cannot use $elemMatch in this context"));
            }
            Value::Document(inner) if is_operator(inner) => *computed = true,
            Value::Document(inner) => name_paths(inner, &format!("{path}."), paths, included, computed)?,
            value if value.is_number() || matches!(value, Value::Bool(_)) => {
                let taken = match value {
                    Value::Bool(taken) => taken,
                    number => number::as_f64(&number) != Some(0.0),
                };
                if path != "_id" {
                    included.get_or_insert(taken);
                    paths.push(path);
                } else if taken {
                    paths.push(path);
                }
            }
            _ => {
                return Err(computed_field());
            }
        }
    }
    Ok(())
}

/// Whether a document is an operator rather than the fields under a name.
fn is_operator(inner: Doc<'_>) -> bool {
    inner
        .elements()
        .next()
        .is_some_and(|first| first.name().starts_with(b"$"))
}

fn computed_field() -> Fault {
    Fault::new(
        51_271,
        "Bad projection specification, cannot use computed fields when parsing a spec in kBanComputedFields mode",
    )
}

/// Whether a path is this one or begins with it.
fn under(path: &str, own: &str) -> bool {
    path.strip_prefix(own)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl Wildcard {
    /// Whether the same fields are indexed, in whatever words.
    pub(crate) fn is_same(&self, other: &Wildcard) -> bool {
        let sorted = |wildcard: &Wildcard| {
            let (mut paths, included) = wildcard.chosen.clone()?;
            paths.sort_unstable();
            Some((paths, included))
        };
        self.prefix == other.prefix && sorted(self) == sorted(other)
    }

    /// What takes the place of the one field of the key pattern: the path, and the value under it.
    pub(super) fn fields(&self, pattern: &str) -> Vec<IndexField> {
        vec![
            IndexField {
                path: PATH.to_owned(),
                order: Order::Ascending,
            },
            IndexField {
                path: pattern.to_owned(),
                order: Order::Ascending,
            },
        ]
    }

    /// Whether the index is of what lies under this path.
    pub(crate) fn is_rooted_at(&self, path: &str) -> bool {
        !self.prefix.is_empty() && path.split('.').eq(&self.prefix)
    }

    /// Whether every value under this path has a key. Paths with a number are left out: it can be a position.
    pub(crate) fn covers(&self, path: &str) -> bool {
        let mut names = path.split('.');
        if path
            .split('.')
            .any(|name| name.starts_with(|first: char| first.is_ascii_digit()))
        {
            return false;
        }
        let below_prefix = self.prefix.iter().all(|own| names.next() == Some(own))
            && (self.prefix.is_empty() || names.next().is_some());
        if !below_prefix {
            return false;
        }
        let is_id = under(path, "_id");
        match &self.chosen {
            None => !(is_id && self.prefix.is_empty()),
            Some((named, true)) => named.iter().any(|own| under(path, own)),
            Some((named, false)) => {
                let id_named = named.iter().any(|own| under(own, "_id"));
                (!is_id || id_named) && !named.iter().any(|own| own != "_id" && under(path, own))
            }
        }
    }

    /// Whether documents under this path have keys without some of their fields.
    pub(crate) fn takes_from(&self, path: &str) -> bool {
        match &self.chosen {
            Some((named, false)) => named.iter().any(|own| under(own, path)),
            _ => false,
        }
    }

    /// The keys of a document.
    pub(super) fn keys(&self, doc: Doc<'_>, collation: &Collation) -> Result<IndexKeys> {
        let mut found = IndexKeys {
            multikey: vec![Arrays::NONE; 2],
            ..IndexKeys::default()
        };
        let several = self.each(doc, collation, &mut |key, _, _| found.keys.push(key))?;
        found.multikey[1] = Arrays::if_any(several);
        found.keys.sort_unstable();
        found.keys.dedup();
        Ok(found)
    }

    /// The path and the value of one of the document's keys.
    pub(crate) fn shown(
        &self,
        doc: Doc<'_>,
        collation: &Collation,
        wanted: &[u8],
    ) -> Result<Option<(String, Owned)>> {
        let mut shown = None;
        self.each(doc, collation, &mut |key, path, value| {
            if shown.is_none() && key == wanted {
                shown = Some((path.to_owned(), Owned::from(*value)));
            }
        })?;
        Ok(shown)
    }

    /// Visits the keys of a document with their paths and values; tells whether it met an array.
    fn each(
        &self,
        doc: Doc<'_>,
        collation: &Collation,
        visit: &mut dyn FnMut(Vec<u8>, &str, &Value<'_>),
    ) -> Result<bool> {
        let projected;
        let doc = match &self.projection {
            None => doc,
            Some(projection) => {
                projected = projection.apply(doc, None)?;
                Doc::Raw(&projected)
            }
        };
        let mut walk = Walk {
            visit,
            meets_array: false,
            collation,
        };
        let without_id = self.prefix.is_empty() && self.projection.is_none();
        walk.below(doc, &mut String::new(), &self.prefix, without_id);
        Ok(walk.meets_array)
    }
}

struct Walk<'a> {
    visit: &'a mut dyn FnMut(Vec<u8>, &str, &Value<'_>),
    meets_array: bool,
    collation: &'a Collation,
}

impl Walk<'_> {
    /// The fields of a document, or the one that the prefix leads to.
    fn below(&mut self, doc: Doc<'_>, path: &mut String, prefix: &[String], without_id: bool) {
        for element in doc.elements() {
            let name = element.name_str();
            if prefix.first().is_some_and(|own| own != name) || (without_id && name == "_id") {
                continue;
            }
            let length = path.len();
            if length > 0 {
                path.push('.');
            }
            path.push_str(name);
            self.value(
                &element.value(),
                path,
                prefix.get(1..).unwrap_or_default(),
                prefix.is_empty(),
            );
            path.truncate(length);
        }
    }

    /// A value at a path; `inside` of what the prefix leads to, or on the way there.
    fn value(&mut self, value: &Value<'_>, path: &mut String, prefix: &[String], inside: bool) {
        match value {
            Value::Document(doc) if !doc.is_empty() => self.below(*doc, path, prefix, false),
            Value::Array(items) => {
                self.meets_array = true;
                if items.is_empty() {
                    self.key(path, &Value::Undefined, inside && prefix.is_empty());
                }
                for item in items.values() {
                    match item {
                        Value::Document(doc) if !doc.is_empty() => self.below(doc, path, prefix, false),
                        item => self.key(path, &item, inside && prefix.is_empty()),
                    }
                }
            }
            value => self.key(path, value, inside && prefix.is_empty()),
        }
    }

    fn key(&mut self, path: &str, value: &Value<'_>, inside: bool) {
        if !inside {
            return;
        }
        let mut key = Vec::with_capacity(path.len() + 16);
        Order::Ascending.encode(&Value::String(path), Collation::simple(), &mut key);
        Order::Ascending.encode(value, self.collation, &mut key);
        key.push(super::super::key::END);
        (self.visit)(key, path, value);
    }
}

#[cfg(test)]
mod tests {
    use super::super::IndexDefinition;
    use super::*;
    use bson::{doc, serialize_to_vec};

    fn index(key: &str, projection: Option<bson::Document>) -> IndexDefinition {
        let mut spec = doc! { "key": { key: 1 }, "name": "w" };
        if let Some(projection) = projection {
            spec.insert("wildcardProjection", projection);
        }
        let bytes = serialize_to_vec(&spec).expect("it is BSON");
        IndexDefinition::parse(Doc::Raw(&bytes)).expect("an index")
    }

    /// The paths of a document's keys.
    fn paths(index: &IndexDefinition, document: &bson::Document) -> Vec<String> {
        let bytes = serialize_to_vec(document).expect("it is BSON");
        let keys = index.keys(Doc::Raw(&bytes)).expect("keys").keys;
        let known = ["a", "a.b", "a.b.c", "a.d", "_id", "x", "x.y"];
        let mut found = Vec::new();
        for key in keys {
            let path = known.iter().find(|path| {
                let mut start = Vec::new();
                Order::Ascending.encode(&Value::String(path), Collation::simple(), &mut start);
                key.starts_with(&start)
            });
            found.push((*path.expect("a known path")).to_owned());
        }
        found
    }

    #[test]
    fn every_value_has_a_key_under_its_path() {
        let document =
            doc! { "_id": 1, "a": { "b": [1, 2, { "c": 3 }, []], "d": {} }, "x": [{ "y": 1 }, { "y": 1 }] };
        let all = index("$**", None);
        assert_eq!(
            paths(&all, &document),
            ["a.b", "a.b", "a.b", "a.b.c", "a.d", "x.y"]
        );
        assert_eq!(
            paths(&index("a.$**", None), &document),
            ["a.b", "a.b", "a.b", "a.b.c", "a.d"]
        );
        assert_eq!(paths(&index("a.b.$**", None), &document), ["a.b.c"]);
        let chosen = index("$**", Some(doc! { "a.d": 1, "_id": 1 }));
        assert_eq!(paths(&chosen, &document), ["_id", "a.d"]);
        let left = index("$**", Some(doc! { "a": 0 }));
        assert_eq!(paths(&left, &document), ["x.y"]);
    }

    #[test]
    fn paths_are_covered_that_are_indexed() {
        for (key, projection, covered, not) in [
            (
                "$**",
                None,
                vec!["a", "a.b", "_ids"],
                vec!["_id", "_id.x", "a.0", "0"],
            ),
            ("a.$**", None, vec!["a.b", "a.b.c"], vec!["a", "b", "ab.c"]),
            ("_id.$**", None, vec!["_id.a"], vec!["_id"]),
            (
                "$**",
                Some(doc! { "a.b": 1 }),
                vec!["a.b", "a.b.c"],
                vec!["a", "a.c", "_id", "a.bc"],
            ),
            (
                "$**",
                Some(doc! { "a.b": 0 }),
                vec!["a", "a.c", "x", "a.bc"],
                vec!["a.b", "a.b.c", "_id"],
            ),
            (
                "$**",
                Some(doc! { "_id": 1, "a": 1 }),
                vec!["_id", "a"],
                vec!["b"],
            ),
        ] {
            let index = index(key, projection);
            let wildcard = index.wildcard.as_deref().expect("a wildcard");
            for path in covered {
                assert!(wildcard.covers(path), "{key}: {path}");
            }
            for path in not {
                assert!(!wildcard.covers(path), "{key}: {path}");
            }
        }
    }
}
