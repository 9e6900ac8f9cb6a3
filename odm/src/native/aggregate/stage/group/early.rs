//! The codes of a `$group` that reads a collection: a server runs it by other means than the later stages, and the
//! same faults have other codes there.

use super::super::super::super::fault::Fault;
use super::super::super::expression::ARRAY;

/// The beginning of a fault's message in an expression, its code, and its code in an early `$group`.
const CODES: [(&str, i32, i32); 66] = [
    ("", 16_006, 4_998_202),
    ("", 16_007, 5_066_300),
    ("", 16_554, 4_974_201),
    ("", 16_610, 4_848_403),
    ("", 16_611, 5_154_000),
    ("", 16_612, 4_974_202),
    ("", 16_702, 5_073_001),
    ("", 17_041, 5_159_200),
    ("", 17_043, 5_126_900),
    ("", 17_047, 5_126_900),
    ("", 17_048, 5_126_900),
    ("", 17_049, 5_126_900),
    ("", 28_651, 5_073_201),
    ("", 28_664, 5_153_400),
    ("$first", 28_689, 5_126_704),
    ("$last", 28_689, 5_126_704),
    ("", 28_689, 5_126_701),
    ("", 28_690, 5_126_702),
    ("", 28_691, 5_126_703),
    ("", 28_714, 4_903_710),
    ("", 28_761, 4_903_708),
    ("$abs ", 28_765, 4_903_700),
    ("$acos", 28_765, 4_995_502),
    ("$asin ", 28_765, 4_995_502),
    ("$asinh ", 28_765, 4_995_501),
    ("$atan ", 28_765, 4_995_501),
    ("$atanh ", 28_765, 4_995_502),
    ("$ceil ", 28_765, 4_903_702),
    ("$cos ", 28_765, 4_995_502),
    ("$cosh ", 28_765, 4_995_501),
    ("$degreesToRadians ", 28_765, 4_995_501),
    ("$exp ", 28_765, 4_903_703),
    ("$floor ", 28_765, 4_903_704),
    ("$ln ", 28_765, 4_903_705),
    ("$log10 ", 28_765, 4_903_707),
    ("$radiansToDegrees ", 28_765, 4_995_501),
    ("$sin ", 28_765, 4_995_502),
    ("$sinh ", 28_765, 4_995_501),
    ("$sqrt ", 28_765, 4_903_709),
    ("$tan ", 28_765, 4_995_502),
    ("$tanh ", 28_765, 4_995_501),
    ("", 28_766, 4_903_706),
    ("", 31_393, 5_043_001),
    ("", 34_435, 5_154_901),
    ("", 34_443, 5_154_300),
    ("", 34_444, 5_154_301),
    ("", 34_445, 5_154_301),
    ("", 40_066, 4_934_200),
    ("", 40_091, 5_075_300),
    ("", 40_093, 5_075_300),
    ("", 40_515, 4_848_979),
    ("", 50_989, 4_995_503),
    ("", 51_044, 5_688_500),
    ("", 51_045, 5_688_500),
    ("", 51_104, 5_073_401),
    ("", 51_105, 5_126_601),
    ("", 51_744, 5_154_400),
    ("", 51_745, 5_154_400),
    ("", 51_746, 5_154_400),
    ("", 2_942_504, 6_096_700),
    ("", 5_166_307, 5_166_500),
    ("", 5_166_403, 5_166_603),
    ("", 5_166_405, 5_166_606),
    ("", 5_687_301, 5_687_400),
    ("", 5_687_302, 5_687_401),
    ("$divide only supports", 14, 5_073_101),
];

/// The operators that a server has for later stages alone: with one of them a group is not early.
const LATE: [&str; 69] = [
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
    "$meta",
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
    "$toHashedIndexKey",
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
    operator != ARRAY && !LATE.contains(&operator)
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
    // The text that is looked for is of one type where it is null, and of another where it is none.
    if let 40_092 | 40_094 = fault.code() {
        let is_null = message.ends_with("null") || message.ends_with("missing");
        return Fault::new(if is_null { 5_075_301 } else { 5_075_302 }, message);
    }
    let found = CODES
        .iter()
        .find(|(start, code, _)| *code == fault.code() && message.starts_with(start));
    match found {
        Some((_, _, early)) => Fault::new(*early, message),
        None => fault,
    }
}
