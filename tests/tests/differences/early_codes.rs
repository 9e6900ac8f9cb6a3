//! What operators give, and which of their faults they tell, in a `$group` that reads a collection: a server runs it by
//! other means than later stages, and looks at arguments in another order.

use odm::Db;
use odm::bson::{Bson, DateTime, Decimal128, Document, Regex, Timestamp, bson, doc};
use odm_tests::command::{aggregate, batch, code, insert};

crate::on_every_backend! {
    arguments_are_computed_before_any_is_looked_at,
    sums_of_two_and_of_many_have_their_own_rules,
    bounds_of_searches_and_ranges_are_told_from_behind,
    parts_of_dates_are_told_by_their_types_first,
    zones_and_units_of_dates_have_codes_of_their_own,
    patterns_are_looked_at_where_there_is_a_text,
    limits_of_filters_come_before_their_arrays,
    values_differ_where_the_means_do,
    constants_are_computed_as_everywhere,
    one_argument_beside_constants_makes_a_group_late,
    what_computes_before_a_group_is_as_early_as_the_group,
}

/// What the expression gives in the first stage for a document of these fields, or why not.
async fn early(db: &Db, fields: &Document, expression: &Document) -> Result<Bson, i32> {
    let _ = db.run_command(doc! { "drop": "c" }).await;
    let mut document = doc! { "_id": 1 };
    document.extend(fields.clone());
    insert(db, "c", vec![document]).await;
    // A filter by one `_id` alone would be another way to read.
    let pipeline = vec![
        doc! { "$match": { "_id": { "$gte": 1, "$lte": 1 } } },
        doc! { "$group": { "_id": "$_id", "v": { "$last": expression.clone() } } },
    ];
    let command = doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} };
    let reply = db.run_command(command).await;
    let reply = reply.map_err(|error| error.code().unwrap_or_default())?;
    Ok(batch(&reply)[0].get("v").cloned().unwrap_or(Bson::Undefined))
}

/// Asserts what each expression gives for its fields.
async fn all(db: &Db, cases: Vec<(Document, Document, Result<Bson, i32>)>) {
    for (fields, expression, expected) in cases {
        let found = early(db, &fields, &expression).await;
        assert_eq!(found, expected, "{expression} of {fields}");
    }
}

fn decimal(text: &str) -> Bson {
    Bson::Decimal128(text.parse::<Decimal128>().unwrap())
}

fn date(ms: i64) -> Bson {
    Bson::DateTime(DateTime::from_millis(ms))
}

async fn arguments_are_computed_before_any_is_looked_at(db: &Db) {
    let fields = doc! { "s": "x", "n": null };
    let fails = doc! { "$tsSecond": "$s" };
    for operator in [
        "$add",
        "$multiply",
        "$concat",
        "$concatArrays",
        "$atan2",
        "$indexOfCP",
        "$range",
    ] {
        for first in ["$s", "$n", "$missing"] {
            let found = early(db, &fields, &doc! { operator: [first, fails.clone()] }).await;
            assert_eq!(found, Err(5_687_400), "{operator} of {first}");
        }
    }
    // Later stages stop at what is wrong, or null, before.
    let stage = doc! { "$project": { "_id": 0, "v": { "$add": ["$n", fails] } } };
    assert_eq!(aggregate(db, "c", vec![stage]).await, [doc! { "v": null }]);
}

async fn sums_of_two_and_of_many_have_their_own_rules(db: &Db) {
    let two = doc! { "$add": ["$a", "$b"] };
    let three = doc! { "$add": ["$a", "$b", "$c"] };
    let large = decimal("1E+5");
    all(
        db,
        vec![
            (doc! { "a": 5, "b": "x" }, two.clone(), Err(4_974_201)),
            (doc! { "a": date(1), "b": date(2) }, two.clone(), Err(4_974_202)),
            (doc! { "a": "x" }, doc! { "$add": ["$a"] }, Err(4_974_203)),
            (doc! { "a": 5, "b": "x", "c": 1 }, three.clone(), Err(4_974_203)),
            (
                doc! { "a": "x", "b": null, "c": 1 },
                three.clone(),
                Ok(Bson::Null),
            ),
            (
                doc! { "a": date(1), "b": date(2), "c": "x" },
                three.clone(),
                Err(4_974_203),
            ),
            (
                doc! { "a": date(1), "b": 1, "c": date(2) },
                three.clone(),
                Err(4_848_404),
            ),
            // Two decimals keep their exponent, and of more the sum begins with zero.
            (
                doc! { "a": large.clone(), "b": large.clone() },
                two.clone(),
                Ok(decimal("2E+5")),
            ),
            (
                doc! { "a": large.clone(), "b": large.clone(), "c": 0 },
                three.clone(),
                Ok(decimal("200000")),
            ),
            // An integer is rounded to a double beside one, and among others of them it is not.
            (
                doc! { "a": 0.2, "b": (1_i64 << 53) + 1 },
                two.clone(),
                Ok(bson!(9_007_199_254_740_992.0)),
            ),
            (
                doc! { "a": 2.5, "b": i64::MAX, "c": large },
                three,
                Ok(decimal("9223372036854875809.50000000000000")),
            ),
            // Dates are added with all digits, and halves rounded toward the epoch.
            (
                doc! { "a": date(999), "b": 4_503_599_627_370_495.5 },
                two.clone(),
                Ok(date(4_503_599_627_371_495)),
            ),
            (doc! { "a": 2.5, "b": date(1000) }, two.clone(), Ok(date(1002))),
            (doc! { "a": date(1), "b": f64::NAN }, two.clone(), Err(15)),
            (
                doc! { "a": date(1), "b": decimal("NaN") },
                two,
                Ok(date(i64::MIN)),
            ),
        ],
    )
    .await;
}

async fn bounds_of_searches_and_ranges_are_told_from_behind(db: &Db) {
    let mut cases = Vec::new();
    for operator in ["$indexOfBytes", "$indexOfCP"] {
        let search = |start: Bson, end: Bson| {
            let fields = doc! { "s": "abc", "w": "b", "x": start, "y": end };
            (fields, doc! { operator: ["$s", "$w", "$x", "$y"] })
        };
        for (start, end, code) in [
            (bson!(1.5), bson!(3), 5_075_303),
            (Bson::Null, bson!(3), 5_075_303),
            (bson!(-1), bson!(3), 5_075_304),
            (bson!(-1), bson!("x"), 5_075_305),
            (bson!(1.5), bson!(-1), 5_075_306),
        ] {
            let (fields, expression) = search(start, end);
            cases.push((fields, expression, Err(code)));
        }
        let of = |wanted: Bson| doc! { "s": "abc", "w": wanted };
        let expression = doc! { operator: ["$s", "$w"] };
        cases.push((of(Bson::Undefined), expression.clone(), Err(5_075_301)));
        cases.push((of(bson!(5)), expression.clone(), Err(5_075_302)));
        cases.push((doc! { "w": 5 }, expression, Ok(Bson::Null)));
    }
    for (start, end, step, code) in [
        (bson!("x"), bson!("x"), bson!("x"), 5_154_300),
        (bson!(1.5), bson!("x"), bson!("x"), 5_154_301),
        (bson!(1.5), bson!(1.5), Bson::Null, 5_154_302),
        (bson!(1.5), bson!(1.5), bson!(0), 5_154_303),
        (bson!(1), bson!(1.5), bson!(0), 5_154_304),
        (bson!(1), bson!(2), bson!(1.5), 5_154_305),
        (bson!(1), bson!(2), bson!(0), 5_154_306),
    ] {
        let fields = doc! { "a": start, "b": end, "c": step };
        cases.push((fields, doc! { "$range": ["$a", "$b", "$c"] }, Err(code)));
    }
    all(db, cases).await;
}

async fn parts_of_dates_are_told_by_their_types_first(db: &Db) {
    let mut cases = Vec::new();
    for (year, month) in [("year", "month"), ("isoWeekYear", "isoWeek")] {
        let expression = doc! {
            "$dateFromParts": { year: "$y", month: "$m", "hour": "$h", "timezone": "$z" },
        };
        for (y, m, h, z, expected) in [
            (bson!(2020), bson!("x"), Bson::Null, bson!(5), Err(4_848_979)),
            (Bson::Undefined, bson!(1), bson!(1), bson!("UTC"), Err(4_848_979)),
            (bson!(1.5), bson!(40_000), bson!(1), bson!("none"), Err(4_848_979)),
            (Bson::Null, bson!(40_000), bson!(1), Bson::Null, Err(4_848_980)),
            (bson!(0), bson!(40_000), Bson::Null, bson!("none"), Ok(Bson::Null)),
            (bson!(0), bson!(1), bson!(1), bson!("none"), Err(4_848_972)),
            (
                bson!(2020),
                bson!(40_000),
                bson!(1),
                bson!("none"),
                Err(4_848_972),
            ),
            (bson!(2020), bson!(1), bson!(1), bson!("none"), Err(40_485)),
        ] {
            let fields = doc! { "y": y, "m": m, "h": h, "z": z };
            cases.push((fields, expression.clone(), expected));
        }
    }
    all(db, cases).await;
}

async fn zones_and_units_of_dates_have_codes_of_their_own(db: &Db) {
    let d = date(1_585_440_000_000);
    let mut cases = Vec::new();
    for operator in ["$dayOfWeek", "$dayOfMonth", "$dayOfYear"] {
        let expression = doc! { operator: { "date": "$d", "timezone": "$z" } };
        for (date, zone, expected) in [
            (bson!("x"), bson!("UTC"), Err(4_998_202)),
            (Bson::Null, bson!(5), Err(4_998_200)),
            (bson!("x"), bson!("none"), Err(4_998_201)),
            (bson!("x"), Bson::Null, Ok(Bson::Null)),
        ] {
            cases.push((doc! { "d": date, "z": zone }, expression.clone(), expected));
        }
    }
    let parts = doc! { "$dateToParts": { "date": "$d", "timezone": "$z", "iso8601": "$i" } };
    for (date, zone, iso, code) in [
        (bson!("x"), bson!("UTC"), bson!(true), 4_997_703),
        (bson!("x"), bson!("none"), bson!(5), 4_997_704),
        (bson!("x"), bson!(5), bson!(5), 4_997_701),
        (bson!("x"), bson!("UTC"), bson!(5), 4_997_702),
    ] {
        cases.push((doc! { "d": date, "z": zone, "i": iso }, parts.clone(), Err(code)));
    }
    for operator in ["$dateAdd", "$dateSubtract"] {
        let expression =
            doc! { operator: { "startDate": "$d", "unit": "$u", "amount": "$n", "timezone": "$z" } };
        for (date, unit, amount, zone, code) in [
            (bson!("x"), bson!(5), bson!("x"), bson!(5), 5_166_601),
            (bson!("x"), bson!(5), bson!("x"), bson!("none"), 5_166_602),
            (bson!("x"), bson!(5), bson!("x"), bson!("UTC"), 5_166_603),
            (d.clone(), bson!(5), bson!("x"), bson!("UTC"), 5_166_604),
            (d.clone(), bson!("age"), bson!("x"), bson!("UTC"), 5_166_605),
            (d.clone(), bson!("day"), bson!(1.5), bson!("UTC"), 5_166_606),
        ] {
            let fields = doc! { "d": date, "u": unit, "n": amount, "z": zone };
            cases.push((fields, expression.clone(), Err(code)));
        }
    }
    let difference = doc! {
        "$dateDiff": { "startDate": "$d", "endDate": "$e", "unit": "$u", "timezone": "$z", "startOfWeek": "$w" },
    };
    for (start, end, unit, zone, week, code) in [
        (bson!("x"), bson!("x"), bson!(5), bson!(5), bson!(5), 5_166_504),
        (
            bson!("x"),
            bson!("x"),
            bson!(5),
            bson!("none"),
            bson!(5),
            5_166_505,
        ),
        (
            bson!("x"),
            bson!("x"),
            bson!(5),
            bson!("UTC"),
            bson!(5),
            5_166_500,
        ),
        (d.clone(), bson!("x"), bson!(5), bson!("UTC"), bson!(5), 5_166_501),
        (d.clone(), d.clone(), bson!(5), bson!("UTC"), bson!(5), 5_166_502),
        (
            d.clone(),
            d.clone(),
            bson!("age"),
            bson!("UTC"),
            bson!(5),
            5_166_503,
        ),
        (
            d.clone(),
            d.clone(),
            bson!("week"),
            bson!("UTC"),
            bson!(5),
            5_338_801,
        ),
        (d.clone(), d, bson!("week"), bson!("UTC"), bson!("x"), 5_338_802),
    ] {
        let fields = doc! { "d": start, "e": end, "u": unit, "z": zone, "w": week };
        cases.push((fields, difference.clone(), Err(code)));
    }
    all(db, cases).await;
}

async fn patterns_are_looked_at_where_there_is_a_text(db: &Db) {
    let own = Bson::RegularExpression(Regex {
        pattern: "b".try_into().unwrap(),
        options: "i".try_into().unwrap(),
    });
    let mut cases = Vec::new();
    for (operator, nothing) in [
        ("$regexFind", Bson::Null),
        ("$regexFindAll", bson!([])),
        ("$regexMatch", bson!(false)),
    ] {
        let expression = doc! { operator: { "input": "$s", "regex": "$r", "options": "$o" } };
        for (fields, expected) in [
            (doc! { "s": null, "r": 5, "o": 5 }, Ok(nothing.clone())),
            (doc! { "s": 5, "r": 5, "o": 5 }, Err(5_073_401)),
            (doc! { "s": "abc", "r": 5, "o": 5 }, Err(5_126_603)),
            (doc! { "s": "abc", "r": 5, "o": "\0" }, Err(5_126_604)),
            (doc! { "s": "abc", "r": own.clone(), "o": "q" }, Err(5_126_605)),
            (doc! { "s": "abc", "r": null, "o": "q" }, Ok(nothing)),
            (doc! { "s": "abc", "o": "q" }, Ok(Bson::Null)),
            (
                doc! { "s": "abc", "r": Bson::Undefined, "o": "q" },
                Err(5_126_601),
            ),
            (doc! { "s": "abc", "r": 5, "o": "q" }, Err(5_126_601)),
            (doc! { "s": "abc", "r": "a\0", "o": "q" }, Err(5_126_602)),
            (doc! { "s": "abc", "r": "(", "o": "i" }, Err(5_073_402)),
            (doc! { "s": "abc", "r": "b" }, Err(5_073_403)),
            (doc! { "s": "abc", "r": "b", "o": "q" }, Err(51_108)),
        ] {
            cases.push((fields, expression.clone(), expected));
        }
    }
    all(db, cases).await;
}

async fn limits_of_filters_come_before_their_arrays(db: &Db) {
    let expression = doc! { "$filter": { "input": "$a", "cond": true, "limit": "$n" } };
    all(
        db,
        vec![
            (doc! { "a": 5, "n": 1.5 }, expression.clone(), Err(327_391)),
            (doc! { "a": null, "n": 0 }, expression.clone(), Err(327_392)),
            (doc! { "a": 5, "n": null }, expression.clone(), Err(5_073_201)),
            (doc! { "a": [1, 2], "n": 1 }, expression, Ok(bson!([1]))),
        ],
    )
    .await;
}

async fn values_differ_where_the_means_do(db: &Db) {
    let of = |value: Bson| doc! { "a": value };
    let stamp = Bson::Timestamp(Timestamp {
        time: 5,
        increment: 7,
    });
    let told = "LOCATION18537: COULD NOT CONVERT DATE TO STRING: DATE COMPONENT WAS OUTSIDE THE SUPPORTED RANGE OF \
                0-9999: 10000";
    let common = doc! { "a": [1, 2, 3], "b": [1_i64, 5_i64] };
    all(
        db,
        vec![
            (
                of(stamp.clone()),
                doc! { "$toLower": "$a" },
                Ok(bson!("timestamp(5, 7)")),
            ),
            (
                of(date(253_402_300_800_000)),
                doc! { "$toUpper": "$a" },
                Ok(bson!(told)),
            ),
            (
                of(Bson::JavaScriptCode("a".to_owned())),
                doc! { "$toUpper": "$a" },
                Err(5_066_300),
            ),
            (of(bson!(i64::MIN)), doc! { "$abs": "$a" }, Err(4_903_701)),
            (
                of(bson!(5)),
                doc! { "$mod": ["$a", decimal("0")] },
                Err(4_848_403),
            ),
            (common, doc! { "$setIntersection": ["$a", "$b"] }, Ok(bson!([1]))),
        ],
    )
    .await;
    let zero = early(db, &of(bson!(-0.0)), &doc! { "$abs": "$a" }).await;
    assert_eq!(zero.unwrap().as_f64().map(f64::is_sign_negative), Some(true));
}

async fn constants_are_computed_as_everywhere(db: &Db) {
    let stamp = Bson::Timestamp(Timestamp {
        time: 5,
        increment: 7,
    });
    let literal = |value: Bson| doc! { "$literal": value };
    all(
        db,
        vec![
            (
                doc! {},
                doc! { "$toLower": literal(stamp.clone()) },
                Ok(bson!("jan  1 00:00:05:7")),
            ),
            (
                doc! { "a": 1 },
                doc! { "$add": ["$a", literal(stamp), literal(Bson::Null)] },
                Err(16_554),
            ),
            (
                doc! { "a": 1 },
                doc! { "$add": [date(1), literal(date(2)), "$a"] },
                Err(16_612),
            ),
        ],
    )
    .await;
}

async fn one_argument_beside_constants_makes_a_group_late(db: &Db) {
    let fails = doc! { "$tsSecond": "$s" };
    let fields = doc! { "s": "x" };
    for (expression, expected) in [
        (doc! { "$and": [fails.clone()] }, 5_687_400),
        (doc! { "$and": [fails.clone(), "$s"] }, 5_687_400),
        (doc! { "$and": ["$s", fails.clone(), 1] }, 5_687_400),
        (doc! { "$and": [1, fails.clone()] }, 5_687_301),
        (doc! { "$and": [1, fails.clone(), true, "x"] }, 5_687_301),
        (doc! { "$or": [fails.clone(), { "$literal": null }] }, 5_687_301),
        (
            doc! { "$abs": { "$cond": [{ "$or": ["$s", false] }, fails.clone(), 1] } },
            5_687_301,
        ),
    ] {
        let found = early(db, &fields, &expression).await;
        assert_eq!(found, Err(expected), "{expression}");
    }
    // The same in a filter before it.
    for (asked, expected) in [
        (doc! { "$and": ["$s", true] }, 5_687_301),
        (doc! { "$or": ["$s", false] }, 5_687_301),
        (doc! { "$and": ["$s", "$s", true] }, 5_687_400),
    ] {
        let pipeline = vec![
            doc! { "$match": { "$expr": asked.clone() } },
            doc! { "$group": { "_id": null, "v": { "$push": fails.clone() } } },
        ];
        let command = doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} };
        assert_eq!(code(db, command).await, expected, "{asked}");
    }
}

async fn what_computes_before_a_group_is_as_early_as_the_group(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": [1], "n": 0, "d": 4 }]).await;
    insert(db, "other", vec![doc! { "_id": 1, "x": null }]).await;
    let divide = || doc! { "$project": { "x": { "$divide": ["$d", "$n"] } } };
    let add = || doc! { "$project": { "x": { "$add": ["$a", "$missing"] } } };
    let group = || doc! { "$group": { "_id": "$x" } };
    let lookup =
        || doc! { "$lookup": { "from": "other", "localField": "x", "foreignField": "x", "as": "l" } };
    let (early, late) = (4_848_401, 2);
    for (pipeline, expected) in [
        (vec![divide()], late),
        (vec![divide(), group()], early),
        (vec![divide(), doc! { "$count": "n" }], early),
        (vec![divide(), doc! { "$sortByCount": "$x" }], early),
        (vec![divide(), lookup()], early),
        (
            vec![doc! { "$match": { "_id": { "$gte": 0 } } }, divide(), group()],
            early,
        ),
        (
            vec![doc! { "$project": { "y": { "$divide": ["$d", "$n"] } } }, group()],
            early,
        ),
        // An order, a bound, another projection or another stage keeps it behind what is read.
        (vec![doc! { "$sort": { "d": 1 } }, divide(), group()], late),
        (vec![doc! { "$limit": 9 }, divide(), group()], late),
        (vec![divide(), doc! { "$limit": 9 }, group()], late),
        (vec![divide(), doc! { "$sort": { "x": 1 } }, group()], late),
        (vec![divide(), doc! { "$project": { "x": 1 } }, group()], late),
        (
            vec![doc! { "$set": { "x": { "$divide": ["$d", "$n"] } } }, group()],
            late,
        ),
        (vec![lookup(), divide(), group()], late),
        // So does an operator that a group does not have, though it is a constant.
        (
            vec![
                doc! { "$project": { "x": { "$divide": ["$d", "$n"] }, "y": { "$pow": [2, 2] } } },
                group(),
            ],
            late,
        ),
        (
            vec![divide(), doc! { "$group": { "_id": { "$pow": ["$x", 2] } } }],
            late,
        ),
        // What is missing decides before what is no number.
        (vec![add(), group()], 0),
        (vec![add(), lookup()], 0),
        (vec![add()], 16_554),
    ] {
        let command = doc! { "aggregate": "c", "pipeline": pipeline.clone(), "cursor": {} };
        assert_eq!(code(db, command).await, expected, "{pipeline:?}");
    }
    assert_eq!(
        aggregate(db, "c", vec![add(), group()]).await,
        [doc! { "_id": null }]
    );
}
