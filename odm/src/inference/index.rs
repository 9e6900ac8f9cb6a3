//! Indexes as attributes of a model.

use bson::{Bson, Document, doc};

use super::literal;
use super::plan::Plan;
use super::planned::{Form, Type};
use crate::collection::IndexInfo;

/// Options that say nothing of their own.
const OWN: [&str; 5] = ["v", "ns", "key", "name", "background"];

/// An index, declared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Attribute {
    /// The field that it stands on; on the struct, if none.
    pub(crate) field: Option<String>,
    /// What stands within `#[odm(..)]`.
    pub(crate) text: String,
    /// What is to be said of it.
    pub(crate) note: Option<String>,
}

/// Where an index is declared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holder<'a> {
    pub(crate) plan: &'a Plan,
    /// The model's type.
    pub(crate) model: usize,
    /// Whether it is one of several kinds.
    pub(crate) is_kind: bool,
    /// Whether the collection compares texts by a language.
    pub(crate) has_collation: bool,
}

/// A key of an index: the stored path, and how it is kept.
struct Key {
    path: String,
    order: String,
    weight: Option<u32>,
}

impl Holder<'_> {
    /// Whether the model has all fields of the index.
    pub(crate) fn has_all(self, index: &IndexInfo) -> bool {
        let keys = keys(index);
        keys.iter()
            .all(|key| self.reach(wildcard(&key.path).unwrap_or(&key.path)).is_some())
    }

    /// The attribute that declares the index.
    pub(crate) fn attribute(self, index: &IndexInfo) -> Attribute {
        self.typed(index).unwrap_or_else(|| self.raw(index))
    }

    /// In the words of the derive; none where it has no words for it.
    fn typed(self, index: &IndexInfo) -> Option<Attribute> {
        let keys = keys(index);
        let spec = &index.spec;
        let is = |option: &str| spec.get(option).is_some_and(is_true);
        let has = |order: &str| keys.iter().any(|key| key.order == order);
        let is_wildcard = keys.iter().any(|key| wildcard(&key.path).is_some());
        let (unique, sparse) = (is("unique"), is("sparse"));
        let plugins: Vec<&Key> = keys
            .iter()
            .filter(|key| !["1", "-1"].contains(&key.order.as_str()))
            .collect();
        let flats = keys.iter().filter(|key| key.order == "2d").count();
        let is_refused = (is_wildcard && (keys.len() > 1 || unique || sparse || has("text") || has("-1")))
            || (unique && has("hashed"))
            || (sparse && spec.contains_key("partialFilterExpression"))
            || plugins.windows(2).any(|pair| pair[0].order != pair[1].order)
            || plugins.iter().filter(|key| key.order == "hashed").count() > 1
            || (flats > 0 && (flats > 1 || keys[0].order != "2d"));
        if is_refused || keys.is_empty() {
            return None;
        }
        let mut words = Vec::new();
        for key in &keys {
            words.push(self.key(key)?);
        }
        let mut options = Vec::new();
        let mut more = Document::new();
        let mut flag = |option: &str, is: bool| options.extend(is.then(|| option.to_owned()));
        flag("unique", unique);
        flag("sparse", sparse);
        flag("hidden", is("hidden"));
        flag(
            "all_kinds",
            self.is_kind && (unique || spec.contains_key("expireAfterSeconds")),
        );
        let name: Vec<String> = keys
            .iter()
            .map(|key| format!("{}_{}", key.path, key.order))
            .collect();
        if name.join("_") != index.name {
            options.push(format!("name = {}", literal::text(&index.name)));
        }
        for (option, value) in spec {
            let told = match option.as_str() {
                option if OWN.contains(&option) => Some(Vec::new()),
                "unique" | "sparse" | "hidden" => Some(Vec::new()),
                "weights" => Some(Vec::new()),
                "textIndexVersion" | "2dsphereIndexVersion" => (number(value) == Some(3.0)).then(Vec::new),
                "expireAfterSeconds" => self.expiry(&keys, value).map(|option| vec![option]),
                "partialFilterExpression" => value.as_document().map(|filter| {
                    vec![format!(
                        "partial = |_| odm::Filter::raw({})",
                        literal::document(filter)
                    )]
                }),
                "default_language" if has("text") => value.as_str().map(|language| match language {
                    "english" => Vec::new(),
                    language => vec![format!("language = {}", literal::text(language))],
                }),
                "language_override" if has("text") => value.as_str().map(|field| match field {
                    "language" => Vec::new(),
                    field => vec![format!("language_field = {}", literal::text(field))],
                }),
                "bits" if flats > 0 => bits(value).map(|bits| vec![format!("bits = {bits}")]),
                "min" if flats > 0 => match (number(value), number(spec.get("max")?)) {
                    (Some(least), Some(most)) => Some(vec![format!("bounds({least:?}, {most:?})")]),
                    _ => None,
                },
                "max" if flats > 0 && spec.contains_key("min") => Some(Vec::new()),
                "collation" if !has("text") && flats == 0 => value.as_document().map(|collation| {
                    vec![format!(
                        "collation = {}",
                        literal::document(&unversioned(collation))
                    )]
                }),
                "wildcardProjection" if keys[0].path == "$**" => self.chosen(value),
                _ => None,
            };
            match told {
                Some(told) => options.extend(told),
                None => drop(more.insert(option, value.clone())),
            }
        }
        if self.has_collation && !spec.contains_key("collation") {
            // What says nothing would get the collection's.
            match has("text") || flats > 0 {
                true => drop(more.insert("collation", doc! { "locale": "simple" })),
                false => options.push("collation = odm::bson::doc! { \"locale\": \"simple\" }".to_owned()),
            }
        }
        if !more.is_empty() {
            options.push(format!("options = {}", literal::document(&more)));
        }
        if let [(path, order, weight)] = words.as_slice()
            && !path.is_empty()
            && !path.contains(['.', '('])
        {
            let order = (*order != "asc").then(|| (*order).to_owned());
            let weight = weight.map(|weight| format!("weight = {weight}"));
            let all: Vec<String> = order.into_iter().chain(weight).chain(options).collect();
            let text = match all.as_slice() {
                [] => "index".to_owned(),
                [one] if one == "unique" => "unique".to_owned(),
                all => format!("index({})", all.join(", ")),
            };
            return Some(Attribute {
                field: Some(path.clone()),
                text,
                note: None,
            });
        }
        let words = words.iter().map(|(path, order, weight)| match (*order, weight) {
            ("asc", _) => path.clone(),
            (order, Some(weight)) => format!("{order}({path}, weight = {weight})"),
            (order, None) => format!("{order}({path})"),
        });
        let words: Vec<String> = words.collect();
        let all: Vec<String> = [format!("keys({})", words.join(", "))]
            .into_iter()
            .chain(options)
            .collect();
        Some(Attribute {
            field: None,
            text: format!("index({})", all.join(", ")),
            note: None,
        })
    }

    /// A key's path in Rust, its order, and its weight.
    fn key(self, key: &Key) -> Option<(String, &'static str, Option<u32>)> {
        if let Some(path) = wildcard(&key.path) {
            return match path {
                "" => Some((String::new(), "wildcard", None)),
                path => Some((self.reach(path)?.0, "wildcard", None)),
            };
        }
        let (path, ty) = self.reach(&key.path)?;
        let order = match key.order.as_str() {
            "1" => "asc",
            "-1" => "desc",
            "hashed" => "hashed",
            "text" => "text",
            "2d" if is_located(&ty) => "geo_2d",
            "2dsphere" if is_located(&ty) => "geo_2dsphere",
            _ => return None,
        };
        if key.weight.is_some_and(|weight| !(1..99_999).contains(&weight)) {
            return None;
        }
        Some((path, order, key.weight.filter(|weight| *weight != 1)))
    }

    fn expiry(self, keys: &[Key], value: &Bson) -> Option<String> {
        let [key] = keys else { return None };
        let (_, ty) = self.reach(&key.path)?;
        let seconds = number(value).filter(|seconds| seconds.fract() == 0.0)?;
        let is_plain = ["1", "-1"].contains(&key.order.as_str());
        let fits = (0.0..=f64::from(i32::MAX)).contains(&seconds);
        (is_plain && fits && is_date(&ty)).then(|| format!("expire_after = {seconds:.0}"))
    }

    /// The fields that a wildcard index is over, or not.
    fn chosen(self, value: &Bson) -> Option<Vec<String>> {
        let fields = value.as_document().filter(|fields| !fields.is_empty())?;
        let is_in = fields.values().all(is_true);
        let is_out = fields
            .values()
            .all(|value| number(value) == Some(0.0) || *value == Bson::Boolean(false));
        let mut paths = Vec::new();
        for path in fields.keys() {
            paths.push(self.reach(path)?.0);
        }
        match (is_in, is_out) {
            (true, false) => Some(vec![format!("only({})", paths.join(", "))]),
            (false, true) => Some(vec![format!("without({})", paths.join(", "))]),
            _ => None,
        }
    }

    /// In MongoDB's words.
    fn raw(self, index: &IndexInfo) -> Attribute {
        let mut key = Document::new();
        let mut weights = Document::new();
        for part in keys(index) {
            let order = match part.order.as_str() {
                "1" => Bson::Int32(1),
                "-1" => Bson::Int32(-1),
                other => Bson::String(other.to_owned()),
            };
            if let Some(weight) = part.weight {
                weights.insert(part.path.clone(), i64::from(weight));
            }
            key.insert(part.path, order);
        }
        let mut options = doc! { "key": key.clone() };
        for (option, value) in &index.spec {
            match option.as_str() {
                option if OWN.contains(&option) => {}
                "textIndexVersion" | "2dsphereIndexVersion" if number(value) == Some(3.0) => {}
                "weights" => drop(options.insert("weights", weights.clone())),
                "collation" => match value.as_document() {
                    Some(collation) => drop(options.insert("collation", unversioned(collation))),
                    None => drop(options.insert("collation", value.clone())),
                },
                option => drop(options.insert(option, value.clone())),
            }
        }
        if self.has_collation && !options.contains_key("collation") {
            options.insert("collation", doc! { "locale": "simple" });
        }
        let id = self
            .plan
            .fields(self.model)
            .first()
            .map_or("id", |field| field.ident.as_str());
        let kinds = if self.is_kind { ", all_kinds" } else { "" };
        Attribute {
            field: None,
            text: format!(
                "index(keys({id}), name = {}{kinds}, options = {})",
                literal::text(&index.name),
                literal::document(&options)
            ),
            note: Some(format!(
                "the index is over {key}, as `options` say: attributes have no words for it"
            )),
        }
    }

    /// The Rust path of a stored one, and the type of what is there.
    fn reach(self, path: &str) -> Option<(String, Type)> {
        let mut text = String::new();
        let mut ty = Type::Nested(self.model);
        if path.is_empty() {
            return Some((text, ty));
        }
        for name in path.split('.') {
            let (step, inner) = self.step(&ty, name)?;
            text.push_str(&step);
            ty = inner;
        }
        Some((text.trim_start_matches('.').to_owned(), ty))
    }

    fn step(self, ty: &Type, name: &str) -> Option<(String, Type)> {
        match ty {
            Type::Nested(index) => {
                let Form::Struct(fields) = &self.plan.get(*index)?.form else {
                    return None;
                };
                let field = fields
                    .iter()
                    .find(|field| !field.is_rest && field.stored == name)?;
                Some((format!(".{}", field.ident), field.ty.clone()))
            }
            Type::Option(inner) if !matches!(**inner, Type::Option(_)) => self.step(inner, name),
            Type::Boxed(inner) => self.step(inner, name),
            Type::Vec(inner) => match name.parse::<u32>() {
                Ok(position) if position.to_string() == name => {
                    Some((format!(".at({position})"), (**inner).clone()))
                }
                _ if matches!(**inner, Type::Vec(_)) => None,
                _ => {
                    let (step, ty) = self.step(inner, name)?;
                    Some((format!(".any(){step}"), ty))
                }
            },
            Type::Map(inner) => Some((format!(".key({})", literal::text(name)), (**inner).clone())),
            Type::Plain(
                plain @ ("odm::bson::Bson"
                | "odm::bson::RawBson"
                | "odm::bson::Document"
                | "odm::bson::RawDocumentBuf"),
            ) => {
                let inner = match *plain {
                    "odm::bson::RawBson" | "odm::bson::RawDocumentBuf" => "odm::bson::RawBson",
                    _ => "odm::bson::Bson",
                };
                Some((format!(".key({})", literal::text(name)), Type::Plain(inner)))
            }
            _ => None,
        }
    }
}

/// The keys of an index, with the fields of texts that a stored one names in its weights.
fn keys(index: &IndexInfo) -> Vec<Key> {
    let mut keys = Vec::new();
    let weights = index.spec.get_document("weights").ok();
    let key = |path: &str, order: &str, weight: Option<u32>| Key {
        path: path.to_owned(),
        order: order.to_owned(),
        weight,
    };
    for (path, order) in &index.keys {
        match order {
            Bson::String(kind) if kind == "text" && path == "_fts" => {
                for (path, weight) in weights.into_iter().flatten() {
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "a weight is below 99999"
                    )]
                    let weight = number(weight).map(|weight| weight as u32);
                    keys.push(key(path, "text", weight));
                }
            }
            _ if path == "_ftsx" => {}
            Bson::String(kind) => keys.push(key(path, kind, None)),
            order => {
                let ascending = number(order).is_none_or(|order| order >= 0.0);
                keys.push(key(path, if ascending { "1" } else { "-1" }, None));
            }
        }
    }
    keys
}

/// What a wildcard is below; the document itself has no name.
fn wildcard(path: &str) -> Option<&str> {
    match path {
        "$**" => Some(""),
        path => path.strip_suffix(".$**"),
    }
}

fn bits(value: &Bson) -> Option<u8> {
    let bits = number(value)?;
    (1_u8..=32).find(|one| f64::from(*one) == bits)
}

/// A collation as it is declared: the version is the server's.
fn unversioned(collation: &Document) -> Document {
    let mut collation = collation.clone();
    collation.remove("version");
    collation
}

fn is_located(ty: &Type) -> bool {
    match ty {
        Type::Plain(plain) => {
            plain.starts_with("odm::geo::")
                || ["[f64; 2]", "odm::bson::Bson", "odm::bson::Document"].contains(plain)
        }
        Type::Option(inner) => is_located(inner),
        _ => false,
    }
}

fn is_date(ty: &Type) -> bool {
    match ty {
        Type::Plain(plain) => {
            ["odm::bson::DateTime", "odm::bson::Bson", "odm::bson::RawBson"].contains(plain)
        }
        Type::Option(inner) | Type::Vec(inner) => is_date(inner),
        _ => false,
    }
}

fn number(value: &Bson) -> Option<f64> {
    match value {
        Bson::Int32(number) => Some(f64::from(*number)),
        #[expect(clippy::cast_precision_loss, reason = "options are small")]
        Bson::Int64(number) => Some(*number as f64),
        Bson::Double(number) => Some(*number),
        _ => None,
    }
}

fn is_true(value: &Bson) -> bool {
    matches!(value, Bson::Boolean(true)) || number(value).is_some_and(|number| number != 0.0)
}
