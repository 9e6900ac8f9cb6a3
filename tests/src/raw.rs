//! Operations on the seam, for tests that speak MongoDB's own language.

use bson::{Bson, Document, RawDocumentBuf};
use odm::Db;
use odm::backend::{
    CreateIndexes, Delete, DeleteStatement, Distinct, Find, FindAndModify, IndexSpec, Insert, Modification,
    Namespace, Operation, ReadOptions, Response, Update, UpdateStatement, WriteResult,
};

/// A document as raw bytes.
pub fn raw(document: &Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(document).expect("a document encodes")
}

/// A collection of the database, addressed raw.
#[derive(Clone, Debug)]
pub struct RawCollection {
    db: Db,
    name: String,
}

/// An update for [`RawCollection::update`].
#[derive(Clone, Debug)]
pub enum Change {
    /// Operators, or a replacement when no field starts with `$`.
    Document(Document),
    /// A pipeline.
    Pipeline(Vec<Document>),
}

impl Change {
    /// The seam's form.
    pub fn modification(&self) -> Modification {
        match self {
            Change::Document(document) => match document.keys().next() {
                Some(first) if first.starts_with('$') => Modification::Operators(raw(document)),
                _ => Modification::Replacement(raw(document)),
            },
            Change::Pipeline(stages) => Modification::Pipeline(stages.iter().map(raw).collect()),
        }
    }
}

impl RawCollection {
    /// The collection of this name.
    pub fn new(db: &Db, name: &str) -> RawCollection {
        RawCollection {
            db: db.clone(),
            name: name.to_owned(),
        }
    }

    /// Its full name.
    pub fn namespace(&self) -> Namespace {
        Namespace {
            database: self.db.name().to_owned(),
            collection: self.name.clone(),
        }
    }

    /// Executes any operation.
    pub async fn execute(&self, operation: Operation) -> odm::Result<Response> {
        self.db.backend().execute(operation).await
    }

    async fn write(&self, operation: Operation) -> odm::Result<WriteResult> {
        match self.execute(operation).await? {
            Response::Write(result) => Ok(result),
            other => panic!("a write answers {other:?}"),
        }
    }

    /// Inserts documents in order.
    pub async fn insert(&self, documents: &[Document]) -> odm::Result<WriteResult> {
        self.insert_raw(documents.iter().map(raw).collect()).await
    }

    /// Inserts raw documents in order.
    pub async fn insert_raw(&self, documents: Vec<RawDocumentBuf>) -> odm::Result<WriteResult> {
        self.write(Operation::Insert(Insert {
            namespace: self.namespace(),
            documents,
            ordered: true,
            bypass_validation: false,
            comment: None,
        }))
        .await
    }

    /// Finds documents; all batches.
    pub async fn find(
        &self,
        filter: &Document,
        sort: Option<&Document>,
        projection: Option<&Document>,
        skip: u64,
        limit: u64,
    ) -> odm::Result<Vec<RawDocumentBuf>> {
        let find = Find {
            sort: sort.map(raw),
            projection: projection.map(raw),
            skip,
            limit,
            ..Find::new(self.namespace(), raw(filter))
        };
        let Response::Cursor(mut cursor) = self.execute(Operation::Find(find)).await? else {
            panic!("a find answers with a cursor");
        };
        let mut found = Vec::new();
        while let Some(batch) = cursor.next_batch().await? {
            found.extend(
                (0..batch.len())
                    .filter_map(|index| batch.get(index))
                    .map(ToOwned::to_owned),
            );
        }
        Ok(found)
    }

    /// Every document, by `_id`.
    pub async fn everything(&self) -> odm::Result<Vec<RawDocumentBuf>> {
        self.find(&Document::new(), Some(&bson::doc! { "_id": 1 }), None, 0, 0)
            .await
    }

    /// Runs one update.
    pub async fn update(
        &self,
        filter: &Document,
        change: &Change,
        multi: bool,
        upsert: bool,
        array_filters: &[Document],
    ) -> odm::Result<WriteResult> {
        let statement = UpdateStatement {
            filter: raw(filter),
            modification: change.modification(),
            multi,
            upsert,
            array_filters: array_filters.iter().map(raw).collect(),
            hint: None,
            collation: None,
        };
        self.write(Operation::Update(Update {
            namespace: self.namespace(),
            statements: vec![statement],
            ordered: true,
            options: ReadOptions::default(),
        }))
        .await
    }

    /// Runs one deletion.
    pub async fn delete(&self, filter: &Document, multi: bool) -> odm::Result<WriteResult> {
        let statement = DeleteStatement {
            filter: raw(filter),
            multi,
            hint: None,
            collation: None,
        };
        self.write(Operation::Delete(Delete {
            namespace: self.namespace(),
            statements: vec![statement],
            ordered: true,
            options: ReadOptions::default(),
        }))
        .await
    }

    /// Changes one document and gives it back.
    pub async fn find_and_modify(
        &self,
        filter: &Document,
        sort: Option<&Document>,
        change: Option<&Change>,
        return_new: bool,
        upsert: bool,
    ) -> odm::Result<Option<RawDocumentBuf>> {
        let operation = FindAndModify {
            namespace: self.namespace(),
            filter: raw(filter),
            sort: sort.map(raw),
            projection: None,
            modification: change.map(Change::modification),
            return_new,
            upsert,
            array_filters: Vec::new(),
            options: ReadOptions::default(),
        };
        match self.execute(Operation::FindAndModify(operation)).await? {
            Response::Document(found) => Ok(found),
            other => panic!("findAndModify answers {other:?}"),
        }
    }

    /// Counts documents.
    pub async fn count(&self, filter: &Document) -> odm::Result<u64> {
        let operation = odm::backend::Count {
            namespace: self.namespace(),
            filter: raw(filter),
            skip: 0,
            limit: 0,
            estimated: false,
            options: ReadOptions::default(),
        };
        match self.execute(Operation::Count(operation)).await? {
            Response::Count(count) => Ok(count),
            other => panic!("a count answers {other:?}"),
        }
    }

    /// The distinct values of a path.
    pub async fn distinct(&self, key: &str, filter: &Document) -> odm::Result<Vec<Bson>> {
        let operation = Distinct {
            namespace: self.namespace(),
            key: key.to_owned(),
            filter: raw(filter),
            options: ReadOptions::default(),
        };
        match self.execute(Operation::Distinct(operation)).await? {
            Response::Values(values) => Ok(values
                .into_iter()
                .map(|value| Bson::try_from(value).expect("a value decodes"))
                .collect()),
            other => panic!("a distinct answers {other:?}"),
        }
    }

    /// Creates an index by its specification.
    pub async fn create_index(&self, spec: &Document) -> odm::Result<()> {
        let operation = CreateIndexes {
            namespace: self.namespace(),
            indexes: vec![IndexSpec(raw(spec))],
        };
        self.execute(Operation::CreateIndexes(operation))
            .await
            .map(|_| ())
    }
}
