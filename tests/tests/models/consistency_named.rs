//! Delete rules on references that name their collection: what goes, what stays, and what says no.

use std::collections::{BTreeMap, BTreeSet};

use bson::{Bson, DateTime, Document, doc};
use odm::backend::wrap::Fault;
use odm::{Db, DbRef, Embedded, ErrorKind, Model, Ref, Reference};
use serde::{Deserialize, Serialize};

use odm_tests::plain::Plain;

crate::on_every_backend! {
    each_rule_is_about_the_collection_that_is_named,
    every_way_to_delete_carries_them_out,
    rules_of_levels_follow_each_other,
    what_denies_is_named_and_nothing_is_written,
    rules_reach_into_embedded_documents,
    what_leads_elsewhere_stays,
    documents_that_lose_nothing_are_not_written,
    a_deletion_is_part_of_the_running_transaction,
    a_crash_at_any_write_leaves_what_a_second_try_finishes,
    the_number_of_round_trips_does_not_grow,
    dangling_references_are_repaired_where_they_lead,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "posts", referred_by(Comment, Bookmark, Album, Board))]
struct Post {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(
    collection = "photos",
    referred_by(Comment, Bookmark, Album, Board, Exhibition)
)]
struct Photo {
    #[serde(rename = "_id")]
    id: i32,
    album: i32,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Reference)]
enum Subject {
    Post(Ref<Post>),
    Photo(Ref<Photo>),
}

/// A comment, or a comment on one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "comments", referred_by(Vote))]
struct Comment {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(inverse = by_subject, on_delete = cascade)]
    subject: Subject,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "votes")]
struct Vote {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = cascade)]
    comment: DbRef<Comment>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "bookmarks")]
struct Bookmark {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(rename = "markedSubject")]
    #[odm(on_delete = nullify)]
    subject: Option<Subject>,
    #[odm(on_delete = nullify)]
    photo: Option<DbRef<Photo>>,
    #[odm(updated)]
    updated: DateTime,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "albums")]
struct Album {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = pull)]
    subjects: Vec<Subject>,
    #[odm(on_delete = pull)]
    liked: BTreeSet<Subject>,
    #[odm(on_delete = pull)]
    photos: Option<Vec<DbRef<Photo>>>,
    #[odm(version)]
    version: i64,
}

/// Keeps its photos.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "exhibitions")]
struct Exhibition {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = deny)]
    photos: Vec<DbRef<Photo>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Pin {
    #[serde(rename = "subjectRef")]
    subject: Subject,
    note: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Corner {
    subject: Option<Subject>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Wall {
    subjects: Vec<Subject>,
    corners: Vec<Corner>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(
    collection = "boards",
    reference(pins.any().subject: Subject, on_delete = pull),
    reference(corner.subject: Option<Subject>, on_delete = nullify),
    reference(corners.any().subject: Option<Subject>, on_delete = nullify),
    reference(walls.any().subjects: Vec<Subject>, on_delete = pull),
    reference(walls.any().corners.any().subject: Option<Subject>, on_delete = nullify),
    reference(slots.any_value().subject: Subject, on_delete = pull),
    reference(rooms.any_value().subjects: Vec<Subject>, on_delete = pull),
    reference(rooms.any_value().corners.any().subject: Option<Subject>, on_delete = nullify),
    reference(named.any_value(): Subject, on_delete = pull)
)]
struct Board {
    #[serde(rename = "_id")]
    id: i32,
    pins: Vec<Pin>,
    corner: Option<Corner>,
    corners: Vec<Corner>,
    walls: Vec<Wall>,
    slots: BTreeMap<String, Pin>,
    rooms: BTreeMap<String, Wall>,
    named: BTreeMap<String, Subject>,
    #[odm(version)]
    version: i64,
}

fn post(id: i32) -> Subject {
    Subject::Post(Ref::new(id))
}

fn photo(id: i32) -> Subject {
    Subject::Photo(Ref::new(id))
}

fn pictured(id: i32) -> DbRef<Photo> {
    DbRef::new("photos", id)
}

async fn ids(db: &Db, collection: &str) -> Vec<i32> {
    let all = db.raw_collection(collection).find(doc! {});
    let all = all.sort_raw(doc! { "_id": 1 }).await.unwrap();
    all.iter()
        .map(|document| document.get_i32("_id").unwrap())
        .collect()
}

async fn everything(db: &Db) -> Vec<Document> {
    let mut all = Vec::new();
    for collection in [
        "posts",
        "photos",
        "comments",
        "votes",
        "bookmarks",
        "albums",
        "boards",
    ] {
        let documents = db.raw_collection(collection).find(doc! {});
        all.extend(documents.sort_raw(doc! { "_id": 1 }).await.unwrap());
    }
    all
}

/// Posts and photos 1 to 3, and references to posts and photos of the same `_id`s.
async fn pages(db: &Db) {
    db.collection::<Post>()
        .insert_many([1, 2, 3].map(|id| Post { id }))
        .await
        .unwrap();
    let photos = [1, 2, 3].map(|id| Photo { id, album: 7 });
    db.collection::<Photo>().insert_many(photos).await.unwrap();
    let comment = |id, subject| Comment { id, subject };
    let comments = [
        comment(1, post(1)),
        comment(2, photo(1)),
        comment(3, photo(2)),
        comment(4, photo(1)),
    ];
    db.collection::<Comment>().insert_many(comments).await.unwrap();
    let vote = |id, comment| Vote {
        id,
        comment: DbRef::new("comments", comment),
    };
    db.collection::<Vote>()
        .insert_many([vote(1, 1), vote(2, 2), vote(4, 4)])
        .await
        .unwrap();
    let bookmark = |id, subject, photo: Option<i32>| Bookmark {
        id,
        subject,
        photo: photo.map(pictured),
        updated: DateTime::from_millis(0),
    };
    let bookmarks = [
        bookmark(1, Some(post(1)), Some(2)),
        bookmark(2, Some(photo(1)), Some(1)),
        bookmark(3, None, Some(1)),
        bookmark(4, Some(photo(1)), None),
    ];
    db.with_clock(|| DateTime::from_millis(0))
        .collection::<Bookmark>()
        .insert_many(bookmarks)
        .await
        .unwrap();
    let album = |id, subjects: &[Subject], photos: Option<&[i32]>| Album {
        id,
        subjects: subjects.to_vec(),
        liked: subjects.iter().cloned().collect(),
        photos: photos.map(|photos| photos.iter().copied().map(pictured).collect()),
        version: 0,
    };
    let albums = [
        album(1, &[post(1), photo(1), photo(2)], Some(&[1, 2, 1])),
        // The collection of one, the key of another one.
        album(2, &[post(1), photo(2)], Some(&[2])),
        album(3, &[photo(1)], None),
    ];
    db.collection::<Album>().insert_many(albums).await.unwrap();
}

/// What is there when photo 1 is gone.
async fn assert_without_photo_1(db: &Db) {
    assert_eq!(
        (ids(db, "posts").await, ids(db, "photos").await),
        (vec![1, 2, 3], vec![2, 3])
    );
    assert_eq!(
        (ids(db, "comments").await, ids(db, "votes").await),
        (vec![1, 3], vec![1])
    );
    let bookmarks = db
        .collection::<Bookmark>()
        .find_all()
        .sort(|b| b.id.asc())
        .await
        .unwrap();
    let held = bookmarks.into_iter().map(|b| (b.subject, b.photo));
    let expected = [
        (Some(post(1)), Some(pictured(2))),
        (None, None),
        (None, None),
        (None, None),
    ];
    assert_eq!(held.collect::<Vec<_>>(), expected);
    let albums = db
        .collection::<Album>()
        .find_all()
        .sort(|a| a.id.asc())
        .await
        .unwrap();
    let subjects: Vec<_> = albums.iter().map(|album| album.subjects.clone()).collect();
    assert_eq!(
        subjects,
        [vec![post(1), photo(2)], vec![post(1), photo(2)], vec![]]
    );
    for album in &albums {
        assert_eq!(album.liked, album.subjects.iter().cloned().collect());
    }
    let photos: Vec<_> = albums.into_iter().map(|album| album.photos).collect();
    assert_eq!(photos, [Some(vec![pictured(2)]), Some(vec![pictured(2)]), None]);
    // Stored as null, not as something that looks like it.
    let raw = db
        .raw_collection("bookmarks")
        .find_one(doc! { "_id": 2 })
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (raw.get("markedSubject"), raw.get("photo")),
        (Some(&Bson::Null), Some(&Bson::Null))
    );
}

async fn each_rule_is_about_the_collection_that_is_named(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        pages(&db).await;
        assert_eq!(db.collection::<Photo>().delete(1).await.unwrap().deleted, 1);
        assert_without_photo_1(&db).await;
        // The post of the same `_id` has its own.
        db.collection::<Post>().delete(1).await.unwrap();
        assert_eq!(
            (ids(&db, "comments").await, ids(&db, "votes").await),
            (vec![3], vec![])
        );
        let album = db.collection::<Album>().get(1).required().await.unwrap();
        assert_eq!(album.subjects, [photo(2)]);
        db.drop().await.unwrap();
    }
}

async fn every_way_to_delete_carries_them_out(db: &Db) {
    let photos = db.collection::<Photo>();
    pages(db).await;
    photos.delete_one(|p| p.id.eq(1)).await.unwrap();
    assert_without_photo_1(db).await;
    db.drop().await.unwrap();

    pages(db).await;
    photos.delete_many(|p| p.id.lt(2)).await.unwrap();
    assert_without_photo_1(db).await;
    db.drop().await.unwrap();

    pages(db).await;
    assert!(
        photos
            .find_one_and_delete(|p| p.id.eq(1))
            .await
            .unwrap()
            .is_some()
    );
    assert_without_photo_1(db).await;
    db.drop().await.unwrap();

    pages(db).await;
    photos.purge(|p| p.id.eq(1)).await.unwrap();
    assert_without_photo_1(db).await;
    db.drop().await.unwrap();

    pages(db).await;
    let bulk = photos.bulk_write().update_one(|p| p.id.eq(2), |p| p.album.set(8));
    bulk.delete_one(|p| p.id.eq(1)).await.unwrap();
    assert_without_photo_1(db).await;
}

async fn rules_of_levels_follow_each_other(db: &Db) {
    pages(db).await;
    // Everything that any of them is referred to by.
    db.collection::<Photo>()
        .delete_many(|p| p.id.gt(0))
        .await
        .unwrap();
    db.collection::<Post>().delete_many(|p| p.id.gt(0)).await.unwrap();
    assert_eq!(
        (ids(db, "comments").await, ids(db, "votes").await),
        (vec![], vec![])
    );
    for album in db.collection::<Album>().find_all().await.unwrap() {
        assert!(album.subjects.is_empty() && album.liked.is_empty());
        assert!(album.photos.is_none_or(|photos| photos.is_empty()));
    }
}

async fn what_denies_is_named_and_nothing_is_written(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        pages(&db).await;
        let exhibition = |id, photos: &[i32]| Exhibition {
            id,
            photos: photos.iter().copied().map(pictured).collect(),
        };
        let exhibitions = db.collection::<Exhibition>();
        exhibitions
            .insert_many([exhibition(5, &[2, 1]), exhibition(6, &[2])])
            .await
            .unwrap();
        let before = everything(&db).await;
        for photo in [1, 2] {
            let error = db.collection::<Photo>().delete(photo).await.unwrap_err();
            let referring = error.referring().unwrap();
            assert_eq!(error.kind(), ErrorKind::Referenced);
            assert_eq!((referring.model, referring.field), ("Exhibition", "photos"));
            assert_eq!(referring.count, u64::try_from(photo).unwrap());
        }
        assert_eq!(everything(&db).await, before);
        // Nothing denies this of a post, or of a photo that is shown nowhere.
        db.collection::<Post>().delete(2).await.unwrap();
        db.collection::<Photo>().delete(3).await.unwrap();
        exhibitions.delete(5).await.unwrap();
        db.collection::<Post>().insert(Post { id: 2 }).await.unwrap();
        db.collection::<Photo>()
            .insert(Photo { id: 3, album: 7 })
            .await
            .unwrap();
        db.collection::<Photo>().delete(1).await.unwrap();
        assert_without_photo_1(&db).await;
        db.drop().await.unwrap();
    }
}

fn board(id: i32, subjects: &[Subject]) -> Board {
    let pins = || {
        subjects.iter().zip(1..).map(|(subject, note)| Pin {
            subject: subject.clone(),
            note,
        })
    };
    let corner = |subject: &Subject| Corner {
        subject: Some(subject.clone()),
    };
    let corners: Vec<_> = subjects.iter().map(corner).collect();
    let wall = || Wall {
        subjects: subjects.to_vec(),
        corners: corners.clone(),
    };
    let keyed = |n: usize| format!("k{n}");
    Board {
        id,
        pins: pins().collect(),
        corner: corners.first().cloned(),
        corners: corners.clone(),
        walls: vec![
            wall(),
            Wall {
                subjects: vec![],
                corners: vec![],
            },
        ],
        slots: pins().enumerate().map(|(n, pin)| (keyed(n), pin)).collect(),
        rooms: [("hall".to_owned(), wall())].into(),
        named: subjects
            .iter()
            .enumerate()
            .map(|(n, subject)| (keyed(n), subject.clone()))
            .collect(),
        version: 0,
    }
}

async fn rules_reach_into_embedded_documents(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        db.collection::<Photo>()
            .insert_many([1, 2].map(|id| Photo { id, album: 7 }))
            .await
            .unwrap();
        db.collection::<Post>()
            .insert_many([1, 2].map(|id| Post { id }))
            .await
            .unwrap();
        let boards = db.collection::<Board>();
        let all = [
            board(1, &[photo(1), post(1), photo(2)]),
            board(2, &[post(1), photo(2)]),
            board(3, &[]),
        ];
        boards.insert_many(&all).await.unwrap();
        db.collection::<Photo>().delete(1).await.unwrap();
        let left = boards.find_all().sort(|b| b.id.asc()).await.unwrap();
        assert_eq!(left[1..], all[1..], "what loses nothing is not written");
        let first = &left[0];
        let kept = [post(1), photo(2)];
        let emptied = [None, Some(post(1)), Some(photo(2))].map(|subject| Corner { subject });
        assert_eq!(
            first.pins.iter().map(|pin| &pin.subject).collect::<Vec<_>>(),
            kept.each_ref()
        );
        assert_eq!(first.slots.keys().collect::<Vec<_>>(), ["k1", "k2"]);
        assert_eq!(first.named.values().collect::<Vec<_>>(), kept.each_ref());
        assert_eq!(first.corner, Some(Corner { subject: None }));
        assert_eq!(first.corners, emptied);
        assert_eq!(
            (&first.walls[0].subjects[..], &first.walls[0].corners[..]),
            (&kept[..], &emptied[..])
        );
        assert_eq!(first.rooms["hall"].subjects, kept);
        db.drop().await.unwrap();
    }
}

async fn what_leads_elsewhere_stays(db: &Db) {
    pages(db).await;
    let elsewhere = || pictured(1).in_database("elsewhere");
    let here = || pictured(1).in_database(db.name());
    let old = || DbRef::new("old_photos", 1);
    let bookmark = |id, photo| Bookmark {
        id,
        subject: None,
        photo: Some(photo),
        updated: DateTime::from_millis(0),
    };
    let bookmarks = [
        bookmark(10, elsewhere()),
        bookmark(11, here()),
        bookmark(12, old()),
    ];
    db.collection::<Bookmark>().insert_many(bookmarks).await.unwrap();
    let album = Album {
        id: 10,
        subjects: vec![],
        liked: BTreeSet::new(),
        photos: Some(vec![elsewhere(), here(), old(), pictured(2), pictured(1)]),
        version: 0,
    };
    db.collection::<Album>().insert(album).await.unwrap();
    // Numbers of another type, further fields and another order: references all the same.
    let odd = [
        doc! { "$ref": "photos", "$id": 1_i64, "why": "x" },
        doc! { "$ref": "photos", "$id": 1.0 },
        doc! { "$ref": "photos", "$id": 2_i64 },
    ];
    let stored = doc! { "_id": 20, "subjects": &odd[..], "liked": [], "photos": null, "version": 0_i64 };
    db.raw_collection("albums").insert(&stored).await.unwrap();
    // A deletion in a collection of another name is about no reference.
    let photo = Photo { id: 1, album: 7 };
    db.collection_named::<Photo>("old_photos")
        .insert(&photo)
        .await
        .unwrap();
    db.collection_named::<Photo>("old_photos")
        .delete(1)
        .await
        .unwrap();
    let bookmarks = db.collection::<Bookmark>();
    assert_eq!(bookmarks.get(12).required().await.unwrap().photo, Some(old()));

    db.collection::<Photo>().delete(1).await.unwrap();
    for (id, expected) in [(10, Some(elsewhere())), (11, None), (12, Some(old()))] {
        assert_eq!(
            bookmarks.get(id).required().await.unwrap().photo,
            expected,
            "{id}"
        );
    }
    let album = db.collection::<Album>().get(10).required().await.unwrap();
    assert_eq!(album.photos, Some(vec![elsewhere(), old(), pictured(2)]));
    let album = db
        .raw_collection("albums")
        .find_one(doc! { "_id": 20 })
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        album.get_array("subjects").unwrap(),
        &[Bson::from(odd[2].clone())]
    );
}

async fn documents_that_lose_nothing_are_not_written(db: &Db) {
    pages(db).await;
    let db = &db.with_clock(|| DateTime::from_millis(9));
    db.collection::<Photo>().delete(1).await.unwrap();
    let bookmarks = db
        .collection::<Bookmark>()
        .find_all()
        .sort(|b| b.id.asc())
        .await
        .unwrap();
    let times: Vec<_> = bookmarks.iter().map(|b| b.updated.timestamp_millis()).collect();
    assert_eq!(times, [0, 9, 9, 9]);
    let albums = db
        .collection::<Album>()
        .find_all()
        .sort(|a| a.id.asc())
        .await
        .unwrap();
    // Album 2 holds the key of the photo and the name of its collection, in two references.
    let versions: Vec<_> = albums.iter().map(|album| album.version).collect();
    assert_eq!(versions, [3, 0, 2]);
}

async fn a_deletion_is_part_of_the_running_transaction(db: &Db) {
    pages(db).await;
    let before = everything(db).await;
    let failed = db.transaction(async |tx| {
        tx.collection::<Photo>().delete(1).await?;
        assert_without_photo_1(&tx).await;
        Err::<(), _>(odm::Error::new(ErrorKind::InvalidArgument, "no"))
    });
    assert_eq!(failed.await.unwrap_err().message(), "no");
    assert_eq!(everything(db).await, before);
    db.transaction(async |tx| tx.collection::<Photo>().delete(1).await)
        .await
        .unwrap();
    assert_without_photo_1(db).await;
}

async fn a_crash_at_any_write_leaves_what_a_second_try_finishes(db: &Db) {
    for (with_transactions, base) in [(true, db.clone()), (false, Plain::db(db))] {
        let mut crashes = 0;
        loop {
            pages(&base).await;
            let before = everything(&base).await;
            let (faulty, faults) = base.faulty();
            faults.add(Fault::nth_write(crashes + 1).crash());
            let outcome = faulty.collection::<Photo>().delete(1).await;
            if outcome.is_ok() {
                assert_without_photo_1(&base).await;
                break;
            }
            if with_transactions {
                assert_eq!(everything(&base).await, before);
            }
            assert_eq!(
                ids(&base, "photos").await,
                [1, 2, 3],
                "what is referred to goes last"
            );
            assert_eq!(base.collection::<Photo>().delete(1).await.unwrap().deleted, 1);
            assert_without_photo_1(&base).await;
            base.drop().await.unwrap();
            crashes += 1;
        }
        // Votes, comments, two fields of bookmarks, three of albums, nine of boards, the photo; and the commit.
        assert_eq!(crashes, 17 + u64::from(with_transactions));
        base.drop().await.unwrap();
    }
}

async fn the_number_of_round_trips_does_not_grow(db: &Db) {
    let mut trips = Vec::new();
    for count in [1, 500] {
        pages(db).await;
        let comments = (0..count).map(|n| Comment {
            id: 1000 + n,
            subject: photo(1),
        });
        db.collection::<Comment>().insert_many(comments).await.unwrap();
        let albums = (0..count).map(|n| Album {
            id: 1000 + n,
            subjects: vec![photo(1), post(1)],
            liked: BTreeSet::new(),
            photos: None,
            version: 0,
        });
        db.collection::<Album>().insert_many(albums).await.unwrap();
        let (logged, log) = db.logged();
        logged.collection::<Photo>().delete(1).await.unwrap();
        trips.push(log.round_trips());
        db.drop().await.unwrap();
    }
    assert_eq!(trips[0], trips[1]);
}

async fn dangling_references_are_repaired_where_they_lead(db: &Db) {
    pages(db).await;
    let boards = db.collection::<Board>();
    boards.insert(board(1, &[photo(1), post(1)])).await.unwrap();
    assert_eq!(db.verify_relations::<Photo>().await.unwrap(), []);
    // Photo 1 goes behind the back of its rules; post 1 is there, and so is what refers to it.
    db.raw_collection("photos")
        .delete_one(doc! { "_id": 1 })
        .await
        .unwrap();
    let problems = db.verify_relations::<Photo>().await.unwrap();
    assert!(problems.iter().all(|problem| problem.key == Bson::Int32(1)));
    let of = |model| problems.iter().filter(|problem| problem.model == model).count();
    assert_eq!(
        (of("Comment"), of("Bookmark"), of("Album"), of("Board")),
        (2, 4, 5, 9)
    );
    let report = db.verify_relations::<Photo>().repair().await.unwrap();
    assert_eq!(report.left, 0);
    // What cascades by a repair leaves the votes to the next one.
    db.verify_relations::<Photo>().repair().await.unwrap();
    assert_eq!(db.verify_relations::<Photo>().await.unwrap(), []);
    assert_without_photo_1(db).await;
    assert_eq!(boards.get(1).required().await.unwrap().named.len(), 1);
    // References to what is gone elsewhere are what the rules say, and nothing else is.
    let elsewhere = || pictured(2).in_database("elsewhere");
    let photos = Some(vec![elsewhere(), pictured(2)]);
    db.collection::<Album>()
        .update_one(|a| a.id.eq(2), |a| a.photos.set(photos))
        .await
        .unwrap();
    let report = db
        .collection::<Album>()
        .verify_relations()
        .repair()
        .await
        .unwrap();
    assert_eq!((report.repaired, report.left), (1, 0));
    let album = db.collection::<Album>().get(2).required().await.unwrap();
    assert_eq!(album.photos, Some(vec![pictured(2)]));
}
