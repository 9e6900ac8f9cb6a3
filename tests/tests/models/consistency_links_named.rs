//! Links in collections that are named at run time.

use odm::{Db, ErrorKind, Model, Ref};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_link_is_of_the_models_own_collections,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "watchers", referred_by(Watched))]
struct Watcher {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(two_way = watchers, on_delete = pull)]
    watching: Vec<Ref<Watched>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "watched", referred_by(Watcher))]
struct Watched {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(two_way = watching, on_delete = pull)]
    watchers: Vec<Ref<Watcher>>,
}

async fn a_link_is_of_the_models_own_collections(db: &Db) {
    let own = db.collection::<Watcher>();
    own.insert(Watcher {
        id: 1,
        watching: vec![],
    })
    .await
    .unwrap();
    let theirs = db.collection_named::<Watched>("t1_watched");
    theirs
        .insert(Watched {
            id: 1,
            watchers: vec![],
        })
        .await
        .unwrap();
    for action in [
        theirs.link(1, |w| w.watchers, 1),
        theirs.unlink(1, |w| w.watchers, 1),
    ] {
        let error = action.await.unwrap_err();
        assert_eq!(
            (error.kind(), error.path()),
            (ErrorKind::InvalidArgument, Some("watchers"))
        );
        assert!(
            error.message().contains("`t1_watched` is not `watched`"),
            "{error}"
        );
    }
    assert!(own.get(1).required().await.unwrap().watching.is_empty());
}
