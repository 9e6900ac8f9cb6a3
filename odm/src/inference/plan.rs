//! The Rust types that hold what was seen.

use std::collections::{BTreeMap, BTreeSet};

use bson::spec::ElementType;

use super::choice::{are_doubles, geometry, is_fit, is_rigid, is_struct, notes, number, scalar_key};
use super::name::{self, Names};
use super::planned::{Form, Planned, PlannedCollection, PlannedField, PlannedModel, Type, is_same};
use super::recursion::nested;
use super::shape::{DocumentShape, Shape};
use super::{Inspected, Settings};

/// How deep structs are nested in structs before documents are left as they are.
const DEEPEST: usize = 24;
/// How many texts make an enum.
const MOST_VARIANTS: usize = 12;

/// All types of a database.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) types: Vec<Option<Planned>>,
    pub(crate) collections: Vec<PlannedCollection>,
    /// The keys of the models that can be referred to, by collection.
    keys: BTreeMap<String, Type>,
    settings: Settings,
    /// The paths of the collection at hand that an index of places is over.
    places: BTreeSet<String>,
}

impl Plan {
    pub(crate) fn of(inspected: &[Inspected], settings: Settings) -> Plan {
        let mut plan = Plan {
            settings,
            ..Plan::default()
        };
        for collection in inspected {
            if collection.obstacle().is_none()
                && let Some(key) = collection
                    .documents
                    .field("_id")
                    .map_or(Some(Type::OwnId), |id| scalar_key(id, settings))
            {
                plan.keys.insert(collection.name.clone(), key);
            }
        }
        for collection in inspected {
            plan.places = collection.places();
            let planned = plan.collection(collection);
            plan.collections.push(planned);
        }
        plan.name_all(inspected);
        plan
    }

    /// The type of this index.
    pub(crate) fn get(&self, index: usize) -> Option<&Planned> {
        self.types.get(index).and_then(Option::as_ref)
    }

    /// The name of the model that an `_id` of this type is one of: that of all kinds, where it is one of several.
    pub(crate) fn own_name(&self, index: usize) -> &str {
        let is_kind =
            |collection: &&PlannedCollection| collection.models.iter().any(|model| model.index == index);
        match self
            .collections
            .iter()
            .find(is_kind)
            .and_then(|collection| collection.tag.as_ref())
        {
            Some((_, name)) => name,
            None => self.get(index).map_or("", |planned| &planned.name),
        }
    }

    /// The fields of the struct of this index.
    pub(crate) fn fields(&self, index: usize) -> &[PlannedField] {
        match self.get(index).map(|planned| &planned.form) {
            Some(Form::Struct(fields)) => fields,
            _ => &[],
        }
    }

    /// The name of the model of a collection.
    pub(crate) fn model_of(&self, inspected: &[Inspected], collection: &str) -> Option<&str> {
        let position = inspected.iter().position(|other| other.name == collection)?;
        self.model_at(position)
    }

    fn model_at(&self, position: usize) -> Option<&str> {
        let planned = self.collections.get(position)?;
        match &planned.tag {
            Some((_, name)) => Some(name),
            None => Some(&self.get(planned.models.first()?.index)?.name),
        }
    }

    fn collection(&mut self, collection: &Inspected) -> PlannedCollection {
        if let Some(obstacle) = collection.obstacle() {
            return PlannedCollection {
                models: Vec::new(),
                tag: None,
                notes: vec![obstacle],
                function: String::new(),
            };
        }
        let one = name::type_of_one(&collection.name);
        let Some((tag, kinds)) = collection.kinds(self.settings) else {
            let index = self.model(
                &collection.documents,
                one,
                collection.documents.field("_id"),
                None,
            );
            let model = PlannedModel { index, kind: None };
            let mut notes = Vec::new();
            let shown = Settings {
                show_values: true,
                ..self.settings
            };
            if let Some((tag, kinds)) = collection.told_apart() {
                let how = match collection.kinds(shown) {
                    Some(_) => "with `show_values(true)` each is a model",
                    None => "one model holds all",
                };
                notes.push(format!(
                    "the field `{tag}` tells {} shapes of documents apart: {how}",
                    kinds.len()
                ));
            }
            return PlannedCollection {
                models: vec![model],
                tag: None,
                notes,
                function: String::new(),
            };
        };
        let models = kinds.iter().map(|(kind, documents)| PlannedModel {
            index: self.model(
                documents,
                format!("{}{one}", name::type_name(kind)),
                collection.documents.field("_id"),
                Some(tag),
            ),
            kind: Some(kind.clone()),
        });
        let models = models.collect();
        PlannedCollection {
            models,
            tag: Some((tag.to_owned(), one)),
            notes: Vec::new(),
            function: String::new(),
        }
    }

    /// The model of these documents, without the field that tells them from others.
    fn model(
        &mut self,
        documents: &DocumentShape,
        wanted: String,
        id: Option<&Shape>,
        tag: Option<&str>,
    ) -> usize {
        let index = self.reserve(vec![wanted]);
        let mut names = Names::default();
        let mut fields = Vec::new();
        let mut has_rest = false;
        let key = match id {
            Some(shape) => self.key(shape, index),
            None => Type::OwnId,
        };
        let has_id = documents.field("id").is_some();
        let ident = if has_id { "_id" } else { "id" };
        names.take([ident.to_owned()], "");
        fields.push(PlannedField {
            is_renamed: !has_id,
            ..PlannedField::new(ident, "_id", key)
        });
        for (name, shape) in &documents.fields {
            if name == "_id" || Some(name.as_str()) == tag {
                continue;
            }
            if is_fit(name) {
                fields.push(self.field(documents, name, shape, &mut names, index, 1, name));
            } else {
                has_rest = true;
            }
        }
        if has_rest {
            let ident = names.take(["more".to_owned()], "");
            fields.push(PlannedField {
                is_rest: true,
                notes: vec!["the fields whose names no field of a model can have".to_owned()],
                ..PlannedField::new(&ident, "", Type::Plain("odm::bson::Document"))
            });
        }
        self.fill(index, Form::Struct(fields));
        index
    }

    fn reserve(&mut self, wanted: Vec<String>) -> usize {
        self.types.push(Some(Planned {
            name: String::new(),
            wanted,
            form: Form::Struct(Vec::new()),
        }));
        self.types.len() - 1
    }

    fn fill(&mut self, index: usize, form: Form) {
        if let Some(Some(planned)) = self.types.get_mut(index) {
            planned.form = form;
        }
    }

    /// The type of `_id`.
    fn key(&mut self, shape: &Shape, owner: usize) -> Type {
        if let Some(key) = scalar_key(shape, self.settings) {
            return key;
        }
        let is_document = shape.is_only(ElementType::EmbeddedDocument) && !shape.is_nullable();
        match (is_document, shape.documents.as_deref()) {
            (true, Some(documents)) if is_rigid(documents, self.settings) => {
                self.structure(documents, "key", owner, 1, "_id")
            }
            (true, _) => Type::Plain("odm::bson::RawDocumentBuf"),
            (false, Some(_)) => Type::Plain("odm::bson::RawBson"),
            (false, None) => match self.value(shape, "key", owner, DEEPEST, "_id") {
                Type::Plain(plain) if !shape.is_nullable() => Type::Plain(plain),
                _ => Type::Plain("odm::bson::Bson"),
            },
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a field is described by where it is")]
    fn field(
        &mut self,
        within: &DocumentShape,
        stored: &str,
        shape: &Shape,
        names: &mut Names,
        owner: usize,
        depth: usize,
        path: &str,
    ) -> PlannedField {
        let (wanted, mut is_renamed) = name::field(stored);
        let ident = names.take([wanted.clone()], "");
        is_renamed |= ident != wanted;
        let ty = self.value(shape, stored, owner, depth, path);
        let may_miss = match shape.seen {
            0 => !shape.is_required || within.count > 0,
            seen => seen < within.count,
        };
        let tells_null = may_miss && shape.is_nullable();
        let notes = notes(shape, within.count, &ty);
        let takes_null = ty.takes_null();
        let nullable = shape.is_nullable() && !takes_null;
        let ty = match (may_miss, nullable) {
            (true, true) => ty.optional().optional(),
            (true, false) | (false, true) => ty.optional(),
            (false, false) => ty,
        };
        PlannedField {
            is_renamed,
            may_miss,
            tells_null,
            notes,
            ..PlannedField::new(&ident, stored, ty)
        }
    }

    /// The type of values that are not null.
    fn value(&mut self, shape: &Shape, hint: &str, owner: usize, depth: usize, path: &str) -> Type {
        let untyped = match shape.needs_bytes {
            true => Type::Plain("odm::bson::RawBson"),
            false => Type::Plain("odm::bson::Bson"),
        };
        let is_located = self.places.contains(path);
        let kinds = shape.kinds();
        if let Some(number) = number(shape, &kinds, self.settings) {
            return match self.target(shape) {
                Some(target) => Type::Ref(target),
                None => Type::Plain(number),
            };
        }
        let mut kinds = kinds.into_iter();
        let (Some(kind), None) = (kinds.next().and_then(ElementType::from), kinds.next()) else {
            return untyped;
        };
        match kind {
            ElementType::String => match (self.target(shape), shape.texts.few()) {
                (Some(target), _) => Type::Ref(target),
                (None, Some(texts)) if self.settings.show_values => self.texts(shape, texts, hint, owner),
                _ => Type::Plain("String"),
            },
            ElementType::ObjectId => match self.target(shape) {
                Some(target) => Type::Ref(target),
                None => Type::Plain("odm::bson::oid::ObjectId"),
            },
            ElementType::Binary if shape.uuids == shape.of(ElementType::Binary) && shape.uuids > 0 => {
                match self.target(shape) {
                    Some(target) => Type::Ref(target),
                    None => Type::Plain("odm::bson::Uuid"),
                }
            }
            ElementType::Binary => Type::Plain("odm::bson::Binary"),
            ElementType::Boolean => Type::Plain("bool"),
            ElementType::DateTime => Type::Plain("odm::bson::DateTime"),
            ElementType::Timestamp => Type::Plain("odm::bson::Timestamp"),
            ElementType::RegularExpression => Type::Plain("odm::bson::Regex"),
            ElementType::Decimal128 => Type::Plain("odm::bson::Decimal128"),
            ElementType::EmbeddedDocument => match &shape.documents {
                Some(documents) => self.document(documents, shape, hint, owner, depth, path, is_located),
                None => Type::Plain("odm::bson::Document"),
            },
            ElementType::Array => match &shape.arrays {
                Some(arrays)
                    if is_located
                        && (arrays.least, arrays.most) == (2, 2)
                        && are_doubles(&arrays.items, self.settings) =>
                {
                    Type::Plain("[f64; 2]")
                }
                Some(_) if is_located || depth >= DEEPEST => untyped,
                Some(arrays) => {
                    let item = self.value(&arrays.items, &name::singular(hint), owner, depth + 1, path);
                    Type::Vec(Box::new(item.nullable_for(&arrays.items)))
                }
                None => Type::Vec(Box::new(Type::Plain("odm::bson::Bson"))),
            },
            _ => untyped,
        }
    }

    /// The collection that values refer to, if its model's key takes all of them.
    fn target(&self, shape: &Shape) -> Option<String> {
        let target = shape.target.as_ref()?;
        let kinds = shape.kinds();
        let only = |allowed: &[ElementType]| {
            kinds
                .iter()
                .all(|kind| allowed.iter().any(|one| *one as u8 == *kind))
        };
        let fits = match self.keys.get(target)? {
            Type::OwnId => only(&[ElementType::ObjectId]),
            Type::Plain("String") => only(&[ElementType::String]),
            Type::Plain("i32") => only(&[ElementType::Int32]),
            Type::Plain("i64") if self.settings.exact_numbers => only(&[ElementType::Int64]),
            Type::Plain("i64") => only(&[ElementType::Int32, ElementType::Int64]),
            Type::Plain("odm::bson::Uuid") => {
                only(&[ElementType::Binary]) && shape.uuids == shape.of(ElementType::Binary)
            }
            _ => false,
        };
        fits.then(|| target.clone())
    }

    fn texts(&mut self, shape: &Shape, texts: &BTreeSet<String>, hint: &str, owner: usize) -> Type {
        let is_set = (2..=MOST_VARIANTS).contains(&texts.len())
            && shape.of(ElementType::String) >= 3 * texts.len() as u64
            && texts.iter().all(|text| !name::is_data(text));
        if !is_set {
            return Type::Plain("String");
        }
        let mut names = Names::of_variants();
        let variants = texts
            .iter()
            .map(|text| (names.take([name::variant(text)], ""), text.clone()));
        let form = Form::Texts(variants.collect());
        let index = self.nested(hint, owner);
        self.shared(index, form)
    }

    #[expect(clippy::too_many_arguments, reason = "a document is described by where it is")]
    fn document(
        &mut self,
        documents: &DocumentShape,
        shape: &Shape,
        hint: &str,
        owner: usize,
        depth: usize,
        path: &str,
        is_located: bool,
    ) -> Type {
        if documents.is_outer {
            return Type::Boxed(Box::new(Type::Nested(owner)));
        }
        if let Some(geometry) = geometry(documents, self.settings) {
            return Type::Plain(geometry);
        }
        if let Some(reference) = self.db_ref(documents) {
            return reference;
        }
        let whole = match shape.needs_bytes {
            true => Type::Plain("odm::bson::RawDocumentBuf"),
            false => Type::Plain("odm::bson::Document"),
        };
        let is_located = is_located && !shape.needs_bytes;
        if is_located
            || documents.repeats
            || depth >= DEEPEST
            || documents.fields.is_empty() && documents.values.is_none()
        {
            return whole;
        }
        if is_struct(documents, self.settings) {
            return self.structure(documents, hint, owner, depth, path);
        }
        // What names as data hold may be more of the same: no struct holds itself there.
        let is_recursive = |shape: &Shape| nested(shape).is_some_and(|inner| inner.is_outer);
        let mut fields = documents.fields.iter();
        if fields.any(|(name, shape)| name.starts_with('$') || is_recursive(shape))
            || documents.values.as_deref().is_some_and(is_recursive)
        {
            return whole;
        }
        let values = documents.united();
        let value = self.value(
            &values,
            &name::singular(hint),
            owner,
            depth + 1,
            &format!("{path}.*"),
        );
        match value {
            // Order is kept where nothing else is said.
            Type::Plain("odm::bson::Bson" | "odm::bson::RawBson") => whole,
            value => Type::Map(Box::new(value.nullable_for(&values))),
        }
    }

    fn structure(
        &mut self,
        documents: &DocumentShape,
        hint: &str,
        owner: usize,
        depth: usize,
        path: &str,
    ) -> Type {
        let index = self.nested(hint, owner);
        let mut names = Names::default();
        let fields = documents.fields.iter().map(|(name, shape)| {
            let path = format!("{path}.{name}");
            self.field(documents, name, shape, &mut names, index, depth + 1, &path)
        });
        let form = Form::Struct(fields.collect());
        self.shared(index, form)
    }

    /// A place for a type that is named after a field, or after that and what it is in.
    fn nested(&mut self, hint: &str, owner: usize) -> usize {
        let own = name::type_name(hint);
        let outer = self.get(owner).and_then(|planned| planned.wanted.last().cloned());
        let long = format!("{}{own}", outer.unwrap_or_default());
        // `Key` alone says nothing.
        let wanted = if hint == "key" {
            vec![long]
        } else {
            vec![own, long]
        };
        self.reserve(wanted)
    }

    /// The type, or one of the same name that is the same.
    fn shared(&mut self, index: usize, form: Form) -> Type {
        let wanted = self
            .get(index)
            .and_then(|planned| planned.wanted.first().cloned());
        let same = self.types[..index].iter().position(|other| {
            other.as_ref().is_some_and(|other| {
                other.wanted.len() > 1
                    && other.wanted.first() == wanted.as_ref()
                    && is_same(&other.form, &form)
            })
        });
        match same {
            Some(same) => {
                self.types[index] = None;
                Type::Nested(same)
            }
            None => {
                self.fill(index, form);
                Type::Nested(index)
            }
        }
    }

    fn db_ref(&self, documents: &DocumentShape) -> Option<Type> {
        let names: Vec<&str> = documents.fields.iter().map(|(name, _)| name.as_str()).collect();
        let is_reference = matches!(names.as_slice(), ["$ref", "$id"] | ["$ref", "$id", "$db"]);
        let always = |name: &str| {
            let field = documents.field(name);
            field.filter(|field| field.seen == documents.count && !field.is_nullable())
        };
        let (reference, id) = (always("$ref")?, always("$id")?);
        let text = |field: &Shape| field.is_only(ElementType::String);
        if !is_reference || documents.repeats || !text(reference) || id.needs_bytes {
            return None;
        }
        if documents
            .field("$db")
            .is_some_and(|database| !text(database) || database.is_nullable())
        {
            return None;
        }
        let mut targets = reference.texts.few()?.iter();
        let target = match (targets.next(), targets.next()) {
            (Some(target), None) => Some(target.clone()),
            _ => None,
        };
        let target = target.filter(|target| {
            let id = Shape {
                target: Some(target.clone()),
                ..id.clone()
            };
            self.target(&id).is_some()
        });
        Some(Type::DbRef(target))
    }

    /// Gives all types their names: models first, then what is nested in them.
    fn name_all(&mut self, inspected: &[Inspected]) {
        let mut names = Names::of_types();
        let mut order = Vec::new();
        for (collection, planned) in inspected.iter().zip(&mut self.collections) {
            if let Some((_, name)) = &mut planned.tag {
                let long = format!("{name}{}", name::type_name(&collection.name));
                *name = names.take([name.clone(), long], "Fields");
            }
            order.extend(planned.models.iter().map(|model| model.index));
        }
        let models = order.len();
        order.extend(
            (0..self.types.len())
                .filter(|index| !order[..models].contains(index))
                .collect::<Vec<_>>(),
        );
        for index in order {
            if let Some(Some(planned)) = self.types.get_mut(index) {
                planned.name = names.take(planned.wanted.clone(), "Fields");
            }
        }
        let mut functions = Names::default();
        functions.take(["there".to_owned()], "");
        for at in 0..self.collections.len() {
            let model = self.model_at(at).map(name::words).unwrap_or_default();
            self.collections[at].function = functions.take([format!("{}_options", model.join("_"))], "");
        }
    }
}
