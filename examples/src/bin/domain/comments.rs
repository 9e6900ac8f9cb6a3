//! **Problem.** A post has some comments, or thousands. Lists of posts show how many there are and the newest few; a post's
//! page shows all of them, page by page.
//!
//! **Stored shape.** `posts: {_id, title, count, newest: [{by, text}]}` (the newest three), `comments: {_id, post, at, by, text}`
//! with an index on `{post: 1, at: 1, _id: 1}`
//!
//! **Why.** Nothing bounds the comments, so they are documents of their own. What lists need (the count and the newest) is
//! kept in the post, by the update that comes with each comment. A post's comments go with it.

use odm::{Db, Embedded, Model, Ref, Result};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "posts", referred_by(Comment))]
struct Post {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    count: i64,
    #[odm(max = 3)]
    newest: Vec<Teaser>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Teaser {
    by: String,
    text: String,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "comments", index(keys(post, at, id)))]
struct Comment {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(inverse = by_post, on_delete = cascade)]
    post: Ref<Post>,
    at: i64,
    by: String,
    text: String,
}

/// A comment and what the post says of it: both or neither.
async fn comment(db: &Db, comment: &Comment) -> Result<()> {
    db.transaction(async |tx| {
        tx.collection::<Comment>().insert(comment).await?;
        let teaser = Teaser {
            by: comment.by.clone(),
            text: comment.text.clone(),
        };
        tx.collection::<Post>()
            .update_one(
                |p| p.id.eq(*comment.post.key()),
                |p| {
                    p.count.inc(1)
                        & p.newest
                            .push_each_with([teaser.clone()], |push| push.position(0).slice(3))
                },
            )
            .await?;
        Ok(())
    })
    .await
}

pub async fn story(db: &Db) -> Result<String> {
    let (posts, comments) = (db.collection::<Post>(), db.collection::<Comment>());
    comments.delete_many(|_| odm::Filter::all()).await?;
    posts.delete_many(|_| odm::Filter::all()).await?;
    comments.create_indexes().await?;
    posts.create().await.ok();
    posts
        .insert(Post {
            id: 1,
            title: "On documents".to_owned(),
            count: 0,
            newest: Vec::new(),
        })
        .await?;
    for id in 1..=25 {
        let one = Comment {
            id,
            post: Ref::new(1),
            at: i64::from(id / 2),
            by: format!("reader {}", id % 4),
            text: format!("comment {id}"),
        };
        comment(db, &one).await?;
    }

    let post = posts.get(1).required().await?;
    let newest: Vec<&str> = post.newest.iter().map(|teaser| teaser.text.as_str()).collect();
    assert_eq!(
        (post.count, newest),
        (25, vec!["comment 25", "comment 24", "comment 23"])
    );

    // Pages by place: a comment that is written meanwhile moves none.
    let list = || comments.find(|c| c.post.eq(1)).sort(|c| c.at.asc());
    list().must_use_index().await?;
    let mut page = list().page(10).await?;
    let mut read = page.items.len();
    while let Some(next) = &page.next {
        page = list().page(10).after(next).await?;
        read += page.items.len();
    }
    assert_eq!(read, 25);

    posts.delete(1).await?;
    assert_eq!(comments.count(|c| c.post.eq(1)).await?, 0);
    Ok(format!("\"{}\" had {read} comments", post.title))
}
