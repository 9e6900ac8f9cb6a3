//! The order of strings by the rules of languages: the embedded engine against a real MongoDB.
//!
//! The server's rules are those of ICU 57 (CLDR 29, 2016), the engine's those of ICU4X. `ODM_COLLATION_SEED` chooses
//! the strings.

use bson::{Document, doc};
use odm::Db;
use odm_tests::harness::{fresh_name, mongodb_uri, with_database};
use odm_tests::random::Random;

/// Locales of which the CLDR has changed the rules since, and what about.
const CHANGED: &[(&str, &str)] = &[
    ("da", "where œ stands"),
    ("en@collation=emoji", "the order of emoji"),
    ("haw", "vowels no longer come before all other letters"),
    ("kl", "the letters of other Nordic languages"),
    ("lkt", "letters with carons and acutes"),
    ("ln@collation=phonetic", "combinations of letters"),
    ("lv", "y is a letter of its own"),
    ("se", "the letters of other Nordic languages"),
    ("smn", "the letters of other Nordic languages"),
    ("yi", "Hebrew letters come first"),
];

const LOCALES: &[&str] = &[
    "af",
    "am",
    "ar",
    "as",
    "az",
    "be",
    "bg",
    "bn",
    "bo",
    "bs",
    "bs_Cyrl",
    "ca",
    "chr",
    "cs",
    "cy",
    "de",
    "de@collation=phonebook",
    "de_AT",
    "dsb",
    "dz",
    "ee",
    "el",
    "en",
    "en@collation=eor",
    "en_US",
    "en_US_POSIX",
    "eo",
    "es",
    "es@collation=traditional",
    "et",
    "fa",
    "fa_AF",
    "fi",
    "fi@collation=traditional",
    "fil",
    "fo",
    "fr",
    "fr_CA",
    "ga",
    "gl",
    "gu",
    "ha",
    "he",
    "hi",
    "hr",
    "hsb",
    "hu",
    "hy",
    "id",
    "ig",
    "is",
    "it",
    "ja",
    "ja@collation=unihan",
    "ka",
    "kk",
    "km",
    "kn",
    "ko",
    "kok",
    "ky",
    "lb",
    "ln",
    "lo",
    "lt",
    "mk",
    "ml",
    "mn",
    "mr",
    "ms",
    "mt",
    "my",
    "nb",
    "ne",
    "nl",
    "nn",
    "om",
    "or",
    "pa",
    "pl",
    "ps",
    "pt",
    "ro",
    "ru",
    "si",
    "sk",
    "sl",
    "sq",
    "sr",
    "sr_Latn",
    "sv",
    "sv@collation=standard",
    "sw",
    "ta",
    "te",
    "th",
    "to",
    "tr",
    "ug",
    "uk",
    "ur",
    "vi",
    "wae",
    "yo",
    "zh",
    "zh_Hant",
    "zu",
];

const CLASSES: &[&str] = &[
    "aAbBcCdDeEzZoOuUlLchn",
    "äÄåÅöÖøØæÆéèêëÉñÑçÇßčČćšžŽłŁđþĳőűİı",
    "0123456789",
    " -_.,;:!?'\"()[]{}@*/\\&#%`^+<=>|~$\t",
    "一二三四五六人大中国日本语中文",
    "ひらがなカタカナアいう한국어가나다",
    "😀🎉👍🚀",
    "абвгдеёжзиАБВГєіїґαβγδέΑ",
    "اأإآبتثאבגדกขคาเแहिन्दी",
];

const WORDS: &[&str] = &[
    "", "resume", "résumé", "Resume", "RÉSUMÉ", "co-op", "coop", "co op", "cote", "coté", "côte", "côté",
    "a1", "a2", "a10", "a02", "file10", "file9", "Strasse", "Straße", "llama", "luz", "chico", "cosa",
    "Ärger", "Arger", "Aerger", "ａ", "①", "ﬁ", "fi",
];

fn strings(random: &mut Random, count: usize) -> Vec<String> {
    let mut found: Vec<String> = WORDS.iter().map(|word| (*word).to_owned()).collect();
    while found.len() < count {
        let class = CLASSES[random.below(CLASSES.len())];
        let length = random.below(6);
        let text = (0..length)
            .map(|_| {
                let own = if random.below(10) < 7 {
                    class
                } else {
                    CLASSES[random.below(CLASSES.len())]
                };
                let characters: Vec<char> = own.chars().collect();
                characters[random.below(characters.len())]
            })
            .collect();
        found.push(text);
    }
    found
}

async fn order(db: &Db, collation: &Document) -> Vec<i32> {
    let command = doc! {
        "find": "strings", "sort": { "s": 1, "_id": 1 }, "projection": { "_id": 1 }, "batchSize": 10_000,
        "collation": collation.clone(),
    };
    let reply = db.run_command(command).await.expect("the strings are sorted");
    let cursor = reply.get_document("cursor").expect("a cursor");
    let batch = cursor.get_array("firstBatch").expect("a batch");
    batch
        .iter()
        .map(|document| {
            document
                .as_document()
                .expect("a document")
                .get_i32("_id")
                .expect("an id")
        })
        .collect()
}

fn settings() -> Vec<Document> {
    let mut all: Vec<Document> = LOCALES.iter().map(|locale| doc! { "locale": *locale }).collect();
    for locale in ["en", "ja", "fr_CA", "th", "sv"] {
        for mut own in [
            doc! { "strength": 1 },
            doc! { "strength": 2 },
            doc! { "strength": 4 },
            doc! { "strength": 5 },
            doc! { "strength": 1, "caseLevel": true },
            doc! { "strength": 1, "caseLevel": true, "caseFirst": "upper" },
            doc! { "caseFirst": "upper" },
            doc! { "caseFirst": "lower" },
            doc! { "numericOrdering": true },
            doc! { "alternate": "shifted" },
            doc! { "alternate": "shifted", "strength": 4 },
            doc! { "alternate": "shifted", "maxVariable": "space" },
            doc! { "alternate": "non-ignorable" },
            doc! { "normalization": true },
        ] {
            // The accents of Canadian French count backwards, which one level has none of.
            if locale == "fr_CA" && own.get("strength") == Some(&bson::Bson::Int32(1)) {
                own.insert("backwards", false);
            }
            own.insert("locale", locale);
            all.push(own);
        }
    }
    for locale in ["fr", "en", "de"] {
        all.push(doc! { "locale": locale, "backwards": true });
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strings_have_the_servers_order() {
    let Some(uri) = mongodb_uri() else { return };
    let seed = std::env::var("ODM_COLLATION_SEED")
        .ok()
        .and_then(|text| text.parse().ok());
    let ours = Db::open("memory:").await.expect("the engine opens");
    let theirs = Db::open(&with_database(&uri, &fresh_name()))
        .await
        .expect("the server answers");
    let strings = strings(&mut Random::new(seed.unwrap_or(1)), 2500);
    let documents: Vec<Document> = strings
        .iter()
        .zip(0i32..)
        .map(|(text, id)| doc! { "_id": id, "s": text })
        .collect();
    for db in [&ours, &theirs] {
        let command = doc! { "insert": "strings", "documents": documents.clone() };
        db.run_command(command).await.expect("the strings are stored");
    }
    let mut differences = Vec::new();
    let all = settings();
    for collation in &all {
        let (own, other) = (order(&ours, collation).await, order(&theirs, collation).await);
        let first = own.iter().zip(&other).find(|(own, other)| own != other);
        if let Some((own, other)) = first {
            let text = |id: &i32| usize::try_from(*id).ok().and_then(|at| strings.get(at));
            differences.push(format!("{collation}: {:?} for {:?}", text(own), text(other)));
        }
    }
    for (locale, what) in CHANGED {
        let collation = doc! { "locale": *locale, "caseFirst": "off" };
        let same = order(&ours, &collation).await == order(&theirs, &collation).await;
        println!(
            "{locale}: {what}{}",
            if same {
                ", which these strings do not show"
            } else {
                ""
            }
        );
    }
    theirs.drop().await.expect("the database is dropped");
    println!("{} collations of {} strings", all.len(), strings.len());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
