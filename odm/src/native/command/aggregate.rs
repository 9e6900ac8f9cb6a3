//! `aggregate`.

use super::super::aggregate::pipeline::{Context, MEMORY_LIMIT, Pipeline, Rows as Stream, Source};
use super::super::document::{Doc, Value};
use super::super::exec::cursor::{FindCursor, FindRequest};
use super::super::exec::{Deadline, Namespace};
use super::super::fault::{Fault, Result, code};
use super::super::storage::Read;
use super::cursor::{Opened, Rows};
use super::query::{self, Variables};
use super::shape::{Shape, Type, out_of_range};
use super::{Call, Job, refuse_collation};

pub(super) static AGGREGATE: Shape = Shape {
    name: "aggregate",
    fields: &[
        ("pipeline", Type::Array),
        ("explain", Type::Bool),
        ("allowDiskUse", Type::Boolish),
        ("cursor", Type::Object),
        ("bypassDocumentValidation", Type::Boolish),
        ("hint", Type::Any),
        ("collation", Type::Object),
        ("let", Type::Object),
        ("fromMongos", Type::Boolish),
        ("needsMerge", Type::Boolish),
        ("collectionUUID", Type::Uuid),
    ],
    required: &["pipeline"],
};

static CURSOR: Shape = Shape {
    name: "cursor",
    fields: &[("batchSize", Type::Number)],
    required: &[],
};

pub(super) fn aggregate(call: &Call<'_>) -> Result<Job> {
    let fields = AGGREGATE.command(call.doc)?;
    let whole_database = call.target.is_number();
    let namespace = if whole_database {
        Namespace {
            database: call.database.to_owned(),
            collection: "$cmd.aggregate".to_owned(),
        }
    } else {
        call.namespace()?
    };
    let mut batch_size = None;
    match fields.object("cursor") {
        Some(cursor) => match CURSOR.part(cursor)?.number("batchSize") {
            Some(size) if size < 0 => return Err(out_of_range("batchSize", size)),
            size => batch_size = size.and_then(|size| usize::try_from(size).ok()),
        },
        None if fields.flag("explain") => {
            return Err(Fault::unsupported(
                "the embedded engine does not explain an aggregate",
            ));
        }
        None => {
            return Err(Fault::new(
                code::FAILED_TO_PARSE,
                "The 'cursor' option is required, except for aggregate with the explain argument",
            ));
        }
    }
    refuse_collation(fields.object("collation"))?;
    let variables = query::variables(fields.object("let"), call)?;
    let mut stages = Vec::new();
    for stage in fields.array("pipeline").into_iter().flat_map(Doc::values) {
        match stage {
            Value::Document(stage) => stages.push(stage),
            _ => {
                return Err(Fault::new(
                    code::TYPE_MISMATCH,
                    "Each element of the 'pipeline' array must be an object",
                ));
            }
        }
    }
    let names: Vec<String> = variables.iter().map(|(name, _)| name.clone()).collect();
    let pipeline = Pipeline::parse(&stages, &names)?;
    if pipeline.output().is_some() {
        return Err(Fault::unsupported(
            "the embedded engine does not write from a pipeline",
        ));
    }
    if whole_database != pipeline.starts_with_documents() {
        return Err(Fault::new(
            code::INVALID_NAMESPACE,
            "{aggregate: 1} is for stages that read no collection, and only for them",
        ));
    }
    let hint = query::hint(fields.get("hint"))?.map(Into::into);
    let run = Run {
        namespace,
        pipeline,
        variables,
        hint,
        memory_limit: (!fields.flag("allowDiskUse")).then_some(MEMORY_LIMIT),
        now: call.now.millis,
        deadline: call.deadline()?,
    };
    Ok(Job::Open(Box::new(move |read| {
        let rows = run.rows(read)?;
        Ok(Opened {
            ns: run.namespace.to_string(),
            rows: Rows::Held(rows.into()),
            batch_size,
            single: false,
            listing: false,
        })
    })))
}

/// A pipeline to run.
struct Run {
    namespace: Namespace,
    pipeline: Pipeline,
    variables: Variables,
    hint: Option<super::super::document::Owned>,
    memory_limit: Option<usize>,
    now: i64,
    deadline: Deadline,
}

impl Run {
    fn rows(&self, read: &dyn Read) -> Result<Vec<Vec<u8>>> {
        let source = Collections {
            read,
            database: &self.namespace.database,
            deadline: self.deadline,
        };
        let context = Context {
            source: &source,
            variables: self.variables.clone(),
            now: self.now,
            memory_limit: self.memory_limit,
        };
        let hint = self.hint.as_ref().map(|hint| hint.as_value());
        let input: Stream<'_> = if self.pipeline.starts_with_documents() {
            Box::new(std::iter::empty())
        } else {
            let query = query::query(None, None, hint, &Variables::new())?;
            Box::new(source.read(self.namespace.clone(), query)?)
        };
        self.pipeline.run(input, &context)?.collect()
    }
}

struct Collections<'a> {
    read: &'a dyn Read,
    database: &'a str,
    deadline: Deadline,
}

impl Collections<'_> {
    fn read(
        &self,
        namespace: Namespace,
        query: super::super::exec::query::Query,
    ) -> Result<impl Iterator<Item = Result<Vec<u8>>> + use<>> {
        let request = FindRequest {
            tail: None,
            namespace,
            query,
            projection: None,
            skip: 0,
            limit: 0,
            batch_size: None,
            deadline: self.deadline,
        };
        let mut cursor = FindCursor::open(self.read, request)?;
        let mut rows = Vec::new();
        while let Some(batch) = cursor.next_batch(self.read)? {
            rows.extend((0..batch.len()).filter_map(|at| batch.get(at).map(<[u8]>::to_vec)));
        }
        Ok(rows.into_iter().map(Ok))
    }
}

impl Source for Collections<'_> {
    fn find<'a>(&'a self, collection: &str, filter: Doc<'_>) -> Result<Stream<'a>> {
        let namespace = Namespace {
            database: self.database.to_owned(),
            collection: collection.to_owned(),
        };
        let query = query::query(Some(filter), None, None, &Variables::new())?;
        Ok(Box::new(self.read(namespace, query)?))
    }
}
