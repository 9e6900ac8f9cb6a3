//! The measurements of two time series, compared as sets: where a measurement is stored follows from those before it, so
//! that neither their order nor that of their fields says anything.

use std::collections::HashMap;

use bson::{RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};

use super::documents::differing;
use crate::action::raw_documents::Documents;
use crate::collection::Target;
use crate::error::{Error, ErrorKind, Result};

/// Both time series, by time. Memory: the measurements of one time.
pub(super) struct Both {
    source: Times,
    target: Times,
    agreeing: u64,
}

impl Both {
    pub(super) async fn open(source: &Target, target: &Target, time: &str, batch: u32) -> Result<Both> {
        Ok(Both {
            source: Times::open(source, time, batch).await?,
            target: Times::open(target, time, batch).await?,
            agreeing: 0,
        })
    }

    /// What the target lacks of the next time; `None` after the last.
    ///
    /// # Errors
    /// `Conflict` for a measurement that the target has and the source does not.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<RawDocumentBuf>>> {
        let times = (self.source.time().await?, self.target.time().await?);
        let has = match times {
            (None, None) => return Ok(None),
            (Some(own), Some(other)) if own < other => Vec::new(),
            (Some(_), None) => Vec::new(),
            (Some(own), Some(other)) if own == other => self.target.measurements(other).await?,
            (_, Some(other)) => {
                let extra = self.target.measurements(other).await?;
                return Err(differing(&self.target.of, extra.first().map(AsRef::as_ref)));
            }
        };
        let wanted = match times.0 {
            Some(time) => self.source.measurements(time).await?,
            None => Vec::new(),
        };
        let mut missing: HashMap<Vec<u8>, Vec<RawDocumentBuf>> = HashMap::new();
        for measurement in wanted {
            let same = missing.entry(sorted(&measurement)?);
            same.or_default().push(measurement);
        }
        for measurement in &has {
            let same = missing.get_mut(&sorted(measurement)?).and_then(Vec::pop);
            if same.is_none() {
                return Err(differing(&self.target.of, Some(measurement)));
            }
            self.agreeing += 1;
        }
        Ok(Some(missing.into_values().flatten().collect()))
    }

    /// How many were on both sides so far.
    pub(super) fn agreeing(&self) -> u64 {
        self.agreeing
    }
}

/// A time series by time.
struct Times {
    of: Target,
    field: String,
    documents: Documents,
    /// Whether the current document was not taken yet.
    is_waiting: bool,
}

impl Times {
    async fn open(of: &Target, field: &str, batch: u32) -> Result<Times> {
        let mut by_time = RawDocumentBuf::new();
        let name = bson::raw::CString::try_from(field).map_err(|error| {
            Error::new(ErrorKind::InvalidArgument, "a field's name cannot be encoded").with_source(error)
        })?;
        by_time.append(name, 1);
        let sort = rawdoc! { "$sort": by_time };
        Ok(Times {
            of: of.clone(),
            field: field.to_owned(),
            documents: Documents::aggregate(of, vec![sort], batch).await?,
            is_waiting: false,
        })
    }

    /// The time of the next measurement; `None` after the last.
    async fn time(&mut self) -> Result<Option<i64>> {
        if !self.is_waiting {
            self.is_waiting = self.documents.advance().await?;
        }
        match self.is_waiting {
            false => Ok(None),
            true => match self.documents.current()?.get(&self.field) {
                Ok(Some(RawBsonRef::DateTime(time))) => Ok(Some(time.timestamp_millis())),
                _ => {
                    let error = Error::new(ErrorKind::Corrupt, "a measurement has no time");
                    Err(self.of.explain(error, "aggregate"))
                }
            },
        }
    }

    /// The next measurements, as long as they are of this time.
    async fn measurements(&mut self, time: i64) -> Result<Vec<RawDocumentBuf>> {
        let mut found = Vec::new();
        while self.time().await? == Some(time) {
            found.push(self.documents.current()?.to_owned());
            self.is_waiting = false;
        }
        Ok(found)
    }
}

/// The bytes of a measurement whose fields stand in the order of their names.
fn sorted(measurement: &RawDocument) -> Result<Vec<u8>> {
    let malformed = |error| Error::new(ErrorKind::Corrupt, "malformed bson").with_source(error);
    let fields: Result<Vec<_>, _> = measurement.iter().collect();
    let mut fields = fields.map_err(malformed)?;
    fields.sort_by(|a, b| a.0.cmp(b.0));
    let mut sorted = RawDocumentBuf::new();
    for (name, value) in fields {
        sorted.append(name, value);
    }
    Ok(sorted.into_bytes())
}
