//! **Problem.** A host writes millions of log messages. Its page shows the last thousand at once; everything older is asked
//! for seldom, by time.
//!
//! **Stored shape.** `hosts: {_id, name, last: [{at, text}]}` (at most 1,000), `messages: {_id, host, at, text}` with an index
//! on `{host: 1, at: -1}`
//!
//! **Why.** Millions in one document cannot be (16 MiB), and a thousand ids in the host would be a thousand reads. So the
//! reference stands in the message, and the host has a copy of the last thousand, which one update adds to and cuts:
//! `$push` with `$each` and `$slice`. The page of a host is one read of one document.

use odm::{Db, Embedded, Model, Ref, Result};
use serde::{Deserialize, Serialize};

/// How many messages a host's page shows.
const SHOWN: usize = 1_000;

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "hosts")]
struct Host {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    #[odm(max = 1_000)]
    last: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Line {
    at: i64,
    text: String,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "log_messages", index(keys(host, desc(at))))]
struct Message {
    #[serde(rename = "_id")]
    id: i64,
    #[odm(inverse = by_host)]
    host: Ref<Host>,
    at: i64,
    text: String,
}

/// Messages of a host, which come in batches and in order: two writes for each batch.
async fn write(db: &Db, host: i32, lines: &[Line]) -> Result<()> {
    let messages = lines.iter().map(|line| Message {
        id: line.at,
        host: Ref::new(host),
        at: line.at,
        text: line.text.clone(),
    });
    db.collection::<Message>().insert_many(messages).await?;
    let last = lines.to_vec();
    db.collection::<Host>()
        .update_one(
            |h| h.id.eq(host),
            |h| h.last.push_each_with(last, |push| push.slice(-(SHOWN as i64))),
        )
        .await?;
    Ok(())
}

pub async fn story(db: &Db) -> Result<String> {
    let (hosts, messages) = (db.collection::<Host>(), db.collection::<Message>());
    hosts.delete_many(|_| odm::Filter::all()).await?;
    messages.delete_many(|_| odm::Filter::all()).await?;
    messages.create_indexes().await?;
    hosts
        .insert(Host {
            id: 1,
            name: "goofy.example.com".to_owned(),
            last: Vec::new(),
        })
        .await?;
    for batch in 0..5 {
        let lines = (batch * 500..(batch + 1) * 500).map(|at| Line {
            at,
            text: format!("event {at}"),
        });
        write(db, 1, &lines.collect::<Vec<_>>()).await?;
    }

    // The page is one read.
    let (watched, log) = db.logged();
    let host = watched.collection::<Host>().get(1).required().await?;
    assert_eq!(log.round_trips(), 1);
    assert_eq!(
        (host.last.len(), host.last[0].at, host.last[SHOWN - 1].at),
        (SHOWN, 1_500, 2_499)
    );

    // What is older is asked for by time, and read by its index.
    let older = messages
        .find(|m| m.host.eq(1) & m.at.lt(1_500))
        .sort(|m| m.at.desc());
    older.clone().must_use_index().await?;
    let page = older.page(100).await?;
    assert_eq!((page.items[0].at, page.has_more), (1_499, true));

    // The copy can be made again from the messages.
    let again = hosts
        .find_all()
        .with(Message::by_host().sort(|m| m.at.desc()).limit(SHOWN as u64))
        .await?;
    assert_eq!(again[0].1.len(), SHOWN);
    assert_eq!(again[0].1[0].text, host.last[SHOWN - 1].text);
    Ok(format!(
        "{} shows {} of {} messages",
        host.name,
        host.last.len(),
        messages.estimated_count().await?
    ))
}
