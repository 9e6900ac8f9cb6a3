//! The codes of the faults of operators in an early `$group`.

use super::super::super::super::fault::Fault;

const ADDED: &[&str] = &["$dateAdd", "$dateSubtract"];
const DAYS: &[&str] = &["$dayOfMonth", "$dayOfWeek", "$dayOfYear"];
const DIFFERENCE: &[&str] = &["$dateDiff"];
const PARTS: &[&str] = &["$dateToParts"];
const FROM_PARTS: &[&str] = &["$dateFromParts"];
const REAL: &[&str] = &[
    "$asinh",
    "$atan",
    "$cosh",
    "$degreesToRadians",
    "$radiansToDegrees",
    "$sinh",
    "$tanh",
];
const BOUNDED: &[&str] = &["$acos", "$acosh", "$asin", "$atanh", "$cos", "$sin", "$tan"];

/// The operators, the code that they have in later stages, and the one in an early `$group`.
const CODES: [(&[&str], i32, i32); 73] = [
    (&["$abs"], 28_680, 4_903_701),
    (&["$abs"], 28_765, 4_903_700),
    (&["$add"], 16_554, 4_974_201),
    (&["$add"], 16_612, 4_974_202),
    (&["$anyElementTrue"], 17_041, 5_159_200),
    (&["$arrayElemAt"], 28_689, 5_126_701),
    (&["$arrayElemAt"], 28_690, 5_126_702),
    (&["$arrayElemAt"], 28_691, 5_126_703),
    (&["$atan2"], 51_044, 5_688_500),
    (&["$atan2"], 51_045, 5_688_500),
    (&["$bsonSize"], 31_393, 5_043_001),
    (&["$ceil"], 28_765, 4_903_702),
    (&["$concat"], 16_702, 5_073_001),
    (&["$concatArrays"], 28_664, 5_153_400),
    (&["$divide"], 2, 4_848_401),
    (&["$divide"], 14, 5_073_101),
    (&["$exp"], 28_765, 4_903_703),
    (&["$filter"], 28_651, 5_073_201),
    (&["$first"], 28_689, 5_126_704),
    (&["$floor"], 28_765, 4_903_704),
    (&["$indexOfBytes"], 40_091, 5_075_300),
    (&["$indexOfCP"], 40_093, 5_075_300),
    (&["$last"], 28_689, 5_126_704),
    (&["$ln"], 28_765, 4_903_705),
    (&["$ln"], 28_766, 4_903_706),
    (&["$log10"], 28_761, 4_903_708),
    (&["$log10"], 28_765, 4_903_707),
    (&["$mod"], 16_610, 4_848_403),
    (&["$mod"], 16_611, 5_154_000),
    (&["$mod"], 5_733_415, 4_848_403),
    (&["$multiply"], 14, 5_073_102),
    (&["$range"], 34_443, 5_154_300),
    (&["$regexFind", "$regexFindAll", "$regexMatch"], 51_104, 5_073_401),
    (&["$regexFind", "$regexFindAll", "$regexMatch"], 51_111, 5_073_402),
    (&["$replaceOne"], 51_744, 5_154_400),
    (&["$replaceOne"], 51_745, 5_154_400),
    (&["$replaceOne"], 51_746, 5_154_400),
    (&["$reverseArray"], 34_435, 5_154_901),
    (&["$setDifference"], 17_048, 5_126_900),
    (&["$setDifference"], 17_049, 5_126_900),
    (&["$setIntersection"], 17_047, 5_126_900),
    (&["$setUnion"], 17_043, 5_126_900),
    (&["$sortArray"], 2_942_504, 6_096_700),
    (&["$sqrt"], 28_714, 4_903_710),
    (&["$sqrt"], 28_765, 4_903_709),
    (&["$switch"], 40_066, 4_934_200),
    (&["$toLower", "$toUpper"], 16_007, 5_066_300),
    (&["$tsIncrement"], 5_687_302, 5_687_401),
    (&["$tsSecond"], 5_687_301, 5_687_400),
    (ADDED, 9, 5_166_605),
    (ADDED, 40_485, 5_166_602),
    (ADDED, 40_517, 5_166_601),
    (ADDED, 5_166_403, 5_166_603),
    (ADDED, 5_166_404, 5_166_604),
    (ADDED, 5_166_405, 5_166_606),
    (ADDED, 6_045_000, 5_166_606),
    (DAYS, 16_006, 4_998_202),
    (DAYS, 40_485, 4_998_201),
    (DAYS, 40_533, 4_998_200),
    (DIFFERENCE, 40_485, 5_166_505),
    (DIFFERENCE, 40_517, 5_166_504),
    (DIFFERENCE, 5_439_013, 5_166_502),
    (DIFFERENCE, 5_439_014, 5_166_503),
    (DIFFERENCE, 5_439_015, 5_338_801),
    (DIFFERENCE, 5_439_016, 5_338_802),
    (FROM_PARTS, 31_034, 4_848_972),
    (FROM_PARTS, 31_095, 4_848_972),
    (FROM_PARTS, 40_515, 4_848_979),
    (FROM_PARTS, 40_523, 4_848_972),
    (PARTS, 16_006, 4_997_703),
    (PARTS, 40_485, 4_997_704),
    (PARTS, 40_517, 4_997_701),
    (PARTS, 40_521, 4_997_702),
];

/// The fault of a call of the operator with the code that it has in an early `$group`, and what is said with it.
pub(super) fn coded(operator: &str, fault: Fault) -> Fault {
    let message = fault.message().to_owned();
    let code = match fault.code() {
        5_166_307 if DIFFERENCE.contains(&operator) => match message.contains("'startDate'") {
            true => 5_166_500,
            false => 5_166_501,
        },
        28_765 if REAL.contains(&operator) => 4_995_501,
        28_765 if BOUNDED.contains(&operator) => 4_995_502,
        50_989 => 4_995_503,
        code => {
            let early = CODES
                .iter()
                .find(|(operators, later, _)| *later == code && operators.contains(&operator));
            match early {
                Some((_, _, early)) => *early,
                None => return fault,
            }
        }
    };
    Fault::new(code, early_message(operator, code, &message))
}

/// What is said with the code there, with the operator in the place of `{}`; nothing where it is what later stages say.
fn template(code: i32) -> Option<&'static str> {
    Some(match code {
        4_903_700 | 4_903_702 | 4_903_703 | 4_903_704 | 4_903_705 | 4_903_707 | 4_903_709 | 5_073_101
        | 5_154_000 => "{} only supports numeric types",
        4_903_706 | 4_903_708 => "{}'s argument must be a positive number",
        4_974_201 => "only numbers and dates are allowed in an $add expression",
        4_974_202 => "only one date allowed in an $add expression",
        4_995_501 | 4_995_502 | 5_688_500 => "{} supports only numeric types",
        4_997_701 | 4_998_200 => "{} timezone must be a string",
        4_997_702 => "{} iso8601 must be a boolean",
        4_997_703 => "{} date must have the format of a date",
        4_997_704 | 4_998_201 => "{} timezone must be a valid timezone",
        4_998_202 => "{} date must have a format of a date",
        5_043_001 => "{} requires a document input",
        5_066_300 => "{} input type is not supported",
        5_073_001 => "{} supports only strings",
        5_073_102 => "only numbers are allowed in an {} expression",
        5_073_201 => "input to {} must be an array",
        5_073_401 => "{}: input must be of type string",
        5_075_300 => "{} string must resolve to a string or null",
        5_126_701 => "{} first argument must be an array",
        5_126_702 => "{} second argument must be a number",
        5_126_703 => "{} second argument cannot be represented as a 32-bit integer",
        5_126_704 | 5_154_901 => "{} argument must be an array",
        5_126_900 => "All operands of {} must be arrays.",
        5_153_400 => "{} only supports arrays",
        5_159_200 => "{}'s argument must be an array",
        5_166_500 => "{} parameter 'startDate' must be coercible to date",
        5_166_501 => "{} parameter 'endDate' must be coercible to date",
        5_166_502 => "{} parameter 'unit' must be a string",
        5_166_503 => "{} parameter 'unit' must be a valid time unit",
        5_166_504 => "{} parameter 'timezone' must be a string",
        5_166_505 => "{} parameter 'timezone' must be a valid timezone",
        5_166_601 => "{} expects timezone argument of type string",
        5_166_602 => "{} expects a valid timezone",
        5_166_603 => "{} must have startDate argument convertable to date",
        5_166_604 => "{} expects unit argument of type string",
        5_166_605 => "{} expects a valid time unit",
        5_166_606 => "invalid {} 'amount' argument value",
        5_338_801 => "{} parameter 'startOfWeek' must be a string",
        5_338_802 => "{} parameter 'startOfWeek' must be a valid day of the week",
        5_687_400 | 5_687_401 => "{} expects argument of type timestamp",
        6_096_700 => "{} input argument must be an array",
        _ => return None,
    })
}

/// What is said with the code there. Values are not shown.
fn early_message(operator: &str, code: i32, later: &str) -> String {
    if let Some(template) = template(code) {
        return template.replace("{}", operator);
    }
    match code {
        4_995_503 => {
            let range = later.rsplit("must be in ").next().unwrap_or_default();
            let range = range.replace(',', ", ");
            format!("Cannot apply {operator}, value must be in {range}")
        }
        5_073_402 => later.replace(&format!(" in {operator}"), ""),
        5_154_400 => later.split(", found").next().unwrap_or_default().to_owned(),
        _ => later.to_owned(),
    }
}
