//! Changes as an update document with its array filters.

use std::collections::HashSet;
use std::sync::Arc;

use bson::raw::CString;
use bson::{RawBson, RawDocumentBuf};

use super::change::{Action, Change};
use super::{Form, Update};
use crate::backend::Modification;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ArrayCondition, Path, Segment};
use crate::query::encode::path_text;

/// An update as a backend takes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BuiltUpdate {
    /// Operators or a pipeline.
    pub modification: Modification,
    /// The filters of `$[name]`.
    pub array_filters: Vec<RawDocumentBuf>,
    /// The paths of changes that name variants, which their texts do not.
    pub(crate) of_variants: Vec<Path>,
}

impl BuiltUpdate {
    pub(crate) fn new(modification: Modification, array_filters: Vec<RawDocumentBuf>) -> BuiltUpdate {
        BuiltUpdate {
            modification,
            array_filters,
            of_variants: Vec::new(),
        }
    }
}

impl<R> Update<R> {
    /// The update as a backend takes it.
    ///
    /// # Errors
    /// `Encode` when a value does not fit BSON, naming the field; `InvalidArgument` when two changes touch the same
    /// field (the same path, or one inside the other), naming them.
    pub fn build(self) -> Result<BuiltUpdate> {
        self.into_form()?.build()
    }
}

impl Form {
    pub(crate) fn build(self) -> Result<BuiltUpdate> {
        let (changes, array_filters) = match self {
            Form::Changes {
                changes,
                array_filters,
            } => (changes, array_filters),
            Form::Pipeline(stages) => {
                return Ok(BuiltUpdate::new(Modification::Pipeline(stages), Vec::new()));
            }
        };
        let mut names = Names::new(&changes, &array_filters);
        let mut operators = Vec::<(CString, RawDocumentBuf)>::new();
        let mut touched = Vec::with_capacity(changes.len());
        let mut of_variants = Vec::new();
        for Change { path, action } in changes {
            if path.names_variant() {
                of_variants.push(path.named(&mut |condition| names.of(condition)));
            }
            let path = path_text(path.render(|condition| names.of(condition)))?;
            if let Action::Rename(to) = &action {
                touched.push(path_text(to.to_string())?);
            }
            let found = operators
                .iter()
                .position(|(name, _)| **name == *action.operator());
            let at = found.unwrap_or_else(|| {
                operators.push((action.operator().into(), RawDocumentBuf::new()));
                operators.len() - 1
            });
            if let Some((_, paths)) = operators.get_mut(at) {
                paths.append(&path, action.operand());
            }
            touched.push(path);
        }
        no_conflict(touched)?;
        if operators.is_empty() {
            // Without an operator it would replace the document by nothing.
            operators.push((bson::raw::cstr!("$set").into(), RawDocumentBuf::new()));
        }
        let document = operators
            .into_iter()
            .map(|(name, paths)| (name, RawBson::Document(paths)))
            .collect();
        Ok(BuiltUpdate {
            modification: Modification::Operators(document),
            array_filters: names.filters(array_filters)?,
            of_variants,
        })
    }
}

/// The names of the array filters that paths carry along: `f0`, `f1`, .., but for those that the caller uses.
struct Names {
    taken: HashSet<String>,
    next: usize,
    named: Vec<(Arc<dyn ArrayCondition>, String)>,
}

impl Names {
    fn new(changes: &[Change], array_filters: &[RawDocumentBuf]) -> Names {
        let mut taken = HashSet::new();
        for filter in array_filters {
            if let Some(Ok((name, _))) = filter.iter().next() {
                taken.extend(name.as_str().split('.').next().map(str::to_owned));
            }
        }
        // Declared names take none.
        let others = changes.iter().filter(|change| !change.path.is_plain());
        for segment in others.flat_map(|change| change.path.segments()) {
            match segment {
                Segment::Filtered(name) => {
                    taken.insert(name.to_string());
                }
                Segment::Key(raw) => taken.extend(
                    raw.split("$[")
                        .skip(1)
                        .filter_map(|rest| rest.split_once(']').map(|(name, _)| name.to_owned())),
                ),
                _ => {}
            }
        }
        Names {
            taken,
            next: 0,
            named: Vec::new(),
        }
    }

    /// One name for one handle, however often it is used.
    fn of(&mut self, condition: &Arc<dyn ArrayCondition>) -> String {
        if let Some((_, name)) = self.named.iter().find(|(named, _)| Arc::ptr_eq(named, condition)) {
            return name.clone();
        }
        let name = loop {
            let name = format!("f{}", self.next);
            self.next += 1;
            if !self.taken.contains(&name) {
                break name;
            }
        };
        self.named.push((Arc::clone(condition), name.clone()));
        name
    }

    fn filters(self, mut filters: Vec<RawDocumentBuf>) -> Result<Vec<RawDocumentBuf>> {
        for (condition, name) in self.named {
            filters.push(condition.document(&name)?);
        }
        Ok(filters)
    }
}

/// So many paths are compared each with each.
const FEW: usize = 16;

/// No path may be another's, or lead into it.
pub(super) fn no_conflict(touched: Vec<CString>) -> Result<()> {
    let mut touched: Vec<&str> = touched.iter().map(|path| path.as_str()).collect();
    if touched.len() <= FEW && !any_conflict(&touched) {
        return Ok(());
    }
    // Compared by segments, what leads into a path comes right behind it.
    touched.sort_by(|a, b| a.split('.').cmp(b.split('.')));
    for pair in touched.windows(2) {
        let [outer, inner] = pair else { continue };
        if leads_into(outer, inner) {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "two changes of one update touch the same field",
            )
            .with_code(40)
            .with_path(match outer == inner {
                true => inner.to_string(),
                false => format!("{outer}, {inner}"),
            }));
        }
    }
    Ok(())
}

fn any_conflict(touched: &[&str]) -> bool {
    touched.iter().enumerate().any(|(at, one)| {
        let mut others = touched.iter().take(at);
        others.any(|other| leads_into(one, other) || leads_into(other, one))
    })
}

/// Whether a path is the other, or leads into it.
fn leads_into(outer: &str, inner: &str) -> bool {
    match inner.strip_prefix(outer) {
        Some(rest) => rest.is_empty() || rest.starts_with('.'),
        None => false,
    }
}
