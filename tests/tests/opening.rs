//! Opening what is not there.

use odm::{Db, ErrorKind};

#[tokio::test]
async fn a_directory_without_a_database_is_not_found_when_none_may_be_made() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let url = format!("native:{}?create=false", directory.path().display());
    let error = Db::open(&url).await.expect_err("there is no database");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains(&directory.path().display().to_string()));
    drop(
        Db::open(&url.replace("?create=false", ""))
            .await
            .expect("a new database"),
    );
    Db::open(&url).await.expect("the database is there now");
}
