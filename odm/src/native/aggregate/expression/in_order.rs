//! Arguments in order: an operator may have its result, or its complaint, before it comes to an argument that fails.

use super::super::super::document::Owned;
use super::super::super::fault::{Fault, Result, code};
use super::operator::Operator;
use super::{Answer, Env, Node};

/// What an operator looks at as soon as it has an argument.
struct Rule {
    /// How many arguments it evaluates before it looks at them.
    from: usize,
    /// Whether it stops at null.
    nulls: bool,
    /// Whether it stops at what is of a wrong type.
    errors: bool,
    /// The arguments that it evaluates behind the first one, before others that stand in front of them.
    early: &'static [usize],
    /// What it accepts, by position; the last stands for all further ones.
    accepted: &'static [Accepted],
}

#[derive(Clone, Copy)]
enum Accepted {
    Number,
    Text(&'static str),
    Array,
    Object,
}

use Accepted::{Array, Number, Object, Text};

/// Asked only when an argument has failed.
fn rule(name: &str) -> Option<Rule> {
    let both = |accepted| Rule {
        from: 1,
        nulls: true,
        errors: true,
        early: &[],
        accepted,
    };
    let errors = |accepted| Rule {
        nulls: false,
        ..both(accepted)
    };
    let nulls = |accepted| Rule {
        errors: false,
        ..both(accepted)
    };
    Some(match name {
        "$add" | "$multiply" | "$round" | "$trunc" | "$atan2" => both(&[Number]),
        "$concat" | "$trim" | "$ltrim" | "$rtrim" => both(&[Text("")]),
        "$concatArrays" | "$setUnion" | "$setIntersection" => both(&[Array]),
        "$mergeObjects" => errors(&[Object]),
        "$range" | "$slice" => Rule {
            from: 2,
            ..both(&[Number])
        },
        "$indexOfBytes" | "$indexOfCP" => both(&[Text(""), Text(""), Number]),
        "$indexOfArray" => Rule {
            early: &[2, 3],
            ..both(&[Array, Number])
        },
        "$firstN" | "$lastN" | "$minN" | "$maxN" => errors(&[Number, Array]),
        "$dateAdd" | "$dateSubtract" => nulls(&[Number, Text("day"), Number, Text("UTC")]),
        "$year" | "$month" | "$dayOfMonth" | "$hour" | "$minute" | "$second" | "$millisecond"
        | "$dayOfYear" | "$dayOfWeek" | "$week" | "$isoWeek" | "$isoDayOfWeek" | "$isoWeekYear" => {
            both(&[Text("UTC")])
        }
        _ => return None,
    })
}

impl Rule {
    fn accepted_at(&self, index: usize) -> Answer<'static> {
        let accepted = self.accepted.get(index).or(self.accepted.last());
        match accepted {
            Some(Number) => Answer::Owned(Owned::Int32(1)),
            Some(Text(text)) => Answer::Owned(Owned::String((*text).to_owned())),
            Some(Array) => Answer::Owned(Owned::Array(Vec::new())),
            Some(Object) => Answer::Owned(Owned::Document(Vec::new())),
            None => Answer::Missing,
        }
    }
}

/// The fault of a call whose first argument of two fails with `fault`: some operators evaluate the second one before.
pub(super) fn first_fault(operator: &Operator, second: &Node, env: Env<'_>, fault: Fault) -> Fault {
    match operator.name {
        _ if env.scope.is_early => fault,
        "$subtract" | "$divide" => second.evaluate(env).err().unwrap_or(fault),
        _ => fault,
    }
}

/// What the operator gives although the argument behind those of `answers` fails with `fault`: with something acceptable
/// in its place and behind it, the operator stops at one before. Nothing is evaluated twice.
pub(super) fn stopped<'a>(
    operator: &'static Operator,
    arguments: &'a [Node],
    mut answers: Vec<Answer<'a>>,
    env: Env<'a>,
    fault: Fault,
    function: impl Fn(&[Answer<'a>]) -> Result<Option<Owned>>,
) -> Result<Option<Owned>> {
    // An early `$group` looks at no argument before it has all.
    let Some(rule) = rule(operator.name).filter(|_| !env.scope.is_early) else {
        return Err(fault);
    };
    let failed = answers.len();
    let is_early = rule.early.contains(&failed);
    if failed < rule.from {
        return Err(fault);
    }
    let decided = |answers: &[Answer<'a>]| match function(answers) {
        Ok(None | Some(Owned::Null)) if rule.nulls => Some(Ok(Some(Owned::Null))),
        // What the whole comes to is found at the end.
        Err(stopped) if rule.errors && stopped.code() != code::OVERFLOW => Some(Err(stopped)),
        _ => None,
    };
    let behind = || arguments.iter().enumerate().skip(failed);
    let mut acceptable = answers.clone();
    acceptable.extend(behind().map(|(index, node)| match node {
        Node::Absent => Answer::Absent,
        _ => rule.accepted_at(index),
    }));
    if let Some(decided) = decided(&acceptable) {
        return decided;
    }
    if rule.early.is_empty() || is_early {
        return Err(fault);
    }
    for (index, node) in behind() {
        answers.push(match node {
            node if rule.early.contains(&index) => node.evaluate(env)?,
            Node::Absent => Answer::Absent,
            _ => rule.accepted_at(index),
        });
    }
    decided(&answers).unwrap_or(Err(fault))
}
