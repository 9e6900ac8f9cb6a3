//! Evaluating expressions: to a value, or straight to the bytes of an element.

use super::super::super::document::doc::{framed, framed_element};
use super::super::super::document::items::Numerals;
use super::super::super::document::{Kind, Owned, Value};
use super::super::super::fault::{Fault, Result};
use super::super::path;
use super::operator::{Body, Operator};
use super::{Answer, Base, Env, Node, early, in_order};

impl Node {
    /// The value of what was said for null; null where nothing was.
    pub(super) fn evaluate_or_null<'a>(&'a self, env: Env<'a>) -> Result<Answer<'a>> {
        match self {
            Node::Absent => Ok(Answer::Owned(Owned::Null)),
            said => said.evaluate(env),
        }
    }

    pub(super) fn evaluate<'a>(&'a self, env: Env<'a>) -> Result<Answer<'a>> {
        match self {
            Node::Constant(value) => Ok(Answer::Borrowed(value.as_value())),
            Node::Remove => Ok(Answer::Missing),
            Node::Absent => Ok(Answer::Absent),
            Node::Path { base, segments } => evaluate_path(base, segments, env),
            Node::Object(fields) => {
                let mut object = Vec::new();
                framed(&mut object, |out| write_fields(fields, env, out))?;
                Ok(Answer::Owned(Owned::RawDocument(object)))
            }
            Node::Array(items) => {
                let mut array = Vec::new();
                framed(&mut array, |out| write_items(items, env, out))?;
                Ok(Answer::Owned(Owned::RawArray(array)))
            }
            Node::Call { operator, arguments } => match self.scalar(env) {
                Some(scalar) => Ok(Answer::Borrowed(scalar.value())),
                None => evaluate_call(operator, arguments, env),
            },
        }
    }

    /// Whether the value is true.
    pub(super) fn truth(&self, env: Env<'_>) -> Result<bool> {
        let Node::Call { operator, arguments } = self else {
            return Ok(self.evaluate(env)?.is_true());
        };
        if let Some(truth) = operator.truth {
            return told(operator, env, truth(arguments, env));
        }
        match self.scalar(env) {
            Some(scalar) => Ok(scalar.is_true()),
            None => Ok(evaluate_call(operator, arguments, env)?.is_true()),
        }
    }

    /// Appends the value as an element, and says whether there is one. After an error there may be a part of it.
    fn write(&self, name: &[u8], env: Env<'_>, out: &mut Vec<u8>) -> Result<bool> {
        match self {
            Node::Object(fields) => {
                let body = |out: &mut Vec<u8>| write_fields(fields, env, out);
                framed_element(Kind::Document, name, out, body)?;
            }
            Node::Array(items) => {
                let body = |out: &mut Vec<u8>| write_items(items, env, out);
                framed_element(Kind::Array, name, out, body)?;
            }
            Node::Call { operator, arguments } => match self.scalar(env) {
                Some(scalar) => scalar.value().write_element(name, out),
                None => return Ok(write_answer(&evaluate_call(operator, arguments, env)?, name, out)),
            },
            node => return Ok(write_answer(&node.evaluate(env)?, name, out)),
        }
        Ok(true)
    }

    /// The same where there is to be an element: null for no value.
    pub(super) fn write_or_null(&self, name: &[u8], env: Env<'_>, out: &mut Vec<u8>) -> Result<()> {
        if !self.write(name, env, out)? {
            Value::Null.write_element(name, out);
        }
        Ok(())
    }
}

fn write_answer(answer: &Answer<'_>, name: &[u8], out: &mut Vec<u8>) -> bool {
    let value = answer.value();
    if let Some(value) = value {
        value.write_element(name, out);
    }
    value.is_some()
}

fn write_fields(fields: &[(String, Node)], env: Env<'_>, out: &mut Vec<u8>) -> Result<()> {
    for (name, node) in fields {
        node.write(name.as_bytes(), env, out)?;
    }
    Ok(())
}

fn write_items(items: &[Node], env: Env<'_>, out: &mut Vec<u8>) -> Result<()> {
    let mut numerals = Numerals::default();
    for node in items {
        node.write_or_null(numerals.name(), env, out)?;
        numerals.advance();
    }
    Ok(())
}

pub(super) fn evaluate_call<'a>(
    operator: &'static Operator,
    arguments: &'a [Node],
    env: Env<'a>,
) -> Result<Answer<'a>> {
    match operator.body {
        Body::Lazy(function) => told(operator, env, function(operator, arguments, env)),
        Body::Comparing(function) => {
            let collation = &env.scope.collation;
            evaluate_all(operator, arguments, env, |values| {
                function(operator, values, collation)
            })
        }
        Body::Strict(function) => evaluate_all(operator, arguments, env, |values| function(operator, values)),
        // An early `$group` has all arguments before it looks at one.
        Body::Asking(function) if env.scope.is_early => evaluate_all(operator, arguments, env, |values| {
            function(operator, &|index| Ok(answer_at(values, index)))
        }),
        Body::Asking(function) => {
            let ask = |index| {
                arguments
                    .get(index)
                    .map_or(Ok(Answer::Absent), |node: &'a Node| node.evaluate(env))
            };
            function(operator, &ask).map(Answer::from)
        }
    }
}

/// The answer at a position; one that was not given where there is none.
pub(super) fn answer_at<'a>(answers: &[Answer<'a>], index: usize) -> Answer<'a> {
    answers.get(index).cloned().unwrap_or(Answer::Absent)
}

/// The result, or the fault as it is told where the operator stands.
fn told<T>(operator: &Operator, env: Env<'_>, result: Result<T>) -> Result<T> {
    match result {
        Err(fault) if env.scope.is_early => Err(early::coded(operator, fault)),
        result => result,
    }
}

/// The function's result of all arguments.
pub(super) fn evaluate_all<'a>(
    operator: &'static Operator,
    arguments: &'a [Node],
    env: Env<'a>,
    function: impl Fn(&[Answer<'a>]) -> Result<Option<Owned>>,
) -> Result<Answer<'a>> {
    let function = |answers: &[Answer<'a>]| told(operator, env, function(answers));
    let result = match arguments {
        [one] => function(&[one.evaluate(env)?]),
        [one, two] => {
            let one = match one.evaluate(env) {
                Ok(one) => one,
                Err(fault) => return Err(in_order::first_fault(operator, two, env, fault)),
            };
            match two.evaluate(env) {
                Ok(two) => function(&[one, two]),
                Err(fault) => in_order::stopped(operator, arguments, vec![one], env, fault, function),
            }
        }
        many => {
            let mut answers = Vec::with_capacity(many.len());
            for node in many {
                match node.evaluate(env) {
                    Ok(answer) => answers.push(answer),
                    Err(fault) => {
                        let result = in_order::stopped(operator, many, answers, env, fault, function);
                        return Ok(result?.into());
                    }
                }
            }
            function(&answers)
        }
    };
    Ok(result?.into())
}

/// The logical time of an operation, in milliseconds since the epoch: the engine is the whole cluster, and its times
/// follow the clock.
fn cluster_time(now: i64) -> Value<'static> {
    let seconds = now.div_euclid(1000).clamp(0, i64::from(u32::MAX));
    Value::Timestamp {
        time: u32::try_from(seconds).unwrap_or(u32::MAX),
        increment: u32::try_from(now.rem_euclid(1000) + 1).unwrap_or(1),
    }
}

fn evaluate_path<'a>(base: &'a Base, segments: &'a [String], env: Env<'a>) -> Result<Answer<'a>> {
    let value = match base {
        Base::Root => {
            let Some((name, rest)) = segments.split_first() else {
                return Ok(Answer::Borrowed(Value::Document(env.scope.root)));
            };
            let value = env.scope.wide.get(env.scope.root, name);
            return Ok(value.map_or(Answer::Missing, |value| path::walk(value, rest)));
        }
        Base::Now => Some(Value::DateTime(env.scope.now)),
        Base::ClusterTime => Some(cluster_time(env.scope.now)),
        Base::Local { frame, index, .. } => {
            let mut at = env.locals;
            for _ in 0..*frame {
                at = at.and_then(|frame| frame.outer);
            }
            at.and_then(|frame| frame.values.get(*index))
                .and_then(Answer::value)
        }
        Base::Outer(name) => env
            .scope
            .variables
            .iter()
            .rev()
            .find(|(other, _)| other == name)
            .and_then(|(_, value)| value.as_ref())
            .map(Owned::as_value),
        Base::Unavailable(name) => {
            return Err(Fault::new(
                51144,
                format!("Builtin variable '$${name}' is not available"),
            ));
        }
    };
    Ok(value.map_or(Answer::Missing, |value| path::walk(value, segments)))
}
