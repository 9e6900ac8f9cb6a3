//! Files and chunks as they are stored.

use std::fmt;

use odm::Model;
use odm::bson::oid::ObjectId;
use odm::bson::{Binary, Bson, DateTime, Document, deserialize_from_document};
use serde::de::{self, DeserializeOwned, Error as _, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::keyed;

/// What is known of a file: its document in the collection of files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "fs.files")]
#[odm(index(keys(filename, upload_date), name = "filename_1_uploadDate_1"))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StoredFile {
    /// Anything; an ObjectId unless the upload chose another.
    #[serde(rename = "_id")]
    pub id: Bson,
    /// How many bytes it has.
    #[serde(deserialize_with = "whole")]
    pub length: i64,
    /// How many bytes each chunk has but the last.
    #[serde(deserialize_with = "whole")]
    pub chunk_size: i32,
    /// When the upload was finished, by [`Db::now`](odm::Db::now).
    pub upload_date: DateTime,
    /// Its name, which other files may have too. Very old files can be without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// The SHA-256 of the content, in 64 lower-case hexadecimal digits; only of files that were written by this crate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The MD5 of the content, of files written by drivers before 2019. Read, never written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub md5: Option<String>,
    /// What the program says of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Document>,
    /// Of old files; new ones have it in `metadata`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Of old files; new ones have it in `metadata`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aliases: Option<Vec<String>>,
    /// By whom the chunks of this id are being deleted, where they are: there is no file, then. A process that ended over
    /// that leaves it to [`scrub`](super::Bucket::scrub).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discarding: Option<ObjectId>,
}

impl StoredFile {
    /// The metadata as a type of the program; that of an empty document where there is none.
    ///
    /// # Errors
    /// `Decode` if it is of another shape.
    ///
    /// ```
    /// # use odm::{Db, bson::doc};
    /// # use odm_patterns::gridfs::Bucket;
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// #[derive(serde::Deserialize)]
    /// struct Scan {
    ///     pages: i32,
    /// }
    ///
    /// let bucket = Bucket::new(&Db::open("memory:").await?);
    /// let file = bucket.upload("a.pdf").metadata(doc! { "pages": 3 }).bytes(b"..").await?;
    /// assert_eq!(file.metadata_as::<Scan>()?.pages, 3);
    /// # Ok(())
    /// # }
    /// ```
    pub fn metadata_as<T: DeserializeOwned>(&self) -> odm::Result<T> {
        let metadata = self.metadata.clone().unwrap_or_default();
        deserialize_from_document(metadata).map_err(|error| {
            odm::Error::new(
                odm::ErrorKind::Decode,
                "the metadata is of another shape".to_owned(),
            )
            .with_id(self.id.clone())
            .with_source(error)
        })
    }
}

/// A part of a file.
#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "fs.chunks")]
#[odm(index(keys(files_id, n), name = "files_id_1_n_1", unique))]
pub(super) struct Chunk {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub files_id: Bson,
    /// Which, from 0.
    #[serde(deserialize_with = "whole")]
    pub n: i32,
    pub data: Binary,
}

/// A whole number of any type: the shell writes its numbers as doubles, and JavaScript those of more than 32 bits.
fn whole<'de, D: Deserializer<'de>, N: TryFrom<i64>>(deserializer: D) -> Result<N, D::Error> {
    let number = deserializer.deserialize_any(Whole)?;
    N::try_from(number).map_err(|_| D::Error::custom("the number is too large"))
}

struct Whole;

impl Visitor<'_> for Whole {
    type Value = i64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<i64, E> {
        Ok(number)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<i64, E> {
        i64::try_from(number).map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<i64, E> {
        keyed::whole(number).ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self))
    }
}
