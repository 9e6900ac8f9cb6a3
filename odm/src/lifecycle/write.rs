//! The one form that every write of a typed collection takes.

use bson::{RawBson, RawDocumentBuf};

use crate::backend::{DeleteStatement, Modification, Operation, UpdateStatement, WriteStatement};
use crate::error::Result;
use crate::model::Path;
use crate::query::update::{BuiltUpdate, Form};

/// One write: an insert, a replacement, an update or a deletion, whichever action or batch it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) kind: Kind,
    /// Which documents; empty for an insert.
    pub(crate) filter: RawDocumentBuf,
    pub(crate) multi: bool,
    pub(crate) upsert: bool,
    pub(super) hint: Option<RawBson>,
    pub(super) collation: Option<RawDocumentBuf>,
}

/// What a write does.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Insert(RawDocumentBuf),
    Replace(RawDocumentBuf),
    /// Operators, change by change; or a pipeline.
    Update(Form),
    Delete,
}

impl Write {
    pub(crate) fn insert(document: RawDocumentBuf) -> Write {
        Write::of(Kind::Insert(document), RawDocumentBuf::new())
    }

    fn of(kind: Kind, filter: RawDocumentBuf) -> Write {
        Write {
            kind,
            filter,
            multi: false,
            upsert: false,
            hint: None,
            collation: None,
        }
    }

    fn of_update(statement: UpdateStatement) -> Result<Write> {
        Ok(Write {
            kind: kind(Some(statement.modification), statement.array_filters)?,
            filter: statement.filter,
            multi: statement.multi,
            upsert: statement.upsert,
            hint: statement.hint,
            collation: statement.collation,
        })
    }

    fn of_delete(statement: DeleteStatement) -> Write {
        Write {
            multi: statement.multi,
            hint: statement.hint,
            collation: statement.collation,
            ..Write::of(Kind::Delete, statement.filter)
        }
    }

    pub(super) fn into_statement(self) -> Result<WriteStatement> {
        let built = match self.kind {
            Kind::Insert(document) => return Ok(WriteStatement::Insert(document)),
            Kind::Delete => {
                return Ok(WriteStatement::Delete(DeleteStatement {
                    filter: self.filter,
                    multi: self.multi,
                    hint: self.hint,
                    collation: self.collation,
                }));
            }
            Kind::Replace(document) => {
                let replacement = Modification::Replacement(document);
                BuiltUpdate::new(replacement.with_any_names(), Vec::new())
            }
            Kind::Update(form) => form.build()?,
        };
        Ok(WriteStatement::Update(UpdateStatement {
            filter: self.filter,
            modification: built.modification,
            multi: self.multi,
            upsert: self.upsert,
            array_filters: built.array_filters,
            hint: self.hint,
            collation: self.collation,
        }))
    }
}

fn kind(modification: Option<Modification>, array_filters: Vec<RawDocumentBuf>) -> Result<Kind> {
    Ok(match modification {
        None => Kind::Delete,
        Some(Modification::Replacement(document)) => Kind::Replace(document),
        Some(Modification::Pipeline(stages)) => Kind::Update(Form::Pipeline(stages)),
        Some(Modification::Operators(operators)) => Kind::Update(Form::read(&operators, array_filters)?),
    })
}

/// An operation taken apart into its writes.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) writes: Vec<Write>,
    /// What carried them, empty.
    pub(crate) carrier: Operation,
}

impl Batch {
    /// Whether a write that fails keeps those behind it from being made.
    pub(super) fn is_ordered(&self) -> bool {
        match &self.carrier {
            Operation::Insert(insert) => insert.ordered,
            Operation::BulkWrite(bulk) => bulk.ordered,
            _ => true,
        }
    }

    /// The writes of an operation; none of one that does not write documents. `of_variants` has the paths that name
    /// variants, each with the place of its write.
    pub(crate) fn take(mut operation: Operation, of_variants: &[(usize, Path)]) -> Result<Batch> {
        let mut writes: Vec<Write> = match &mut operation {
            Operation::Insert(insert) => {
                let documents = std::mem::take(&mut insert.documents);
                documents.into_iter().map(Write::insert).collect()
            }
            Operation::Update(update) => {
                let statements = std::mem::take(&mut update.statements);
                statements
                    .into_iter()
                    .map(Write::of_update)
                    .collect::<Result<_>>()?
            }
            Operation::Delete(delete) => {
                let statements = std::mem::take(&mut delete.statements);
                statements.into_iter().map(Write::of_delete).collect()
            }
            Operation::BulkWrite(bulk) => std::mem::take(&mut bulk.statements)
                .into_iter()
                .map(|statement| match statement {
                    WriteStatement::Insert(document) => Ok(Write::insert(document)),
                    WriteStatement::Update(statement) => Write::of_update(statement),
                    WriteStatement::Delete(statement) => Ok(Write::of_delete(statement)),
                })
                .collect::<Result<_>>()?,
            Operation::FindAndModify(find) => {
                let array_filters = std::mem::take(&mut find.array_filters);
                let mut write = Write::of(
                    kind(find.modification.take(), array_filters)?,
                    std::mem::take(&mut find.filter),
                );
                write.upsert = find.upsert;
                write.collation.clone_from(&find.options.collation);
                vec![write]
            }
            _ => Vec::new(),
        };
        for (place, path) in of_variants {
            if let Some(Write {
                kind: Kind::Update(form),
                ..
            }) = writes.get_mut(*place)
            {
                form.name_variants(path);
            }
        }
        Ok(Batch {
            writes,
            carrier: operation,
        })
    }

    /// These writes in an operation like the carrier: a deletion of documents that became an update is carried by
    /// an update.
    pub(crate) fn carry(&self, writes: Vec<Write>) -> Result<Operation> {
        let mut carrier = self.carrier.clone();
        if let Operation::FindAndModify(find) = &mut carrier {
            for write in writes {
                find.upsert = write.upsert;
                find.filter = write.filter;
                find.modification = None;
                if let Some(built) = match write.kind {
                    Kind::Replace(document) => Some(BuiltUpdate::new(
                        Modification::Replacement(document).with_any_names(),
                        Vec::new(),
                    )),
                    Kind::Update(form) => Some(form.build()?),
                    Kind::Insert(_) | Kind::Delete => None,
                } {
                    find.modification = Some(built.modification);
                    find.array_filters = built.array_filters;
                }
            }
            return Ok(carrier);
        }
        let statements = writes.into_iter().map(Write::into_statement);
        let statements: Vec<WriteStatement> = statements.collect::<Result<_>>()?;
        if let Operation::BulkWrite(bulk) = &mut carrier {
            bulk.statements = statements;
            return Ok(carrier);
        }
        if let Operation::Delete(delete) = &carrier
            && statements
                .iter()
                .any(|statement| matches!(statement, WriteStatement::Update(_)))
        {
            carrier = Operation::Update(crate::backend::Update {
                namespace: delete.namespace.clone(),
                statements: Vec::new(),
                ordered: delete.ordered,
                options: delete.options.clone(),
            });
        }
        for statement in statements {
            match (&mut carrier, statement) {
                (Operation::Insert(insert), WriteStatement::Insert(document)) => {
                    insert.documents.push(document)
                }
                (Operation::Update(update), WriteStatement::Update(statement)) => {
                    update.statements.push(statement);
                }
                (Operation::Delete(delete), WriteStatement::Delete(statement)) => {
                    delete.statements.push(statement);
                }
                _ => {}
            }
        }
        Ok(carrier)
    }
}
