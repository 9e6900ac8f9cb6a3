//! What is to be loaded, without its types.

use bson::{Document, RawBsonRef, RawDocumentBuf, rawdoc};

use super::link::{Aim, Open, Pointer};
use super::sought::Home;
use super::stored::{Steps, elements};
use crate::backend::Namespace;
use crate::collection::Target;
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::{self, Scope};

/// What a relation loads for a batch of documents.
#[doc(hidden)]
#[derive(Debug)]
pub struct Plan(pub(super) Node);

#[derive(Debug)]
pub(super) enum Node {
    /// Nothing more.
    Nothing,
    /// Several relations of the same documents.
    All(Vec<Plan>),
    /// Relations of documents that are embedded at a path: in an array, or as a map's values.
    Inside {
        path: Steps,
        map: bool,
        inner: Box<Plan>,
    },
    Forward(Forward),
    Inverse(Box<Inverse>),
}

/// What a field refers to.
#[derive(Debug)]
pub(super) struct Forward {
    pub(super) path: Steps,
    pub(super) links: Links,
    /// The targets' stored field that references hold.
    pub(super) key: Steps,
    pub(super) aim: fn(Option<&str>) -> Result<Aim>,
    /// Another collection of the target's model.
    pub(super) collection: Option<String>,
    pub(super) projection: Option<RawDocumentBuf>,
    /// Which targets count as there.
    pub(super) scope: Scope,
    pub(super) nested: Box<Plan>,
}

/// What refers to a document.
#[derive(Debug)]
pub(super) struct Inverse {
    /// The parents' stored field that references hold.
    pub(super) key: Steps,
    pub(super) open: Open,
    pub(super) collection: String,
    /// The field that refers.
    pub(super) field: Steps,
    pub(super) links: Links,
    /// Whether references name their collection.
    pub(super) named: bool,
    /// The collation that the model of the parents declares, and that of what refers.
    pub(super) parents_collation: Option<Document>,
    pub(super) collation: Option<Document>,
    pub(super) filter: Option<RawDocumentBuf>,
    pub(super) sort: Option<RawDocumentBuf>,
    pub(super) skip: u64,
    pub(super) limit: u64,
    pub(super) projection: Option<RawDocumentBuf>,
    pub(super) counted: bool,
    /// Which documents count as there.
    pub(super) scope: Scope,
    /// Whether the parents are embedded in other documents, so that their own collection need not have them.
    pub(super) embedded: bool,
    pub(super) nested: Box<Plan>,
}

/// How a field's stored value is taken apart into references.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Links {
    pub(super) values: Values,
    pub(super) pointer: fn(RawBsonRef<'_>) -> Result<Option<Pointer<'_>>>,
    /// Whether one document cannot be referred to twice by one field.
    pub(super) single: bool,
}

type Values = fn(Option<RawBsonRef<'_>>, &mut dyn FnMut(RawBsonRef<'_>) -> Result<()>) -> Result<()>;

impl Plan {
    pub(crate) fn nothing() -> Plan {
        Plan(Node::Nothing)
    }

    /// The same of documents that are embedded in others.
    pub(super) fn of_embedded(mut self) -> Plan {
        self.set_embedded();
        self
    }

    fn set_embedded(&mut self) {
        match &mut self.0 {
            Node::Nothing | Node::Forward(_) => {}
            Node::All(plans) => plans.iter_mut().for_each(Plan::set_embedded),
            Node::Inside { inner, .. } => inner.set_embedded(),
            Node::Inverse(inverse) => inverse.embedded = true,
        }
    }

    /// Adds the names of the fields that the documents must have for this.
    pub(crate) fn needs(&self, names: &mut Vec<String>) {
        let path = match &self.0 {
            Node::Nothing => return,
            Node::All(plans) => return plans.iter().for_each(|plan| plan.needs(names)),
            Node::Inside { path, .. } => path,
            Node::Forward(forward) => &forward.path,
            Node::Inverse(inverse) => &inverse.key,
        };
        if let Some(root) = path.root()
            && !names.iter().any(|name| name == root)
        {
            names.push(root.to_owned());
        }
    }
}

impl Links {
    /// Gives each reference in a field's stored value.
    pub(super) fn each(
        &self,
        value: Option<RawBsonRef<'_>>,
        give: &mut dyn FnMut(Pointer<'_>) -> Result<()>,
    ) -> Result<()> {
        let give = &mut |value: RawBsonRef<'_>| match (self.pointer)(value)? {
            Some(pointer) => give(pointer),
            None => Ok(()),
        };
        match value {
            // The path went through an array's elements, of which each is a reference.
            Some(RawBsonRef::Array(array)) if self.single => elements(array, give),
            value => (self.values)(value, give),
        }
    }
}

impl Inverse {
    /// Whether only some for each parent are given.
    pub(super) fn is_cut(&self) -> bool {
        self.skip > 0 || self.limit > 0
    }

    /// Whether the backend's condition on the field that refers can meet what refers to something else: of several
    /// references in one document, one can name the collection and another one hold the key.
    pub(super) fn is_loose(&self) -> bool {
        self.named && !(self.links.single && self.field.is_plain())
    }

    /// The stored field with the key: of a DBRef the `$id`.
    pub(super) fn foreign(&self) -> String {
        match self.named {
            true => format!("{}.$id", self.field.text()),
            false => self.field.text(),
        }
    }

    /// The conditions on the documents that refer, beside that they refer to one of the keys.
    pub(super) fn conditions(&self, parents: &Namespace) -> Result<Vec<RawDocumentBuf>> {
        let mut all = Vec::new();
        if self.named {
            all.push(Home::of(parents).condition(&self.field.text())?);
        }
        all.extend(self.filter.clone().filter(|filter| !filter.is_empty()));
        Ok(all)
    }
}

/// The projection with these fields, which relations need; nothing when all fields are fetched.
pub(crate) fn with_needed(
    projection: Option<RawDocumentBuf>,
    needed: &[String],
) -> Result<Option<RawDocumentBuf>> {
    let Some(projection) = projection else {
        return Ok(None);
    };
    let mut all = RawDocumentBuf::new();
    let mut missing: Vec<&String> = needed.iter().collect();
    for field in &projection {
        let (field, value) = field.map_err(super::stored::malformed)?;
        let is_needed = missing.iter().any(|name| *name == field.as_str());
        missing.retain(|name| *name != field.as_str());
        match value.as_i32() == Some(0) && is_needed {
            true => all.append(field, 1),
            false => all.append(field, value),
        }
    }
    for field in missing {
        all.append(name(field)?, 1);
    }
    Ok(Some(all))
}

/// All of the conditions.
pub(super) fn and(mut conditions: Vec<RawDocumentBuf>) -> RawDocumentBuf {
    match conditions.len() {
        0 => RawDocumentBuf::new(),
        1 => conditions.swap_remove(0),
        _ => {
            let mut all = bson::RawArrayBuf::new();
            for condition in conditions {
                all.push(condition);
            }
            rawdoc! { "$and": all }
        }
    }
}

/// What the documents of a collection must meet to be loaded.
pub(super) fn scoped(target: &Target, scope: Scope) -> Result<Vec<RawDocumentBuf>> {
    let mut all = match target.plan() {
        Some(plan) => lifecycle::conditions(plan, scope)?,
        None => Vec::new(),
    };
    if let Some(confinement) = target.confinement()? {
        all.push(confinement.condition().clone());
    }
    Ok(all)
}

/// A path as a field's name.
pub(super) fn name(path: &str) -> Result<bson::raw::CString> {
    bson::raw::CString::try_from(path.to_owned()).map_err(|error| {
        Error::new(ErrorKind::InvalidArgument, "a field name holds a nul").with_source(error)
    })
}
