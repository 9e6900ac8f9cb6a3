//! The cases that a real server answered, when they are at hand.

use super::*;

#[test]
fn recorded_answers() {
    let root = std::env::var_os("ODM_SHARED_DATA").map_or_else(
        || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"),
        std::path::PathBuf::from,
    );
    let file = root.join("semantics/cases.json");
    let Ok(text) = std::fs::read_to_string(&file) else {
        println!("skipped: {} is not there; set ODM_SHARED_DATA", file.display());
        return;
    };
    let cases: Vec<serde_json::Value> = serde_json::from_str(&text).expect("cases");
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in cases.iter().filter(|case| case["kind"] == "update") {
        count += 1;
        let mut docs = all_bytes(&case["docs"]);
        let reply = run(
            &mut docs,
            &Request {
                filter: &case["q"],
                update: &case["u"],
                filters: &case["af"],
                upsert: case["upsert"] == true,
                multi: false,
            },
        );
        let expected = &case["expect"];
        let agrees = match &reply {
            Err(_) => expected == "ERR",
            Ok(reply) => {
                reply.matched == expected["n"]
                    && reply.modified == expected["m"]
                    && docs.len() == expected["docs"].as_array().map_or(0, Vec::len)
                    && docs.iter().zip(all_bytes(&expected["docs"])).all(|(a, b)| {
                        let with_id = !reply.upserted || case["q"].get("_id").is_some();
                        shown(a, with_id) == shown(&b, with_id)
                    })
            }
        };
        if !agrees {
            wrong.push(format!("{case}\n   gave {reply:?} {:?}", raw(&docs)));
        }
    }
    assert!(count > 0, "no cases");
    assert!(
        wrong.is_empty(),
        "{} of {count} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
