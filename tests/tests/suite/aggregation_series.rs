//! Stages and expressions over time: windows, gaps, buckets, time zones. The expected values are a server's.

use bson::{Bson, DateTime, Document, bson, doc};
use odm::Db;

crate::on_every_backend! {
    windows_are_the_servers,
    windows_that_cannot_be_are_the_servers_errors,
    gaps_are_filled,
    buckets_keep_to_preferred_numbers,
    clocks_are_those_of_the_place,
    collections_are_described,
    early_groups_have_codes_of_their_own,
    the_greatest_of_equals_in_a_window_is_the_last,
}

/// The first batch of the stages over these documents.
async fn rows(db: &Db, documents: &Bson, stages: &[Document]) -> Result<Vec<Document>, i32> {
    let mut pipeline = vec![doc! { "$documents": documents }];
    pipeline.extend_from_slice(stages);
    let command = doc! { "aggregate": 1, "pipeline": pipeline, "cursor": {} };
    let reply = db
        .run_command(command)
        .await
        .map_err(|error| error.code().unwrap_or(0))?;
    let rows = reply
        .get_document("cursor")
        .and_then(|cursor| cursor.get_array("firstBatch"))
        .expect("a cursor");
    Ok(rows.iter().filter_map(Bson::as_document).cloned().collect())
}

/// The values that a window function gives, in order; null where it gives none.
async fn windowed(db: &Db, documents: &Bson, sort: Document, function: Document) -> Result<Vec<Bson>, i32> {
    let mut stage = doc! { "output": { "r": function } };
    if !sort.is_empty() {
        stage.insert("sortBy", sort);
    }
    let stage = doc! { "$setWindowFields": stage };
    let rows = rows(db, documents, &[stage]).await?;
    Ok(rows
        .into_iter()
        .map(|mut row| row.remove("r").unwrap_or(Bson::Null))
        .collect())
}

fn series() -> Bson {
    let hour = |h: i64| DateTime::from_millis(1_577_836_800_000 + h * 3_600_000);
    bson!([
        { "_id": 0, "p": 0, "x": 3, "y": 1, "d": hour(0) },
        { "_id": 1, "p": 1, "x": 1, "y": 2, "d": hour(1) },
        { "_id": 2, "p": 0, "x": 4, "y": 4, "d": hour(2) },
        { "_id": 3, "p": 1, "x": 1, "y": 8, "d": hour(3) },
        { "_id": 4, "p": 0, "x": 5, "y": 16, "d": hour(4) },
    ])
}

async fn windows_are_the_servers(db: &Db) {
    let docs = series();
    let all = doc! { "documents": ["unbounded", "unbounded"] };
    let last_two = doc! { "documents": [-1, 0] };
    let by_id = doc! { "_id": 1 };
    for (sort, function, expected) in [
        (doc! { "p": 1 }, doc! { "$rank": {} }, bson!([1, 1, 1, 4, 4])),
        (doc! { "p": 1 }, doc! { "$denseRank": {} }, bson!([1, 1, 1, 2, 2])),
        (
            doc! { "p": 1 },
            doc! { "$documentNumber": {} },
            bson!([1, 2, 3, 4, 5]),
        ),
        (by_id.clone(), doc! { "$sum": "$x" }, bson!([14, 14, 14, 14, 14])),
        (
            by_id.clone(),
            doc! { "$sum": "$x", "window": last_two.clone() },
            bson!([3, 4, 5, 5, 6]),
        ),
        (
            by_id.clone(),
            doc! { "$push": "$x", "window": { "documents": [1, 2] } },
            bson!([[1, 4], [4, 1], [1, 5], [5], []]),
        ),
        (
            by_id.clone(),
            doc! { "$shift": { "output": "$x", "by": -1, "default": 0 } },
            bson!([0, 3, 1, 4, 1]),
        ),
        (
            by_id.clone(),
            doc! { "$derivative": { "input": "$x" }, "window": last_two.clone() },
            bson!([null, -2.0, 3.0, -3.0, 4.0]),
        ),
        (
            doc! { "d": 1 },
            doc! { "$derivative": { "input": "$x", "unit": "hour" }, "window": last_two.clone() },
            bson!([null, -1.9999999999999998, 3.0, -3.0, 3.9999999999999996]),
        ),
        (
            by_id.clone(),
            doc! { "$integral": { "input": "$x" }, "window": last_two.clone() },
            bson!([0, 2.0, 2.5, 2.5, 3.0]),
        ),
        (
            doc! { "d": 1 },
            doc! { "$integral": { "input": "$x", "unit": "minute" }, "window": { "range": [-1, 0], "unit": "hour" } },
            bson!([0.0, 120.0, 150.0, 150.0, 180.0]),
        ),
        (
            by_id.clone(),
            doc! { "$covariancePop": ["$x", "$y"] },
            bson!([4.44, 4.44, 4.44, 4.44, 4.44]),
        ),
        (
            by_id.clone(),
            doc! { "$covarianceSamp": ["$x", "$y"], "window": last_two.clone() },
            bson!([null, -1.0, 3.0, -6.0, 15.999999999999998]),
        ),
        (
            by_id.clone(),
            doc! { "$expMovingAvg": { "input": "$x", "alpha": 0.5 } },
            bson!([3.0, 2.0, 3.0, 2.0, 3.5]),
        ),
        (
            by_id.clone(),
            doc! { "$maxN": { "n": 2, "input": "$x" }, "window": { "documents": [-1, 1] } },
            bson!([[3, 1], [4, 3], [4, 1], [5, 4], [5, 1]]),
        ),
        (
            by_id.clone(),
            doc! { "$top": { "output": "$y", "sortBy": { "x": -1 } }, "window": last_two.clone() },
            bson!([1, 1, 4, 4, 16]),
        ),
        (
            doc! { "p": 1 },
            doc! { "$sum": "$x", "window": { "range": ["unbounded", "current"] } },
            bson!([3, 7, 12, 13, 14]),
        ),
        (
            doc! { "x": 1 },
            doc! { "$push": "$x", "window": { "range": [-1, 1] } },
            bson!([[1, 1], [1, 1], [3, 4], [3, 4, 5], [4, 5]]),
        ),
        (
            by_id.clone(),
            doc! { "$count": {}, "window": all.clone() },
            bson!([5, 5, 5, 5, 5]),
        ),
    ] {
        let found = windowed(db, &docs, sort, function.clone()).await.map(Bson::Array);
        assert_eq!(found, Ok(expected), "{function}");
    }
}

async fn windows_that_cannot_be_are_the_servers_errors(db: &Db) {
    let docs = series();
    let last = doc! { "documents": [-1, 0] };
    for (sort, function, code) in [
        (doc! { "_id": 1, "x": 1 }, doc! { "$rank": {} }, 5_371_602),
        (
            doc! { "_id": 1 },
            doc! { "$rank": {}, "window": last.clone() },
            5_371_601,
        ),
        (doc! { "_id": 1 }, doc! { "$rank": 1 }, 5_371_603),
        (
            doc! { "_id": 1 },
            doc! { "$sum": "$x", "window": { "documents": [1, -1] } },
            5_339_900,
        ),
        (doc! {}, doc! { "$sum": "$x", "window": last.clone() }, 5_339_901),
        (
            doc! { "_id": 1, "x": 1 },
            doc! { "$sum": "$x", "window": { "range": [-1, 1] } },
            5_339_902,
        ),
        (
            doc! { "_id": -1 },
            doc! { "$sum": "$x", "window": { "range": [-1, 1] } },
            5_429_404,
        ),
        (
            doc! { "d": 1 },
            doc! { "$sum": "$x", "window": { "range": [-1, 1] } },
            5_429_413,
        ),
        (
            doc! { "z": 1 },
            doc! { "$sum": "$x", "window": { "range": [-1, 1] } },
            5_429_414,
        ),
        (
            doc! { "x": 1 },
            doc! { "$sum": "$x", "window": { "range": [-1, 1], "unit": "day" } },
            5_429_513,
        ),
        (doc! { "_id": 1 }, doc! { "$mergeObjects": "$x" }, 9),
        (doc! { "_id": 1 }, doc! { "$sum": "$x", "$avg": "$x" }, 9),
        (doc! { "_id": 1 }, doc! { "$derivative": { "input": "$x" } }, 9),
        (
            doc! { "d": 1 },
            doc! { "$derivative": { "input": "$x" }, "window": last.clone() },
            5_624_901,
        ),
        (
            doc! { "_id": 1 },
            doc! { "$derivative": { "input": "$x", "unit": "hour" }, "window": last.clone() },
            5_624_900,
        ),
        (
            doc! { "_id": 1 },
            doc! { "$derivative": { "input": "$x", "unit": "month" }, "window": last.clone() },
            5_490_710,
        ),
        (
            doc! { "_id": 1 },
            doc! { "$integral": { "input": "$d" }, "window": last },
            5_423_900,
        ),
        (doc! { "x": 1 }, doc! { "$linearFill": "$x" }, 6_050_106),
        (doc! { "_id": 1, "x": 1 }, doc! { "$linearFill": "$x" }, 605_001),
        (
            doc! { "_id": 1 },
            doc! { "$minN": { "n": "$p", "input": "$x" } },
            5_787_902,
        ),
    ] {
        let found = windowed(db, &docs, sort, function.clone()).await;
        assert_eq!(found, Err(code), "{function}");
    }
}

async fn gaps_are_filled(db: &Db) {
    let docs =
        bson!([{ "_id": 0, "x": 1, "p": 1 }, { "_id": 1, "x": 5, "p": 1 }, { "_id": 2, "x": 8, "p": 0 }]);
    let x = |rows: Vec<Document>| -> Vec<i32> { rows.iter().map(|row| row.get_i32("x").unwrap()).collect() };
    for (range, partition, expected) in [
        (doc! { "step": 2, "bounds": "full" }, false, vec![1, 3, 5, 7, 8]),
        (
            doc! { "step": 2, "bounds": [0, 10] },
            false,
            vec![0, 1, 2, 4, 5, 6, 8],
        ),
        (doc! { "step": 2, "bounds": "partition" }, true, vec![8, 1, 3, 5]),
    ] {
        let mut stage = doc! { "field": "x", "range": range.clone() };
        if partition {
            stage.insert("partitionByFields", vec!["p"]);
        }
        let found = rows(db, &docs, &[doc! { "$densify": stage }]).await.unwrap();
        assert_eq!(x(found), expected, "{range}");
    }
    for (range, code) in [
        (doc! { "step": 0, "bounds": "full" }, 5_733_401),
        (doc! { "step": 1, "bounds": [5, 1] }, 5_733_402),
        (doc! { "step": 1, "bounds": [1] }, 5_733_403),
        (doc! { "step": 1, "bounds": "partition" }, 5_733_408),
        (doc! { "step": 1, "bounds": [1, 5], "unit": "day" }, 5_733_409),
        (doc! { "step": 0.5, "bounds": [1, 2] }, 5_876_900),
        (doc! { "step": 1, "bounds": "full", "unit": "hour" }, 6_053_600),
        (doc! { "step": 1, "bounds": [0, 500_010] }, 5_897_900),
    ] {
        // The count asks for all of them: a server makes them batch by batch.
        let stage = doc! { "$densify": { "field": "x", "range": range.clone() } };
        let found = rows(db, &docs, &[stage, doc! { "$count": "n" }]).await;
        assert_eq!(found, Err(code), "{range}");
    }
    let holes = bson!([{ "_id": 0, "x": 1 }, { "_id": 1, "x": null }, { "_id": 2, "x": 8 }, { "_id": 3 }]);
    for (output, expected) in [
        (doc! { "value": { "$add": ["$_id", 1] } }, bson!([1, 2, 8, 4])),
        (doc! { "method": "locf" }, bson!([1, 1, 8, 8])),
        (doc! { "method": "linear" }, bson!([1, 4.5, 8, null])),
    ] {
        let stage = doc! { "$fill": { "sortBy": { "_id": 1 }, "output": { "x": output.clone() } } };
        let found = rows(db, &holes, &[stage]).await.unwrap();
        let found: Vec<Bson> = found.iter().map(|row| row.get("x").cloned().unwrap()).collect();
        assert_eq!(Bson::Array(found), expected, "{output}");
    }
    let both = doc! { "$fill": { "output": { "x": { "value": 1, "method": "locf" } } } };
    assert_eq!(rows(db, &holes, &[both]).await, Err(6_050_201));
}

async fn buckets_keep_to_preferred_numbers(db: &Db) {
    let values = [1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 34.0, 0.5, 100.0];
    let docs = Bson::Array(values.iter().map(|x| bson!({ "x": *x })).collect());
    for (granularity, expected) in [
        (
            "R5",
            bson!([[0.4, 2.5, 3], [2.5, 10.0, 3], [10.0, 40.0, 3], [40.0, 160.0, 1]]),
        ),
        (
            "R40",
            bson!([
                [0.47500000000000003, 2.12, 3],
                [2.12, 8.5, 3],
                [8.5, 35.5, 3],
                [35.5, 106.0, 1]
            ]),
        ),
        ("1-2-5", bson!([[0.2, 5.0, 4], [5.0, 20.0, 3], [20.0, 200.0, 3]])),
        (
            "E192",
            bson!([
                [0.499, 2.0300000000000002, 3],
                [2.0300000000000002, 8.06, 3],
                [8.06, 34.4, 3],
                [34.4, 101.0, 1]
            ]),
        ),
        ("POWERSOF2", bson!([[0.25, 4, 4], [4, 16, 3], [16, 128, 3]])),
    ] {
        let stage = doc! { "$bucketAuto": { "groupBy": "$x", "buckets": 4, "granularity": granularity } };
        let list = doc! { "$project": { "_id": 0, "r": ["$_id.min", "$_id.max", "$count"] } };
        let found = rows(db, &docs, &[stage, list]).await.unwrap();
        let found = found.into_iter().filter_map(|mut row| row.remove("r")).collect();
        assert_eq!(Bson::Array(found), expected, "{granularity}");
    }
    for (docs, code) in [
        (bson!([{ "x": -1 }]), 40260),
        (bson!([{ "x": "a" }]), 40258),
        (bson!([{ "x": f64::NAN }]), 40259),
    ] {
        let stage = doc! { "$bucketAuto": { "groupBy": "$x", "buckets": 4, "granularity": "R5" } };
        assert_eq!(rows(db, &docs, &[stage]).await, Err(code), "{docs}");
    }
}

async fn clocks_are_those_of_the_place(db: &Db) {
    let date = |text: &str| DateTime::parse_rfc3339_str(text).unwrap();
    let place = "America/New_York";
    let parts = |month: i32, day: i32, hour: i32, minute: i32| {
        doc! { "$dateFromParts": {
            "year": 2020, "month": month, "day": day, "hour": hour, "minute": minute, "timezone": place,
        } }
    };
    let added = |start: &str, unit: &str| {
        doc! { "$dateAdd": { "startDate": date(start), "unit": unit, "amount": 1, "timezone": place } }
    };
    let cut = |at: &str, unit: &str, size: i32| {
        doc! { "$dateTrunc": { "date": date(at), "unit": unit, "binSize": size, "timezone": place } }
    };
    for (expression, expected) in [
        // Clocks go from 01:59 to 03:00.
        (parts(3, 8, 1, 59), "2020-03-08T06:59:00Z"),
        (parts(3, 8, 2, 30), "2020-03-08T07:30:00Z"),
        (parts(3, 8, 3, 0), "2020-03-08T07:00:00Z"),
        // They show 01:00 to 01:59 twice: the second time is meant.
        (parts(11, 1, 0, 59), "2020-11-01T04:59:00Z"),
        (parts(11, 1, 1, 30), "2020-11-01T06:30:00Z"),
        (added("2020-03-07T07:30:00Z", "day"), "2020-03-08T07:30:00Z"),
        (added("2020-03-08T06:30:00Z", "day"), "2020-03-09T05:30:00Z"),
        (added("2020-10-31T05:30:00Z", "day"), "2020-11-01T05:30:00Z"),
        (added("2020-10-31T05:30:00Z", "month"), "2020-11-30T06:30:00Z"),
        (added("2020-11-01T05:30:00Z", "hour"), "2020-11-01T06:30:00Z"),
        (cut("2020-11-01T12:00:00Z", "day", 1), "2020-11-01T04:00:00Z"),
        (cut("2020-03-08T07:37:12Z", "hour", 5), "2020-03-08T07:00:00Z"),
        (cut("1880-02-03T04:05:06Z", "week", 7), "1880-01-25T04:56:02Z"),
    ] {
        let found = rows(
            db,
            &bson!([{}]),
            &[doc! { "$project": { "r": expression.clone() } }],
        )
        .await;
        assert_eq!(found, Ok(vec![doc! { "r": date(expected) }]), "{expression}");
    }
    let text = |zone: &str, at: &str| {
        doc! { "$dateToString": { "date": date(at), "timezone": zone, "format": "%Y-%m-%dT%H:%M:%S%z %Z" } }
    };
    for (expression, expected) in [
        (
            text(place, "2020-07-01T00:00:00Z"),
            "2020-06-30T20:00:00-0400 -240",
        ),
        (
            text(place, "1800-01-02T00:00:00Z"),
            "1800-01-01T19:03:58-0456 -296",
        ),
        (
            text(place, "2400-07-02T00:00:00Z"),
            "2400-07-01T20:00:00-0400 -240",
        ),
        (
            text("Australia/Lord_Howe", "9998-07-02T00:00:00Z"),
            "9998-07-02T10:30:00+1030 630",
        ),
        (
            text("+25:00", "2020-07-01T00:00:00Z"),
            "2020-07-02T01:00:00+2500 1500",
        ),
    ] {
        let found = rows(
            db,
            &bson!([{}]),
            &[doc! { "$project": { "r": expression.clone() } }],
        )
        .await;
        assert_eq!(found, Ok(vec![doc! { "r": expected }]), "{expression}");
    }
    let hours = doc! { "$dateDiff": {
        "startDate": date("2020-03-08T04:30:00Z"), "endDate": date("2020-03-09T03:30:00Z"),
        "unit": "hour", "timezone": place,
    } };
    let found = rows(db, &bson!([{}]), &[doc! { "$project": { "r": hours } }]).await;
    assert_eq!(found, Ok(vec![doc! { "r": 23_i64 }]));
    for zone in ["america/new_york", "PST", "Nowhere/Else", "", "+5", "GMT+5"] {
        let expression = doc! { "$hour": { "date": date("2020-07-01T00:00:00Z"), "timezone": zone } };
        let found = rows(db, &bson!([{}]), &[doc! { "$project": { "r": expression } }]).await;
        assert_eq!(found, Err(40485), "{zone}");
    }
}

async fn collections_are_described(db: &Db) {
    let things = db.raw_collection("things");
    for id in 0..3 {
        things.insert(doc! { "_id": id }).await.unwrap();
    }
    let stage = doc! { "$collStats": { "count": {}, "storageStats": { "scale": 1 } } };
    let found = things.aggregate_raw([stage]).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].get_i32("count").unwrap(), 3);
    let sizes = found[0].get_document("storageStats").unwrap();
    assert_eq!(sizes.get_i32("count").unwrap(), 3);
    assert_eq!(sizes.get_i32("nindexes").unwrap(), 1);
    let found = things.aggregate_raw([doc! { "$indexStats": {} }]).await.unwrap();
    assert_eq!(found[0].get_str("name").unwrap(), "_id_");
    for (pipeline, code) in [
        (vec![doc! { "$collStats": 1 }], 5_447_000),
        (vec![doc! { "$collStats": { "count": { "x": 1 } } }], 31170),
        (
            vec![doc! { "$collStats": { "storageStats": { "scale": 0 } } }],
            51024,
        ),
        (vec![doc! { "$match": {} }, doc! { "$collStats": {} }], 40602),
        (vec![doc! { "$indexStats": { "a": 1 } }], 28803),
        (vec![doc! { "$planCacheStats": 1 }], 9),
        (vec![doc! { "$facet": { "a": [{ "$indexStats": {} }] } }], 40600),
    ] {
        let refused = things.aggregate_raw(pipeline.clone()).await.unwrap_err();
        assert_eq!(refused.code(), Some(code), "{pipeline:?}");
    }
}

async fn early_groups_have_codes_of_their_own(db: &Db) {
    let things = db.raw_collection("things");
    things.insert(doc! { "_id": 1, "a": 1, "z": 0 }).await.unwrap();
    let group = |of: Document| doc! { "$group": { "_id": Bson::Null, "r": { "$push": of } } };
    let divide = || doc! { "$divide": ["$a", "$z"] };
    for (pipeline, code) in [
        (vec![group(divide())], 4_848_401),
        (vec![doc! { "$match": { "a": 1 } }, group(divide())], 4_848_401),
        (vec![doc! { "$set": { "b": 1 } }, group(divide())], 2),
        (vec![doc! { "$project": { "r": divide() } }], 2),
        (vec![group(doc! { "$mod": ["$a", "$z"] })], 4_848_403),
        (vec![group(doc! { "$concat": ["$a", "b"] })], 5_073_001),
    ] {
        let refused = things.aggregate_raw(pipeline.clone()).await.unwrap_err();
        assert_eq!(refused.code(), Some(code), "{pipeline:?}");
    }
}

async fn the_greatest_of_equals_in_a_window_is_the_last(db: &Db) {
    let rows = db.raw_collection("equals");
    let values = [Bson::Int32(1), Bson::Double(1.0), Bson::Int64(1), Bson::Int32(0)];
    let documents = values.iter().enumerate();
    let documents: Vec<_> = documents
        .map(|(id, value)| doc! { "_id": id as i32, "v": value })
        .collect();
    rows.insert_many(&documents).await.unwrap();
    let windows = async |bounds: [Bson; 2]| -> Vec<Bson> {
        let output = doc! { "w": { "$max": "$v", "window": { "documents": bounds.to_vec() } } };
        let stage = doc! { "$setWindowFields": { "sortBy": { "_id": 1 }, "output": output } };
        let found = rows.aggregate_raw([stage]).await.unwrap();
        found.iter().map(|row| row.get("w").unwrap().clone()).collect()
    };
    let one = || Bson::Int32(1);
    // A window that loses documents keeps them sorted, one that only grows keeps the first.
    assert_eq!(
        windows([Bson::Int32(-1), Bson::Int32(0)]).await,
        [one(), Bson::Double(1.0), Bson::Int64(1), Bson::Int64(1)]
    );
    assert_eq!(
        windows(["unbounded".into(), "current".into()]).await,
        [one(), one(), one(), one()]
    );
}
