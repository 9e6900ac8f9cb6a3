//! Pages by place and by number.

use bson::{Bson, Document, doc};
use odm::action::{Find, PageToken};
use odm::{Db, Embedded, ErrorKind, Filter, Id, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    pages_are_walked_both_ways,
    pages_hold_under_inserts_and_deletes,
    tokens_are_bound_to_their_sort,
    pages_say_what_they_cannot,
    pages_project_and_cost_one_round_trip,
    pages_read_only_their_part_of_the_index,
    numbered_pages_know_the_total,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(index(keys(desc(year), asc(title), asc(id))))]
struct Volume {
    #[serde(rename = "_id")]
    id: i32,
    year: i32,
    title: String,
    #[serde(default)]
    subtitle: Option<String>,
    text: String,
}

fn volume(id: i32) -> Volume {
    Volume {
        id,
        year: 1900 + id % 10,
        title: format!("title {}", id % 7),
        subtitle: (id % 3 == 0).then(|| format!("subtitle {}", id % 4)),
        text: "...".to_owned(),
    }
}

async fn volumes(db: &Db, count: i32) -> odm::Collection<Volume> {
    let volumes = db.collection::<Volume>();
    volumes.create_indexes().await.unwrap();
    let all: Vec<Volume> = (0..count).map(volume).collect();
    volumes.insert_many(&all).await.unwrap();
    volumes
}

/// Walks to the end and back, and holds every page against the whole list.
pub(super) async fn walk<D: odm::Record>(find: Find<D, Document>, whole: &[Bson], size: u32) {
    let ids = |items: &[Document]| -> Vec<Bson> {
        items
            .iter()
            .map(|item| item.get("_id").cloned().unwrap_or(Bson::Null))
            .collect()
    };
    let pages: Vec<&[Bson]> = whole.chunks(size as usize).collect();
    let mut page = find.clone().page(size).await.unwrap();
    assert_eq!(page.previous, None);
    for (number, expected) in pages.iter().enumerate() {
        assert_eq!(ids(&page.items), *expected, "page {number}");
        assert_eq!(page.has_more, number + 1 < pages.len());
        assert_eq!(page.next.is_some(), page.has_more);
        if let Some(next) = &page.next {
            page = find.clone().page(size).after(next).await.unwrap();
        }
    }
    let mut end = whole.len() - pages.last().map_or(0, |last| last.len());
    while let Some(previous) = &page.previous {
        page = find.clone().page(size).before(previous).await.unwrap();
        let start = end.saturating_sub(size as usize);
        assert_eq!(ids(&page.items), whole[start..end]);
        assert_eq!((page.has_more, page.previous.is_some()), (start > 0, start > 0));
        assert!(page.next.is_some() || end == whole.len());
        end = start;
    }
    assert_eq!(end, 0);
}

async fn pages_are_walked_both_ways(db: &Db) {
    let volumes = volumes(db, 60).await;
    let find = volumes.find(|v| v.id.lt(55));
    for (sort, one_by_one) in [
        (doc! { "year": -1, "title": 1 }, true),
        (doc! { "year": 1, "title": 1 }, false),
        (doc! { "title": -1 }, false),
        (doc! { "subtitle": 1 }, false),
        (doc! { "subtitle": -1, "year": 1 }, false),
        (doc! { "_id": -1 }, false),
        (doc! {}, false),
    ] {
        let find = find.clone().untyped();
        let find = if sort.is_empty() {
            find
        } else {
            find.sort_raw(sort.clone())
        };
        let last = sort.values().last().and_then(Bson::as_i32).unwrap_or(1);
        let mut total = sort.clone();
        if !total.contains_key("_id") {
            total.insert("_id", last);
        }
        let whole = find.clone().sort_raw(total).await.unwrap();
        let whole: Vec<Bson> = whole
            .iter()
            .map(|item| item.get("_id").cloned().unwrap())
            .collect();
        assert_eq!(whole.len(), 55);
        for size in [1, 11, 54, 55, 56] {
            // One by one is many round trips: for one sort.
            if size > 1 || one_by_one {
                walk(find.clone(), &whole, size).await;
            }
        }
    }
}

async fn pages_hold_under_inserts_and_deletes(db: &Db) {
    let volumes = volumes(db, 50).await;
    let list = || volumes.find_all().sort(|v| v.id.asc());
    let first = list().page(10).await.unwrap();
    let next = first.next.unwrap();
    // The document at the token, one before it and one behind it go; one comes before it and one behind it.
    volumes.delete_many(|v| v.id.is_in([9, 3, 12])).await.unwrap();
    volumes.insert_many([volume(-1), volume(60)]).await.unwrap();
    let second = list().page(10).after(&next).await.unwrap();
    let ids: Vec<i32> = second.items.iter().map(|volume| volume.id).collect();
    assert_eq!(ids, [10, 11, 13, 14, 15, 16, 17, 18, 19, 20]);
    let back = list()
        .page(10)
        .before(second.previous.as_ref().unwrap())
        .await
        .unwrap();
    let ids: Vec<i32> = back.items.iter().map(|volume| volume.id).collect();
    assert_eq!((ids, back.has_more), (vec![-1, 0, 1, 2, 4, 5, 6, 7, 8], false));

    // All that follows goes: the way back begins at what the token stood at.
    volumes.delete_many(|v| v.id.gt(20)).await.unwrap();
    let empty = list()
        .page(10)
        .after(second.next.as_ref().unwrap())
        .await
        .unwrap();
    assert_eq!(
        (empty.items.len(), empty.has_more, &empty.next),
        (0, false, &None)
    );
    let back = list().page(3).before(empty.previous.unwrap()).await.unwrap();
    let ids: Vec<i32> = back.items.iter().map(|volume| volume.id).collect();
    assert_eq!(ids, [18, 19, 20]);
    volumes.delete_many(|v| v.id.lt(18)).await.unwrap();
    let empty = list().page(3).before(back.previous.unwrap()).await.unwrap();
    assert_eq!(
        (empty.items.len(), empty.has_more, &empty.previous),
        (0, false, &None)
    );
    let again = list().page(3).after(empty.next.unwrap()).await.unwrap();
    assert_eq!(again.items.len(), 3);
}

async fn tokens_are_bound_to_their_sort(db: &Db) {
    let volumes = volumes(db, 30).await;
    let by_year = || volumes.find_all().sort(|v| v.year.desc() & v.title.asc());
    let token = by_year().page(5).await.unwrap().next.unwrap();
    let refused = |result: odm::Result<odm::action::Page<Volume>>| {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PageToken, "{error}");
        assert_eq!(error.model(), Some("Volume"));
        error.message().to_owned()
    };
    let other = volumes
        .find_all()
        .sort(|v| v.year.asc() & v.title.asc())
        .page(5)
        .after(&token)
        .await;
    assert!(refused(other).contains("another sort"));
    let other = volumes
        .find_all()
        .sort(|v| v.year.desc())
        .page(5)
        .before(&token)
        .await;
    assert!(refused(other).contains("another sort"));
    // Another filter and another size are the same list.
    let found = volumes
        .find(|v| v.id.gt(3))
        .sort(|v| v.year.desc() & v.title.asc())
        .page(2)
        .after(&token)
        .await;
    assert_eq!(found.unwrap().items.len(), 2);

    let text = token.as_str();
    for position in 0..text.len() {
        let letter = if &text[position..=position] == "A" {
            "B"
        } else {
            "A"
        };
        let changed = format!("{}{letter}{}", &text[..position], &text[position + 1..]);
        refused(by_year().page(5).after(changed).await);
        refused(by_year().page(5).after(&text[..position]).await);
    }
    for garbage in [
        "",
        " ",
        "x",
        "{\"$where\": \"1\"}",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "💥",
    ] {
        refused(by_year().page(5).after(garbage).await);
    }
    // Tokens travel as text.
    let text = serde_json::to_string(&token).unwrap();
    let back: PageToken = serde_json::from_str(&text).unwrap();
    assert_eq!(
        by_year().page(5).after(back).await.unwrap(),
        by_year().page(5).after(&token).await.unwrap()
    );
}

async fn pages_say_what_they_cannot(db: &Db) {
    let lists = db.raw_collection("lists");
    lists
        .insert_many([
            doc! { "_id": 1, "a": 5 },
            doc! { "_id": 2, "a": ["d", "I"] },
            doc! { "_id": 3, "a": [] },
            doc! { "_id": 4, "a": bson::Regex { pattern: bson::cstr!("x").into(), options: bson::cstr!("").into() } },
            doc! { "_id": 5, "b": [{ "c": 1 }] },
        ])
        .await
        .unwrap();
    for (filter, sort, path, id) in [
        (doc! { "_id": 4 }, "a", "a", 4),
        (doc! { "_id": 5 }, "b.c", "b.c", 5),
    ] {
        let error = lists
            .find(filter)
            .sort_raw(doc! { sort: 1 })
            .page(5)
            .await
            .unwrap_err();
        assert_eq!(
            (error.kind(), error.path()),
            (ErrorKind::InvalidArgument, Some(path))
        );
        assert_eq!(error.id(), Some(&Bson::Int32(id)));
    }
    // The least string by a collation is the database's to know.
    let collated = lists.find(doc! { "_id": 2 }).sort_raw(doc! { "a": 1 });
    let error = collated
        .collation(doc! { "locale": "en" })
        .page(5)
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::InvalidArgument, Some("a"))
    );
    let kind = |result: odm::Result<odm::action::Page<Document>>| result.unwrap_err().kind();
    let find = || lists.find(doc! { "_id": { "$ne": 4 } });
    assert_eq!(kind(find().page(0).await), ErrorKind::InvalidArgument);
    assert_eq!(kind(find().skip(1).page(5).await), ErrorKind::InvalidArgument);
    assert_eq!(kind(find().limit(1).page(5).await), ErrorKind::InvalidArgument);
    assert_eq!(
        kind(find().sort_raw(doc! { "$natural": 1 }).page(5).await),
        ErrorKind::InvalidArgument
    );
    let scored = doc! { "s": { "$meta": "textScore" } };
    assert_eq!(
        kind(find().sort_raw(scored).page(5).await),
        ErrorKind::InvalidArgument
    );
    let hidden = find()
        .sort_raw(doc! { "a": 1 })
        .project_raw(doc! { "a": 0 })
        .page(5)
        .await;
    assert_eq!(kind(hidden), ErrorKind::InvalidArgument);
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Spine {
    title: String,
}

async fn pages_project_and_cost_one_round_trip(db: &Db) {
    volumes(db, 250).await;
    let (db, log) = db.logged();
    let volumes = db.collection::<Volume>();
    let list = || volumes.find_all().sort(|v| v.year.asc()).project::<Spine>();
    let first = list().page(120).await.unwrap();
    let second = list()
        .page(120)
        .after(first.next.as_ref().unwrap())
        .await
        .unwrap();
    assert_eq!((first.items.len(), second.items.len()), (120, 120));
    assert_eq!(log.counts(), [("find", 2)]);
    assert_ne!(first.items[119], second.items[0]);
    let raw = volumes
        .find_all()
        .project_raw(doc! { "text": 0 })
        .page(2)
        .await
        .unwrap();
    assert!(!raw.items[0].contains_key("text") && raw.next.is_some());
}

/// The keys that a page examines do not grow with its depth.
async fn pages_read_only_their_part_of_the_index(db: &Db) {
    let volumes = volumes(db, 2000).await;
    let list = || volumes.find_all().sort(|v| v.year.desc() & v.title.asc());
    let mut token = list().page(20).await.unwrap().next;
    for depth in 0..60 {
        let page = list().page(20).after(token.as_ref().unwrap());
        if depth % 20 == 19 {
            let before = list().page(20).before(token.as_ref().unwrap());
            for page in [page.clone(), before] {
                let plan = page.explain().executed().await.unwrap();
                assert!(
                    !plan.to_string().contains("COLLSCAN") && !plan.to_string().contains("\"SORT\""),
                    "{plan}"
                );
                let counts = plan.get_document("executionStats").unwrap();
                // MongoDB counts what passes two fetches twice.
                for (name, most) in [("totalKeysExamined", 40), ("totalDocsExamined", 60)] {
                    let examined = match counts.get(name) {
                        Some(Bson::Int32(count)) => i64::from(*count),
                        Some(Bson::Int64(count)) => *count,
                        other => panic!("{other:?}"),
                    };
                    assert!(
                        (20..=most).contains(&examined),
                        "{name} {examined} at {depth}: {plan}"
                    );
                }
            }
        }
        token = page.await.unwrap().next;
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
struct Note {
    #[serde(rename = "_id")]
    id: Id<Note>,
    rank: i32,
    #[odm(soft_delete)]
    deleted: Option<bson::DateTime>,
}

async fn numbered_pages_know_the_total(db: &Db) {
    let all: Vec<Note> = (0..25)
        .map(|rank| Note {
            id: Id::new(),
            rank,
            deleted: None,
        })
        .collect();
    db.collection::<Note>().insert_many(&all).await.unwrap();
    let (db, log) = db.logged();
    let notes = db.collection::<Note>();
    notes.delete_many(|n| n.rank.gte(23)).await.unwrap();
    log.take();
    let list = || notes.find(|n| n.rank.gte(1)).sort(|n| n.rank.asc());
    let page = list().page_number(3, 10).await.unwrap();
    let ranks: Vec<i32> = page.items.iter().map(|note| note.rank).collect();
    assert_eq!(ranks, [21, 22]);
    assert_eq!((page.number, page.size, page.total, page.pages), (3, 10, 22, 3));
    assert_eq!(log.take().len(), 2);
    let behind = list().page_number(4, 10).await.unwrap();
    assert_eq!((behind.items.len(), behind.total, behind.pages), (0, 22, 3));
    assert_eq!(log.take().len(), 1);
    let all = list().with_deleted().page_number(1, 30).await.unwrap();
    assert_eq!((all.items.len(), all.total, all.pages), (24, 24, 1));
    let none = notes.find(|_| Filter::none()).page_number(1, 10).await.unwrap();
    assert_eq!((none.total, none.pages), (0, 0));
    for page in [
        list().page_number(0, 10),
        list().page_number(1, 0),
        list().skip(1).page_number(1, 5),
    ] {
        assert_eq!(page.await.unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    // Deleted ones are on no page by place either.
    let last = list().page(30).await.unwrap();
    assert_eq!((last.items.len(), last.has_more), (22, false));
    assert_eq!(list().only_deleted().page(30).await.unwrap().items.len(), 2);
}
