use super::Projection;
use crate::native::document::Doc;
use crate::native::matcher::Matcher;

fn to_bytes(json: &serde_json::Value) -> Result<Vec<u8>, String> {
    let bson::Bson::Document(doc) = bson::Bson::try_from(json.clone()).map_err(|e| e.to_string())? else {
        panic!("not a document: {json}");
    };
    Ok(bson::serialize_to_vec(&doc).expect("BSON"))
}

#[test]
fn vectors() {
    let text = std::fs::read_to_string(std::env::var("VEC").unwrap()).unwrap();
    let mut tally: std::collections::BTreeMap<String, (usize, usize)> = Default::default();
    let mut out = String::new();
    for line in text.lines() {
        let v: serde_json::Value = serde_json::from_str(line).unwrap();
        let run = || -> Result<Vec<Vec<u8>>, (i32, String)> {
            let filter = to_bytes(&v["filter"]).map_err(|e| (-1, e))?;
            let proj = to_bytes(&v["proj"]).map_err(|e| (-1, e))?;
            let f = |f: crate::native::fault::Fault| (f.code(), f.message().to_owned());
            let m = Matcher::parse(Doc::Raw(&filter)).map_err(f)?;
            let p = Projection::parse(Doc::Raw(&proj), Some(&m)).map_err(f)?;
            let mut res = Vec::new();
            for d in v["docs"].as_array().unwrap() {
                let d = to_bytes(d).map_err(|e| (-1, e))?;
                let a = m.matches(Doc::Raw(&d)).map_err(f)?;
                let at = m.matches_at(Doc::Raw(&d)).map_err(f)?;
                assert_eq!(a, at.is_some());
                if let Some(at) = at {
                    res.push(p.apply(Doc::Raw(&d), at).map_err(f)?);
                }
            }
            Ok(res)
        };
        let got = run();
        let key = format!(
            "{}{}",
            v["g"].as_str().unwrap(),
            if v["geo"] == true { " geo/text" } else { "" }
        );
        let t = tally.entry(key).or_default();
        t.1 += 1;
        let good = match (&got, v["expect"].as_array()) {
            (Ok(g), Some(e)) => {
                let mut g = g.clone();
                let mut e: Vec<Vec<u8>> = e.iter().map(|d| to_bytes(d).unwrap()).collect();
                g.sort();
                e.sort();
                g == e
            }
            (Err(g), None) => {
                let code = v["error"][0]
                    .as_i64()
                    .unwrap_or_else(|| v["error"][0]["$numberInt"].as_str().unwrap().parse().unwrap())
                    as i32;
                let msg = v["error"][1]
                    .as_str()
                    .unwrap()
                    .replace("Executor error during find command :: caused by :: ", "");
                if g.0 == code && g.1 != msg {
                    out.push_str(&format!("MSG {} | {} | {}\n", v["id"], g.1, msg));
                }
                g.0 == code
            }
            _ => false,
        };
        if good {
            t.0 += 1;
        } else {
            if let (Ok(g), Some(e)) = (&got, v["expect"].as_array()) {
                for (g, e) in g.iter().zip(e) {
                    let e = to_bytes(e).unwrap();
                    if *g != e {
                        let id = bson::deserialize_from_slice::<bson::Document>(g)
                            .unwrap()
                            .get("_id")
                            .cloned();
                        let d = v["docs"]
                            .as_array()
                            .unwrap()
                            .iter()
                            .find(|d| Some(bson::Bson::try_from((*d)["_id"].clone()).unwrap()) == id)
                            .cloned();
                        out.push_str(&format!(
                            "DIFF p={} d={} got={} want={}\n",
                            v["proj"],
                            d.unwrap_or_default(),
                            bson::deserialize_from_slice::<bson::Document>(g).unwrap(),
                            bson::deserialize_from_slice::<bson::Document>(&e).unwrap()
                        ));
                        break;
                    }
                }
            }
            let show = match &got {
                Ok(g) => format!(
                    "{:?}",
                    g.iter()
                        .map(|b| bson::deserialize_from_slice::<bson::Document>(b).map(|d| d.to_string()))
                        .collect::<Vec<_>>()
                ),
                Err(e) => format!("{e:?}"),
            };
            out.push_str(&format!(
                "BAD {} f={} p={} got={} want={} {}\n",
                v["id"], v["filter"], v["proj"], show, v["expect"], v["error"]
            ));
        }
    }
    std::fs::write("/tmp/out.txt", out).unwrap();
    println!("{tally:#?}");
}
