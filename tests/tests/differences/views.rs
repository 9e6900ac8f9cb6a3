//! What was found to differ of views: what may stand in a `$facet` depends on them.

use odm::Db;
use odm::bson::{Document, doc};
use odm_tests::command::{code, insert, run};

crate::on_every_backend! {
    facets_read_no_view_of_what_stands_in_no_facet,
}

async fn facets_read_no_view_of_what_stands_in_no_facet(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": 1 }]).await;
    run(db, doc! { "create": "s", "timeseries": { "timeField": "t" } }).await;
    let lookup = |from: &str, pipeline: Vec<Document>| doc! { "$lookup": { "from": from, "as": "x", "pipeline": pipeline } };
    for (name, on, pipeline) in [
        ("plain", "c", vec![doc! { "$match": {} }]),
        ("counted", "c", vec![doc! { "$collStats": { "count": {} } }]),
        ("above", "counted", vec![doc! { "$match": {} }]),
        ("faceted", "c", vec![doc! { "$facet": { "a": [] } }]),
        (
            "near",
            "c",
            vec![doc! { "$geoNear": { "near": [0, 0], "distanceField": "d" } }],
        ),
        ("of_series", "s", vec![]),
        ("joined", "c", vec![lookup("counted", vec![])]),
    ] {
        run(db, doc! { "create": name, "viewOn": on, "pipeline": pipeline }).await;
    }
    let facet = |stage: Document| doc! { "$facet": { "q": [stage] } };
    let union = |from: &str| doc! { "$unionWith": from };
    let by_fields = |from: &str| {
        doc! { "$lookup": { "from": from, "as": "x", "localField": "a", "foreignField": "a" } }
    };
    for (stage, expected) in [
        (facet(lookup("plain", vec![])), 0),
        (facet(union("plain")), 0),
        (facet(lookup("counted", vec![])), 40600),
        (facet(union("counted")), 40600),
        (facet(lookup("above", vec![])), 40600),
        (facet(lookup("faceted", vec![])), 40600),
        (facet(lookup("near", vec![])), 40600),
        (facet(lookup("s", vec![])), 40600),
        (facet(union("of_series")), 40600),
        (facet(lookup("joined", vec![])), 40600),
        (facet(lookup("c", vec![union("s")])), 40600),
        (facet(by_fields("s")), 0),
        (facet(by_fields("counted")), 0),
        (lookup("c", vec![facet(union("s"))]), 40600),
        (lookup("c", vec![union("s")]), 0),
    ] {
        for of in ["c", "plain", "missing"] {
            let command = doc! { "aggregate": of, "pipeline": [stage.clone()], "cursor": {} };
            assert_eq!(code(db, command).await, expected, "{of} {stage}");
        }
    }
}
