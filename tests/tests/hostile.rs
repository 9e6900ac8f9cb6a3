//! Input that means harm: nothing of it panics, hangs, overflows the stack or takes memory without bound.

use bson::{Bson, doc};
use odm::Db;
use odm_tests::hostile::{Budget, commands, depth, files, values};

/// What a thread has unless asked otherwise.
const STACK: usize = 2 << 20;

fn on_a_small_stack<F: Future<Output = ()>>(test: impl FnOnce() -> F + Send + 'static) {
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(test());
    };
    let stack = std::env::var("ODM_STACK")
        .ok()
        .and_then(|kib| kib.parse::<usize>().ok())
        .map_or(STACK, |kib| kib << 10);
    let thread = std::thread::Builder::new().stack_size(stack).spawn(run);
    if let Err(panic) = thread.expect("a thread").join() {
        std::panic::resume_unwind(panic);
    }
}

/// Prints each input before it runs: an overflow ends the process.
fn shown(name: &str) -> bool {
    let only = std::env::var("ODM_DEPTH_DOOR").unwrap_or_default();
    if !only.is_empty() && only != name {
        return false;
    }
    if std::env::var_os("ODM_DEPTH_SHOW").is_some() {
        eprintln!("door {name}");
    }
    true
}

#[test]
fn every_door_takes_the_deepest_input() {
    on_a_small_stack(async || {
        let db = depth::prepared().await;
        for door in depth::doors() {
            if !shown(door.name) {
                continue;
            }
            let levels = door.levels(depth::SENT);
            for levels in [levels / 2, levels.saturating_sub(1), levels] {
                let answer = depth::run(&db, &door.command(levels)).await;
                assert_ne!(answer, Err(1), "{}: an internal error", door.name);
            }
            assert_eq!(
                depth::run(&db, &door.command(levels + 1)).await,
                Err(15),
                "{}: deeper than anything may be",
                door.name
            );
        }
    });
}

#[test]
fn the_deepest_documents_are_read_and_changed() {
    on_a_small_stack(async || {
        let db = depth::prepared().await;
        for (at, command) in depth::over_deep_documents().into_iter().enumerate() {
            if shown(&format!("deep {at}")) {
                let answer = depth::run(&db, &command).await;
                assert_ne!(answer, Err(1), "{command}");
            }
        }
    });
}

#[test]
fn results_that_grow_deeper_and_deeper_are_refused() {
    on_a_small_stack(async || {
        let db = depth::prepared().await;
        for (at, command) in depth::that_grow().into_iter().enumerate() {
            if shown(&format!("grow {at}")) {
                let answer = depth::run(&db, &command).await;
                assert_ne!(answer, Err(1), "{command}");
            }
        }
    });
}

#[test]
fn untyped_documents_go_in_and_come_out_at_the_greatest_depth() {
    on_a_small_stack(async || {
        let db = Db::open("memory:").await.unwrap();
        let deep = db.raw_collection("deep");
        for wrap in [
            |inner| Bson::Document(doc! { "a": inner }),
            |inner| Bson::Array(vec![inner]),
        ] {
            let nested = |levels: usize| (0..levels).fold(Bson::Int32(1), |inner, _| wrap(inner));
            let document = doc! { "_id": 1, "a": nested(depth::DEEPEST - 1) };
            deep.insert(&document).await.unwrap();
            assert_eq!(deep.find(doc! {}).await.unwrap(), std::slice::from_ref(&document));
            assert_eq!(
                deep.find(document.clone()).await.unwrap(),
                std::slice::from_ref(&document)
            );
            let all = deep.aggregate_raw([doc! { "$match": {} }]).await.unwrap();
            assert_eq!(all, std::slice::from_ref(&document));
            let reply = db.run_command(doc! { "find": "deep" }).await.unwrap();
            assert_eq!(depth::nesting(&Bson::Document(reply)), depth::DEEPEST + 3);
            let changed = deep
                .find_one_and_update(doc! {}, doc! { "$set": { "b": 1 } })
                .await
                .unwrap();
            assert_eq!(changed, Some(document.clone()));
            deep.replace_one(doc! {}, &document).await.unwrap();
            deep.delete_many(doc! {}).await.unwrap();
            let refused = deep
                .insert(doc! { "a": nested(depth::DEEPEST) })
                .await
                .unwrap_err();
            assert_eq!(refused.code(), Some(15));
        }
    });
}

/// Runs a target on a small stack and says how many inputs it had.
macro_rules! targets {
    ($($test:ident: $target:path, $inputs:literal;)*) => {$(
        #[test]
        fn $test() {
            on_a_small_stack(async || {
                println!("{}: {} inputs", stringify!($test), $target(Budget::of($inputs)).await);
            });
        }
    )*};
}

targets! {
    mutated_bytes_of_commands: commands::bytes, 4000;
    mutated_commands: commands::documents, 2500;
    hostile_filters_updates_and_stages: commands::parts, 2500;
    hostile_values_keep_their_order: values::keys, 800;
    dear_patterns_are_cheap: values::patterns, 150;
    resume_tokens_of_nonsense: values::tokens, 2000;
    damaged_files: files::opened, 40;
}
