//! Stored products of the other form, or not as they are defined.

use odm::bson::{Bson, Document, doc};
use odm::{Error, ErrorKind, Result};

use super::catalog::{Attributed, Catalog};
use super::problem::{ProductProblem, ProductProblemKind};
use super::stored::{Attributes, Form};
use crate::dotted::value_at;
use crate::own;
use crate::still::{is_same, still};

/// How many products come at once.
const BATCH: u32 = 500;

/// How often a product is looked at again that others change.
const TRIES: usize = 16;

/// What [`Catalog::convert`] or [`Catalog::repair`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Converted {
    /// How many products were changed.
    pub changed: u64,
    /// How many were left, since their attributes could not be read, or since a unique index or a rule of the model refuses
    /// what is to be stored.
    pub left: u64,
}

impl<M: Attributed> Catalog<M> {
    /// Brings the attributes of all products that are stored in the other form into the model's. Each product is one write,
    /// under the condition that its attributes are still what was read; it can be stopped and run again at any point, beside
    /// programs that write. Meanwhile models read both forms, and a catalog that is [told
    /// to](Catalog::in_both_forms) finds both.
    ///
    /// The products are those of the model's kind, softly deleted ones too. Each is changed as an
    /// [`update`](odm::Collection::update_one) of the model does: its version is counted, and what is derived or copied from
    /// it follows.
    ///
    /// Cost: one scan of the collection, of which 500 products come at once, and a write for each of the other form.
    ///
    /// # Errors
    /// `Conflict` when a product is changed all the time; those of the database.
    pub async fn convert(&self) -> Result<Converted> {
        let other = self.in_form(!M::Form::IS_LIST);
        self.rewrite(other).await
    }

    /// How many products are of the other form. One round trip, which reads all.
    ///
    /// # Errors
    /// As any operation.
    pub async fn unconverted(&self) -> Result<u64> {
        own::count(&self.collection, self.in_form(!M::Form::IS_LIST)).await
    }

    /// Makes the attributes of all products what follows from what was given: numbers in the attributes' units after the table
    /// of units was changed, values once, the model's form. What is wrong in another way ([`verify`](Catalog::verify)) stays.
    ///
    /// # Errors
    /// As [`convert`](Catalog::convert).
    pub async fn repair(&self) -> Result<Converted> {
        self.rewrite(doc! { &*self.field: { "$exists": true } }).await
    }

    /// Rewrites the attributes of these products.
    async fn rewrite(&self, filter: Document) -> Result<Converted> {
        let mut done = Converted::default();
        let mut products = own::find(&self.collection, filter).batch_size(BATCH).stream();
        while let Some(product) = products.try_next().await? {
            match self.rewrite_one(product).await? {
                Some(true) => done.changed += 1,
                Some(false) => {}
                None => done.left += 1,
            }
        }
        Ok(done)
    }

    /// What is to be stored; `None` for what is of neither form. What is not as it is defined stays as it is.
    fn rewritten(&self, product: &Document, stored: &Bson) -> Option<Bson> {
        let attributes = Attributes::<M::Form>::from_bson(stored)?;
        let name = value_at(product, &self.kind).and_then(Bson::as_str);
        let product_type = self.types.get(name.unwrap_or_default());
        let mut normal = Attributes::<M::Form>::new();
        for (name, held) in attributes.iter() {
            let definition = product_type.and_then(|own| own.definition(name));
            let found = definition.and_then(|definition| definition.normal(&self.units, held).ok());
            normal.put(name.to_owned(), found.unwrap_or_else(|| held.clone()));
        }
        Some(normal.to_bson())
    }

    /// Whether the product was changed; `None` for what is of neither form.
    async fn rewrite_one(&self, mut product: Document) -> Result<Option<bool>> {
        let id = product.get("_id").cloned().unwrap_or(Bson::Null);
        let same = doc! { "_id": { "$eq": &id } };
        for _ in 0..TRIES {
            let Some(stored) = value_at(&product, &self.field) else {
                return Ok(Some(false));
            };
            let Some(new) = self.rewritten(&product, stored) else {
                return Ok(None);
            };
            // In any order of the names; and numbers that are none are themselves.
            if new == *stored || is_same(&new, stored) {
                return Ok(Some(false));
            }
            let mut unchanged = still(&self.field, stored);
            unchanged.extend(same.clone());
            let update = doc! { "$set": { &*self.field: new } };
            match own::update_one(&self.collection, unchanged, update).await {
                Ok(done) if done.matched == 1 => return Ok(Some(true)),
                Ok(_) => {}
                Err(error) if own::is_refused(&error) => return Ok(None),
                Err(error) => return Err(self.located(error, id)),
            }
            match own::find(&self.collection, same.clone()).limit(1).await?.pop() {
                Some(found) => product = found,
                None => return Ok(Some(false)),
            }
        }
        let error = Error::new(ErrorKind::Conflict, "the product's attributes kept changing");
        Err(self.located(error.with_path(&*self.field), id))
    }

    /// Holds all stored products against their types: what is missing, unknown, of another kind, out of range, in the wrong
    /// unit, of the other form. Reads everything, once.
    ///
    /// # Errors
    /// As any operation.
    pub async fn verify(&self) -> Result<Vec<ProductProblem>> {
        let mut problems = Vec::new();
        let mut products = own::find(&self.collection, Document::new()).stream();
        while let Some(product) = products.try_next().await? {
            let id = product.get("_id").cloned().unwrap_or(Bson::Null);
            let kinds = self.problems_of(&product).into_iter();
            problems.extend(kinds.map(|kind| ProductProblem { id: id.clone(), kind }));
        }
        Ok(problems)
    }

    fn problems_of(&self, product: &Document) -> Vec<ProductProblemKind> {
        let stored = value_at(product, &self.field).unwrap_or(&Bson::Null);
        let Some(attributes) = Attributes::<M::Form>::from_bson(stored) else {
            return vec![ProductProblemKind::Malformed];
        };
        let mut problems = Vec::new();
        if matches!(stored, Bson::Array(_)) != M::Form::IS_LIST {
            problems.push(ProductProblemKind::OtherForm);
        }
        let name = value_at(product, &self.kind)
            .and_then(Bson::as_str)
            .unwrap_or_default();
        let Some(product_type) = self.types.get(name) else {
            problems.push(ProductProblemKind::UnknownType(name.to_owned()));
            return problems;
        };
        match product_type.normal(&self.units, &attributes) {
            Err(found) => problems.extend(found.into_iter().map(ProductProblemKind::Attribute)),
            Ok(normal) => {
                for (name, held) in attributes.iter() {
                    // A list of one element says nothing of whether there could be more.
                    let values = normal.get(name).map(|normal| match M::Form::IS_LIST {
                        true => normal.values() == held.values(),
                        false => normal == held,
                    });
                    if values == Some(false) {
                        problems.push(ProductProblemKind::NotNormal(name.to_owned()));
                    }
                }
            }
        }
        problems
    }
}
