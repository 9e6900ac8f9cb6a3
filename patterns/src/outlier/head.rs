//! What a document says of its array, and whose the pages beside it are.

use odm::bson::oid::ObjectId;
use odm::bson::{Bson, Document, doc};
use odm::{Error, ErrorKind, Filter, Model, Result};

use super::list::{Outlier, PAGES};
use crate::dotted::value_at;
use crate::keyed::integer;

/// Whose pages they are: an epoch of one list of one document.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Owner {
    /// The `_id` as the document has it, however somebody spells it.
    pub(super) id: Bson,
    pub(super) epoch: i64,
    /// What no other list has, and no other document that ever had this `_id`. Pages of the older form have none.
    pub(super) pages: Option<ObjectId>,
    /// After how many openings again: pages do not say it of their owner.
    pub(super) reopened: i64,
}

/// A document's array, and whether it goes on.
pub(super) struct Head {
    pub(super) id: Bson,
    pub(super) items: Vec<Bson>,
    pub(super) is: bool,
    pub(super) epoch: i64,
    pub(super) pages: Option<ObjectId>,
    pub(super) reopened: i64,
}

/// The condition that a count, such as the epoch, is this one: 0 need not be stored.
pub(super) fn counted(count: i64) -> Document {
    match count {
        0 => doc! { "$in": [0, Bson::Null] },
        count => doc! { "$eq": count },
    }
}

impl Owner {
    /// The part of the pages' `_id`s that says whose they are.
    pub(super) fn key(&self) -> Bson {
        let mut key = doc! { "id": &self.id, "epoch": self.epoch };
        if let Some(pages) = self.pages {
            key.insert("pages", pages);
        }
        Bson::Document(key)
    }

    /// Whose a stored page is.
    pub(super) fn of(page: &Document) -> Option<Owner> {
        let owner = PAGES.owner_of(page);
        let owner = owner.as_document()?;
        Some(Owner {
            id: owner.get("id")?.clone(),
            epoch: owner.get("epoch").and_then(integer)?,
            pages: match owner.get("pages") {
                None => None,
                Some(pages) => Some(pages.as_object_id()?),
            },
            reopened: 0,
        })
    }
}

impl Head {
    /// Whose the pages of the document are now.
    pub(super) fn owner(&self) -> Owner {
        Owner {
            id: self.id.clone(),
            epoch: self.epoch,
            pages: self.pages,
            reopened: self.reopened,
        }
    }

    /// Whether the array goes on in the pages of this owner, however often these were opened again.
    pub(super) fn goes_on_in(&self, owner: &Owner) -> bool {
        self.is && self.epoch == owner.epoch && self.pages == owner.pages
    }
}

impl<M: Model, T> Outlier<M, T> {
    /// The document's array and state; `None` when there is no such document: none of the model's kind that is not
    /// softly deleted.
    pub(super) async fn head(&self, id: &Bson) -> Result<Option<Head>> {
        self.seen(id, doc! { "_id": 1, &self.list: 1, &self.state: 1 })
            .await
            .map(|seen| seen.map(|(head, _)| head))
    }

    /// The same without the array.
    pub(super) async fn state(&self, id: &Bson) -> Result<Option<Head>> {
        self.seen(id, doc! { "_id": 1, &self.state: 1 })
            .await
            .map(|seen| seen.map(|(head, _)| head))
    }

    /// What a projection leaves of the document, read as its writes are: only of the model's kind, and not softly deleted.
    pub(super) async fn seen(&self, id: &Bson, projection: Document) -> Result<Option<(Head, Document)>> {
        self.stores_elements()?;
        let this = Filter::raw(doc! { "_id": { "$eq": id } });
        let found = self.documents.find(|_| this).limit(1).project_raw(projection);
        match found.await?.pop() {
            Some(document) => Ok(Some((self.read(&document)?, document))),
            None => Ok(None),
        }
    }

    pub(super) fn read(&self, document: &Document) -> Result<Head> {
        let id = document.get("_id").cloned().unwrap_or(Bson::Null);
        let malformed = || {
            let error = Error::new(
                ErrorKind::Decode,
                "what the document says of its list is malformed",
            );
            self.of_document(error, &id).with_path(self.state.clone())
        };
        let (mut is, mut epoch, mut pages, mut reopened) = (false, 0, None, 0);
        match value_at(document, &self.state) {
            None | Some(Bson::Null) => {}
            Some(Bson::Document(state)) => {
                is = match state.get("is") {
                    None | Some(Bson::Null) => false,
                    Some(is) => is.as_bool().ok_or_else(malformed)?,
                };
                let count = |name| match state.get(name) {
                    None | Some(Bson::Null) => Ok(0),
                    Some(count) => integer(count).ok_or_else(malformed),
                };
                (epoch, reopened) = (count("epoch")?, count("reopened")?);
                pages = match state.get("pages") {
                    None | Some(Bson::Null) => None,
                    Some(pages) => Some(pages.as_object_id().ok_or_else(malformed)?),
                };
                match state.get("list") {
                    Some(Bson::String(list)) if *list != self.list => {
                        let error = Error::new(
                            ErrorKind::InvalidArgument,
                            "this `Overflow` is of another list: each list has one of its own",
                        );
                        let error = self.of_document(error, &id).with_path(self.state.clone());
                        return Err(error.with_note("list", list));
                    }
                    _ => {}
                }
            }
            Some(_) => return Err(malformed()),
        }
        let items = value_at(document, &self.list).and_then(Bson::as_array);
        Ok(Head {
            items: items.cloned().unwrap_or_default(),
            is,
            epoch,
            pages,
            reopened,
            id,
        })
    }

    /// The condition on the document that its array goes on, in the pages of this owner.
    pub(super) fn goes_on(&self, owner: &Owner) -> Document {
        doc! {
            "_id": { "$eq": &owner.id },
            format!("{}.is", self.state): true,
            format!("{}.epoch", self.state): counted(owner.epoch),
            format!("{}.pages", self.state): { "$eq": owner.pages },
            format!("{}.reopened", self.state): counted(owner.reopened),
        }
    }

    pub(super) fn not_found(&self, id: &Bson) -> Error {
        self.of_document(Error::new(ErrorKind::NotFound, "there is no such document"), id)
    }

    pub(super) fn of_document(&self, error: Error, id: &Bson) -> Error {
        error
            .with_model(M::DESCRIPTOR.name)
            .with_namespace(self.documents.namespace())
            .with_id(id.clone())
    }
}
