//! Runs that `explain` tells of: nothing is kept of what they give, and every stage is counted.

use super::super::super::aggregate::Row;
use super::super::super::aggregate::pipeline::{self as aggregate, Ran, Rows};
use super::super::super::fault::Result;
use super::super::super::metadata::Kind;
use super::super::super::storage::Read;
use super::super::cursor::FindCursor;
use super::super::statistics;
use super::{AggregateRequest, Collections, Input, Known, Prepared};

impl AggregateRequest {
    /// Runs the stages and counts what is read for them, and what each of them gives. Nothing is written.
    pub(crate) fn count_stages(&self, read: &dyn Read, prepared: &Prepared) -> Result<Vec<Ran>> {
        let pipeline = &*prepared.pipeline;
        let setting = self.setting(prepared.collation.clone());
        let source = Collections {
            read,
            setting: &setting,
        };
        let mut context = setting.context(&source);
        context.wanted = pipeline.wanted();
        let input: Rows<'_> = match (&prepared.find, pipeline.statistics()) {
            (Some(find), _) => {
                let input = FindCursor::on_collection(read, find.clone())?;
                let known = Known {
                    wanted: pipeline.wanted(),
                    text: input.text(),
                    keys: input
                        .index_keys()
                        .filter(|_| pipeline.wanted().has(Kind::IndexKey)),
                    sort: prepared.sort.clone(),
                };
                known.of(Box::new(Input::new(read, input)))
            }
            (None, Some(asked)) => {
                let described = self.described(read)?;
                let rows = statistics::described(read, &described, asked, self.now)
                    .map_err(|fault| fault.while_running(aggregate::IN_RUN))?;
                Box::new(rows.into_iter().map(|row| Ok(Row::from(row))))
            }
            (None, None) => Box::new(std::iter::empty()),
        };
        let ran = pipeline.to_run(prepared.first);
        let mut deadline = self.deadline;
        for row in pipeline.run_counted(prepared.first, input, &context, &ran)? {
            deadline.tick()?;
            row?;
        }
        Ok(ran)
    }
}
