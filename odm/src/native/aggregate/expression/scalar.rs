//! Numbers, dates and truths that are computed as they are: an answer is of the size of the largest value, and costs more to
//! hand on than an addition to compute.

use std::cmp::Ordering;

use super::super::super::document::{Doc, Owned, Value};
use super::{Answer, Base, Env, Node, truth};

/// A value that takes a machine word. Its parts go through registers, as those of an enum do not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scalar {
    kind: Type,
    /// Of an integer, a date or a truth all as of an int64; those of a double.
    bits: u64,
}

#[derive(Clone, Copy, Debug)]
enum Type {
    Bool,
    Int32,
    Int64,
    Double,
    DateTime,
}

/// How an operator makes one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scalars {
    OfTwo(OfTwo),
    /// Of its arguments, as they are.
    Found(fn(&[Node], Env<'_>) -> Option<Scalar>),
}

/// What an operator makes of two of them; nothing where the rule is another than the usual one.
pub(super) type OfTwo = fn(Scalar, Scalar) -> Option<Scalar>;

impl Scalar {
    fn whole(kind: Type, value: i64) -> Scalar {
        Scalar {
            kind,
            bits: value.cast_unsigned(),
        }
    }

    pub(super) fn bool(value: bool) -> Scalar {
        Scalar::whole(Type::Bool, value.into())
    }

    pub(super) fn int32(value: i32) -> Scalar {
        Scalar::whole(Type::Int32, value.into())
    }

    fn int64(value: i64) -> Scalar {
        Scalar::whole(Type::Int64, value)
    }

    fn double(value: f64) -> Scalar {
        Scalar {
            kind: Type::Double,
            bits: value.to_bits(),
        }
    }

    fn date(value: i64) -> Scalar {
        Scalar::whole(Type::DateTime, value)
    }

    pub(super) fn of(value: &Value<'_>) -> Option<Scalar> {
        Some(match value {
            Value::Bool(value) => Scalar::bool(*value),
            Value::Int32(value) => Scalar::int32(*value),
            Value::Int64(value) => Scalar::int64(*value),
            Value::Double(value) => Scalar::double(*value),
            Value::DateTime(value) => Scalar::date(*value),
            _ => return None,
        })
    }

    fn of_owned(value: &Owned) -> Option<Scalar> {
        Some(match value {
            Owned::Bool(value) => Scalar::bool(*value),
            Owned::Int32(value) => Scalar::int32(*value),
            Owned::Int64(value) => Scalar::int64(*value),
            Owned::Double(value) => Scalar::double(*value),
            Owned::DateTime(value) => Scalar::date(*value),
            _ => return None,
        })
    }

    pub(super) fn value(self) -> Value<'static> {
        match self.kind {
            Type::Bool => Value::Bool(self.integer() != 0),
            Type::Int32 => Value::Int32(self.integer() as i32),
            Type::Int64 => Value::Int64(self.integer()),
            Type::Double => Value::Double(f64::from_bits(self.bits)),
            Type::DateTime => Value::DateTime(self.integer()),
        }
    }

    pub(super) fn is_true(self) -> bool {
        truth(&self.value())
    }

    fn integer(self) -> i64 {
        self.bits.cast_signed()
    }

    pub(super) fn as_int32(self) -> Option<i32> {
        match self.kind {
            Type::Int32 => Some(self.integer() as i32),
            _ => None,
        }
    }

    /// The number as a double; not of an int64, of which not all are doubles.
    fn as_double(self) -> Option<f64> {
        match self.kind {
            Type::Int32 => Some(self.integer() as f64),
            Type::Double => Some(f64::from_bits(self.bits)),
            _ => None,
        }
    }
}

/// A result of two numbers: of int32 where it fits, of int64 otherwise, or of doubles; nothing beyond int64.
#[inline]
fn of_numbers(
    a: Scalar,
    b: Scalar,
    integers: impl Fn(i64, i64) -> Option<i64>,
    doubles: impl Fn(f64, f64) -> Option<f64>,
) -> Option<Scalar> {
    match (a.kind, b.kind) {
        (Type::Int32, Type::Int32) => {
            let result = integers(a.integer(), b.integer())?;
            Some(i32::try_from(result).map_or(Scalar::int64(result), Scalar::int32))
        }
        (Type::Int32 | Type::Int64, Type::Int32 | Type::Int64) => {
            integers(a.integer(), b.integer()).map(Scalar::int64)
        }
        _ => doubles(a.as_double()?, b.as_double()?).map(Scalar::double),
    }
}

pub(super) fn add(a: Scalar, b: Scalar) -> Option<Scalar> {
    // Zeros have signs, and what is not finite rules of its own.
    let doubles = |a: f64, b: f64| Some(a + b).filter(|sum| sum.is_finite() && a != 0.0 && b != 0.0);
    of_numbers(a, b, i64::checked_add, doubles)
}

pub(super) fn subtract(a: Scalar, b: Scalar) -> Option<Scalar> {
    match (a.kind, b.kind) {
        (Type::DateTime, Type::DateTime) => Some(Scalar::int64(a.integer().wrapping_sub(b.integer()))),
        _ => of_numbers(a, b, i64::checked_sub, |a, b| Some(a - b)),
    }
}

pub(super) fn multiply(a: Scalar, b: Scalar) -> Option<Scalar> {
    of_numbers(a, b, i64::checked_mul, |a, b| Some(a * b))
}

pub(super) fn divide(a: Scalar, b: Scalar) -> Option<Scalar> {
    let (a, b) = (a.as_double()?, b.as_double()?);
    (b != 0.0).then_some(Scalar::double(a / b))
}

pub(super) fn remainder(a: Scalar, b: Scalar) -> Option<Scalar> {
    of_numbers(a, b, i64::checked_rem, |_, _| None)
}

/// The order of two values of one type, or of two numbers that have one.
#[inline]
pub(super) fn order(a: Scalar, b: Scalar) -> Option<Ordering> {
    match (a.kind, b.kind) {
        (Type::Int32 | Type::Int64, Type::Int32 | Type::Int64)
        | (Type::Bool, Type::Bool)
        | (Type::DateTime, Type::DateTime) => Some(a.integer().cmp(&b.integer())),
        // Nothing where one is no number.
        _ => a.as_double()?.partial_cmp(&b.as_double()?),
    }
}

impl Node {
    /// The value, where it is found or computed as a scalar. Nothing else happens where it is not: whoever evaluates the
    /// node then comes by all that is wrong.
    pub(super) fn scalar(&self, env: Env<'_>) -> Option<Scalar> {
        match self {
            Node::Constant(value) => Scalar::of_owned(value),
            Node::Path { base, segments } => match base {
                Base::Root => {
                    let (name, rest) = segments.split_first()?;
                    scalar_at(&env.scope.wide.get(env.scope.root, name)?, rest)
                }
                Base::Local { frame, index, .. } => match local(*frame, *index, env)? {
                    Answer::Borrowed(value) => scalar_at(value, segments),
                    Answer::Owned(value) if segments.is_empty() => Scalar::of_owned(value),
                    _ => None,
                },
                Base::Now | Base::ClusterTime | Base::Outer(_) | Base::Unavailable(_) => None,
            },
            Node::Call { operator, arguments } => {
                let of_two = match operator.scalars? {
                    Scalars::OfTwo(of_two) => of_two,
                    Scalars::Found(found) => return found(arguments, env),
                };
                let [a, b] = arguments.as_slice() else {
                    return None;
                };
                // Beside a text there is no number.
                if b.is_constant() {
                    let b = b.scalar(env)?;
                    return of_two(a.scalar(env)?, b);
                }
                of_two(a.scalar(env)?, b.scalar(env)?)
            }
            Node::Remove | Node::Absent | Node::Object(_) | Node::Array(_) => None,
        }
    }

    /// The array that a path leads to without going through others.
    pub(super) fn array<'a>(&'a self, env: Env<'a>) -> Option<Doc<'a>> {
        let Node::Path { base, segments } = self else {
            return None;
        };
        let (mut value, path) = match base {
            Base::Root => {
                let (name, rest) = segments.split_first()?;
                (env.scope.wide.get(env.scope.root, name)?, rest)
            }
            Base::Local { frame, index, .. } => (local(*frame, *index, env)?.value()?, segments.as_slice()),
            Base::Now | Base::ClusterTime | Base::Outer(_) | Base::Unavailable(_) => return None,
        };
        for name in path {
            let Value::Document(document) = value else {
                return None;
            };
            value = document.get(name)?;
        }
        match value {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }
}

/// What is bound in so many frames around.
#[inline]
fn local<'a>(frame: usize, index: usize, env: Env<'a>) -> Option<&'a Answer<'a>> {
    let mut at = env.locals?;
    for _ in 0..frame {
        at = at.outer?;
    }
    at.values.get(index)
}

fn scalar_at(value: &Value<'_>, path: &[String]) -> Option<Scalar> {
    let Some((name, rest)) = path.split_first() else {
        return Scalar::of(value);
    };
    match value {
        Value::Document(document) => scalar_at(&document.get(name)?, rest),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::super::document::sample::Sample;
    use super::super::{Expression, Scope};
    use super::*;

    /// Every operator makes of two scalars what it makes of two values.
    #[test]
    fn scalars_are_what_values_are() {
        let mut sample = Sample::new(3);
        let mut values = vec![
            Owned::Int32(0),
            Owned::Int32(1),
            Owned::Int32(-1),
            Owned::Int32(i32::MAX),
            Owned::Int32(i32::MIN),
            Owned::Int64(0),
            Owned::Int64(-1),
            Owned::Int64(i64::MAX),
            Owned::Int64(i64::MIN),
            Owned::Int64((1 << 53) + 1),
            Owned::Double(0.0),
            Owned::Double(-0.0),
            Owned::Double(0.1),
            Owned::Double(-2.5),
            Owned::Double(1e308),
            Owned::Double(-1e308),
            Owned::Double(5e-324),
            Owned::Double(2_147_483_648.0),
            Owned::Double(f64::INFINITY),
            Owned::Double(f64::NEG_INFINITY),
            Owned::Double(f64::NAN),
            Owned::Bool(false),
            Owned::Bool(true),
            Owned::DateTime(0),
            Owned::DateTime(i64::MIN),
            Owned::DateTime(1_700_000_000_000),
            Owned::Null,
            Owned::String("7".to_owned()),
        ];
        values.extend((0..60).map(|_| sample.value(1)));
        let names = [
            "$add",
            "$subtract",
            "$multiply",
            "$divide",
            "$mod",
            "$cmp",
            "$eq",
            "$ne",
            "$gt",
            "$gte",
            "$lt",
            "$lte",
        ];
        let mut computed = 0;
        for name in names {
            let call = super::super::super::super::document::owned::one(
                name,
                Owned::Array(vec![
                    Owned::String("$a".to_owned()),
                    Owned::String("$b".to_owned()),
                ]),
            );
            let expression = Expression::parse(&call.as_value(), &[]).unwrap();
            for a in &values {
                for b in &values {
                    let fields = vec![("a".to_owned(), a.clone()), ("b".to_owned(), b.clone())];
                    let scope = Scope::new(Doc::Fields(&fields), 0);
                    let env = Env {
                        scope: &scope,
                        locals: None,
                    };
                    let Some(scalar) = expression.node.scalar(env) else {
                        continue;
                    };
                    computed += 1;
                    let Node::Call { operator, arguments } = &expression.node else {
                        panic!("a call");
                    };
                    let slow = super::super::evaluate::evaluate_call(operator, arguments, env);
                    let slow = slow.map(|answer| format!("{:?}", answer.value()));
                    let fast = Ok(format!("{:?}", Some(scalar.value())));
                    assert_eq!(
                        fast,
                        slow.map_err(|fault| fault.message().to_owned()),
                        "{name} {a:?} {b:?}"
                    );
                }
            }
        }
        assert!(computed > 4_000, "{computed}");
    }
}
