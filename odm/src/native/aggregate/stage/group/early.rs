//! The codes of a `$group` that reads a collection: a server runs it by other means than the later stages, and the
//! same faults have other codes there.

use super::super::super::super::fault::Fault;

/// The code of a fault in an expression, and its code in an early `$group`.
const CODES: [(i32, i32); 13] = [
    (5_166_307, 5_166_500),
    (5_166_403, 5_166_603),
    (16_554, 4_974_201),
    (16_610, 4_848_403),
    (16_702, 5_073_001),
    (28_651, 5_073_201),
    (28_689, 5_126_701),
    (34_435, 5_154_901),
    (34_445, 5_154_301),
    (40_066, 4_934_200),
    (40_091, 5_075_300),
    (50_989, 4_995_503),
    (51_104, 5_073_401),
];

/// The operators that a server has for later stages alone: with one of them a group is not early.
const LATE: [&str; 67] = [
    "$allElementsTrue",
    "$arrayToObject",
    "$avg",
    "$binarySize",
    "$convert",
    "$dateFromString",
    "$dateToString",
    "$dateTrunc",
    "$firstN",
    "$getField",
    "$hour",
    "$in",
    "$indexOfArray",
    "$isoDayOfWeek",
    "$isoWeek",
    "$isoWeekYear",
    "$lastN",
    "$log",
    "$ltrim",
    "$map",
    "$max",
    "$maxN",
    "$mergeObjects",
    "$millisecond",
    "$min",
    "$minN",
    "$minute",
    "$month",
    "$objectToArray",
    "$pow",
    "$rand",
    "$reduce",
    "$replaceAll",
    "$round",
    "$rtrim",
    "$second",
    "$setEquals",
    "$setField",
    "$setIsSubset",
    "$size",
    "$slice",
    "$split",
    "$stdDevPop",
    "$stdDevSamp",
    "$strLenBytes",
    "$strLenCP",
    "$strcasecmp",
    "$substr",
    "$substrBytes",
    "$substrCP",
    "$subtract",
    "$sum",
    "$toBool",
    "$toDate",
    "$toDecimal",
    "$toDouble",
    "$toInt",
    "$toLong",
    "$toObjectId",
    "$toString",
    "$trim",
    "$trunc",
    "$type",
    "$unsetField",
    "$week",
    "$year",
    "$zip",
];

/// Whether an early `$group` has the operator.
pub(super) fn has(operator: &str) -> bool {
    !LATE.contains(&operator)
}

/// Whether an early `$group` knows the fault.
pub(super) fn knows(fault: &Fault) -> bool {
    coded(fault.clone()).code() != fault.code()
}

/// The fault with the code that an early `$group` gives it.
pub(super) fn coded(fault: Fault) -> Fault {
    let message = fault.message().to_owned();
    if message == "can't $divide by zero" {
        return Fault::new(4_848_401, message);
    }
    if message.starts_with("$multiply only supports") {
        return Fault::new(5_073_102, message);
    }
    match CODES.iter().find(|(code, _)| *code == fault.code()) {
        Some((_, code)) => Fault::new(*code, message),
        None => fault,
    }
}
