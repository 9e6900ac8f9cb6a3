//! Products of all types.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use odm::bson::{Bson, Document, doc};
use odm::{Collection, Db, Error, ErrorKind, Field, Filter, Model, Operand, Result, Update};

use super::asked::Asked;
use super::definition::{Definition, ProductType, is_name};
use super::given::{Given, Held};
use super::problem::{AttributeProblem, AttributeProblemKind, Rejected};
use super::stored::{Attributes, Form, listed, scoped};
use super::units::Units;

/// A model whose documents have a type, and attributes that depend on it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` says nothing of attributes",
    label = "no model with attributes",
    note = "write `impl odm_patterns::attributes::Attributed for {Self}`"
)]
pub trait Attributed: Model {
    /// In which form the attributes are stored.
    type Form: Form;

    /// The fields with the type and the attributes.
    fn attribute_fields(fields: Self::Fields<Self>) -> AttributeFields<Self>;

    /// The type.
    fn product_type(&self) -> &str;

    /// The attributes.
    fn attributes(&self) -> &Attributes<Self::Form>;

    /// The attributes.
    fn attributes_mut(&mut self) -> &mut Attributes<Self::Form>;
}

/// The fields of a model that a [`Catalog`] works on.
#[derive(Debug)]
#[must_use]
pub struct AttributeFields<M> {
    kind: String,
    attributes: String,
    marker: PhantomData<fn() -> M>,
}

impl<M: Attributed> AttributeFields<M> {
    /// The field with the type, and the one with the attributes.
    pub fn new(
        product_type: &Field<M, String>,
        attributes: &Field<M, Attributes<M::Form>>,
    ) -> AttributeFields<M> {
        AttributeFields {
            kind: product_type.path().to_string(),
            attributes: attributes.path().to_string(),
            marker: PhantomData,
        }
    }
}

/// The products of a collection, with what is known of their types. Cheap to clone. Made in a transaction
/// (`catalog.on(&tx)`), all that it does is part of it.
pub struct Catalog<M: Attributed> {
    pub(super) collection: Collection<M>,
    pub(super) types: Arc<BTreeMap<String, ProductType>>,
    pub(super) units: Arc<Units>,
    /// The field with the type.
    pub(super) kind: Arc<str>,
    /// The field with the attributes.
    pub(super) field: Arc<str>,
    pub(super) in_both_forms: bool,
}

impl<M: Attributed> Catalog<M> {
    /// The products in the model's own collection. No round trip.
    ///
    /// # Errors
    /// `InvalidArgument` for definitions that cannot be: names with dots, unknown units, bounds of another kind, an attribute
    /// that is of different kinds, units or numbers in two types.
    pub fn new(db: &Db, types: impl IntoIterator<Item = ProductType>, units: Units) -> Result<Catalog<M>> {
        Catalog::of(db.collection(), types, units)
    }

    /// The products in another collection.
    ///
    /// # Errors
    /// As [`new`](Catalog::new).
    pub fn of(
        collection: Collection<M>,
        types: impl IntoIterator<Item = ProductType>,
        units: Units,
    ) -> Result<Catalog<M>> {
        let mut by_name: BTreeMap<String, ProductType> = BTreeMap::new();
        for mut product_type in types {
            for at in 0..product_type.definitions.len() {
                let definition = &mut product_type.definitions[at];
                definition
                    .prepare(&units)
                    .map_err(|text| wrong(text, &definition.name))?;
                let definition = &product_type.definitions[at];
                let name = &definition.name;
                if product_type.definitions[..at]
                    .iter()
                    .any(|other| other.name == *name)
                {
                    return Err(wrong("the attribute is defined twice", name));
                }
                let mut others = by_name.values().filter_map(|other| other.definition(name));
                let is_alike = |other: &Definition| {
                    (other.kind, &other.unit, other.is_many)
                        == (definition.kind, &definition.unit, definition.is_many)
                };
                if !others.all(is_alike) {
                    return Err(wrong("the attribute is another one in another type", name));
                }
            }
            let name = product_type.name.clone();
            if by_name.insert(name.clone(), product_type).is_some() {
                return Err(wrong("the type is defined twice", &name));
            }
        }
        let fields = M::attribute_fields(M::fields());
        Ok(Catalog {
            collection,
            types: Arc::new(by_name),
            units: Arc::new(units),
            kind: fields.kind.into(),
            field: fields.attributes.into(),
            in_both_forms: false,
        })
    }

    /// The same catalog through another handle of the database, such as a transaction. It stays in its own database,
    /// whichever the transaction was begun on: see [`Db::through`].
    #[must_use]
    pub fn on(&self, db: &Db) -> Catalog<M> {
        Catalog {
            collection: self.collection.through(db),
            ..self.clone()
        }
    }

    /// Searches find documents of both forms, and facets count them, while they are [converted](Catalog::convert).
    #[must_use]
    pub fn in_both_forms(mut self) -> Catalog<M> {
        self.in_both_forms = true;
        self
    }

    /// The collection.
    pub fn collection(&self) -> &Collection<M> {
        &self.collection
    }

    /// Builds the indexes that searches need: a sparse one for each attribute of the sub-document that is searched by, or one
    /// of names and values for all of the list. One round trip.
    ///
    /// # Errors
    /// As any operation. MongoDB allows 64 indexes of a collection: more attributes than that need the list.
    pub async fn sync_indexes(&self) -> Result<()> {
        let field = &self.field;
        let create = match M::Form::IS_LIST {
            true => {
                let (n, v) = (format!("{field}.n"), format!("{field}.v"));
                let name = format!("{n}_1_{v}_1");
                let index = doc! { "key": { n: 1, v: 1 }, "name": name };
                self.collection.raw().create_indexes().index_raw(index)
            }
            false => {
                let mut searched: Vec<&Definition> =
                    self.definitions().filter(|own| own.is_searched).collect();
                searched.sort_by_key(|definition| &definition.name);
                searched.dedup_by_key(|definition| &definition.name);
                searched
                    .into_iter()
                    .fold(self.collection.raw().create_indexes(), |create, definition| {
                        let path = self.path(definition);
                        let name = format!("{path}_1");
                        create.index_raw(doc! { "key": { path: 1 }, "name": name, "sparse": true })
                    })
            }
        };
        create.await
    }

    /// Stores a new product, after its attributes were held against its type. One round trip.
    ///
    /// # Errors
    /// As [`normalize`](Catalog::normalize); those of [`Collection::insert`].
    pub async fn insert(&self, mut product: M) -> Result<M::Key> {
        self.normalize(&mut product)?;
        self.collection.insert(product).await
    }

    /// Stores a product in place of the one of the same `_id`, or as a new one; as [`insert`](Catalog::insert).
    ///
    /// # Errors
    /// As [`insert`](Catalog::insert).
    pub async fn save(&self, mut product: M) -> Result<()> {
        self.normalize(&mut product)?;
        self.collection.save(product).await.map(drop)
    }

    /// Holds a product's attributes against its type, and makes them what is stored: measures in the attribute's unit, whole
    /// numbers as numbers where the attribute is one.
    ///
    /// # Errors
    /// `Validation` with the [violations](Error::violations), and a [`Rejected`] as its source; `InvalidArgument` for an
    /// unknown type.
    pub fn normalize(&self, product: &mut M) -> Result<()> {
        let name = product.product_type();
        let Some(product_type) = self.types.get(name) else {
            let id = self.collection.encode_key(product.key())?;
            return Err(self.located(self.unknown_type(name), id));
        };
        let normal = product_type.normal(&self.units, product.attributes());
        let normal = normal.map_err(|problems| match self.collection.encode_key(product.key()) {
            Ok(id) => self.located(self.rejected(problems), id),
            Err(error) => error,
        })?;
        *product.attributes_mut() = normal;
        Ok(())
    }

    /// Sets one attribute of a stored product: one write, under the condition that the product is of a type that allows it.
    /// One round trip; two when it is refused.
    ///
    /// # Errors
    /// `NotFound`; `Validation` with the [violations](Error::violations), and a [`Rejected`] as its source; `Conflict` for a
    /// document of the other form.
    pub async fn set(
        &self,
        id: impl Operand<M::Key>,
        attribute: &str,
        value: impl Into<Given>,
    ) -> Result<()> {
        self.put(id.with_operand(Clone::clone), attribute, Held::One(value.into()))
            .await
    }

    /// Sets one attribute of a stored product to several values; as [`set`](Catalog::set).
    ///
    /// # Errors
    /// As [`set`](Catalog::set).
    pub async fn set_many<V: Into<Given>>(
        &self,
        id: impl Operand<M::Key>,
        attribute: &str,
        values: impl IntoIterator<Item = V>,
    ) -> Result<()> {
        let values = values.into_iter().map(Into::into).collect();
        self.put(id.with_operand(Clone::clone), attribute, Held::Many(values))
            .await
    }

    async fn put(&self, id: M::Key, attribute: &str, held: Held) -> Result<()> {
        if !is_name(attribute) {
            return self.refuse_name(&id, attribute).await;
        }
        // What is stored is the same for all types, but whether it may be is not.
        let mut stored = None;
        let mut allowed = Vec::new();
        for product_type in self.types.values() {
            let normal = match product_type.definition(attribute) {
                Some(definition) => definition.normal(&self.units, &held),
                None if product_type.is_open => Ok(held.clone()),
                None => continue,
            };
            if let Ok(normal) = normal {
                // Defined attributes come in their form, others as they are.
                if stored.is_none() || product_type.definition(attribute).is_some() {
                    stored = Some(normal);
                }
                allowed.push(product_type.name.as_str());
            }
        }
        if let Some(held) = &stored {
            let update = match M::Form::IS_LIST {
                true => self.replacing(attribute, listed(attribute, held)),
                false => {
                    Update::raw(doc! { "$set": { format!("{}.{attribute}", self.field): scoped(held) } })
                }
            };
            if self.write(&id, &allowed, update).await? {
                return Ok(());
            }
        }
        self.refuse(
            &id,
            |product_type| match product_type.definition(attribute) {
                Some(definition) => definition.normal(&self.units, &held).err(),
                None if product_type.is_open => None,
                None => Some(AttributeProblemKind::Unknown),
            },
            attribute,
        )
        .await
    }

    /// Takes one attribute away from a stored product, as [`set`](Catalog::set); also where it has none.
    ///
    /// # Errors
    /// As [`set`](Catalog::set); `Validation` for an attribute that is required.
    pub async fn unset(&self, id: impl Operand<M::Key>, attribute: &str) -> Result<()> {
        let id = id.with_operand(Clone::clone);
        // From a list what should never have come into it can be taken.
        if !M::Form::IS_LIST && !is_name(attribute) {
            return self.refuse_name(&id, attribute).await;
        }
        let is_free = |own: &ProductType| own.definition(attribute).is_none_or(|own| !own.is_required);
        let allowed: Vec<&str> = self
            .types
            .values()
            .filter(|own| is_free(own))
            .map(|own| own.name.as_str())
            .collect();
        let update = match M::Form::IS_LIST {
            true => doc! { "$pull": { &*self.field: { "n": attribute } } },
            false => doc! { "$unset": { format!("{}.{attribute}", self.field): "" } },
        };
        if self.write(&id, &allowed, Update::raw(update)).await? {
            return Ok(());
        }
        let problem = |own: &ProductType| (!is_free(own)).then_some(AttributeProblemKind::Missing);
        self.refuse(&id, problem, attribute).await
    }

    /// Refuses what can be no attribute's name: in an update of the sub-document it would be a path, to a part of another
    /// attribute.
    async fn refuse_name(&self, id: &M::Key, attribute: &str) -> Result<()> {
        self.refuse(id, |_| Some(AttributeProblemKind::Unknown), attribute)
            .await
    }

    /// Replaces all entries of one name in the list.
    fn replacing(&self, attribute: &str, entries: Vec<Bson>) -> Update<M> {
        let others = doc! { "$filter": {
            "input": format!("${}", self.field),
            "cond": { "$ne": ["$$this.n", { "$literal": attribute }] },
        } };
        let all = doc! { "$concatArrays": [others, { "$literal": entries }] };
        Update::pipeline([doc! { "$set": { &*self.field: all } }])
    }

    async fn write(&self, id: &M::Key, allowed: &[&str], update: Update<M>) -> Result<bool> {
        let condition = doc! { &*self.kind: { "$in": allowed.to_vec() } };
        let filter =
            M::key_field().eq(id) & Filter::raw(condition) & Filter::raw(self.in_form(M::Form::IS_LIST));
        Ok(self.collection.update_one(|_| filter, |_| update).await?.matched == 1)
    }

    /// Says why a product was not changed.
    async fn refuse(
        &self,
        id: &M::Key,
        problem: impl Fn(&ProductType) -> Option<AttributeProblemKind>,
        attribute: &str,
    ) -> Result<()> {
        let found = self
            .collection
            .find_one(|_| M::key_field().eq(id))
            .untyped()
            .await?;
        let error = match &found {
            None => Error::new(ErrorKind::NotFound, "there is no such product"),
            Some(found) => {
                let name = crate::dotted::value_at(found, &self.kind).and_then(|value| value.as_str());
                let name = name.unwrap_or_default();
                match self.types.get(name).map(problem) {
                    None => self.unknown_type(name),
                    Some(Some(kind)) => self.rejected(vec![AttributeProblem::new(attribute, kind)]),
                    Some(None) => Error::new(
                        ErrorKind::Conflict,
                        "the product's attributes are of the other form, or were changed meanwhile",
                    )
                    .with_path(&*self.field),
                }
            }
        };
        Err(self.located(error, self.collection.encode_key(id)?))
    }

    fn unknown_type(&self, name: &str) -> Error {
        Error::new(
            ErrorKind::InvalidArgument,
            "nothing is known of the type of product",
        )
        .with_path(&*self.kind)
        .with_note("type", format_args!("{name:?}"))
    }

    /// An error of a product.
    pub(super) fn located(&self, error: Error, id: Bson) -> Error {
        let error = match id {
            // It is to be made yet.
            Bson::Null => error,
            id => error.with_id(id),
        };
        error
            .with_model(M::DESCRIPTOR.name)
            .with_namespace(self.collection.name())
    }

    /// What is wrong with attributes, by where these are in the product.
    fn rejected(&self, problems: Vec<AttributeProblem>) -> Error {
        let violations = problems
            .iter()
            .map(|problem| problem.violation(Some(&self.field)));
        let violations = violations.collect();
        Error::from(Rejected { problems }).with_violations(violations)
    }

    /// The condition that attributes are of a form.
    pub(super) fn in_form(&self, is_list: bool) -> Document {
        let array = doc! { "$type": "array" };
        match is_list {
            true => doc! { &*self.field: array },
            false => doc! { &*self.field: { "$type": "object", "$not": array } },
        }
    }

    /// An attribute to search by.
    ///
    /// # Errors
    /// `InvalidArgument` when no type of product has it.
    pub fn attribute(&self, name: &str) -> Result<Asked<'_, M>> {
        let definition = self.definitions().find(|definition| definition.name == name);
        let definition = definition.ok_or_else(|| wrong("no type of product has the attribute", name))?;
        Ok(Asked {
            catalog: self,
            definition,
        })
    }

    pub(super) fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.types.values().flat_map(|own| &own.definitions)
    }

    /// Where an attribute's values stand in the sub-document.
    pub(super) fn path(&self, definition: &Definition) -> String {
        let path = format!("{}.{}", self.field, definition.name);
        match definition.unit {
            Some(_) => format!("{path}.v"),
            None => path,
        }
    }
}

fn wrong(text: &'static str, name: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, text).with_path(name)
}

impl<M: Attributed> Clone for Catalog<M> {
    fn clone(&self) -> Catalog<M> {
        Catalog {
            collection: self.collection.clone(),
            types: self.types.clone(),
            units: self.units.clone(),
            kind: self.kind.clone(),
            field: self.field.clone(),
            in_both_forms: self.in_both_forms,
        }
    }
}

impl<M: Attributed> fmt::Debug for Catalog<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog")
            .field("collection", &self.collection)
            .field("types", &self.types.keys())
            .field("units", &self.units)
            .finish_non_exhaustive()
    }
}
