//! Keeping derived fields in step with what they are made of.
//!
//! A write that knows all sources derives in itself. Any other that changes one marks its documents with a token of its
//! own, by the same write; whoever derives then takes the mark away, if it is still the one that was seen.

use bson::oid::ObjectId;
use bson::raw::CStr;
use bson::{Bson, DateTime, RawArrayBuf, RawBson, RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};

use super::copies::{PENDING, marked_by};
use super::declared::Declared;
use super::derived::Deriving;
use super::document::{self, is_within};
use super::versions::with_id;
use super::write::Write;
use crate::backend::{self, Modification, Operation, ReadOptions, UpdateStatement, WriteStatement};
use crate::collection::Target;
use crate::cursor;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Path;
use crate::query::update::{Action, Change, raw_path};
use crate::schema::{IndexDeclaration, ModelDescriptor};

/// The field that marks a document with a derived field that is not in step.
pub const DERIVED_PENDING: &str = "derived_pending";
/// `bson`'s macros take names as constants.
const PENDING_NAME: &CStr = bson::cstr!("derived_pending");
/// How many documents are read together.
const BATCH: u32 = 200;

/// The derived fields of a model.
#[derive(Debug)]
pub(crate) struct DerivedFields {
    fields: Vec<DerivedField>,
    /// One that stands where it cannot be derived.
    misplaced: bool,
}

#[derive(Debug)]
struct DerivedField {
    name: &'static str,
    deriving: &'static Deriving,
    sources: Vec<String>,
    /// The field that tells kinds of documents apart, and the kind that has the field.
    kind: Option<(&'static str, &'static str)>,
}

impl DerivedField {
    fn is_of(&self, document: &RawDocument) -> bool {
        self.kind
            .is_none_or(|(tag, name)| document.get_str(tag).is_ok_and(|kind| kind == name))
    }

    fn is_source(&self, path: &str) -> bool {
        let path = named(path);
        let mut sources = self.sources.iter();
        sources.any(|source| is_within(&path, source) || is_within(source, &path))
    }

    fn touches(&self, change: &Change) -> bool {
        self.is_source(&change.path.to_string())
            || matches!(&change.action, Action::Rename(to) if self.is_source(&to.to_string()))
    }

    fn derive(&self, document: &RawDocument, now: DateTime) -> Result<RawBson> {
        (self.deriving.derive)(document, now).map_err(|error| match error.path() {
            None => error.with_path(self.name),
            Some(_) => error,
        })
    }

    /// The sources, where the changes set all of them whole, and do nothing else with them.
    fn known(&self, changes: &[Change]) -> Option<RawDocumentBuf> {
        if self.kind.is_some()
            || changes.iter().filter(|change| self.touches(change)).count() != self.sources.len()
        {
            return None;
        }
        let mut known = RawDocumentBuf::new();
        for source in &self.sources {
            let set = changes.iter().find_map(|change| match &change.action {
                Action::Set(value) if change.path.to_string() == *source => Some(value.clone()),
                _ => None,
            })?;
            if source.contains('.') {
                return None;
            }
            known.append(document::key(source).ok()?, set);
        }
        Some(known)
    }

    /// As [`known`](DerivedField::known), of operators that were not read yet.
    fn is_known(&self, operators: &RawDocument) -> bool {
        let mut touched = 0;
        let mut set = 0;
        for (operator, path) in paths(operators) {
            if self.is_source(&path) {
                touched += 1;
                set += usize::from(operator == "$set" && !path.contains('.') && self.sources.contains(&path));
            }
        }
        self.kind.is_none() && touched == self.sources.len() && set == touched
    }
}

impl DerivedFields {
    /// Nothing of a model that derives nothing.
    pub(crate) fn of(declared: &'static Declared) -> Option<DerivedFields> {
        let mut found = DerivedFields {
            fields: Vec::new(),
            misplaced: false,
        };
        match declared {
            Declared::Variants {
                tag,
                content: "",
                variants,
            } => {
                for variant in *variants {
                    found.add(variant.nested(), Some((tag, variant.name)));
                }
            }
            declared => found.add(declared, None),
        }
        (found.misplaced || !found.fields.is_empty()).then_some(found)
    }

    fn add(&mut self, declared: &'static Declared, kind: Option<(&'static str, &'static str)>) {
        let Declared::Document { fields, .. } = declared else {
            return;
        };
        for field in *fields {
            match field.nested() {
                Declared::Derived(deriving) => self.fields.push(DerivedField {
                    name: field.name,
                    deriving,
                    sources: (deriving.sources)(),
                    kind,
                }),
                nested => self.misplaced |= holds_derived(nested, &mut Vec::new()),
            }
        }
    }

    /// The fields of which those are derived that are, are in, or hold one of these paths.
    pub(super) fn sources_of(&self, paths: &[&str]) -> Vec<String> {
        let are_meant = |field: &&DerivedField| {
            let mut paths = paths.iter();
            paths.any(|path| is_within(path, field.name) || is_within(field.name, path))
        };
        let fields = self.fields.iter().filter(are_meant);
        fields.flat_map(|field| field.sources.clone()).collect()
    }

    /// The indexes over the derived fields, and that of the documents that wait.
    pub(crate) fn indexes(model: &ModelDescriptor) -> Vec<IndexDeclaration> {
        let Some(derived) = DerivedFields::of((model.declared)()) else {
            return Vec::new();
        };
        let mut all = vec![IndexDeclaration::of_pending(DERIVED_PENDING)];
        for field in &derived.fields {
            all.extend((field.deriving.indexes)(&Path::root().child(field.name)));
        }
        all
    }

    /// The stored names of the fields.
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.fields.iter().map(|field| field.name).collect()
    }

    /// That each of them is where it can be derived.
    pub(crate) fn check(&self) -> Result<()> {
        match self.misplaced {
            true => Err(Error::new(
                ErrorKind::Schema,
                "a derived field stands in the model itself, not in what is embedded in it",
            )),
            false => Ok(()),
        }
    }

    /// The whole document with its derived fields.
    pub(crate) fn renewed(&self, mut document: RawDocumentBuf, now: DateTime) -> Result<RawDocumentBuf> {
        self.check()?;
        for field in &self.fields {
            if field.is_of(&document) {
                let value = field.derive(&document, now)?;
                document = document::with_field(&document, field.name, value)?;
            }
        }
        Ok(document)
    }

    /// Adds what the changes mean for the derived fields; whether documents are marked.
    pub(super) fn follow_changes(
        &self,
        changes: &mut Vec<Change>,
        upsert: bool,
        now: DateTime,
        token: ObjectId,
    ) -> Result<bool> {
        self.check()?;
        for field in &self.fields {
            let own = |path: &str| is_within(path, field.name);
            if changes.iter().any(|change| {
                own(&change.path.to_string())
                    || matches!(&change.action, Action::Rename(to) if own(&to.to_string()))
            }) {
                let message = "a derived field is not updated but made of others";
                return Err(Error::new(ErrorKind::InvalidArgument, message).with_path(field.name));
            }
        }
        let token = RawBson::ObjectId(token);
        let touched = (self.fields.iter()).any(|field| changes.iter().any(|change| field.touches(change)));
        match (touched, self.known(changes, now)?) {
            // All of the derived fields are in step then, and whoever read the document before must not write them.
            (true, Some(known)) => {
                changes.extend(known);
                changes.push(change(DERIVED_PENDING, Action::Unset));
                Ok(false)
            }
            (true, None) => {
                changes.push(change(DERIVED_PENDING, Action::Set(token)));
                Ok(true)
            }
            (false, _) if upsert => {
                changes.push(change(DERIVED_PENDING, Action::SetOnInsert(token)));
                Ok(true)
            }
            (false, _) => Ok(false),
        }
    }

    /// The values of all derived fields, where the changes say all that they are made of.
    fn known(&self, changes: &[Change], now: DateTime) -> Result<Option<Vec<Change>>> {
        let mut values = Vec::with_capacity(self.fields.len());
        for field in &self.fields {
            match field.known(changes) {
                Some(known) => values.push(change(field.name, Action::Set(field.derive(&known, now)?))),
                None => return Ok(None),
            }
        }
        Ok(Some(values))
    }

    /// Whether the write and what follows it are to be one transaction, which is not running yet.
    pub(super) fn wants_transaction(&self, target: &Target, operation: &Operation, hooked: bool) -> bool {
        let db = target.db();
        db.guard().is_none() && db.capabilities().transactions && self.concerns(operation, hooked)
    }

    /// Whether the operation can mark documents. Hooks can add anything to a change.
    fn concerns(&self, operation: &Operation, hooked: bool) -> bool {
        let modifies = |modification: &Modification, upsert: bool| match modification {
            Modification::Operators(operators) => {
                let touches = || {
                    paths(operators).any(|(_, path)| self.fields.iter().any(|field| field.is_source(&path)))
                };
                let are_known = || self.fields.iter().all(|field| field.is_known(operators));
                hooked || ((upsert || touches()) && !are_known())
            }
            Modification::Pipeline(_) => true,
            Modification::Replacement(_) => false,
        };
        let updates = |update: &UpdateStatement| modifies(&update.modification, update.upsert);
        match operation {
            Operation::Update(update) => update.statements.iter().any(updates),
            Operation::BulkWrite(bulk) => bulk.statements.iter().any(|statement| match statement {
                WriteStatement::Update(update) => updates(update),
                WriteStatement::Insert(_) | WriteStatement::Delete(_) => false,
            }),
            Operation::FindAndModify(find) => {
                let modification = find.modification.as_ref();
                modification.is_some_and(|modification| modifies(modification, find.upsert))
            }
            _ => false,
        }
    }

    /// What is known of the documents that the writes marked.
    pub(super) fn marked_by(writes: &[Write], token: ObjectId) -> RawDocumentBuf {
        marked_by(writes, PENDING_NAME, token)
    }

    /// Derives anew what was marked; with the mark of what waits for its copies.
    pub(super) async fn follow(
        &self,
        target: &Target,
        token: ObjectId,
        marked: RawDocumentBuf,
        copies: Option<ObjectId>,
    ) -> Result<()> {
        let mut failed = Vec::new();
        self.renew(target, token, marked, copies, &mut failed).await?;
        match failed.into_iter().next() {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// Derives the fields of marked documents from what these hold now, and takes the mark away, if it is still the same;
    /// how many documents were. Where copies of the fields wait then, the document is marked for them by the same write:
    /// somebody may have taken the mark away that the change of the sources made, and copied the fields as they were.
    pub(crate) async fn renew(
        &self,
        target: &Target,
        token: ObjectId,
        marked: RawDocumentBuf,
        copies: Option<ObjectId>,
        failed: &mut Vec<(Bson, Error)>,
    ) -> Result<u64> {
        self.check()?;
        let find = Operation::Find(backend::Find {
            namespace: target.namespace().clone(),
            filter: marked,
            sort: None,
            projection: Some(self.projection()?),
            skip: 0,
            limit: 0,
            batch_size: Some(BATCH),
            tail: None,
            options: ReadOptions::default(),
        });
        let mut cursor = target.execute(find).await?.cursor()?;
        let mut renewed = 0;
        while let Some(batch) = cursor::next_batch(target, "find", &mut *cursor).await? {
            let mut statements = Vec::new();
            for stored in cursor::documents(target, "find", &*batch) {
                let stored = stored?;
                match self.statement(stored, token, copies, target.executor().now()) {
                    Ok(statement) => statements.push(statement),
                    Err(error) => {
                        let error = with_id(error, stored);
                        failed.push((error.id().cloned().unwrap_or(Bson::Null), error));
                    }
                }
            }
            renewed += write(target, statements).await?;
        }
        Ok(renewed)
    }

    fn statement(
        &self,
        stored: &RawDocument,
        token: ObjectId,
        copies: Option<ObjectId>,
        now: DateTime,
    ) -> Result<UpdateStatement> {
        let mut set = RawDocumentBuf::new();
        if let Some(copies) = copies {
            set.append(document::key(PENDING)?, copies);
        }
        for field in self.fields.iter().filter(|field| field.is_of(stored)) {
            set.append(document::key(field.name)?, field.derive(stored, now)?);
        }
        let id = stored.get("_id").ok().flatten();
        let mut operators = rawdoc! { "$unset": { PENDING_NAME: "" } };
        if !set.is_empty() {
            operators.append(bson::cstr!("$set"), set);
        }
        Ok(UpdateStatement {
            filter: rawdoc! {
                "_id": { "$eq": id.map_or(RawBson::Null, RawBson::from) },
                PENDING_NAME: token,
            },
            modification: Modification::Operators(operators),
            multi: false,
            upsert: false,
            array_filters: Vec::new(),
            hint: None,
            collation: None,
        })
    }

    fn projection(&self) -> Result<RawDocumentBuf> {
        let mut names = vec!["_id"];
        for field in &self.fields {
            let sources = field
                .sources
                .iter()
                .map(|source| source.split('.').next().unwrap_or_default());
            for name in sources.chain(field.kind.map(|(tag, _)| tag)) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        let mut projection = RawDocumentBuf::new();
        for name in names {
            projection.append(document::key(name)?, 1);
        }
        Ok(projection)
    }
}

/// Marks documents, so that their derived fields are derived anew.
pub(crate) async fn mark(target: &Target, ids: RawArrayBuf, token: ObjectId) -> Result<()> {
    let statement = UpdateStatement {
        filter: rawdoc! { "_id": { "$in": ids } },
        modification: Modification::Operators(rawdoc! { "$set": { PENDING_NAME: token } }),
        multi: true,
        upsert: false,
        array_filters: Vec::new(),
        hint: None,
        collation: None,
    };
    write(target, vec![statement]).await.map(|_| ())
}

/// Writes past what the model declares of writes: this is no change of the documents' meaning.
async fn write(target: &Target, statements: Vec<UpdateStatement>) -> Result<u64> {
    if statements.is_empty() {
        return Ok(0);
    }
    let operation = Operation::Update(backend::Update {
        namespace: target.namespace().clone(),
        statements,
        ordered: true,
        options: ReadOptions::default(),
    });
    let result = target.execute(operation).await?.write()?;
    match result.errors.into_iter().next() {
        Some((_, error)) => Err(target.explain(error, "update")),
        None => Ok(result.summary.matched),
    }
}

/// A path without the places of elements: `chapters.0.title` changes what is read as `chapters.title`.
pub(super) fn named(path: &str) -> String {
    let is_place =
        |segment: &&str| segment.starts_with('$') || segment.bytes().all(|byte| byte.is_ascii_digit());
    let names = path.split('.').filter(|segment| !is_place(segment));
    names.collect::<Vec<_>>().join(".")
}

/// The operators and paths of an update.
fn paths(operators: &RawDocument) -> impl Iterator<Item = (String, String)> + '_ {
    operators.iter().flatten().flat_map(|(operator, fields)| {
        let fields = fields
            .as_document()
            .into_iter()
            .flat_map(|fields| fields.iter().flatten());
        let operator = operator.as_str();
        fields.flat_map(move |(path, operand)| {
            let to = match operand {
                RawBsonRef::String(to) if operator == "$rename" => Some(to.to_owned()),
                _ => None,
            };
            let paths = [Some(path.as_str().to_owned()), to];
            paths
                .into_iter()
                .flatten()
                .map(move |path| (operator.to_owned(), path))
        })
    })
}

fn holds_derived(declared: &'static Declared, above: &mut Vec<*const Declared>) -> bool {
    if above.contains(&std::ptr::from_ref(declared)) {
        return false;
    }
    above.push(std::ptr::from_ref(declared));
    let holds = match declared {
        Declared::Derived(_) => true,
        Declared::Nothing | Declared::Untyped | Declared::Refers(_) => false,
        Declared::Document { fields, .. } => fields.iter().any(|field| holds_derived(field.nested(), above)),
        Declared::Array(inner) | Declared::Map(inner) => holds_derived(inner(), above),
        Declared::Variants { variants, .. } => variants
            .iter()
            .any(|variant| holds_derived(variant.nested(), above)),
    };
    above.pop();
    holds
}

fn change(name: &str, action: Action) -> Change {
    Change {
        path: raw_path(name),
        action,
    }
}
