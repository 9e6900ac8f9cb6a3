//! Rules of numbers to which something is added, as conditions of the same write.

use bson::{Bson, Decimal128, Document, RawBson, RawBsonRef, RawDocument, RawDocumentBuf, doc};

use super::decimal::Decimal;
use super::document;
use super::literal::Literal;
use super::rule::Rule;
use super::violation::Message;
use crate::codec;
use crate::error::{Error, ErrorKind, Result};

/// A number in the document, or in the elements of arrays, that keeps a rule when this is added to it. A number that is
/// not there is none yet: adding makes it the step.
#[derive(Clone, Debug)]
pub(crate) struct Sum {
    /// The arrays whose elements the path goes through, each by its path in the element before.
    arrays: Vec<(String, Which)>,
    /// The number's path in the last element; empty for the element itself.
    rest: String,
    limit: Limit,
    step: RawBson,
}

/// What the sum must be.
#[derive(Clone, Debug)]
enum Limit {
    Least(Literal),
    Most(Literal),
    OneOf(Vec<Literal>),
}

/// Which elements of an array are changed.
#[derive(Clone, Debug)]
enum Which {
    All,
    /// Those that meet the condition; of those that the write's own filter matched, the first.
    Chosen(Condition),
}

/// A condition on an element, as `$elemMatch` takes it.
#[derive(Clone, Debug)]
enum Condition {
    /// On fields of the element.
    Fields(Document),
    /// On the element itself: operators.
    Value(Document),
}

/// Whether a rule says something of a sum that can be asked before it is made.
pub(crate) fn limited(rule: &Rule) -> bool {
    matches!(rule, Rule::Min(_) | Rule::Max(_) | Rule::OneOf(_))
}

impl Sum {
    /// Of the number at a path as updates have it; none where the rule says nothing of sums, or cannot be broken by this
    /// one.
    ///
    /// # Errors
    /// `Unsupported` where the database cannot be asked which elements are changed.
    pub(crate) fn of(
        rule: &Rule,
        step: &RawBson,
        path: &str,
        filter: &RawDocument,
        array_filters: &[RawDocumentBuf],
    ) -> Result<Option<Sum>> {
        let limit = match rule {
            Rule::Min(bound) => Limit::Least(bound()),
            Rule::Max(bound) => Limit::Most(bound()),
            Rule::OneOf(values) => Limit::OneOf(values()),
            _ => return Ok(None),
        };
        let mut sum = Sum {
            arrays: Vec::new(),
            rest: String::new(),
            limit,
            step: step.clone(),
        };
        let is_positional = path.split('.').any(|segment| segment.starts_with('$'));
        if is_positional && sum.keeps_away() {
            return Ok(None);
        }
        let unknown = || {
            Error::new(
                ErrorKind::Unsupported,
                "the rule of a number cannot be asked of the elements that are chosen so before something is added to it; \
                 choose them by conditions on their fields: `filtered(..)`",
            )
            .with_path(path)
        };
        let (mut before, mut rest) = (String::new(), String::new());
        for segment in path.split('.') {
            if !segment.starts_with('$') {
                push(&mut rest, segment);
                push(&mut before, segment);
                continue;
            }
            let which = match segment.strip_prefix("$[").and_then(|name| name.strip_suffix(']')) {
                Some("") => Some(Which::All),
                Some(name) => chosen(array_filters, name)?.map(Which::Chosen),
                None => matched(filter, &before)?.map(Which::Chosen),
            };
            sum.arrays
                .push((std::mem::take(&mut rest), which.ok_or_else(unknown)?));
        }
        sum.rest = rest;
        match sum.filter() {
            Some(_) => Ok(Some(sum)),
            None => Err(unknown()),
        }
    }

    /// Whether no sum can break what its number kept: the step leads away from the limit, and keeps it by itself.
    fn keeps_away(&self) -> bool {
        let step = number(&self.step);
        let is_away = match &self.limit {
            Limit::Least(_) => step >= 0.0,
            Limit::Most(_) => step <= 0.0,
            Limit::OneOf(_) => false,
        };
        is_away && !self.breaks(None)
    }

    /// The condition as a filter. None where it cannot be said: never of a sum that was made.
    pub(crate) fn filter(&self) -> Option<Document> {
        let Some(((array, which), others)) = self.arrays.split_first() else {
            let mut condition = doc! { "$not": self.breaking() };
            if self.must_be_there() {
                condition.insert("$exists", true);
            }
            return Some(doc! { self.rest.as_str(): condition });
        };
        let element = self.element(which, others)?;
        Some(doc! { array.as_str(): { "$not": { "$elemMatch": element } } })
    }

    /// What an element must meet to break the rule.
    fn element(&self, which: &Which, others: &[(String, Which)]) -> Option<Document> {
        let rest = self.rest.as_str();
        let breaks = match others.split_first() {
            None if rest.is_empty() => Condition::Value(self.breaking()),
            None if self.must_be_there() => Condition::Fields(doc! {
                "$or": [{ rest: self.breaking() }, { rest: { "$exists": false } }],
            }),
            None => Condition::Fields(doc! { rest: self.breaking() }),
            Some(((array, which), others)) => {
                let inner = doc! { "$elemMatch": self.element(which, others)? };
                match array.as_str() {
                    "" => Condition::Value(inner),
                    array => Condition::Fields(doc! { array: inner }),
                }
            }
        };
        match (which, breaks) {
            (Which::All, Condition::Fields(breaks) | Condition::Value(breaks)) => Some(breaks),
            (Which::Chosen(Condition::Fields(chosen)), Condition::Fields(breaks)) => {
                Some(doc! { "$and": [chosen.clone(), breaks] })
            }
            (Which::Chosen(Condition::Value(chosen)), Condition::Value(mut breaks)) => {
                if breaks.keys().any(|operator| chosen.contains_key(operator)) {
                    // Of numbers it is the same.
                    breaks = doc! { "$not": self.kept()? };
                }
                let is_free = breaks.keys().all(|operator| !chosen.contains_key(operator));
                is_free.then(|| chosen.clone().into_iter().chain(breaks).collect())
            }
            _ => None,
        }
    }

    /// Operators that hold for a number which breaks the rule.
    fn breaking(&self) -> Document {
        match &self.limit {
            Limit::Least(least) => doc! { "$lt": difference(least, &self.step) },
            Limit::Most(most) => doc! { "$gt": difference(most, &self.step) },
            Limit::OneOf(values) => {
                let before = values.iter().filter(|value| value.is_number());
                let mut before: Vec<Bson> = before.map(|value| difference(value, &self.step)).collect();
                if !self.breaks(None) {
                    before.push(Bson::Null);
                }
                doc! { "$nin": before }
            }
        }
    }

    /// Operators that hold for a number which keeps the rule.
    fn kept(&self) -> Option<Document> {
        match &self.limit {
            Limit::Least(least) => Some(doc! { "$gte": difference(least, &self.step) }),
            Limit::Most(most) => Some(doc! { "$lte": difference(most, &self.step) }),
            Limit::OneOf(_) => None,
        }
    }

    /// Whether the filter must ask for the number itself: the step alone breaks the rule.
    fn must_be_there(&self) -> bool {
        !matches!(self.limit, Limit::OneOf(_)) && self.breaks(None)
    }

    /// Whether the sum of this number breaks the rule.
    fn breaks(&self, stored: Option<RawBsonRef<'_>>) -> bool {
        let before = |limit: &Literal| Literal::from(difference(limit, &self.step));
        match (&self.limit, stored) {
            (Limit::Least(least), None) => least.is_above(self.step.as_raw_bson_ref()),
            (Limit::Least(least), Some(value)) => before(least).is_above(value),
            (Limit::Most(most), None) => most.is_below(self.step.as_raw_bson_ref()),
            (Limit::Most(most), Some(value)) => before(most).is_below(value),
            (Limit::OneOf(values), None) => !values.iter().any(|one| one.equals(self.step.as_raw_bson_ref())),
            (Limit::OneOf(values), Some(value)) => {
                let mut numbers = values.iter().filter(|one| one.is_number());
                !numbers.any(|one| before(one).equals(value))
            }
        }
    }

    /// What is wrong with the sums of a stored document, with their paths; of elements that were chosen, this path.
    pub(crate) fn broken(&self, stored: &RawDocument, path: &str) -> Vec<(String, Message)> {
        let mut numbers = Vec::new();
        let whole = RawBsonRef::Document(stored);
        self.numbers(whole, String::new(), &self.arrays, &mut numbers);
        let is_chosen = self
            .arrays
            .iter()
            .any(|(_, which)| matches!(which, Which::Chosen(_)));
        let broken = numbers.into_iter().filter(|(_, value)| self.breaks(*value));
        let broken = broken.map(|(own, _)| match is_chosen {
            true => (path.to_owned(), self.message()),
            false => (own, self.message()),
        });
        match is_chosen {
            true => broken.take(1).collect(),
            false => broken.collect(),
        }
    }

    fn numbers<'d>(
        &self,
        value: RawBsonRef<'d>,
        path: String,
        arrays: &[(String, Which)],
        found: &mut Vec<(String, Option<RawBsonRef<'d>>)>,
    ) {
        let below = |name: &str| {
            let mut path = path.clone();
            push(&mut path, name);
            path
        };
        let Some(((array, _), others)) = arrays.split_first() else {
            found.push((below(&self.rest), document::within(value, &self.rest)));
            return;
        };
        let Some(RawBsonRef::Array(elements)) = document::within(value, array) else {
            return;
        };
        for (position, element) in elements.into_iter().flatten().enumerate() {
            let mut path = below(array);
            push(&mut path, &position.to_string());
            self.numbers(element, path, others, found);
        }
    }

    fn message(&self) -> Message {
        let (rule, text) = match &self.limit {
            Limit::Least(least) => ("min", format!("must be at least {least}")),
            Limit::Most(most) => ("max", format!("must be at most {most}")),
            Limit::OneOf(values) => {
                let shown: Vec<String> = values.iter().map(ToString::to_string).collect();
                ("one_of", format!("must be one of {}", shown.join(", ")))
            }
        };
        Message {
            rule,
            text: text.into(),
        }
    }
}

fn push(path: &mut String, segment: &str) {
    if !path.is_empty() && !segment.is_empty() {
        path.push('.');
    }
    path.push_str(segment);
}

/// The condition of the array filter of this name.
fn chosen(array_filters: &[RawDocumentBuf], name: &str) -> Result<Option<Condition>> {
    for filter in array_filters {
        let filter: Document = codec::decode_untyped(filter)?;
        if names(&filter, name) {
            return Ok(of_element(&filter, name));
        }
    }
    Ok(None)
}

/// Whether an array filter is of this name.
fn names(filter: &Document, name: &str) -> bool {
    filter.iter().any(|(key, value)| match (key.as_str(), value) {
        ("$and" | "$or" | "$nor", Bson::Array(branches)) => branches
            .iter()
            .any(|branch| branch.as_document().is_some_and(|branch| names(branch, name))),
        (key, _) => key.split('.').next() == Some(name),
    })
}

/// An array filter as a condition on the element; none where it mixes the element and its fields.
fn of_element(filter: &Document, name: &str) -> Option<Condition> {
    if let (Some(value), 1) = (filter.get(name), filter.len()) {
        return Some(Condition::Value(operators(value)));
    }
    let mut fields = Document::new();
    for (key, value) in filter {
        let value = match (key.as_str(), value) {
            ("$and" | "$or" | "$nor", Bson::Array(branches)) => {
                let branches = branches
                    .iter()
                    .map(|branch| match of_element(branch.as_document()?, name)? {
                        Condition::Fields(fields) => Some(Bson::Document(fields)),
                        Condition::Value(_) => None,
                    });
                Bson::Array(branches.collect::<Option<_>>()?)
            }
            (_, value) => value.clone(),
        };
        let key = match key.starts_with('$') {
            true => key.as_str(),
            false => key.strip_prefix(name)?.strip_prefix('.')?,
        };
        fields.insert(key, value);
    }
    Some(Condition::Fields(fields))
}

/// A condition on a value as operators.
fn operators(value: &Bson) -> Document {
    match value {
        Bson::Document(operators) if is_operators(operators) => operators.clone(),
        Bson::RegularExpression(_) => doc! { "$regex": value.clone() },
        value => doc! { "$eq": value.clone() },
    }
}

fn is_operators(document: &Document) -> bool {
    document.keys().next().is_some_and(|name| name.starts_with('$'))
}

/// The one condition of a write's filter on the elements of an array, by which the database finds the element of `$`.
fn matched(filter: &RawDocument, array: &str) -> Result<Option<Condition>> {
    let filter: Document = codec::decode_untyped(filter)?;
    let mut found = Vec::new();
    let all_are_known = conditions_on(&filter, array, &mut found);
    Ok(found.pop().filter(|_| all_are_known && found.is_empty()))
}

fn conditions_on(filter: &Document, array: &str, found: &mut Vec<Condition>) -> bool {
    filter.iter().all(|(key, value)| match (key.as_str(), value) {
        ("$and", Bson::Array(parts)) => parts.iter().all(|part| {
            part.as_document()
                .is_some_and(|part| conditions_on(part, array, found))
        }),
        (key, _) if key.starts_with('$') => false,
        (key, value) => {
            let Some(rest) = key.strip_prefix(array) else {
                return true;
            };
            let operators = operators(value);
            let one = match operators.iter().next() {
                Some(one) if operators.len() == 1 => one,
                _ => return !(rest.is_empty() || rest.starts_with('.')),
            };
            match (rest.strip_prefix('.'), one.0.as_str(), one.1) {
                (None, _, _) if !rest.is_empty() => return true,
                (None, "$elemMatch", Bson::Document(inner)) => {
                    let first = inner.keys().next().map_or("", String::as_str);
                    let is_value = first.starts_with('$') && !matches!(first, "$and" | "$or" | "$nor");
                    found.push(match is_value {
                        true => Condition::Value(inner.clone()),
                        false => Condition::Fields(inner.clone()),
                    });
                }
                (rest, "$eq" | "$gt" | "$gte" | "$lt" | "$lte" | "$in" | "$regex" | "$elemMatch", _) => {
                    found.push(match rest {
                        Some(field) => Condition::Fields(doc! { field: operators.clone() }),
                        None => Condition::Value(operators.clone()),
                    });
                }
                _ => return false,
            }
            true
        }
    })
}

fn whole(value: &Bson) -> Option<i64> {
    match value {
        Bson::Int32(number) => Some(i64::from(*number)),
        Bson::Int64(number) => Some(*number),
        _ => None,
    }
}

fn double(value: &Bson) -> f64 {
    match value {
        Bson::Double(number) => *number,
        Bson::Decimal128(number) => number.to_string().parse().unwrap_or(f64::NAN),
        value => whole(value).unwrap_or_default() as f64,
    }
}

fn number(value: &RawBson) -> f64 {
    Bson::try_from(value.clone()).map_or(f64::NAN, |value| double(&value))
}

/// `limit - step`: a whole number if both are, a decimal if one is.
fn difference(limit: &Literal, step: &RawBson) -> Bson {
    let step = Bson::try_from(step.clone()).unwrap_or(Bson::Null);
    if let (Bson::Decimal128(_), _) | (_, Bson::Decimal128(_)) = (limit.bson(), &step)
        && let Some(difference) = of_decimals(limit, &step)
    {
        return Bson::Decimal128(difference);
    }
    match (whole(limit.bson()), whole(&step)) {
        (Some(limit), Some(step)) => match limit.checked_sub(step) {
            Some(difference) => Bson::Int64(difference),
            None => Bson::Double(limit as f64 - step as f64),
        },
        _ => Bson::Double(double(limit.bson()) - double(&step)),
    }
}

/// The same of decimals, if it is one without rounding.
fn of_decimals(limit: &Literal, step: &Bson) -> Option<Decimal128> {
    let read = |number: &Literal| Decimal::read(number.decimal()?);
    read(limit)?.minus(read(&Literal::from(step.clone()))?)?.write()
}

#[cfg(test)]
mod tests {
    use bson::rawdoc;

    use super::*;

    fn least(step: i32, path: &str, filter: &RawDocument, array_filters: &[RawDocumentBuf]) -> Result<Bson> {
        let rule = Rule::Min(|| Literal::from(2));
        let sum = Sum::of(&rule, &RawBson::Int32(step), path, filter, array_filters)?;
        Ok(sum
            .and_then(|sum| sum.filter())
            .map_or(Bson::Null, Bson::Document))
    }

    fn check(step: i32, path: &str, expected: Document) {
        let made = least(step, path, &rawdoc! {}, &[]).unwrap();
        assert_eq!(made, Bson::Document(expected));
    }

    #[test]
    fn a_number_that_is_not_there_becomes_the_step() {
        check(5, "n", doc! { "n": { "$not": { "$lt": -3_i64 } } });
        check(
            -5,
            "n",
            doc! { "n": { "$not": { "$lt": 7_i64 }, "$exists": true } },
        );
        check(
            1,
            "n",
            doc! { "n": { "$not": { "$lt": 1_i64 }, "$exists": true } },
        );
    }

    #[test]
    fn no_element_that_is_changed_breaks_the_rule() {
        let low = doc! { "$lt": 7_i64 };
        let none = |of: Document| doc! { "$not": { "$elemMatch": of } };
        check(-5, "e.$[]", doc! { "e": none(low.clone()) });
        check(
            -5,
            "e.$[].$[]",
            doc! { "e": none(doc! { "$elemMatch": low.clone() }) },
        );
        let lacks = doc! { "k": { "$exists": false } };
        let breaks = doc! { "$or": [{ "k": low.clone() }, lacks] };
        check(-5, "a.b.$[].k", doc! { "a.b": none(breaks.clone()) });
        let inner = doc! { "c": { "$elemMatch": breaks.clone() } };
        check(-5, "a.$[].c.$[].k", doc! { "a": none(inner) });
        assert_eq!(least(5, "e.$[]", &rawdoc! {}, &[]).unwrap(), Bson::Null);

        let array_filters = [
            rawdoc! { "f0.sku": "a", "$or": [{ "f0.x": 1 }, { "f0.y": { "$gt": 2 } }] },
            rawdoc! { "v": { "$lt": 9 } },
            rawdoc! { "$or": [{ "w": 1 }, { "w": 2 }] },
        ];
        let made = least(-5, "a.$[f0].k", &rawdoc! {}, &array_filters).unwrap();
        let chosen = doc! { "sku": "a", "$or": [{ "x": 1 }, { "y": { "$gt": 2 } }] };
        let expected = doc! { "a": none(doc! { "$and": [chosen, breaks.clone()] }) };
        assert_eq!(made, Bson::Document(expected));
        let made = least(-5, "e.$[v]", &rawdoc! {}, &array_filters).unwrap();
        let of = doc! { "$lt": 9, "$not": { "$gte": 7_i64 } };
        assert_eq!(made, Bson::Document(doc! { "e": none(of) }));
        let error = least(-5, "e.$[w]", &rawdoc! {}, &array_filters).unwrap_err();
        assert_eq!(
            (error.kind(), error.path()),
            (ErrorKind::Unsupported, Some("e.$[w]"))
        );

        for filter in [
            rawdoc! { "_id": 1, "a.sku": "a" },
            rawdoc! { "a": { "$elemMatch": { "sku": { "$eq": "a" } } } },
            rawdoc! { "ab": { "$gt": 1, "$lt": 2 }, "$and": [{ "a.sku": "a" }] },
        ] {
            let made = least(-5, "a.$.k", &filter, &[]).unwrap();
            let text = made.to_string();
            assert!(text.contains("sku") && text.contains("$elemMatch"), "{text}");
        }
        for filter in [
            rawdoc! { "a.sku": "a", "a.k": 1 },
            rawdoc! { "$or": [{ "a.sku": "a" }] },
            rawdoc! { "a.k": { "$gt": 1, "$lt": 3 } },
            rawdoc! { "_id": 1 },
        ] {
            let made = least(-5, "a.$.k", &filter, &[]);
            assert_eq!(made.unwrap_err().kind(), ErrorKind::Unsupported, "{filter:?}");
        }
    }
}
