//! Figures, as `collStats` and `dbStats` give them.

use bson::{Bson, Document, rawdoc};

use super::{Attempt, MongoBackend, SharedSession};
use crate::backend::{CollectionStatistics, IndexStatistics, Response, Statistics};

pub(super) async fn statistics(
    backend: &MongoBackend,
    asked: Statistics,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    let command = match &asked.collection {
        Some(collection) => rawdoc! { "collStats": collection.as_str() },
        None => rawdoc! { "dbStats": 1 },
    };
    let reply = backend.command(&asked.database, command, session).await?;
    let mut own = CollectionStatistics::default();
    own.storage_size = number(&reply, "storageSize");
    if asked.collection.is_some() {
        own.documents = number(&reply, "count");
        own.size = number(&reply, "size");
        own.index_size = number(&reply, "totalIndexSize");
        if let Ok(sizes) = reply.get_document("indexSizes") {
            // A collection that does not exist has no indexes.
            own.collections = u64::from(!sizes.is_empty());
            own.indexes = sizes
                .keys()
                .map(|name| IndexStatistics::new(name.clone(), number(sizes, name)))
                .collect();
        }
        if reply.get_bool("capped").unwrap_or(false) {
            own.capped_size = Some(number(&reply, "maxSize"));
            own.capped_max = Some(number(&reply, "max")).filter(|max| *max > 0 && *max < i32::MAX as u64);
        }
    } else {
        own.collections = number(&reply, "collections");
        own.views = number(&reply, "views");
        own.documents = number(&reply, "objects");
        own.size = number(&reply, "dataSize");
        own.index_size = number(&reply, "indexSize");
    }
    Ok(Response::Statistics(own))
}

/// A count, of whichever numeric type the server chose.
fn number(reply: &Document, name: &str) -> u64 {
    match reply.get(name) {
        Some(Bson::Int32(number)) => u64::try_from(*number).unwrap_or(0),
        Some(Bson::Int64(number)) => u64::try_from(*number).unwrap_or(0),
        Some(Bson::Double(number)) => *number as u64,
        _ => 0,
    }
}
