//! Expressions as `explain` shows them: what an operator is given as a list, or by names, and constants told apart.

use super::super::super::document::Owned;
use super::super::super::document::owned::{Fields, field, one};
use super::date::PARTS;
use super::{Base, Expression, Node};

impl Expression {
    /// The expression as a value that is read as the same expression.
    pub(crate) fn described(&self) -> Owned {
        self.node.described()
    }
}

/// What operators are given by names, in the order in which they have it.
const NAMED: &[(&[&str], &[&str])] = &[
    (&["$convert"], &["input", "to", "onError", "onNull"]),
    (
        &["$dateAdd", "$dateSubtract"],
        &["startDate", "unit", "amount", "timezone"],
    ),
    (
        &["$dateDiff"],
        &["startDate", "endDate", "unit", "timezone", "startOfWeek"],
    ),
    (
        &["$dateFromString"],
        &["dateString", "timezone", "format", "onNull", "onError"],
    ),
    (&["$dateFromParts"], &PARTS),
    (&["$dateToParts"], &["date", "timezone", "iso8601"]),
    (
        &["$dateTrunc"],
        &["date", "unit", "binSize", "timezone", "startOfWeek"],
    ),
    (&["$firstN", "$lastN", "$maxN", "$minN"], &["n", "input"]),
    (&["$getField"], &["field", "input"]),
    (
        &["$regexMatch", "$regexFind", "$regexFindAll"],
        &["input", "regex", "options"],
    ),
    (&["$replaceOne", "$replaceAll"], &["input", "find", "replacement"]),
    (&["$setField", "$unsetField"], &["field", "input", "value"]),
    (&["$trim", "$ltrim", "$rtrim"], &["input", "chars"]),
    (
        &[
            "$year",
            "$month",
            "$dayOfMonth",
            "$hour",
            "$minute",
            "$second",
            "$dayOfYear",
            "$dayOfWeek",
            "$week",
            "$isoDayOfWeek",
            "$isoWeek",
            "$isoWeekYear",
            "$millisecond",
        ],
        &["date", "timezone"],
    ),
];

/// The types that operators with names of their own convert to.
const CONVERTING: &[(&str, &str)] = &[
    ("$toBool", "bool"),
    ("$toDate", "date"),
    ("$toDecimal", "decimal"),
    ("$toDouble", "double"),
    ("$toInt", "int"),
    ("$toLong", "long"),
    ("$toObjectId", "objectId"),
    ("$toString", "string"),
];

impl Node {
    pub(super) fn described(&self) -> Owned {
        match self {
            Node::Constant(value) => one("$const", value.clone()),
            Node::Remove | Node::Absent | Node::Path { .. } => {
                let quoted = self.to_string();
                Owned::String(quoted.trim_matches('"').to_owned())
            }
            Node::Object(fields) => Owned::Document(
                fields
                    .iter()
                    .map(|(name, value)| (name.clone(), value.described()))
                    .collect(),
            ),
            Node::Array(items) => all(items),
            Node::Call { operator, arguments } => called(operator.name, arguments),
        }
    }

    /// Finds the names of the variables of the frame, counted from here, by their places, so far as they are used.
    fn name_locals<'n>(&'n self, frame: usize, names: &mut [Option<&'n str>]) {
        match self {
            Node::Path {
                base:
                    Base::Local {
                        frame: own,
                        index,
                        name,
                    },
                ..
            } if *own == frame => {
                if let Some(place) = names.get_mut(*index) {
                    *place = Some(name);
                }
            }
            Node::Constant(_) | Node::Remove | Node::Absent | Node::Path { .. } => {}
            Node::Object(fields) => fields
                .iter()
                .for_each(|(_, value)| value.name_locals(frame, names)),
            Node::Array(items) => items.iter().for_each(|item| item.name_locals(frame, names)),
            Node::Call { operator, arguments } => {
                let body = body_of(operator.name, arguments.len());
                for (at, argument) in arguments.iter().enumerate() {
                    argument.name_locals(frame + usize::from(body == Some(at)), names);
                }
            }
        }
    }
}

/// The place of what an operator of so many arguments evaluates with variables of its own.
fn body_of(operator: &str, arguments: usize) -> Option<usize> {
    match operator {
        "$let" => arguments.checked_sub(1),
        "$map" | "$filter" => Some(1),
        "$reduce" => Some(2),
        _ => None,
    }
}

fn all(nodes: &[Node]) -> Owned {
    Owned::Array(nodes.iter().map(Node::described).collect())
}

/// The call of an operator.
fn called(operator: &str, arguments: &[Node]) -> Owned {
    let given = match (operator, arguments) {
        ("$meta", [Node::Constant(name)]) => name.clone(),
        ("$coerceToBool" | "$cond" | "$ifNull", _) => all(arguments),
        ("$toHashedIndexKey", [value]) => value.described(),
        ("$substr", _) => return one("$substrBytes", all(arguments)),
        ("$map" | "$filter", [input, body, rest @ ..]) => {
            let mut names = [None];
            body.name_locals(0, &mut names);
            let name = names[0].unwrap_or("this");
            let body_name = if operator == "$map" { "in" } else { "cond" };
            let mut fields = vec![
                field("input", input.described()),
                field("as", Owned::String(name.to_owned())),
                field(body_name, body.described()),
            ];
            fields.extend(given_of(&["limit"], rest));
            Owned::Document(fields)
        }
        ("$reduce", [input, initial, body]) => Owned::Document(vec![
            field("input", input.described()),
            field("initialValue", initial.described()),
            field("in", body.described()),
        ]),
        ("$let", [values @ .., body]) => {
            let mut names = vec![None; values.len()];
            body.name_locals(0, &mut names);
            let vars = values
                .iter()
                .zip(names)
                .enumerate()
                .map(|(index, (value, name))| {
                    let name = name.map_or_else(|| format!("unused{index}"), str::to_owned);
                    (name, value.described())
                });
            Owned::Document(vec![
                field("vars", Owned::Document(vars.collect())),
                field("in", body.described()),
            ])
        }
        ("$switch", [branches @ .., default]) => {
            let branches = branches.chunks(2).filter_map(|branch| match branch {
                [case, then] => Some(Owned::Document(vec![
                    field("case", case.described()),
                    field("then", then.described()),
                ])),
                _ => None,
            });
            let mut fields = vec![field("branches", Owned::Array(branches.collect()))];
            fields.extend(given_of(&["default"], std::slice::from_ref(default)));
            Owned::Document(fields)
        }
        (
            "$zip",
            [
                Node::Constant(longest),
                Node::Constant(Owned::Int64(count)),
                rest @ ..,
            ],
        ) => {
            let count = usize::try_from(*count).unwrap_or_default().min(rest.len());
            let (inputs, defaults) = rest.split_at(count);
            Owned::Document(vec![
                field("inputs", all(inputs)),
                field("defaults", all(defaults)),
                field("useLongestLength", longest.clone()),
            ])
        }
        ("$sortArray", [input, Node::Constant(order)]) => Owned::Document(vec![
            field("input", input.described()),
            field("sortBy", order.clone()),
        ]),
        // It is shown in another order.
        ("$dateToString", [date, zone, on_null, format]) => {
            let nodes = [date, format, zone, on_null].map(Clone::clone);
            Owned::Document(given_of(&["date", "format", "timezone", "onNull"], &nodes))
        }
        (_, []) => Owned::Document(Vec::new()),
        _ => {
            let converted = CONVERTING.iter().find(|(name, _)| *name == operator);
            if let (Some((_, to)), [input, ..]) = (converted, arguments) {
                let to = one("$const", Owned::String((*to).to_owned()));
                let given = vec![field("input", input.described()), field("to", to)];
                return one("$convert", Owned::Document(given));
            }
            match NAMED.iter().find(|(operators, _)| operators.contains(&operator)) {
                Some((_, names)) => Owned::Document(given_of(names, arguments)),
                None => all(arguments),
            }
        }
    };
    let shown_as = match operator {
        "$unsetField" => "$setField",
        other => other,
    };
    one(shown_as, given)
}

/// What is given of arguments by names.
fn given_of(names: &[&str], arguments: &[Node]) -> Fields {
    let named = names.iter().zip(arguments);
    let given = named.filter(|(_, argument)| !matches!(argument, Node::Absent));
    given
        .map(|(name, argument)| field(name, argument.described()))
        .collect()
}
