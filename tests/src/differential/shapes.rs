//! Random shapes: what lies in what, what meets what, and what is near, on both backends.

use bson::{Bson, Document, bson, doc};
use odm::Db;

use crate::random::Random;

/// What came out of a run.
#[derive(Debug, Default)]
pub struct ShapeReport {
    /// How many shapes were stored.
    pub shapes: usize,
    /// How many questions were asked.
    pub questions: usize,
    /// Questions that were answered differently.
    pub differences: Vec<String>,
}

/// Stores random shapes in both databases and asks both the same questions, without an index and with one.
pub async fn compare_shapes(
    ours: &Db,
    theirs: &Db,
    seed: u64,
    shapes: usize,
    questions: usize,
) -> ShapeReport {
    let mut random = Random::new(seed);
    let mut report = ShapeReport::default();
    for collection in ["bare", "indexed"] {
        if collection == "indexed" {
            let index = doc! {
                "createIndexes": collection,
                "indexes": [{ "key": { "place": "2dsphere" }, "name": "place_2dsphere" }],
            };
            for db in [ours, theirs] {
                db.run_command(index.clone()).await.expect("the index is built");
            }
        }
        let mut at = 0;
        while at < shapes {
            let documents: Vec<Document> = (at..shapes.min(at + 200))
                .map(|id| doc! { "_id": id as i32, "place": shape(&mut random) })
                .collect();
            at += documents.len();
            report.shapes += documents.len();
            let insert = doc! { "insert": collection, "documents": &documents, "ordered": false };
            let (mine, other) = (refused(ours, &insert).await, refused(theirs, &insert).await);
            for (position, document) in documents.iter().enumerate() {
                let code = |all: &[(i32, i32)]| {
                    let own = all.iter().find(|(index, _)| *index == position as i32);
                    own.map(|(_, code)| *code)
                };
                if code(&mine) != code(&other) {
                    report.differences.push(format!(
                        "{document}: refused with {:?}, by mongod with {:?}",
                        code(&mine),
                        code(&other)
                    ));
                }
            }
        }
        for _ in 0..questions {
            let filter = question(&mut random, collection == "indexed");
            report.questions += 1;
            let (mine, other) = (
                found(ours, collection, &filter).await,
                found(theirs, collection, &filter).await,
            );
            if mine != other {
                report.differences.push(difference(&filter, &mine, &other));
            }
        }
    }
    report
}

fn difference(filter: &Document, mine: &Result<Vec<i32>, i32>, other: &Result<Vec<i32>, i32>) -> String {
    match (mine, other) {
        (Ok(mine), Ok(other)) => {
            let only = |of: &[i32], not: &[i32]| -> Vec<i32> {
                of.iter().copied().filter(|id| !not.contains(id)).collect()
            };
            format!(
                "{filter}: only ours {:?}, only mongod's {:?}",
                only(mine, other),
                only(other, mine)
            )
        }
        _ => format!("{filter}: {mine:?}, by mongod {other:?}"),
    }
}

/// The positions of refused documents, with codes.
async fn refused(db: &Db, insert: &Document) -> Vec<(i32, i32)> {
    let reply = db.run_command(insert.clone()).await.expect("a reply");
    let errors = reply.get_array("writeErrors").cloned().unwrap_or_default();
    let number = |error: &Bson, name: &str| error.as_document().and_then(|error| error.get_i32(name).ok());
    errors
        .iter()
        .filter_map(|error| Some((number(error, "index")?, number(error, "code")?)))
        .collect()
}

/// The sorted ids of what is found, or the code of the refusal.
async fn found(db: &Db, collection: &str, filter: &Document) -> Result<Vec<i32>, i32> {
    let find =
        doc! { "find": collection, "filter": filter, "projection": { "_id": 1 }, "batchSize": 100_000 };
    let reply = db
        .run_command(find)
        .await
        .map_err(|error| error.code().unwrap_or(0))?;
    let cursor = reply.get_document("cursor").expect("a cursor");
    let batch = cursor.get_array("firstBatch").expect("a batch");
    let mut ids: Vec<i32> = batch
        .iter()
        .filter_map(|row| row.as_document().and_then(|row| row.get_i32("_id").ok()))
        .collect();
    ids.sort_unstable();
    Ok(ids)
}

fn question(random: &mut Random, indexed: bool) -> Document {
    let (x, y) = place(random);
    match random.below(if indexed { 6 } else { 5 }) {
        0 => doc! { "place": { "$geoWithin": { "$geometry": polygon(random) } } },
        1 => doc! { "place": { "$geoIntersects": { "$geometry": shape(random) } } },
        2 => {
            let radius = f64::from(1 + random.below(60) as u32) / 50.0;
            doc! { "place": { "$geoWithin": { "$centerSphere": [[x, y], radius] } } }
        }
        3 => {
            let (z, w) = place(random);
            doc! { "place": { "$geoWithin": { "$box": [[x, y], [z, w]] } } }
        }
        4 => {
            let corners: Vec<Bson> = (0..3 + random.below(4))
                .map(|_| place(random))
                .map(|(x, y)| bson!([x, y]))
                .collect();
            doc! { "place": { "$geoWithin": { "$polygon": corners } } }
        }
        _ => {
            let most = f64::from(random.below(8_000) as u32) * 1000.0;
            let center = doc! { "type": "Point", "coordinates": [x, y] };
            doc! { "place": { "$near": { "$geometry": center, "$minDistance": most / 4.0, "$maxDistance": most } } }
        }
    }
}

/// A place: often on whole degrees, where shapes touch; sometimes at a pole or the date line.
fn place(random: &mut Random) -> (f64, f64) {
    match random.below(10) {
        0 => (180.0 - random.below(3) as f64, random.below(21) as f64 - 10.0),
        1 => (random.below(360) as f64 - 180.0, 90.0 - random.below(2) as f64),
        2..=6 => (random.below(41) as f64 - 20.0, random.below(41) as f64 - 20.0),
        _ => (fraction(random) * 360.0 - 180.0, fraction(random) * 180.0 - 90.0),
    }
}

fn fraction(random: &mut Random) -> f64 {
    (random.bits() >> 11) as f64 / (1u64 << 53) as f64
}

fn shape(random: &mut Random) -> Bson {
    let pair = |(x, y): (f64, f64)| bson!([x, y]);
    match random.below(8) {
        0 => pair(place(random)),
        1 | 2 => bson!({ "type": "Point", "coordinates": pair(place(random)) }),
        3 => {
            let places: Vec<Bson> = (0..2 + random.below(3)).map(|_| pair(place(random))).collect();
            bson!({ "type": "LineString", "coordinates": places })
        }
        4 => {
            let places: Vec<Bson> = (0..1 + random.below(3)).map(|_| pair(place(random))).collect();
            bson!({ "type": "MultiPoint", "coordinates": places })
        }
        5 => {
            let polygons: Vec<Bson> = (0..1 + random.below(2)).map(|_| rings(random)).collect();
            bson!({ "type": "MultiPolygon", "coordinates": polygons })
        }
        _ => polygon(random),
    }
}

fn polygon(random: &mut Random) -> Bson {
    bson!({ "type": "Polygon", "coordinates": rings(random) })
}

/// An outer ring around a place, sometimes with a hole, wound either way.
fn rings(random: &mut Random) -> Bson {
    let center = place(random);
    let size = [1.0, 2.0, 5.0, 10.0, 30.0][random.below(5)];
    let mut rings = vec![ring(random, center, size)];
    if random.one_in(4) {
        rings.push(ring(random, center, size / 4.0));
    }
    Bson::Array(rings)
}

fn ring(random: &mut Random, (x, y): (f64, f64), size: f64) -> Bson {
    let whole = random.one_in(2);
    let corners = if random.one_in(2) { 4 } else { 3 + random.below(4) };
    let mut places: Vec<(f64, f64)> = (0..corners)
        .map(|corner| {
            let angle = std::f64::consts::TAU * (corner as f64 + 0.5) / corners as f64;
            let reach = if whole {
                size
            } else {
                size * (0.5 + 0.5 * fraction(random))
            };
            let (dx, dy) = (reach * angle.cos(), reach * angle.sin());
            let at = |x: f64, d: f64| if whole { x + d.round() } else { x + d };
            let longitude = (at(x, dx) + 540.0).rem_euclid(360.0) - 180.0;
            // Two vertices at one pole are no ring, which the server finds out only where there is an index.
            (longitude, at(y, dy).clamp(-89.5, 89.5))
        })
        .collect();
    if random.one_in(3) {
        places.reverse();
    }
    places.push(places[0]);
    Bson::Array(places.into_iter().map(|(x, y)| bson!([x, y])).collect())
}
