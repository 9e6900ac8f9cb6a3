//! Where a model keeps its copies.

use std::fmt;
use std::marker::PhantomData;

use odm::{Field, Integer, Model};

use super::checkout::{Checkout, Settled};

/// A model with copies that can be taken and held.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how many copies there are",
    label = "no model with copies",
    note = "write `impl odm_patterns::hold::Stocked for {Self}`"
)]
pub trait Stocked: Model {
    /// Which fields say how many there are and who has them.
    fn inventory(fields: Self::Fields<Self>) -> Inventory<Self>;
}

/// The fields of a model that a [`Shelf`](super::Shelf) works on.
#[must_use]
pub struct Inventory<M> {
    pub(super) available: String,
    pub(super) checkout: String,
    pub(super) sold: Option<String>,
    pub(super) stock: Option<String>,
    pub(super) settled: Option<String>,
    marker: PhantomData<fn() -> M>,
}

impl<M> Inventory<M> {
    /// The manual's two fields. Without more, a confirmed hold becomes a loan.
    pub fn new<N: Integer>(available: &Field<M, N>, checkout: &Field<M, Vec<Checkout>>) -> Inventory<M> {
        Inventory {
            available: available.path().to_string(),
            checkout: checkout.path().to_string(),
            sold: None,
            stock: None,
            settled: None,
            marker: PhantomData,
        }
    }

    /// The field that counts what was sold: confirming a hold sells its copies.
    pub fn sold<N: Integer>(mut self, field: &Field<M, N>) -> Inventory<M> {
        self.sold = Some(field.path().to_string());
        self
    }

    /// The field with the number of all copies. With it the equation can be audited.
    pub fn stock<N: Integer>(mut self, field: &Field<M, N>) -> Inventory<M> {
        self.stock = Some(field.path().to_string());
        self
    }

    /// The field that remembers how the last holds ended.
    pub fn settled(mut self, field: &Field<M, Vec<Settled>>) -> Inventory<M> {
        self.settled = Some(field.path().to_string());
        self
    }
}

impl<M> Clone for Inventory<M> {
    fn clone(&self) -> Inventory<M> {
        Inventory {
            available: self.available.clone(),
            checkout: self.checkout.clone(),
            sold: self.sold.clone(),
            stock: self.stock.clone(),
            settled: self.settled.clone(),
            marker: PhantomData,
        }
    }
}

impl<M> fmt::Debug for Inventory<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inventory")
            .field("available", &self.available)
            .field("checkout", &self.checkout)
            .field("sold", &self.sold)
            .field("stock", &self.stock)
            .field("settled", &self.settled)
            .finish()
    }
}
