//! Each rule of updating as a table row, with the real server's answers, and the cases recorded from it.

mod array_operators;
mod document_operators;
mod limits;
mod paths;
mod recorded;
mod upserts;

use super::{Now, Timestamps, Updater, prepare_insert};
use crate::native::document::Doc;
use crate::native::fault::Result;
use crate::native::matcher::{Asked, Matcher};

const NOW: Now = Now {
    millis: 1_700_000_000_000,
    timestamps: Timestamps::Same(1_700_000_000, 7),
};

/// BSON bytes of Extended JSON.
fn bytes(json: &str) -> Vec<u8> {
    to_bytes(&serde_json::from_str(json).expect(json))
}

fn to_bytes(json: &serde_json::Value) -> Vec<u8> {
    let bson::Bson::Document(doc) = bson::Bson::try_from(json.clone()).expect("extended JSON") else {
        panic!("not a document: {json}");
    };
    bson::serialize_to_vec(&doc).expect("BSON")
}

fn all_bytes(json: &serde_json::Value) -> Vec<Vec<u8>> {
    json.as_array().into_iter().flatten().map(to_bytes).collect()
}

fn raw(docs: &[Vec<u8>]) -> Vec<Doc<'_>> {
    docs.iter().map(|doc| Doc::Raw(doc)).collect()
}

/// Parses what a client sends as an update: operators, a pipeline or a replacement.
fn updater(update: &serde_json::Value, filters: &serde_json::Value) -> Result<Updater> {
    if update.is_array() {
        return Updater::pipeline(&raw(&all_bytes(update)), Vec::new());
    }
    let update = to_bytes(update);
    let operators = Doc::Raw(&update)
        .elements()
        .next()
        .is_some_and(|first| first.name().starts_with(b"$"));
    match operators {
        true => Updater::operators(Doc::Raw(&update), &raw(&all_bytes(filters))),
        false => Updater::replacement(Doc::Raw(&update)),
    }
}

/// One update as a client sends it.
struct Request<'a> {
    filter: &'a serde_json::Value,
    update: &'a serde_json::Value,
    filters: &'a serde_json::Value,
    upsert: bool,
    multi: bool,
}

/// What a server replies.
#[derive(Debug, Default, PartialEq)]
struct Reply {
    matched: u64,
    modified: u64,
    upserted: bool,
}

/// Runs an update over documents as the engine does.
fn run(docs: &mut Vec<Vec<u8>>, request: &Request<'_>) -> Result<Reply> {
    let updater = updater(request.update, request.filters)?;
    let filter = to_bytes(request.filter);
    let matcher = Matcher::parse(Doc::Raw(&filter))?;
    let mut reply = Reply::default();
    for doc in docs.iter_mut() {
        if !matcher.matches(Doc::Raw(doc))? {
            continue;
        }
        let position = matcher.places(Asked::ByKind).at(Doc::Raw(doc));
        reply.matched += 1;
        if let Some(new) = updater.apply(Doc::Raw(doc), position, NOW)? {
            *doc = new;
            reply.modified += 1;
        }
        if !request.multi {
            break;
        }
    }
    if reply.matched == 0 && request.upsert {
        docs.push(updater.upsert(Doc::Raw(&filter), NOW, None)?);
        reply = Reply {
            matched: 1,
            upserted: true,
            ..reply
        };
    }
    Ok(reply)
}

/// Checks lines of `document ; filter ; update ; array filters => answer`. Without a document it is an upsert.
/// The answer is the new document, `=` for an update that changes nothing, or `code message`.
#[track_caller]
fn check(table: &str) {
    let json = |text: &str| match text.trim() {
        "" => serde_json::Value::Null,
        text => serde_json::from_str(text).expect(text),
    };
    let mut wrong = Vec::new();
    for line in table.lines().filter(|line| !line.is_empty()) {
        let (request, expected) = line.split_once(" => ").expect(line);
        let [doc, filter, update, filters] = request.split(" ; ").collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let mut docs: Vec<Vec<u8>> = match doc.trim() {
            "" => vec![],
            doc => vec![prepare_insert(Doc::Raw(&bytes(doc)), NOW).expect(doc)],
        };
        let request = Request {
            filter: &json(filter),
            update: &json(update),
            filters: &json(filters),
            upsert: docs.is_empty(),
            multi: false,
        };
        let answer = match run(&mut docs, &request) {
            Err(fault) => format!("{} {}", fault.code(), fault.message()),
            Ok(reply) if reply.modified == 0 && !reply.upserted => "=".to_owned(),
            Ok(_) => shown(docs.last().expect("a document"), expected.starts_with("{\"_id\"")),
        };
        let expected = match expected.starts_with('{') {
            true => shown(&bytes(expected), true),
            false => expected.to_owned(),
        };
        if answer != expected {
            wrong.push(format!("{line}\n   gave {answer}\n    not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A document as text that tells types apart; without a generated `_id`.
fn shown(doc: &[u8], with_id: bool) -> String {
    Doc::Raw(doc)
        .elements()
        .filter(|element| with_id || element.name() != b"_id")
        .map(|element| {
            format!(
                "{}: {} {:?}; ",
                element.name_str(),
                element.value(),
                element.value()
            )
        })
        .collect()
}
