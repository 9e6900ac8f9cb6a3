//! What derived fields can be asked for.

use odm::{Db, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    derived_fields_are_asked_for,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
#[odm(
    collection = "essays",
    index(keys(slug), unique),
    index(keys(desc(words), title))
)]
struct Essay {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    slug: odm::Derived<Slug>,
    words: odm::Derived<Words>,
    parts: odm::Derived<Parts>,
}
#[derive(Debug)]
struct Slug;
#[derive(Debug)]
struct Words;
#[derive(Debug)]
struct Parts;
fn words(document: &bson::RawDocument) -> Vec<String> {
    document
        .get_str("title")
        .unwrap_or_default()
        .to_lowercase()
        .split(' ')
        .map(str::to_owned)
        .collect()
}
impl odm::Derivation for Slug {
    type Value = String;
    fn sources() -> Vec<String> {
        vec!["title".to_owned()]
    }
    fn derive(document: &bson::RawDocument, _: bson::DateTime) -> odm::Result<bson::RawBson> {
        Ok(words(document).join("-").into())
    }
}
impl odm::Derivation for Words {
    type Value = Option<i64>;
    fn sources() -> Vec<String> {
        vec!["title".to_owned()]
    }
    fn derive(document: &bson::RawDocument, _: bson::DateTime) -> odm::Result<bson::RawBson> {
        Ok(match words(document).as_slice() {
            [one] if one.is_empty() => bson::RawBson::Null,
            words => bson::RawBson::Int64(words.len() as i64),
        })
    }
}
impl odm::Derivation for Parts {
    type Value = Vec<String>;
    fn sources() -> Vec<String> {
        vec!["title".to_owned()]
    }
    fn derive(document: &bson::RawDocument, _: bson::DateTime) -> odm::Result<bson::RawBson> {
        Ok(bson::RawBson::Array(
            words(document).into_iter().map(bson::RawBson::String).collect(),
        ))
    }
}

async fn derived_fields_are_asked_for(db: &Db) {
    let essays = db.collection::<Essay>();
    essays.create_indexes().await.unwrap();
    for (id, title) in [
        (1, "On Liberty"),
        (2, "Of the Standard of Taste"),
        (3, ""),
        (4, "Of Studies"),
    ] {
        essays
            .insert(Essay {
                id,
                title: title.to_owned(),
                slug: Default::default(),
                words: Default::default(),
                parts: Default::default(),
            })
            .await
            .unwrap();
    }
    let e = Essay::fields();
    let title = String::from("of-studies");
    for (filter, expected) in [
        (e.slug.eq("on-liberty"), vec![1]),
        (e.slug.eq(&title), vec![4]),
        (e.slug.ne("on-liberty"), vec![2, 3, 4]),
        (e.slug.is_in(["on-liberty", "of-studies"]), vec![1, 4]),
        (e.slug.starts_with("of-"), vec![2, 4]),
        (e.slug.contains("-st"), vec![2, 4]),
        (e.slug.gt("of-studies"), vec![1, 2]),
        (e.slug.exists(), vec![1, 2, 3, 4]),
        (e.words.gt(2), vec![2]),
        (e.words.eq(2), vec![1, 4]),
        (e.words.is_none(), vec![3]),
        (e.words.is_some() & e.words.lte(2), vec![1, 4]),
        (e.parts.has("taste"), vec![2]),
        (e.parts.has_all(["of", "studies"]), vec![4]),
        (e.parts.any().starts_with("li"), vec![1]),
        (e.parts.size(2), vec![1, 4]),
        (e.slug.value().concat("!").eq("on-liberty!").holds(), vec![1]),
        (e.words.value().eq(2_i64).holds(), vec![1, 4]),
        (e.parts.value().contains("studies").holds(), vec![4]),
    ] {
        let text = format!("{filter:?}");
        let found: Vec<i32> = essays
            .find(|_| filter)
            .sort(|e| e.id.asc())
            .await
            .unwrap_or_else(|e| panic!("{text}: {e:?}"))
            .iter()
            .map(|e| e.id)
            .collect();
        assert_eq!(found, expected, "{text}");
    }
    let sorted = essays
        .find_all()
        .sort(|e| e.words.desc() & e.slug.asc())
        .await
        .unwrap();
    assert_eq!(sorted.iter().map(|e| e.id).collect::<Vec<_>>(), [2, 4, 1, 3]);
    let mut slugs = essays
        .distinct(|e| e.slug.field())
        .filter(|e| e.words.gt(1))
        .await
        .unwrap();
    slugs.sort();
    assert_eq!(slugs, ["of-studies", "of-the-standard-of-taste", "on-liberty"]);
    let page = essays
        .find_all()
        .sort(|e| e.slug.asc() & e.id.asc())
        .page(2)
        .await
        .unwrap();
    assert_eq!(page.items.iter().map(|e| e.id).collect::<Vec<_>>(), [3, 4]);
}
