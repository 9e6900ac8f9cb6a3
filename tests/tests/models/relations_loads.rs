//! What loads leave out, take over from their find, and give for pages.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bson::{DateTime, doc};
use futures_util::future::BoxFuture;
use odm::backend::{
    Backend, Capabilities, Operation, ReadOptions, Response, Transaction, TransactionOptions,
};
use odm::{Db, ErrorKind, Model, Ref};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    loads_pass_over_what_is_softly_deleted,
    inverses_pass_over_what_is_softly_deleted,
    loads_take_over_comment_and_time,
    pages_are_loaded,
    a_soft_deletion_and_its_way_back,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "studios", referred_by(Film, Poster, Festival))]
struct Studio {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(soft_delete)]
    deleted: Option<DateTime>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "films", index(keys(studio, desc(id))))]
struct Film {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(inverse = by_studio, on_delete = cascade)]
    studio: Ref<Studio>,
    #[odm(inverse = by_prequel)]
    prequel: Option<Ref<Film>>,
    #[odm(soft_delete)]
    deleted: Option<DateTime>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "posters")]
struct Poster {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(inverse(one = of_film))]
    film: Ref<Film>,
    #[odm(on_delete = nullify)]
    studio: Option<Ref<Studio>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "festivals")]
struct Festival {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = pull)]
    studios: Vec<Ref<Studio>>,
    #[odm(inverse = by_film)]
    films: Vec<Ref<Film>>,
}

/// Studios 1 to 3, of which each has films with 10 times its number and more; what has 9 in its number is deleted.
async fn films(db: &Db) {
    let studios = [1, 2, 9].map(|id| Studio { id, deleted: None });
    db.collection::<Studio>().insert_many(&studios).await.unwrap();
    let film = |id: i32, prequel: Option<i32>| Film {
        id,
        studio: Ref::new(id / 10),
        prequel: prequel.map(Ref::new),
        deleted: None,
    };
    let films = [
        film(11, None),
        film(12, Some(11)),
        film(13, Some(19)),
        film(19, Some(11)),
        film(21, Some(12)),
        film(29, None),
    ];
    db.collection::<Film>().insert_many(&films).await.unwrap();
    db.collection::<Film>()
        .insert(Film {
            studio: Ref::new(9),
            ..film(31, None)
        })
        .await
        .unwrap();
    let poster = |id, film| Poster {
        id,
        film: Ref::new(film),
        studio: Some(Ref::new(1)),
    };
    db.collection::<Poster>()
        .insert_many([poster(1, 19), poster(2, 11)])
        .await
        .unwrap();
    let festival = Festival {
        id: 1,
        studios: [1, 9, 2].map(Ref::new).into(),
        films: [11, 19, 21].map(Ref::new).into(),
    };
    db.collection::<Festival>().insert(festival).await.unwrap();
    let at = DateTime::from_millis(5);
    let gone = doc! { "$set": { "deleted": at } };
    let nines = doc! { "_id": { "$in": [9, 19, 29] } };
    for name in ["studios", "films"] {
        db.raw_collection(name)
            .update_many(nines.clone(), gone.clone())
            .await
            .unwrap();
    }
}

fn ids(films: &[Film]) -> Vec<i32> {
    films.iter().map(|film| film.id).collect()
}

async fn loads_pass_over_what_is_softly_deleted(db: &Db) {
    films(db).await;
    let all = db.collection::<Film>();
    let list = || all.find_all().sort(|f| f.id.asc());
    let found = list().load(|f| (f.studio, f.prequel)).await.unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|(film, (studio, prequel))| (film.id, studio.is_some(), prequel.as_ref().map(|film| film.id)))
        .collect();
    assert_eq!(
        found,
        [
            (11, true, None),
            (12, true, Some(11)),
            (13, true, None),
            (21, true, Some(12)),
            (31, false, None)
        ]
    );
    let found = list()
        .load(|f| f.studio.with_deleted())
        .load(|f| f.prequel.load(|f| f.studio).with_deleted())
        .await
        .unwrap();
    assert!(found.iter().all(|(_, studio, _)| studio.is_some()));
    let prequel = found[2]
        .2
        .as_ref()
        .map(|(film, studio)| (film.id, studio.is_some()));
    assert_eq!(prequel, Some((19, true)));

    // Lists keep their places, posters their missing film, both by one round trip too.
    let festivals = db.collection::<Festival>();
    let (_, studios, films) = festivals
        .get(1)
        .load(|f| f.studios)
        .load(|f| f.films)
        .required()
        .await
        .unwrap();
    let places: Vec<_> = studios.iter().map(Option::is_some).collect();
    assert_eq!(places, [true, false, true]);
    let places: Vec<_> = films
        .iter()
        .map(|film| film.as_ref().map(|film| film.id))
        .collect();
    assert_eq!(places, [Some(11), None, Some(21)]);
    let joined = festivals.find_all().join(|f| f.films).await.unwrap();
    let places: Vec<_> = joined[0].1.iter().map(Option::is_some).collect();
    assert_eq!(places, [true, false, true]);
    let joined = festivals
        .find_all()
        .join(|f| f.films.with_deleted())
        .await
        .unwrap();
    assert!(joined[0].1.iter().all(Option::is_some));
    let posters = db.collection::<Poster>();
    let joined = posters
        .find(|p| p.id.eq(1))
        .join(|p| p.film.project::<Film>())
        .await
        .unwrap();
    assert_eq!(joined[0].1, None);
    let loaded = posters.load(&posters.find_all().sort(|p| p.id.asc()).await.unwrap(), |p| {
        p.film
    });
    let loaded: Vec<_> = loaded.await.unwrap().iter().map(Option::is_some).collect();
    assert_eq!(loaded, [false, true]);
}

async fn inverses_pass_over_what_is_softly_deleted(db: &Db) {
    films(db).await;
    let studios = db.collection::<Studio>();
    let list = || studios.find_all().sort(|s| s.id.asc());
    let by_id = || Film::by_studio().sort(|f| f.id.asc());
    for (relation, expected) in [
        (by_id(), vec![vec![11, 12, 13], vec![21]]),
        (by_id().with_deleted(), vec![vec![11, 12, 13, 19], vec![21, 29]]),
        (by_id().only_deleted(), vec![vec![19], vec![29]]),
        (by_id().skip(1).limit(1), vec![vec![12], vec![]]),
        (by_id().limit(2).only_deleted(), vec![vec![19], vec![29]]),
        (
            by_id().skip(1).limit(9).with_deleted(),
            vec![vec![12, 13, 19], vec![29]],
        ),
    ] {
        let found = list().with(relation.clone()).await.unwrap();
        let found: Vec<_> = found.iter().map(|(_, films)| ids(films)).collect();
        assert_eq!(found, expected);
        let joined = list().join_with(relation).await.unwrap();
        let joined: Vec<_> = joined.iter().map(|(_, films)| ids(films)).collect();
        assert_eq!(joined, expected);
    }
    let counts = list()
        .with(Film::by_studio().count())
        .with(Film::by_studio().with_deleted().count())
        .with(Film::by_studio().only_deleted().count());
    let counts: Vec<_> = counts
        .await
        .unwrap()
        .into_iter()
        .map(|(_, a, b, c)| (a, b, c))
        .collect();
    assert_eq!(counts, [(3, 4, 1), (1, 2, 1)]);
    // References in arrays are counted another way.
    let all = db
        .collection::<Film>()
        .find_all()
        .with_deleted()
        .sort(|f| f.id.asc());
    let shown = all.with(Festival::by_film().count()).await.unwrap();
    let shown: Vec<_> = shown.iter().map(|(_, count)| *count).collect();
    assert_eq!(shown, [1, 0, 0, 1, 1, 0, 0]);
    let last = list()
        .with(Film::by_studio().sort(|f| f.id.desc()).first())
        .with(Film::by_studio().sort(|f| f.id.desc()).first().with_deleted())
        .await
        .unwrap();
    let last = last[0].1.as_ref().zip(last[0].2.as_ref());
    assert_eq!(last.map(|(living, any)| (living.id, any.id)), Some((13, 19)));
}

/// Keeps what the options of reads say.
#[derive(Debug)]
struct Recorder(Arc<dyn Backend>, Mutex<Vec<(&'static str, ReadOptions)>>);

impl Backend for Recorder {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn execute(&self, operation: Operation) -> BoxFuture<'_, odm::Result<Response>> {
        let options = match &operation {
            Operation::Find(find) => Some(find.options.clone()),
            Operation::Aggregate(aggregate) => Some(aggregate.options.clone()),
            Operation::Count(count) => Some(count.options.clone()),
            _ => None,
        };
        let name = operation.name();
        let entry = options.map(|options| (name, options));
        self.1.lock().unwrap().extend(entry);
        self.0.execute(operation)
    }

    fn begin(&self, options: TransactionOptions) -> BoxFuture<'_, odm::Result<Arc<dyn Transaction>>> {
        self.0.begin(options)
    }
}

async fn loads_take_over_comment_and_time(db: &Db) {
    films(db).await;
    db.collection::<Film>().create_indexes().await.unwrap();
    let recorder = Arc::new(Recorder(db.backend().clone(), Mutex::default()));
    let db = Db::from_backend(recorder.clone(), db.name().to_owned());
    let films = db.collection::<Film>();
    let find = || {
        let find = films.find(|f| f.studio.eq(1)).sort(|f| f.id.desc());
        find.comment("catalogue")
            .max_time(Duration::from_secs(9))
            .hint("studio_1__id_-1")
    };
    let load = find()
        .load(|f| f.prequel.load(|f| f.studio))
        .with(Film::by_prequel())
        .with(Film::by_prequel().limit(1))
        .with(Film::by_prequel().count());
    assert_eq!(load.await.unwrap().len(), 3);
    find().page(2).load(|f| f.studio).await.unwrap();
    find().page_number(1, 2).load(|f| f.studio).await.unwrap();
    films
        .get(11)
        .comment("catalogue")
        .max_time(Duration::from_secs(9))
        .load(|f| f.studio)
        .await
        .unwrap();
    let asked = std::mem::take(&mut *recorder.1.lock().unwrap());
    assert_eq!(asked.len(), 6 + 2 + 3 + 2, "{asked:?}");
    for (position, (name, options)) in asked.iter().enumerate() {
        assert_eq!(options.comment.as_deref(), Some("catalogue"), "{name} {position}");
        assert_eq!(
            options.max_time,
            Some(Duration::from_secs(9)),
            "{name} {position}"
        );
        // The hint is an index of the find's own collection.
        let is_own = [0, 6, 8, 9].contains(&position);
        assert_eq!(options.hint.is_some(), is_own, "{name} {position}");
    }
}

async fn pages_are_loaded(db: &Db) {
    films(db).await;
    let (db, log) = db.logged();
    let films = db.collection::<Film>();
    let list = || films.find_all().sort(|f| f.id.asc());
    let first = list()
        .page(2)
        .load(|f| f.studio)
        .with(Film::by_prequel().count())
        .await
        .unwrap();
    assert_eq!(log.counts(), [("find", 2), ("aggregate", 1)]);
    let rows: Vec<_> = first
        .items
        .iter()
        .map(|(film, studio, count)| (film.id, studio.as_ref().map(|studio| studio.id), *count))
        .collect();
    assert_eq!(rows, [(11, Some(1), 1), (12, Some(1), 1)]);
    assert!(first.has_more && first.previous.is_none());
    // What is read beyond the page is not loaded for.
    let second = list()
        .page(2)
        .after(first.next.as_ref().unwrap())
        .load(|f| f.prequel)
        .await
        .unwrap();
    let rows: Vec<_> = second
        .items
        .iter()
        .map(|(film, prequel)| (film.id, prequel.as_ref().map(|film| film.id)))
        .collect();
    assert_eq!(rows, [(13, None), (21, Some(12))]);
    let back = list()
        .page(2)
        .load(|f| f.studio)
        .before(second.previous.unwrap())
        .await
        .unwrap();
    let rows: Vec<_> = back.items.iter().map(|(film, _)| film.id).collect();
    assert_eq!(rows, [11, 12]);

    // A smaller type is fetched with what relations need.
    #[derive(Debug, Serialize, Deserialize, odm::Embedded)]
    struct Bare {
        #[serde(rename = "_id")]
        id: i32,
    }
    let page = list().project::<Bare>().page(9).load(|f| f.studio).await.unwrap();
    assert!(page.items[0].1.is_some() && page.items[4].1.is_none());
    assert_eq!(
        page.items.iter().map(|(bare, _)| bare.id).collect::<Vec<_>>(),
        [11, 12, 13, 21, 31]
    );

    let page = list()
        .page_number(2, 2)
        .load(|f| f.prequel)
        .with(Poster::of_film())
        .await
        .unwrap();
    assert_eq!((page.total, page.pages, page.number), (5, 3, 2));
    let rows: Vec<_> = page
        .items
        .iter()
        .map(|(film, _, poster)| (film.id, poster.is_some()))
        .collect();
    assert_eq!(rows, [(13, false), (21, false)]);
    log.take();
    let behind = list().page_number(9, 2).load(|f| f.studio).await.unwrap();
    assert_eq!((behind.items.len(), behind.total, log.round_trips()), (0, 5, 1));
    let error = list().page(0).load(|f| f.studio).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let error = list().page(1).after("x").load(|f| f.studio).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PageToken);
}

async fn a_soft_deletion_and_its_way_back(db: &Db) {
    let db = db.with_clock(|| DateTime::from_millis(7));
    films(&db).await;
    let (studios, films) = (db.collection::<Studio>(), db.collection::<Film>());
    assert_eq!(studios.delete(1).await.unwrap().deleted, 1);
    // Its films went softly with it; one had gone before, and keeps its date.
    let gone = films
        .find(|f| f.studio.eq(1))
        .only_deleted()
        .sort(|f| f.id.asc())
        .await
        .unwrap();
    let dates: Vec<_> = gone
        .iter()
        .map(|film| film.deleted.unwrap().timestamp_millis())
        .collect();
    assert_eq!((ids(&gone), dates), (vec![11, 12, 13, 19], vec![7, 7, 7, 5]));
    let posters = db.collection::<Poster>();
    assert_eq!(posters.count(|p| p.studio.is_null()).await.unwrap(), 2);
    let festival = db.collection::<Festival>().get(1).required().await.unwrap();
    assert_eq!(festival.studios, [9, 2].map(Ref::new));
    // Films that nothing refers to by a rule go alone; posters still say which film they were of.
    assert_eq!(festival.films.len(), 3);

    // The way back is the studio's alone.
    assert_eq!(studios.restore(|s| s.id.eq(1)).await.unwrap().modified, 1);
    assert_eq!(films.count(|f| f.studio.eq(1)).await.unwrap(), 0);
    assert_eq!(posters.count(|p| p.studio.eq(1)).await.unwrap(), 0);
    let went_with_it = films.restore(|f| f.studio.eq(1) & f.deleted.eq(DateTime::from_millis(7)));
    assert_eq!(went_with_it.await.unwrap().modified, 3);
    assert_eq!(films.find(|f| f.studio.eq(1)).await.unwrap().len(), 3);

    // For ever takes what was gone already.
    assert_eq!(studios.delete(2).for_ever().await.unwrap().deleted, 1);
    assert_eq!(films.count(|f| f.studio.eq(2)).with_deleted().await.unwrap(), 0);
    assert_eq!(studios.purge(|s| s.id.gt(0)).await.unwrap().deleted, 2);
    assert_eq!(films.count(|f| f.id.gt(0)).with_deleted().await.unwrap(), 0);
}
