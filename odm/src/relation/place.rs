//! The way to something inside of documents, and the expressions that reach what filters and operators do not.

use bson::raw::CStr;
use bson::{RawArrayBuf, RawBson, RawDocumentBuf, cstr, rawdoc};

use super::plan::{and, name};
use super::sought::Sought;
use super::stored::positional;
use crate::backend::Modification;
use crate::error::Result;
use crate::model::{Path, Segment};

/// One step on the way.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A field.
    Name(String),
    /// Each element of an array.
    Each,
    /// Each value of a map.
    Values,
}

/// How references are let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Release {
    /// They become null.
    Null,
    /// They are taken out of the array or map that they are in, with the embedded document that holds them.
    TakeOut,
}

/// The way that a field's path is.
///
/// # Errors
/// `InvalidArgument` for a path with positions that only updates have.
pub(super) fn steps(path: &Path) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    for segment in path.segments() {
        steps.push(match segment {
            Segment::Name(_) | Segment::Key(_) | Segment::Index(_) => Step::Name(segment.to_string()),
            Segment::Any => Step::Each,
            Segment::Where(condition) if condition.is_every_value() => Step::Values,
            Segment::Where(condition) => {
                condition.document("f0")?;
                return Err(positional(path));
            }
            Segment::Matched | Segment::All | Segment::Filtered(_) => return Err(positional(path)),
        });
    }
    Ok(steps)
}

/// The names of the fields on the way.
pub(super) fn names(steps: &[Step]) -> Vec<&str> {
    let names = steps.iter().filter_map(|step| match step {
        Step::Name(name) => Some(name.as_str()),
        Step::Each | Step::Values => None,
    });
    names.collect()
}

/// The innermost array or map on the way.
pub(super) fn container(steps: &[Step]) -> Option<usize> {
    steps.iter().rposition(|step| !matches!(step, Step::Name(_)))
}

/// Whether filters do not reach all that is there, but expressions do.
pub(super) fn needs_expressions(steps: &[Step]) -> bool {
    steps.contains(&Step::Values) || steps.windows(2).any(|two| two == [Step::Each, Step::Each])
}

/// The documents that hold one of the references there.
pub(super) fn referring(steps: &[Step], sought: &Sought) -> Result<RawDocumentBuf> {
    match near(steps, sought)? {
        (filter, true) => Ok(filter),
        (filter, false) => Ok(and(vec![filter, expressed(steps, sought)?])),
    }
}

/// The documents that may hold one of the references there, and whether they all do: of several references in one
/// list, one can name the collection and another one hold the key.
pub(super) fn near(steps: &[Step], sought: &Sought) -> Result<(RawDocumentBuf, bool)> {
    match needs_expressions(steps) {
        true => Ok((expressed(steps, sought)?, true)),
        false => Ok((
            held(steps, sought)?,
            !sought.is_named() || steps.last() != Some(&Step::Each),
        )),
    }
}

fn expressed(steps: &[Step], sought: &Sought) -> Result<RawDocumentBuf> {
    let any = any(steps, "$$ROOT", 0, &|value| Ok(sought.is(value)))?;
    Ok(rawdoc! { "$expr": any })
}

fn held(steps: &[Step], sought: &Sought) -> Result<RawDocumentBuf> {
    let each = steps.iter().position(|step| *step == Step::Each);
    match each.filter(|_| sought.is_named()) {
        // One embedded document meets all parts of the condition.
        Some(each) if each + 1 < steps.len() => {
            let inner = rawdoc! { "$elemMatch": held(&steps[each + 1..], sought)? };
            one(&names(&steps[..each]).join("."), inner)
        }
        _ => sought.condition(&names(steps).join(".")),
    }
}

/// The update that lets go of the references there, in documents that hold them.
pub(super) fn releasing(steps: &[Step], sought: &Sought, how: Release) -> Result<Modification> {
    let last = container(steps);
    match (how, last) {
        (Release::Null, None) | (Release::TakeOut, None) => {
            let set = one(&names(steps).join("."), RawBson::Null)?;
            Ok(Modification::Operators(rawdoc! { "$set": set }))
        }
        (Release::TakeOut, Some(last))
            if steps[last] == Step::Each
                && container(&steps[..last]).is_none()
                // In conditions on the elements themselves a DBRef's parts have no operators.
                && (!sought.is_named() || last + 1 < steps.len()) =>
        {
            let held = match names(&steps[last + 1..]).join(".").as_str() {
                "" => rawdoc! { "$in": sought.keys().clone() },
                path => sought.condition(path)?,
            };
            let pull = one(&names(&steps[..last]).join("."), held)?;
            Ok(Modification::Operators(rawdoc! { "$pull": pull }))
        }
        (how, Some(last)) => {
            let replaced = match how {
                Release::Null => changed(steps, "$$ROOT", 0, &|value, _| {
                    Ok(when(sought.is(value), RawBson::Null, value))
                })?,
                Release::TakeOut => changed(&steps[..last], "$$ROOT", 0, &|value, depth| {
                    Ok(without(
                        value,
                        &steps[last],
                        &names(&steps[last + 1..]),
                        sought,
                        depth,
                    ))
                })?,
            };
            Ok(Modification::Pipeline(vec![rawdoc! { "$replaceWith": replaced }]))
        }
    }
}

/// The array or map at `base` without what holds the references, as an expression.
fn without(base: &str, step: &Step, rest: &[&str], sought: &Sought, depth: usize) -> RawDocumentBuf {
    let variable = format!("v{depth}");
    let mut held = match step {
        Step::Values => format!("$${variable}.v"),
        _ => format!("$${variable}"),
    };
    for name in rest {
        held.push('.');
        held.push_str(name);
    }
    let stays = rawdoc! { "$not": [sought.is(&held)] };
    match step {
        Step::Values => {
            let entries = rawdoc! { "$objectToArray": base };
            let left = rawdoc! { "$filter": { "input": entries, "as": variable, "cond": stays } };
            when(is_document(base), rawdoc! { "$arrayToObject": left }, base)
        }
        _ => {
            let left = rawdoc! { "$filter": { "input": base, "as": variable, "cond": stays } };
            when(is_array(base), left, base)
        }
    }
}

/// Whether anything there below `base` is so, as an expression.
pub(super) fn any(
    steps: &[Step],
    base: &str,
    depth: usize,
    is: &dyn Fn(&str) -> Result<RawDocumentBuf>,
) -> Result<RawDocumentBuf> {
    let Some((step, rest)) = steps.split_first() else {
        return is(base);
    };
    let variable = format!("v{depth}");
    let (input, inner) = match step {
        Step::Name(field) => return any(rest, &format!("{base}.{field}"), depth, is),
        Step::Each => (
            when(is_array(base), base, RawArrayBuf::new()),
            format!("$${variable}"),
        ),
        Step::Values => (
            when(
                is_document(base),
                rawdoc! { "$objectToArray": base },
                RawArrayBuf::new(),
            ),
            format!("$${variable}.v"),
        ),
    };
    let inner = any(rest, &inner, depth + 1, is)?;
    Ok(rawdoc! { "$anyElementTrue": [{ "$map": { "input": input, "as": variable, "in": inner } }] })
}

/// What is at `base` with everything there changed, as an expression.
pub(super) fn changed(
    steps: &[Step],
    base: &str,
    depth: usize,
    change: &dyn Fn(&str, usize) -> Result<RawDocumentBuf>,
) -> Result<RawDocumentBuf> {
    let variable = format!("v{depth}");
    let Some((step, rest)) = steps.split_first() else {
        return change(base, depth);
    };
    Ok(match step {
        Step::Name(field) => {
            let inner = changed(rest, &format!("{base}.{field}"), depth, change)?;
            let inner = one(field, inner)?;
            when(
                is_document(base),
                rawdoc! { "$mergeObjects": [base, inner] },
                base,
            )
        }
        Step::Each => {
            let inner = changed(rest, &format!("$${variable}"), depth + 1, change)?;
            let map = rawdoc! { "$map": { "input": base, "as": variable, "in": inner } };
            when(is_array(base), map, base)
        }
        Step::Values => {
            let inner = changed(rest, &format!("$${variable}.v"), depth + 1, change)?;
            let entry = rawdoc! { "k": format!("$${variable}.k"), "v": inner };
            let entries = rawdoc! { "$objectToArray": base };
            let map = rawdoc! { "$map": { "input": entries, "as": variable, "in": entry } };
            when(is_document(base), rawdoc! { "$arrayToObject": map }, base)
        }
    })
}

/// A document of one field.
pub(super) fn one(path: &str, value: impl Into<RawBson>) -> Result<RawDocumentBuf> {
    let mut document = RawDocumentBuf::new();
    document.append(name(path)?, value.into());
    Ok(document)
}

pub(super) fn when(
    condition: RawDocumentBuf,
    then: impl Into<RawBson>,
    otherwise: impl Into<RawBson>,
) -> RawDocumentBuf {
    const COND: &CStr = cstr!("$cond");
    let mut operands = RawArrayBuf::new();
    operands.push(condition);
    operands.push(then.into());
    operands.push(otherwise.into());
    let mut document = RawDocumentBuf::new();
    document.append(COND, operands);
    document
}

fn is_array(base: &str) -> RawDocumentBuf {
    rawdoc! { "$isArray": [base] }
}

fn is_document(base: &str) -> RawDocumentBuf {
    rawdoc! { "$eq": [{ "$type": base }, "object"] }
}
